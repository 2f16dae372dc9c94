"""Every known attack on a token: refused with the right code, and nothing has happened."""

import hashlib
import hmac
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import jwt
import pytest
import time_machine
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.contrib.auth.models import User
from django.test import Client

from agents.models import Agent
from approvals.keys import key_create
from approvals.models import ApprovalRequest, SigningKey
from approvals.tokens import token_verify
from chimera.core.clock import now
from chimera.core.errors import ChimeraError
from chimera.core.jwk import public_jwk
from skills.services import submit
from tests.helpers import gate
from tests.helpers.gate import Forger, b64, forger, jws, part

pytestmark = [pytest.mark.django_db, pytest.mark.req("A5.2", "C5")]
Attack = Callable[[Forger], str]
STRANGER = Ed25519PrivateKey.generate()


@pytest.fixture
def request_(orchestrator: Agent, approval_key: Any) -> ApprovalRequest:
    return gate.opened(orchestrator, gate.frozen_post())


@pytest.fixture
def good(request_: ApprovalRequest, reviewer: User) -> Forger:
    return forger(gate.signed(request_, reviewer))


def unsigned(_: bytes) -> bytes:
    return b""


def hs256(secret: bytes) -> Callable[[bytes], bytes]:
    return lambda data: hmac.new(secret, data, hashlib.sha256).digest()


def public_pem(good: Forger) -> bytes:
    kinds = serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    return good.key.public_key().public_bytes(*kinds)


def jwk_text(good: Forger) -> bytes:
    return json.dumps(public_jwk(good.key.public_key())).encode()


def es256(good: Forger) -> str:
    key = ec.generate_private_key(ec.SECP256R1())
    header = {"kid": good.header["kid"], "typ": "approval+jwt"}
    return jwt.encode(good.claims, key, algorithm="ES256", headers=header)


def with_own_key(good: Forger, **header: Any) -> str:
    """Signed by a stranger, who brings the key along in the header."""
    return jws(good.header | header, good.claims, STRANGER.sign)


def signature_cut(good: Forger, characters: int) -> str:
    return good.token[:-characters]


def signature_respelled(good: Forger) -> str:
    """The same 64 bytes: base64url leaves four bits of the last character unused."""
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    return good.token[:-1] + alphabet[alphabet.index(good.token[-1]) + 1]


def one_bit(good: Forger) -> str:
    head, claims, signature = good.token.split(".")
    return f"{head}.{claims}.{'B' if signature[0] == 'A' else 'A'}{signature[1:]}"


def claims_swapped(good: Forger) -> str:
    head, _, signature = good.token.split(".")
    return f"{head}.{part(good.claims | {'act': str(uuid4())})}.{signature}"


def json_serialised(good: Forger) -> str:
    head, claims, signature = good.token.split(".")
    return json.dumps({"protected": head, "payload": claims, "signature": signature})


def doubled(good: Forger, name: str, value: Any) -> str:
    """Claims in which a name stands twice, signed by the right key."""
    text = json.dumps(good.claims)
    return jws(good.header, f'{{"{name}": {json.dumps(value)}, {text[1:]}', good.key.sign)


def doubled_header(good: Forger) -> str:
    text = json.dumps(good.header)
    return jws(f'{{"alg": "none", {text[1:]}', good.claims, good.key.sign)


