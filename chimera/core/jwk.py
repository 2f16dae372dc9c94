"""Ed25519 public keys as JSON: what is kept, shown and named of a key."""

import base64
import hashlib

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from chimera.core.digest import canonical


def public_jwk(key: Ed25519PublicKey) -> dict[str, str]:
    """The key as a JWK (RFC 8037)."""
    return {"crv": "Ed25519", "kty": "OKP", "x": _b64(key.public_bytes_raw())}


def thumbprint(jwk: dict[str, str]) -> str:
    """RFC 7638 thumbprint of a JWK; members that do not belong to the key itself do not count."""
    return _b64(
        hashlib.sha256(canonical({name: jwk[name] for name in ("crv", "kty", "x")})).digest()
    )


def _b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
