"""The keys of the approval tokens: private halves as files for the web process, public ones for all.

The sandbox's judge has a key of its own kind, which never touches a disk.
"""

import base64
import json
import os
from functools import cache
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet

from approvals.models import Kind, SigningKey
from chimera.core import audit
from chimera.core.errors import ChimeraError
from chimera.core.jwk import public_jwk, thumbprint


def key_create(*, actor: str) -> SigningKey:
    """A new active key; the one before it goes on verifying what it signed."""
    private = Ed25519PrivateKey.generate()
    jwk = public_jwk(private.public_key())
    kid = thumbprint(jwk)
    _write(settings.CHIMERA.keys_dir / f"{kid}.pem", private)
    with transaction.atomic():
        _active().update(state=SigningKey.State.RETIRING)
        key = SigningKey.objects.create(kid=kid, public_jwk=jwk)
        _audit_creation(key, actor)
    return key


def _audit_creation(key: SigningKey, actor: str) -> None:
    audit.record(
        actor=actor,
        action="key.created",
        object_type="signing_key",
        object_id=key.kid,
        data={"public_jwk": key.public_jwk},
    )


def _active() -> QuerySet[SigningKey]:
    """The key that signs for persons, if there is one."""
    return SigningKey.objects.filter(kind=SigningKey.Kind.PERSON, state=SigningKey.State.ACTIVE)


def _write(path: Path, private: Ed25519PrivateKey) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    pem = private.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(pem)


def key_ensure(*, actor: str) -> SigningKey:
    """The active key; made when there is none yet."""
    return _active().first() or key_create(actor=actor)


def signing_key() -> tuple[str, Ed25519PrivateKey]:
    """kid and private half of the active key. Only the web process and commands may open it."""
    if settings.CHIMERA.chimera_process in ("worker", "scheduler"):
        raise ChimeraError("SECURITY_VIOLATION", "Workers hold public keys only")
    active = _active().first()
    if active is None:
        raise ChimeraError("INTERNAL_ERROR", "There is no approval key; run manage.py setup")
    path = settings.CHIMERA.keys_dir / f"{active.kid}.pem"
    try:
        private = serialization.load_pem_private_key(path.read_bytes(), None)
    except OSError:
        raise ChimeraError(
            "INTERNAL_ERROR", f"The approval key {active.kid} is not in CHIMERA_APPROVAL_KEYS"
        ) from None
    assert isinstance(private, Ed25519PrivateKey)  # key_create writes nothing else
    return active.kid, private


@cache
def _judge_private() -> Ed25519PrivateKey:
    """This process's own: what another process has signed is verified by the public half."""
    return Ed25519PrivateKey.generate()


def judge_key(*, actor: str) -> tuple[str, Ed25519PrivateKey]:
    """kid and private half of the key that the judge signs with. SECURITY_VIOLATION outside the sandbox."""
    if not settings.CHIMERA.is_sandbox:
        raise ChimeraError("SECURITY_VIOLATION", "A judge signs in a sandbox only")
    private = _judge_private()
    jwk = public_jwk(private.public_key())
    kid = thumbprint(jwk)
    made = {"public_jwk": jwk, "kind": SigningKey.Kind.JUDGE}
    with transaction.atomic():
        key, fresh = SigningKey.objects.get_or_create(kid=kid, defaults=made)
        if fresh:
            _audit_creation(key, actor)
    return kid, private


def _standing() -> QuerySet[SigningKey]:
    return SigningKey.objects.exclude(state=SigningKey.State.REVOKED)


def verifying_key(kid: str, action_kind: str) -> Ed25519PublicKey | None:
    """The public half of a key whose signature counts here for this kind of action, by its kid.

    None for unknown and revoked ones. A judge's counts in a sandbox, for an intent.
    """
    found = _standing().filter(kid=kid).first()
    if found is None:
        return None
    judged = settings.CHIMERA.is_sandbox and action_kind == Kind.INTENT
    if found.kind != SigningKey.Kind.PERSON and not judged:
        return None
    x = found.public_jwk["x"]
    return Ed25519PublicKey.from_public_bytes(base64.urlsafe_b64decode(x + "=" * (-len(x) % 4)))


def jwks() -> dict[str, list[dict[str, str]]]:
    """The public keys as a JWK set, for verifiers outside; a judge's is for none of them."""
    usable = _standing().filter(kind=SigningKey.Kind.PERSON).order_by("-created_at")
    return {
        "keys": [{**key.public_jwk, "kid": key.kid, "alg": "EdDSA", "use": "sig"} for key in usable]
    }


def jwks_text() -> str:
    """The JWK set as JSON."""
    return json.dumps(jwks())
