"""Encryption at rest for credentials and tokens: Fernet under a key derived from SECRET_KEY."""

import base64
from functools import lru_cache

from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

from chimera.core.errors import ChimeraError

SHORTEST = 8


@lru_cache(maxsize=4)
def _fernet(secret: str) -> Fernet:
    derived = HKDF(SHA256(), 32, salt=None, info=b"chimera.secrets").derive(secret.encode())
    return Fernet(base64.urlsafe_b64encode(derived))


def without(body: bytes, secrets: set[str]) -> bytes:
    """The bytes with `[redacted]` in place of each secret; short ones could be any word."""
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= SHORTEST:
            body = body.replace(secret.encode(), b"[redacted]")
    return body


def encrypt(plain: bytes) -> bytes:
    """Authenticated encryption; the result is ASCII."""
    return _fernet(settings.SECRET_KEY).encrypt(plain)


def decrypt(sealed: bytes | memoryview) -> bytes:
    """The plain bytes; INTERNAL_ERROR when they were sealed under another SECRET_KEY."""
    try:
        return _fernet(settings.SECRET_KEY).decrypt(bytes(sealed))
    except InvalidToken:
        message = "A stored credential cannot be read: SECRET_KEY differs from the one it was stored under"
        raise ChimeraError("INTERNAL_ERROR", message) from None
