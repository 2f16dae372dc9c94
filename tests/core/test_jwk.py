"""Public keys as JSON and their names, held against the examples of RFC 8037."""

import base64

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from chimera.core.jwk import public_jwk, thumbprint

X = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"
KID = "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"


def test_a_public_key_is_written_as_in_appendix_a_2() -> None:
    key = Ed25519PublicKey.from_public_bytes(base64.urlsafe_b64decode(f"{X}="))

    assert public_jwk(key) == {"kty": "OKP", "crv": "Ed25519", "x": X}


def test_a_key_is_named_as_in_appendix_a_3_whatever_else_stands_in_it() -> None:
    jwk = {"use": "sig", "x": X, "kty": "OKP", "crv": "Ed25519"}

    assert thumbprint(jwk) == KID
