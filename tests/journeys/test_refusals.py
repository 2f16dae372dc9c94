"""What must not happen, in the whole house: real skills, a real platform, a real chain.

After every refusal the platform shows what it showed, books and chain hold what they held, and the
good token, if there is one, still does its one job.
"""

import json
import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from pytest_httpserver import HTTPServer

from agents.models import Agent
from approvals.models import ApprovalRequest
from approvals.services import request_reject, request_revoke
from chimera.core.clock import iso, now
from chimera.core.digest import sha256_hex
from chimera.core.errors import ChimeraError
from chimera.core.models import AuditEntry
from chimera.core.secrets import encrypt
from content.models import PlatformAccount, Publication
from content.services import content_revise
from skills import runner
from skills.models import SkillExecution
from skills.services import submit
from tests.approvals.test_tokens import FORGED
from tests.helpers import gate
from tests.helpers.devnet import Devnet, start_devnet
from tests.helpers.gate_process import stage
from tests.helpers.world import list_posts, open_account
from tests.journeys.conftest import House
from wallets import deposits, services
from wallets.models import Debit

pytestmark = [pytest.mark.django_db, pytest.mark.req("C5")]
Data = dict[str, Any]
ATTACKS = (
    "alg none",
    "HS256 with the public key as PEM",
    "HS256 with the public key as JWK",
    "ES256",
    "signature changed",
    "signature respelled",
    "signed by a stranger",
    "kid unknown",
    "jwk brought along",
    "a life of 7201 s",
    "huge",
    "nested",
)


INVALID, EXPIRED = (("failed", code, 401) for code in ("INVALID_TOKEN", "TOKEN_EXPIRED"))


def end_of(execution: SkillExecution) -> tuple[str, str, int]:
    """Status, error code and HTTP status of a call that has failed."""
    error = execution.error or {}
    return execution.status, error.get("code", ""), error.get("http_status", 0)


def is_published(house: House, execution: SkillExecution) -> bool:
    """The good call went through, once."""
    posts = [post["post_id"] for post in list_posts(house.world, house.account.handle)]
    return execution.status == "completed" and posts == [execution.output["post_id"]]


def is_paid(house: House, execution: SkillExecution) -> bool:
    """The good call went through, once: 10.50 of 100 USDC are gone, by one transaction."""
    after = house.outside()
    return (
        execution.status == "completed"
        and Debit.objects.get().tx_hash == execution.output["tx_id"]
        and after["usdc"] == after["books"]["USDC"].posted == 89_500_000
        and after["sent"] == "0x1"
    )


# --- no token ---------------------------------------------------------------------------------


def test_without_a_token_nothing_is_published(house: House) -> None:
    data, request = house.post()
    del data["approval_token"]
    with house.nothing_happens(request), pytest.raises(ChimeraError) as refusal:
        submit(agent=house.aurora, skill_name="publish_content", data=data, wake=False)
    assert (refusal.value.code, refusal.value.http_status) == ("INVALID_INPUT", 400)
    assert not SkillExecution.objects.exists()


@pytest.mark.req("A9.7")
def test_without_a_token_a_debit_waits_and_pays_once_signed(house: House) -> None:
    before = house.outside()
    execution = house.debit(gate.payment(house.wallet.address))
    assert execution.status == "blocked"
    request = ApprovalRequest.objects.get(id=execution.approval_id)
    assert (request.status, request.execution_id) == ("pending", execution.id)
    with house.nothing_happens(request):
        assert runner.run(execution.id, execution.skill) is None
    assert house.outside() == before

    gate.signed(request, house.reviewer)
    runner.resume(request.id)
    runner.run(execution.id, execution.skill)
    execution.refresh_from_db()
    assert is_paid(house, execution)


@pytest.mark.req("A9.7")
def test_a_rejected_debit_ends_with_the_reason_and_pays_nothing(house: House) -> None:
    before = house.outside()
    execution = house.debit(gate.payment(house.wallet.address))
    request = ApprovalRequest.objects.get(id=execution.approval_id)
    request_reject(
        request_id=request.id,
        reviewer=house.reviewer,
        reason="Not in October",
        shown_digest=request.action_digest,
    )
    runner.resume(request.id)
    execution.refresh_from_db()
    assert (execution.status, execution.error["code"]) == ("failed", "FORBIDDEN")
    assert execution.error["details"]["reason"] == "Not in October"
    assert house.outside() == before
    assert not Debit.objects.exists()


