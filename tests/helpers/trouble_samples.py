"""Items that need a person: an unknown post, an unknown payment, and failures without either."""

from datetime import timedelta
from typing import Any

from django.db import transaction

from approvals.escalations import escalation_open
from approvals.models import Escalation
from chimera.core import secrets
from chimera.core.clock import now
from chimera.core.grants import Grant
from chimera.core.ids import new_id
from content.models import PlatformAccount, Publication
from content.services import content_store
from tests.helpers.calls import package
from tests.helpers.desk_samples import PAYEE, TEXT, agent, payment_request, post_request
from wallets import ledger
from wallets.chain.signer import Fees, LocalSigner, new_key
from wallets.debits import debit_begin
from wallets.models import ChainTransaction, Debit, NonceCounter, Wallet
from wallets.orders import Quote, order_of


def account_of(handle: str = "aurora_style", **fields: Any) -> PlatformAccount:
    """Aurora's account on X."""
    made = {"platform": "twitter", "handle": handle, "agent": agent("Aurora")}
    return PlatformAccount.objects.get_or_create(**made, defaults=fields)[0]


def unknown_post(**fields: Any) -> Publication:
    """A post that was sent twelve minutes ago and that the platform does not show."""
    author = agent("Aurora")
    content = content_store(agent=author, package=package(), trends=[], actor=author.actor)
    sent = now() - timedelta(minutes=12)
    made = {
        "content": content,
        "revision": 1,
        "platform": "twitter",
        "account": account_of(),
        "text": TEXT,
        "action_digest": "0" * 64,
        "approval_id": post_request(f"{TEXT} {new_id()}").id,
        "execution_id": new_id(),
        "agent": author,
        "reviewer_id": "1",
        "state": "outcome_unknown",
        "armed_at": sent,
        "begun_at": sent,
        "attempts": 1,
        "handles": {"media_0": "1455952740635586573"},
        "error": "The platform does not show the post",
    }
    return Publication.objects.create(**made | fields)


def post_trouble(publication: Publication | None = None, **fields: Any) -> Escalation:
    """The item that the framework opens for it."""
    post = publication or unknown_post(**fields)
    return _opened(
        post.agent.id,
        post.execution_id,
        "publish_content",
        "OUTCOME_UNKNOWN",
        "The platform does not show the post. A person has to look and decide.",
        {"platform": "twitter", "content": {"captions": TEXT, "hashtags": ["#Merkato"]}},
        {"publication_id": str(post.id), "platform": "twitter"},
    )


def unknown_debit() -> Debit:
    """A payment of 25 USDC that the chain has not settled: held, signed, sent four times."""
    payer, key = agent("Cashier", "cfo_judge"), new_key()
    wallet = Wallet.objects.create(
        agent=payer,
        network="devnet",
        address=LocalSigner(key, 31337).address,
        encrypted_key=secrets.encrypt(key),
    )
    ledger.accounts_open(wallet)
    NonceCounter.objects.create(network="devnet", address=wallet.address, next_nonce=7)
    for at, (currency, amount) in enumerate({"USDC": 10**8, "ETH": 10**18}.items()):
        ledger.deposit(
            wallet=wallet, currency=currency, amount=amount, tx_hash=f"0x{key.hex()}", log_index=at
        )
    debit = _begun(wallet)
    ChainTransaction.objects.filter(id=debit.chain_transaction.id).update(
        raw="0x02",
        tx_hash="0x" + "5d" * 32,
        status="broadcast",
        attempts=4,
        broadcast_at=now() - timedelta(minutes=3),
        last_error="NETWORK_ERROR: the node is silent",
    )
    Debit.objects.filter(id=debit.id).update(status="outcome_unknown")
    return Debit.objects.select_related("chain_transaction", "wallet").get(id=debit.id)


def _begun(wallet: Wallet) -> Debit:
    payee = LocalSigner(new_key(), 31337).address
    action = payment_request().action | {"wallet": wallet.address, "recipient": payee}
    grant = Grant(
        post_request(f"{TEXT} {new_id()}").id,
        action,
        "0" * 64,
        wallet.agent.id,
        new_id(),
        "1",
        now(),
    )
    quote = Quote(order_of(action), 60_000, Fees(1, 1), 60_000)
    with transaction.atomic():
        return debit_begin(grant=grant, execution_id=grant.execution_id, quote=quote)


def debit_trouble(debit: Debit) -> Escalation:
    """The item that the framework opens for it."""
    tx_hash = debit.chain_transaction.tx_hash
    return _opened(
        debit.agent.id,
        debit.execution_id,
        "debit_wallet",
        "OUTCOME_UNKNOWN",
        f"The transaction {tx_hash} is not final yet; it is watched and never sent anew",
        {"amount": 25, "currency": "USDC", "wallet_address": debit.wallet.address},
        {"tx_id": tx_hash},
    )


def plain_trouble(times: int = 1) -> Escalation:
    """A failure that is about no post and no payment."""
    for _ in range(times):
        item = _opened(
            agent("Cashier", "cfo_judge").id,
            new_id(),
            "debit_wallet",
            "INSUFFICIENT_BALANCE",
            "The wallet holds 100 USDC, 250 are needed: fund the wallet",
            {"wallet_address": PAYEE, "amount": 250, "approval_token": "[redacted]"},
            {"required": "250.000000", "available": "100.000000"},
        )
    return item


def _opened(
    agent_id: Any, execution_id: Any, skill: str, code: str, sentence: str, given: Any, details: Any
) -> Escalation:
    error = {"code": code, "message": sentence, "details": details, "http_status": 502}
    unknown = code == "OUTCOME_UNKNOWN"
    escalation_open(
        agent_id=agent_id,
        execution_id=execution_id,
        skill=skill,
        code=code,
        sentence=sentence,
        context={"input": given, "error": error},
        subject=str(execution_id) if unknown else "",
    )
    return Escalation.objects.get(agent_id=agent_id, execution_id=execution_id)
