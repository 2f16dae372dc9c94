"""The keys of the approval tokens: private halves as files for the web process, public ones for all."""

import base64
import hashlib
import json
import os
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from django.conf import settings
from django.db import transaction

from approvals.models import SigningKey
from chimera.core import audit
from chimera.core.digest import canonical
from chimera.core.errors import ChimeraError


def _b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def public_jwk(key: Ed25519PublicKey) -> dict[str, str]:
    """The key as a JWK (RFC 8037)."""
    raw = key.public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
    return {"kty": "OKP", "crv": "Ed25519", "x": _b64(raw)}


def thumbprint(jwk: dict[str, str]) -> str:
    """RFC 7638 thumbprint."""
    required = {name: jwk[name] for name in ("crv", "kty", "x")}
    return _b64(hashlib.sha256(canonical(required)).digest())


def key_create(*, actor: str) -> SigningKey:
    """A new active key; the one before it goes on verifying what it signed."""
    private = Ed25519PrivateKey.generate()
    jwk = public_jwk(private.public_key())
    kid = thumbprint(jwk)
    _write(settings.CHIMERA.keys_dir / f"{kid}.pem", private)
    with transaction.atomic():
        SigningKey.objects.filter(state=SigningKey.State.ACTIVE).update(
            state=SigningKey.State.RETIRING
        )
        key = SigningKey.objects.create(kid=kid, public_jwk=jwk)
        audit.record(
            actor=actor,
            action="key.created",
            object_type="signing_key",
            object_id=kid,
            data={"public_jwk": jwk},
        )
    return key


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
    return SigningKey.objects.filter(state=SigningKey.State.ACTIVE).first() or key_create(
        actor=actor
    )


def signing_key() -> tuple[str, Ed25519PrivateKey]:
    """kid and private half of the active key. Only the web process and commands may open it."""
    if settings.CHIMERA.chimera_process in ("worker", "scheduler"):
        raise ChimeraError("SECURITY_VIOLATION", "Workers hold public keys only")
    active = SigningKey.objects.filter(state=SigningKey.State.ACTIVE).first()
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


def verifying_key(kid: str) -> Ed25519PublicKey | None:
    """The public half of a key that may verify, by its kid; None for unknown and revoked ones."""
    found = SigningKey.objects.exclude(state=SigningKey.State.REVOKED).filter(kid=kid).first()
    if found is None:
        return None
    x = found.public_jwk["x"]
    return Ed25519PublicKey.from_public_bytes(base64.urlsafe_b64decode(x + "=" * (-len(x) % 4)))


def jwks() -> dict[str, list[dict[str, str]]]:
    """The public keys as a JWK set, for verifiers outside."""
    usable = SigningKey.objects.exclude(state=SigningKey.State.REVOKED).order_by("-created_at")
    return {
        "keys": [{**key.public_jwk, "kid": key.kid, "alg": "EdDSA", "use": "sig"} for key in usable]
    }


def jwks_text() -> str:
    """The JWK set as JSON."""
    return json.dumps(jwks())