# --- a bad token ------------------------------------------------------------------------------


@pytest.mark.req("A5.2")
@pytest.mark.parametrize("attack", ATTACKS)
def test_a_forged_token_publishes_nothing_and_spoils_nothing(attack: str, house: House) -> None:
    data, request = house.post()
    forged = FORGED[attack](gate.forger(data["approval_token"]))
    with house.nothing_happens(request):
        assert end_of(house.publish(data | {"approval_token": forged})) == INVALID
    assert is_published(house, house.publish(data))


@pytest.mark.req("A9.7", "A9.2")
@pytest.mark.parametrize("attack", ATTACKS)
def test_a_forged_token_pays_nothing_and_the_same_key_works_afterwards(
    attack: str, house: House
) -> None:
    data, request = house.payment()
    forged = FORGED[attack](gate.forger(data["approval_token"]))
    with house.nothing_happens(request):
        assert end_of(house.debit(data | {"approval_token": forged})) == INVALID
    assert is_paid(house, house.debit(data))


@pytest.mark.req("A5.2")
def test_an_expired_token_is_refused_as_expired(house: House) -> None:
    for make, act in ((house.post, house.publish), (house.payment, house.debit)):
        data, request = make()
        token = gate.forger(data["approval_token"]).shifted(iat=-7000, nbf=-7000, exp=-1801)
        gate.let_expire(request)
        with house.nothing_happens(request):
            assert end_of(act(data | {"approval_token": token})) == EXPIRED


@pytest.mark.req("A5.2")
def test_a_token_of_another_agent_is_refused(house: House, outsider: Agent) -> None:
    data, request = house.post()
    with house.nothing_happens(request):
        assert end_of(house.publish(data, outsider)) == INVALID
    assert is_published(house, house.publish(data))


def test_a_payment_token_of_another_cashier_is_refused(house: House) -> None:
    data, request = house.payment()
    other = Agent.objects.create(name="Second cashier", type="cfo_judge")
    with house.nothing_happens(request):
        assert end_of(house.debit(data, other)) == INVALID
    assert is_paid(house, house.debit(data))


def test_a_token_for_the_other_skill_is_refused(house: House) -> None:
    post, asked = house.post()
    payment, asked_payment = house.payment()
    tokens = post["approval_token"], payment["approval_token"]
    with house.nothing_happens(asked), house.nothing_happens(asked_payment):
        assert end_of(house.publish(post | {"approval_token": tokens[1]})) == INVALID
        assert end_of(house.debit(payment | {"approval_token": tokens[0]})) == INVALID
    assert is_published(house, house.publish(post))
    assert is_paid(house, house.debit(payment))


def test_a_revoked_approval_has_no_effect(house: House) -> None:
    for make, act in ((house.post, house.publish), (house.payment, house.debit)):
        data, request = make()
        request_revoke(request_id=request.id, reviewer=house.reviewer, reason="Closed today")
        with house.nothing_happens(request):
            assert end_of(act(data)) == INVALID


# --- another action than the approved one -----------------------------------------------------

CONTENT_CHANGES: dict[str, Callable[[Data], Data]] = {
    "one byte of the post": lambda c: (
        c
        | {
            "platform_variants": {
                "twitter": {
                    "text": c["platform_variants"]["twitter"]["text"].replace("zero", "zera"),
                    "media_ids": [],
                }
            }
        }
    ),
    "one byte of the script": lambda c: c | {"script": c["script"].replace("less", "loss")},
    "one byte of the captions": lambda c: c | {"captions": c["captions"] + "!"},
    "one hashtag": lambda c: c | {"hashtags": [*c["hashtags"], "#More"]},
    "the order of hashtags": lambda c: c | {"hashtags": c["hashtags"][::-1]},
    "no variant": lambda c: c | {"platform_variants": None},
}


@pytest.mark.req("A5.2")
@pytest.mark.parametrize("change", CONTENT_CHANGES)
def test_content_changed_in_the_call_is_refused(change: str, house: House) -> None:
    data, request = house.post()
    with house.nothing_happens(request):
        changed = data | {"content": CONTENT_CHANGES[change](data["content"])}
        assert end_of(house.publish(changed)) == INVALID
    assert is_published(house, house.publish(data))