FORGED: dict[str, Attack] = {
    # algorithm
    **{
        f"alg {alg}": lambda g, alg=alg: jws(g.header | {"alg": alg}, g.claims, unsigned)
        for alg in ("none", "None", "NONE", "nOnE", "")
    },
    **{
        f"alg {alg} with a good signature": lambda g, alg=alg: g.with_header(alg=alg)
        for alg in ("none", "Ed25519", "eddsa", "HS256", None, ["EdDSA"])
    },
    "HS256 with the public key as PEM": lambda g: jws(
        g.header | {"alg": "HS256"}, g.claims, hs256(public_pem(g))
    ),
    "HS256 with the public key as JWK": lambda g: jws(
        g.header | {"alg": "HS256"}, g.claims, hs256(jwk_text(g))
    ),
    "EdDSA that is an HMAC": lambda g: jws(g.header, g.claims, hs256(public_pem(g))),
    "ES256": es256,
    # signature
    "no signature": lambda g: g.token.rpartition(".")[0],
    "empty signature": lambda g: g.token.rpartition(".")[0] + ".",
    "signature cut by one": lambda g: signature_cut(g, 1),
    "signature cut by half": lambda g: signature_cut(g, 43),
    "signature longer": lambda g: g.token + "A",
    "signature padded": lambda g: g.token + "==",
    "signature respelled": signature_respelled,
    "signature changed": one_bit,
    "signature of zeros": lambda g: jws(g.header, g.claims, lambda _: bytes(64)),
    "claims exchanged": claims_swapped,
    "signed by a stranger": lambda g: jws(g.header, g.claims, STRANGER.sign),
    # key
    "kid unknown": lambda g: g.with_header(kid="A" * 43),
    "kid a path": lambda g: g.with_header(kid="../../../../dev/null"),
    "kid a path to our key": lambda g: g.with_header(kid=f"./{g.header['kid']}"),
    "kid an address": lambda g: g.with_header(kid="http://127.0.0.1:9/key.json"),
    "kid SQL": lambda g: g.with_header(kid="x' OR '1'='1"),
    "kid with a zero byte": lambda g: g.with_header(kid=f"{g.header['kid']}\x00"),
    "kid half a character": lambda g: g.with_header(kid="\ud800"),
    "kid a line longer": lambda g: g.with_header(kid=f"{g.header['kid']}\n"),
    "kid empty": lambda g: g.with_header(kid=""),
    "kid a number": lambda g: g.with_header(kid=1),
    "kid a list": lambda g: g.with_header(kid=[g.header["kid"]]),
    "kid missing": lambda g: jws({"alg": "EdDSA", "typ": "approval+jwt"}, g.claims, STRANGER.sign),
    "jwk brought along": lambda g: with_own_key(g, jwk=public_jwk(STRANGER.public_key())),
    "jwk instead of kid": lambda g: jws(
        {"alg": "EdDSA", "typ": "approval+jwt", "jwk": public_jwk(STRANGER.public_key())},
        g.claims,
        STRANGER.sign,
    ),
    "x5c brought along": lambda g: with_own_key(g, x5c=["MIIB"]),
    # header
    **{
        f"header {name}": lambda g, name=name, value=value: g.with_header(**{name: value})
        for name, value in {
            "jku": "https://attacker.example/jwks.json",
            "x5u": "https://attacker.example/key.pem",
            "crit": ["exp"],
            "b64": False,
            "zip": "DEF",
            "cty": "JWT",
        }.items()
    },
    "header typ JWT": lambda g: g.with_header(typ="JWT"),
    "header typ at+jwt": lambda g: g.with_header(typ="at+jwt"),
    "header typ of another case": lambda g: g.with_header(typ="Approval+JWT"),
    "header without typ": lambda g: jws(
        {"alg": "EdDSA", "kid": g.header["kid"]}, g.claims, g.key.sign
    ),
    "header a list": lambda g: jws([g.header], g.claims, g.key.sign),
    "header no JSON": lambda g: jws("{", g.claims, g.key.sign),
    "header of a name that stands twice": doubled_header,
    "header deeply nested": lambda g: jws("[" * 2000, g.claims, g.key.sign),
    # form
    "nested": lambda g: jws(g.header, f'"{g.token}"', g.key.sign),
    "JSON serialisation": json_serialised,
    "five parts": lambda g: f"{g.token}.AAAA.AAAA",
    "huge": lambda g: g.with_claims(padding="x" * 1_000_000),
    "a line longer": lambda g: g.token + "\n",
    "a blank before": lambda g: " " + g.token,
    "the word Bearer": lambda g: f"Bearer {g.token}",
    "not Latin": lambda g: g.token[:-1] + "Ａ",
    "claims a list": lambda g: jws(g.header, [g.claims], g.key.sign),
    "claims no JSON": lambda g: jws(g.header, "{", g.key.sign),
    "claims no text": lambda g: (
        f"{part(g.header)}.{b64(bytes([255, 254]))}.{g.token.rpartition('.')[2]}"
    ),
    # times
    "not valid yet": lambda g: g.shifted(iat=60, nbf=60, exp=60),
    "nbf ahead": lambda g: g.shifted(nbf=60),
    "a life of 7201 s": lambda g: g.with_claims(exp=g.claims["iat"] + 7201),
    "a life of years": lambda g: g.with_claims(exp=2**53),
    "a life of nothing": lambda g: g.with_claims(exp=g.claims["iat"]),
    "a life backwards": lambda g: g.with_claims(exp=g.claims["iat"] - 1),
    **{
        f"{name} {kind}": lambda g, name=name, make=make: g.with_claims(
            **{name: make(g.claims[name])}
        )
        for name in ("iat", "nbf", "exp", "auth_time")
        for kind, make in {
            "a string": str,
            "a float": float,
            "a list": lambda value: [value],
            "true": lambda _: True,
            "null": lambda _: None,
            "endless": lambda _: float("inf"),
            "no number": lambda _: float("nan"),
        }.items()
    },
    # claims
    **{
        f"{name} missing": lambda g, name=name: g.without(name)
        for name in (
            *("iss", "aud", "sub", "act", "jti", "iat", "nbf", "exp"),
            *("approval_id", "action_digest", "auth_time"),
        )
    },
    "aud a list": lambda g: g.with_claims(aud=[g.claims["aud"]]),
    "aud a list of two": lambda g: g.with_claims(aud=[g.claims["aud"], "chimera:skill:other"]),
    "aud of another skill": lambda g: g.with_claims(aud="chimera:skill:debit_wallet"),
    "aud longer": lambda g: g.with_claims(aud=g.claims["aud"] + "_and_more"),
    "iss of another deployment": lambda g: g.with_claims(iss="https://other.example"),
    "iss a list": lambda g: g.with_claims(iss=[g.claims["iss"]]),
    "sub a number": lambda g: g.with_claims(sub=1),
    "jti another": lambda g: g.with_claims(jti="another"),
    "jti a number": lambda g: g.with_claims(jti=1),
    "act another agent": lambda g: g.with_claims(act=str(uuid4())),
    "act a list": lambda g: g.with_claims(act=[g.claims["act"]]),
    "approval_id unknown": lambda g: g.with_claims(approval_id=str(uuid4())),
    "approval_id no id": lambda g: g.with_claims(approval_id="1 OR 1"),
    "approval_id a list": lambda g: g.with_claims(approval_id=[g.claims["approval_id"]]),
    "action_digest another": lambda g: g.with_claims(action_digest="0" * 64),
    "action_digest null": lambda g: g.with_claims(action_digest=None),
    "act twice": lambda g: doubled(g, "act", str(uuid4())),
    "exp twice": lambda g: doubled(g, "exp", 2**40),
}


