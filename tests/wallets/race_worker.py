"""One of several processes that fight over one wallet, for `tests.helpers.crew`: JOB WALLET …

The database comes from DATABASE_URL. Prints one line per success.
"""

import json
import os
import sys
from uuid import UUID, uuid4

from django.db import transaction
from django.utils import timezone

from agents.models import Agent
from chimera.core.digest import digest
from chimera.core.errors import ChimeraError
from chimera.core.grants import Grant
from chimera.core.models import AuditEntry
from wallets import debits, ledger, orders
from wallets.chain.signer import Fees, checksum
from wallets.models import ChainTransaction, Entry, NonceCounter, Wallet

SETTLEMENT = "0x" + "2" * 40


def open_wallet(units: int) -> None:
    """Make a wallet with this much USDC and plenty of coin; prints its id."""
    agent = Agent.objects.create(name="Payer", type="cfo_judge")
    address = checksum("0x" + uuid4().hex.zfill(40))
    wallet = Wallet.objects.create(
        agent=agent, network="devnet", address=address, encrypted_key=b"-"
    )
    ledger.accounts_open(wallet)
    NonceCounter.objects.create(network="devnet", address=wallet.address)
    for index, (currency, amount) in enumerate((("USDC", units), ("ETH", 10**24))):
        origin = f"0xee{wallet.id.hex}"
        ledger.deposit(
            wallet=wallet, currency=currency, amount=amount, tx_hash=origin, log_index=index
        )
    sys.stdout.write(f"{wallet.id}\n")


def show(wallet: Wallet) -> None:
    """The wallet's books as one JSON line."""
    balance = ledger.balances(wallet)["USDC"]
    mine = ChainTransaction.objects.filter(sender=wallet.address)
    begun = AuditEntry.objects.filter(action="debit.begin", data__wallet=wallet.address)
    facts = {
        "posted": balance.posted,
        "held": balance.held,
        "available": balance.available,
        "sum": sum(entry.signed for entry in Entry.objects.all()),
        "debits": wallet.debits.count(),
        "nonces": sorted(mine.values_list("nonce", flat=True)),
        "next_nonce": NonceCounter.objects.get(address=wallet.address).next_nonce,
        "audited": begun.count(),
    }
    sys.stdout.write(json.dumps(facts) + "\n")


def grant_for(wallet: Wallet, amount: str, key: str) -> Grant:
    action = {
        "type": "debit_wallet",
        "wallet": wallet.address,
        "recipient": SETTLEMENT,
        "amount": amount,
        "currency": "USDC",
        "network": wallet.network,
        "tx_description": "race",
        "idempotency_key": key,
    }
    return Grant(uuid4(), action, digest(action), wallet.agent_id, uuid4(), "r", timezone.now())


def begin(wallet: Wallet, amount: str, key: str) -> UUID:
    grant = grant_for(wallet, amount, key)
    order = orders.order_of(grant.action)
    quote = orders.Quote(order, 60_000, Fees(10**9, 10**9), 60_000 * 10**9)
    with transaction.atomic():
        return debits.debit_begin(grant=grant, execution_id=grant.execution_id, quote=quote).id


def debit(wallet: Wallet, count: int, amount: str, key: str) -> None:
    """Try to begin `count` debits; with a key all of them are the same payment."""
    for _ in range(count):
        try:
            sys.stdout.write(f"{begin(wallet, amount, key or str(uuid4()))}\n")
        except ChimeraError as refusal:
            assert refusal.code == "INSUFFICIENT_BALANCE", refusal


def deposit(wallet: Wallet, count: int) -> None:
    """Post the same arrivals as everybody else."""
    for index in range(count):
        origin = f"0xdd{wallet.id.hex}"
        posted = ledger.deposit(
            wallet=wallet, currency="USDC", amount=1, tx_hash=origin, log_index=index
        )
        if posted:
            sys.stdout.write(f"{posted.id}\n")


def finish(wallet: Wallet, count: int) -> None:
    """Post and void the same holds as everybody else."""
    ways = [(ledger.post, "posted"), (ledger.void, "voided")]
    if os.getpid() % 2:
        ways.reverse()
    for hold in list(wallet.debits.order_by("id")[:count]):
        for finish_it, word in ways:
            if finish_it(hold.transfer_id):
                sys.stdout.write(f"{word} {hold.transfer_id}\n")


def main(job: str, target: str, *arguments: str) -> None:
    if job == "open":
        open_wallet(int(target))
        return
    wallet = Wallet.objects.get(id=target)
    match job, arguments:
        case "show", ():
            show(wallet)
        case "debit", (count, amount, *key):
            debit(wallet, int(count), amount, "".join(key))
        case "deposit", (count,):
            deposit(wallet, int(count))
        case "finish", (count,):
            finish(wallet, int(count))