@pytest.mark.req("A5.2")
def test_content_revised_after_the_approval_is_refused(house: House) -> None:
    data, request = house.post()
    newer = CONTENT_CHANGES["one byte of the post"](data["content"])
    content_revise(content_id=newer["content_id"], package=newer, actor=house.aurora.actor)
    with house.nothing_happens(request):
        assert end_of(house.publish(data)) == INVALID
        assert end_of(house.publish(data | {"content": newer})) == INVALID


@pytest.mark.req("A5.2")
@pytest.mark.parametrize("stated", [True, False])
def test_media_changed_behind_the_same_address_is_refused(
    stated: bool, house: House, httpserver: HTTPServer, settings: Any
) -> None:
    env = {"chimera_world_url": httpserver.url_for("").rstrip("/")}
    settings.CHIMERA = settings.CHIMERA.model_copy(update=env)
    url = httpserver.url_for("/media/looks.jpg")
    approved = b"the bytes the reviewer saw"
    httpserver.expect_request("/media/looks.jpg").respond_with_data(approved)
    about = {"url": url, "type": "image"} | ({"sha256": sha256_hex(approved)} if stated else {})
    data, request = house.post(media_urls=[url], media_metadata=[about])
    assert request.action["media"] == [sha256_hex(approved)]

    httpserver.clear()
    httpserver.expect_request("/media/looks.jpg").respond_with_data(approved[:-1] + b"x")
    with house.nothing_happens(request):
        assert end_of(house.publish(data)) == INVALID

    httpserver.clear()
    httpserver.expect_request("/media/looks.jpg").respond_with_data(approved)
    assert is_published(house, house.publish(data))


@pytest.mark.req("A5.2")
def test_another_platform_or_time_than_the_approved_one_is_refused(house: House) -> None:
    data, request = house.post()
    also = {"handle": house.account.handle, "base_url": house.world, "agent": house.aurora}
    PlatformAccount.objects.create(platform="tiktok", mode="sandbox", **also)
    later = iso(now() + timedelta(hours=1))
    with house.nothing_happens(request):
        assert end_of(house.publish(data | {"platform": "tiktok"})) == INVALID
        assert end_of(house.publish(data | {"schedule_time": later})) == INVALID
    assert is_published(house, house.publish(data))


@pytest.mark.req("A5.2")
def test_a_post_goes_to_the_approved_account_or_nowhere(house: House) -> None:
    """The agent's account is another one by now; the approved one has been switched off."""
    data, request = house.post()
    PlatformAccount.objects.filter(id=house.account.id).update(enabled=False)
    access = open_account(house.world, "twitter", "impostor")
    gate.account(
        house.aurora, "impostor", base_url=house.world, sealed_credentials=encrypt(access.encode())
    )
    with house.nothing_happens(request):
        execution = house.publish(data)
    assert (execution.status, execution.error["code"]) == ("failed", "INVALID_INPUT")
    PlatformAccount.objects.filter(id=house.account.id).update(enabled=True)
    assert is_published(house, house.publish(data))


PAYMENT_CHANGES: dict[str, Data] = {
    "amount": {"amount": "10.6"},
    "amount by a unit": {"amount": "10.500001"},
    "currency": {"currency": "ETH", "amount": "0.01"},
    "recipient": {"recipient": "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"},
    "description": {"tx_description": "October boost "},
    "idempotency_key": {"idempotency_key": "0192f0c5-77aa-4c31-8a1e-5d0f4b7e2b10"},
}


@pytest.mark.req("A9.1", "A9.2")
@pytest.mark.parametrize("change", PAYMENT_CHANGES)
def test_a_payment_changed_after_the_approval_is_refused(change: str, house: House) -> None:
    data, request = house.payment()
    with house.nothing_happens(request):
        assert end_of(house.debit(data | PAYMENT_CHANGES[change])) == INVALID
    assert is_paid(house, house.debit(data))


def test_the_approved_amount_in_another_spelling_is_the_same_payment(house: House) -> None:
    data, _ = house.payment()
    lower = house.wallet.address.lower()
    assert is_paid(house, house.debit(data | {"amount": "10.500", "wallet_address": lower}))


def test_a_payment_from_another_wallet_is_refused(house: House) -> None:
    data, request = house.payment()
    other = services.wallet_open(agent=house.cashier, network="devnet")
    house.devnet.fund(other.address, units=100_000_000, wei=10**18)
    deposits.deposits_scan("devnet")
    with house.nothing_happens(request):
        assert end_of(house.debit(data | {"wallet_address": other.address})) == INVALID
    assert is_paid(house, house.debit(data))


# --- twice ------------------------------------------------------------------------------------


