"""The agents' own Ed25519 keys: made on demand, the private half encrypted in the database.

What an agent says to the world outside is a JWS over RFC 8785 JSON with a sequence number, so that
a reader can check who said it and tell old from new.
"""

import json
from typing import Any
from uuid import UUID

import jwt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.db import IntegrityError, transaction
from django.db.models import F

from agents.models import AgentKey
from chimera.core import audit
from chimera.core.digest import canonical
from chimera.core.jwk import public_jwk, thumbprint
from chimera.core.secrets import decrypt, encrypt

TYPE = "agent-profile+jws"


def agent_key_ensure(*, agent_id: UUID) -> AgentKey:
    """The agent's key; of two processes that make it at once the database keeps one."""
    found = AgentKey.objects.filter(agent_id=agent_id).first()
    if found:
        return found
    try:
        with transaction.atomic():
            return _create(agent_id)
    except IntegrityError:
        return AgentKey.objects.get(agent_id=agent_id)


def _create(agent_id: UUID) -> AgentKey:
    private = Ed25519PrivateKey.generate()
    jwk = public_jwk(private.public_key())
    key = AgentKey.objects.create(
        agent_id=agent_id,
        kid=thumbprint(jwk),
        public_jwk=jwk,
        sealed_private=encrypt(private.private_bytes_raw()),
    )
    audit.record(
        actor="system:agents",
        action="agent_key.created",
        object_type="agent",
        object_id=agent_id,
        data={"kid": key.kid, "public_jwk": jwk},
    )
    return key


def sequence_next(*, key: AgentKey) -> int:
    """The next number of the agent's statements. The update locks the row until the commit."""
    mine = AgentKey.objects.filter(agent_id=key.agent_id)
    mine.update(sequence=F("sequence") + 1)
    return mine.get().sequence


def sequence_raise(*, agent_id: UUID, seen: int) -> None:
    """Go on above a number that was seen outside: a restored database may have forgotten it."""
    AgentKey.objects.filter(agent_id=agent_id, sequence__lt=seen).update(sequence=seen)


def statement_sign(*, key: AgentKey, statement: dict[str, Any]) -> str:
    """Compact JWS over the canonical JSON of the statement; `kid` and public key in its header."""
    private = Ed25519PrivateKey.from_private_bytes(decrypt(key.sealed_private))
    headers = {"typ": TYPE, "kid": key.kid, "jwk": key.public_jwk}
    return jwt.PyJWS().encode(canonical(statement), private, algorithm="EdDSA", headers=headers)


def statement_read(signature: Any, *, own: str) -> dict[str, Any] | None:
    """What a statement says; None unless it is signed with the key of `own`, a signature of ours."""
    key = jwt.PyJWK.from_dict(jwt.get_unverified_header(own)["jwk"], algorithm="EdDSA")
    try:
        said = json.loads(jwt.PyJWS().decode(signature, key, algorithms=["EdDSA"]))
    except (jwt.InvalidTokenError, ValueError, TypeError, AttributeError):
        return None
    return said if isinstance(said, dict) else None


def as_signed(value: Any) -> Any:
    """The value as a reader of the canonical JSON sees it."""
    return json.loads(canonical(value))
