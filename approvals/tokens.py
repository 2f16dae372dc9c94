"""Approval tokens: JWS compact, EdDSA, exactly one action each. Read and written only in this app.

Claims: iss, aud `chimera:skill:<kind>`, sub (reviewer), act (agent), jti, iat, nbf, exp
(exp - iat <= 7200), approval_id, action_digest, auth_time; for content also content_id,
content_sha256, platform. PyJWT checks the signature; what it lets pass is checked here. One
signature has one spelling: the last character of its base64url carries four bits that must be 0.
"""

import base64
import json
import re
from datetime import datetime
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.conf import settings

from approvals.keys import signing_key, verifying_key
from chimera.core.clock import now
from chimera.core.errors import ChimeraError

MAX_LIFE = 7200
LEEWAY = 30
MAX_LENGTH = 4096
_COMPACT = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]{85}[AQgw]")
_KID = re.compile(r"[A-Za-z0-9_-]{43}")
_TIMES = ("iat", "nbf", "exp", "auth_time")
_REQUIRED = [
    "iss",
    "aud",
    "sub",
    "act",
    "jti",
    "iat",
    "nbf",
    "exp",
    "approval_id",
    "action_digest",
    "auth_time",
]


def audience(kind: str) -> str:
    """The `aud` of tokens for a kind of action."""
    return f"chimera:skill:{kind}"


def token_sign(
    *,
    kind: str,
    action: dict[str, Any],
    action_digest: str,
    approval_id: str,
    reviewer: str,
    agent: str,
    jti: str,
    auth_time: datetime,
    expires_at: datetime,
    key: tuple[str, Ed25519PrivateKey] | None = None,
) -> tuple[str, str]:
    """(token, kid) for one approved action. key: default the one that signs for persons."""
    issued = int(now().timestamp())
    claims: dict[str, Any] = {
        "iss": settings.CHIMERA.issuer,
        "aud": audience(kind),
        "sub": reviewer,
        "act": agent,
        "jti": jti,
        "iat": issued,
        "nbf": issued,
        "exp": min(int(expires_at.timestamp()), issued + MAX_LIFE),
        "approval_id": approval_id,
        "action_digest": action_digest,
        "auth_time": int(auth_time.timestamp()),
    }
    claims |= {
        name: action[name]
        for name in ("content_id", "content_sha256", "platform")
        if name in action
    }
    kid, private = key or signing_key()
    token = jwt.encode(
        claims, private, algorithm="EdDSA", headers={"typ": "approval+jwt", "kid": kid}
    )
    return token, kid


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name stands twice")
    return found


def _part(text: str) -> dict[str, Any]:
    """One JSON part of a token; duplicate names and anything but an object are refused."""
    value = json.loads(
        base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)), object_pairs_hook=_unique
    )
    if not isinstance(value, dict):
        raise ValueError("not an object")
    return value


def _invalid(why: str) -> ChimeraError:
    message = f"The approval token is not valid: {why}"
    return ChimeraError("INVALID_TOKEN", message, errors={"approval_token": [message]})


def token_verify(token: str, *, kind: str, may_be_expired: bool = False) -> dict[str, Any]:
    """The claims of a token that this deployment signed for this kind of action.

    INVALID_TOKEN or TOKEN_EXPIRED otherwise. `may_be_expired` is for the retry of an execution that
    has already used the approval up.
    """
    if len(token) > MAX_LENGTH or not _COMPACT.fullmatch(token):
        raise _invalid("it is not a compact JWS")
    try:
        header, claims = (_part(part) for part in token.split(".")[:2])
    except (ValueError, RecursionError):
        raise _invalid("its header or claims cannot be read") from None
    key = _key_of(header, kind)
    _check_times(claims)
    try:
        jwt.decode(
            token,
            key,
            algorithms=["EdDSA"],
            audience=audience(kind),
            issuer=settings.CHIMERA.issuer,
            leeway=LEEWAY,
            options={"require": _REQUIRED, "strict_aud": True, "verify_exp": False},
        )
    except jwt.InvalidTokenError as problem:
        raise _invalid(str(problem)) from None
    if claims["exp"] <= now().timestamp() and not may_be_expired:
        message = "The approval token has expired; ask for a new approval"
        raise ChimeraError("TOKEN_EXPIRED", message, errors={"approval_token": [message]})
    return claims


def _key_of(header: dict[str, Any], kind: str) -> Any:
    if set(header) != {"alg", "typ", "kid"}:
        raise _invalid("its header must hold alg, typ and kid and nothing else")
    if header["alg"] != "EdDSA" or header["typ"] != "approval+jwt":
        raise _invalid("alg must be EdDSA and typ approval+jwt")
    kid = header["kid"]
    known = isinstance(kid, str) and _KID.fullmatch(kid)
    key = verifying_key(kid, kind) if known else None
    if key is None:
        raise _invalid("its key is unknown or revoked")
    return key


def _check_times(claims: dict[str, Any]) -> None:
    """Shape and span of the times; whether they fit the clock is asked once the signature holds."""
    times = [claims.get(name) for name in _TIMES]
    if not all(isinstance(value, int) and not isinstance(value, bool) for value in times):
        raise _invalid("its times must be whole numbers")
    if not 0 < claims["exp"] - claims["iat"] <= MAX_LIFE:
        raise _invalid(f"it may live at most {MAX_LIFE} seconds")