@contextmanager
def refused(request: ApprovalRequest, code: str) -> Iterator[None]:
    """What is tried in the block is refused with this code by the token's name, and changes nothing."""
    with gate.refused(request, code) as refusal:
        yield
    assert refusal.value.http_status == 401
    assert refusal.value.errors and "approval_token" in refusal.value.errors
    assert ApprovalRequest.objects.get(id=request.id).status == "approved"


@pytest.mark.parametrize("attack", FORGED)
def test_a_forged_token_is_refused_and_the_good_one_still_works(
    attack: str, good: Forger, request_: ApprovalRequest, orchestrator: Agent
) -> None:
    token = FORGED[attack](good)
    assert token != good.token
    with refused(request_, "INVALID_TOKEN"):
        gate.redeem(token, request_.action, orchestrator, uuid4())
    grant = gate.redeem(good.token, request_.action, orchestrator, uuid4())
    assert grant.approval_id == request_.id


@pytest.mark.parametrize("by", [1, 60, 5000])
def test_a_token_that_expired_is_refused_from_the_first_second(
    by: int, good: Forger, request_: ApprovalRequest, orchestrator: Agent
) -> None:
    token = good.shifted(exp=-(good.claims["exp"] - int(now().timestamp())) - by, iat=-7000)
    with refused(request_, "TOKEN_EXPIRED"):
        gate.redeem(token, request_.action, orchestrator, uuid4())


def test_a_token_lives_to_its_last_second_and_no_longer(
    good: Forger, request_: ApprovalRequest, orchestrator: Agent
) -> None:
    with time_machine.travel(good.claims["exp"], tick=False), refused(request_, "TOKEN_EXPIRED"):
        gate.redeem(good.token, request_.action, orchestrator, uuid4())
    with time_machine.travel(good.claims["exp"] - 0.5, tick=False):
        assert gate.redeem(good.token, request_.action, orchestrator, uuid4())


def test_a_longer_life_in_the_token_is_no_longer_life_in_the_row(
    good: Forger, request_: ApprovalRequest, orchestrator: Agent
) -> None:
    """The row is the authority: our own key cannot prolong what a person approved."""
    token = good.with_claims(exp=good.claims["iat"] + 7200)
    gate.let_expire(request_)
    with refused(request_, "INVALID_TOKEN"):
        gate.redeem(token, request_.action, orchestrator, uuid4())


def test_a_token_of_a_revoked_key_is_refused(
    good: Forger, request_: ApprovalRequest, orchestrator: Agent
) -> None:
    SigningKey.objects.update(state=SigningKey.State.REVOKED)
    with refused(request_, "INVALID_TOKEN"):
        gate.redeem(good.token, request_.action, orchestrator, uuid4())


