"""Profiles signed as an agent signs them, and signatures made wrong in one respect."""

from typing import Any
from uuid import uuid4

import jwt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from chimera.core.digest import canonical
from chimera.core.jwk import public_jwk, thumbprint


class Signer:
    """An agent outside the platform, with a key of its own."""

    def __init__(self) -> None:
        self.agent_id = str(uuid4())
        self.private = Ed25519PrivateKey.generate()

    def profile(self, **changes: Any) -> dict[str, Any]:
        return {"agent_id": self.agent_id, "name": "Aurora", "reputation_score": 0.5} | changes

    def body(self, sequence: Any = 1, **changes: Any) -> dict[str, Any]:
        """What is PUT: the profile and its signature."""
        profile = self.profile(**changes)
        payload = canonical({"profile": profile, "sequence": sequence})
        return {"profile": profile, "signature": self.sign(payload)}

    def sign(self, payload: bytes, **headers: Any) -> str:
        jwk = public_jwk(self.private.public_key())
        named = {"typ": "agent-profile+jws", "kid": thumbprint(jwk), "jwk": jwk}
        return jwt.PyJWS().encode(payload, self.private, algorithm="EdDSA", headers=named | headers)