@pytest.mark.req("A5.3")
def test_a_token_used_twice_publishes_once(house: House) -> None:
    data, request = house.post()
    assert is_published(house, house.publish(data))
    with house.nothing_happens(request):
        again = house.publish(data)
    assert (again.status, again.error["code"]) == ("failed", "DUPLICATE_CONTENT")
    assert again.error["details"]["post_id"]


@pytest.mark.req("A5.2")
def test_a_used_token_publishes_no_other_content(house: House) -> None:
    data, request = house.post()
    assert is_published(house, house.publish(data))
    other = gate.stored(house.aurora)
    with house.nothing_happens(request):
        swapped = data | {"content": other.current.data}
        assert end_of(house.publish(swapped)) == INVALID


@pytest.mark.req("A9.2")
def test_a_used_token_pays_nothing_under_another_key(house: House) -> None:
    data, request = house.payment()
    first = house.debit(data)
    assert is_paid(house, first)
    with house.nothing_happens(request):
        other = data | {"idempotency_key": str(uuid4())}
        assert end_of(house.debit(other)) == INVALID
        same = submit(agent=house.cashier, skill_name="debit_wallet", data=data, wake=False)
    assert same.replayed and same.execution.id == first.id
    assert is_paid(house, first)


# --- what is written --------------------------------------------------------------------------


@pytest.mark.req("C3", "A5.4", "A9.6")
def test_every_step_of_both_journeys_has_its_entry_and_its_actor(house: House) -> None:
    data, post = house.post()
    payment, debit = house.payment()
    assert is_published(house, house.publish(data))
    assert is_paid(house, house.debit(payment))
    agents = house.aurora.actor, house.cashier.actor
    person = f"person:{house.reviewer.pk}"
    entries = set(AuditEntry.objects.values_list("action", "actor"))
    assert {
        ("agent.created", "system:test"),
        ("key.created", "system:test"),
        ("wallet.open", "system:wallets"),
        ("content.stored", agents[0]),
        ("approval.requested", agents[0]),
        ("approval.requested", agents[1]),
        ("approval.approved", person),
        ("approval.consumed", agents[0]),
        ("approval.consumed", agents[1]),
        ("publication.started", agents[0]),
        ("publication.published", agents[0]),
        ("debit.begin", agents[1]),
    } <= entries
    assert "debit.posted" in {action for action, _ in entries}
    assert not AuditEntry.objects.filter(actor="").exists()
    published = AuditEntry.objects.get(action="publication.published")
    assert published.data["reviewer_id"] == str(house.reviewer.pk)
    assert published.data["content_id"] == post.action["content_id"]
    for token in (data["approval_token"], payment["approval_token"]):
        signature = token.rpartition(".")[2]
        assert not [e for e in AuditEntry.objects.all() if signature in json.dumps(str(e.data))]
        assert not [e for e in SkillExecution.objects.all() if signature in str(e.input)]
    assert Publication.objects.get().approval_id == post.id
    assert Debit.objects.get().approval_id == debit.id


# --- a worker without keys --------------------------------------------------------------------


@pytest.mark.req("C5")
def test_a_worker_without_private_keys_carries_out_but_cannot_sign(
    world: str, tmp_path: Path
) -> None:
    handle = f"aurora_{uuid4().hex[:8]}"
    access = open_account(world, "twitter", handle)
    with (
        start_devnet(tmp_path) as chain,
        stage(tmp_path) as s,
    ):
        web = {"CHIMERA_PROCESS": "web", "CHIMERA_WORLD_URL": world}
        prepared = s.act("prepare", handle, access, **web)
        assert list(s.keys.glob("*.pem"))
        shutil.rmtree(s.keys)
        (tmp_path / "calls.json").write_text(json.dumps(prepared))
        worker = web | {"CHIMERA_PROCESS": "worker"}
        done = s.act("work", str(tmp_path / "calls.json"), **worker)
        assert done["post"] == ["completed", None]
        assert done["debit"] == ["completed", None]
        assert done["sign"] == ["SECURITY_VIOLATION", "pending"]
        assert len(list_posts(world, handle)) == 1
        paid_by = prepared["debit"]["wallet_address"]
        assert _sent(chain, paid_by) == 1
        assert s.run("manage.py", "verify_audit").returncode == 0


def _sent(chain: Devnet, address: str) -> int:
    return int(chain.rpc("eth_getTransactionCount", address, "latest"), 16)