def test_a_new_key_does_not_invalidate_what_the_old_one_signed(
    good: Forger, request_: ApprovalRequest, orchestrator: Agent
) -> None:
    assert key_create(actor="system:test").kid != good.header["kid"]
    assert gate.redeem(good.token, request_.action, orchestrator, uuid4())


def test_a_publish_token_pays_nothing_and_a_debit_token_publishes_nothing(
    good: Forger,
    request_: ApprovalRequest,
    orchestrator: Agent,
    cashier: Agent,
    reviewer: User,
) -> None:
    with refused(request_, "INVALID_TOKEN"):
        gate.redeem(good.token, gate.frozen_payment(), orchestrator, uuid4())
    debit = gate.opened(cashier, gate.frozen_payment())
    token = gate.signed(debit, reviewer)
    with refused(debit, "INVALID_TOKEN"):
        gate.redeem(token, request_.action, cashier, uuid4())


def test_an_access_token_is_no_approval_and_an_approval_no_access_token(
    good: Forger, request_: ApprovalRequest, orchestrator: Agent, api: Any
) -> None:
    access = api(orchestrator).defaults["HTTP_AUTHORIZATION"].removeprefix("Bearer ")
    with refused(request_, "INVALID_TOKEN"):
        gate.redeem(access, request_.action, orchestrator, uuid4())
    stranger = Client(headers={"Authorization": f"Bearer {good.token}"})
    answer = stranger.get(f"/api/v1/approvals/{request_.id}/")
    assert (answer.status_code, answer.json()["code"]) == (401, "UNAUTHENTICATED")


def test_the_token_says_what_the_interface_promises(
    good: Forger, request_: ApprovalRequest, reviewer: User, orchestrator: Agent
) -> None:
    assert good.header == {"alg": "EdDSA", "typ": "approval+jwt", "kid": good.header["kid"]}
    claims = good.claims
    assert claims["aud"] == "chimera:skill:publish_content"
    assert (claims["sub"], claims["act"]) == (str(reviewer.pk), str(orchestrator.id))
    assert claims["approval_id"] == str(request_.id)
    assert claims["action_digest"] == request_.action_digest
    assert 0 < claims["exp"] - claims["iat"] <= 7200
    assert claims["exp"] <= request_.token_expires_at.timestamp()
    for name in ("content_id", "content_sha256", "platform"):
        assert claims[name] == request_.action[name]
    assert token_verify(good.token, kind="publish_content") == claims


def test_the_published_keys_verify_the_token_anywhere(good: Forger) -> None:
    keys = Client().get("/.well-known/jwks.json").json()["keys"]
    (key,) = [key for key in keys if key["kid"] == good.header["kid"]]
    assert "d" not in key
    claims = jwt.decode(
        good.token, jwt.PyJWK(key), algorithms=["EdDSA"], audience=good.claims["aud"]
    )
    assert claims == good.claims


@pytest.mark.parametrize(
    "attack",
    ["alg none", "HS256 with the public key as PEM", "signature changed", "kid with a zero byte"],
)
def test_a_forged_token_fails_the_call_and_is_kept_nowhere(
    attack: str, orchestrator: Agent, reviewer: User, approval_key: Any
) -> None:
    content = gate.stored(orchestrator)
    gate.account(orchestrator, "aurora_style")
    request = gate.ask_publish(orchestrator, content)
    token = FORGED[attack](forger(gate.signed(request, reviewer)))
    before = gate.standing(request)
    data = {
        "content": content.current.data,
        "platform": "twitter",
        "approval_token": token,
    }
    execution = gate.call(orchestrator, "publish_content", data)
    assert (execution.status, execution.error["code"]) == ("failed", "INVALID_TOKEN")
    assert execution.error["http_status"] == 401
    assert execution.retry_count == 0
    assert gate.standing(request) == before
    assert execution.input["approval_token"] == "[redacted]"
    assert bytes(execution.sealed_token) == b""
    assert token not in json.dumps([execution.error, execution.output_text])


def test_a_missing_token_is_a_missing_field(orchestrator: Agent) -> None:
    content = gate.stored(orchestrator)
    for given in ({}, {"approval_token": ""}):
        with pytest.raises(ChimeraError) as refusal:
            submit(
                agent=orchestrator,
                skill_name="publish_content",
                data={"content": content.current.data, "platform": "twitter", **given},
                wake=False,
            )
        assert refusal.value.errors and "approval_token" in refusal.value.errors
        assert refusal.value.code == ("INVALID_TOKEN" if given else "INVALID_INPUT")
