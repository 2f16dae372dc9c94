"""Remote handles as they are stored: those that are secrets (an upload's address) sealed."""

from chimera.core.secrets import decrypt, encrypt

_SEALED = "sealed:"


def handle_seal(value: str) -> str:
    """The stored form of a secret handle; an empty one hides nothing."""
    return _SEALED + encrypt(value.encode()).decode() if value else ""


def handles_open(stored: dict[str, str]) -> dict[str, str]:
    """All handles in plain text, for an adapter alone."""
    return {
        name: decrypt(value.removeprefix(_SEALED).encode()).decode()
        if value.startswith(_SEALED)
        else value
        for name, value in stored.items()
    }


def handles_shown(stored: dict[str, str]) -> dict[str, str]:
    """What a person may see of them: all but the secret ones."""
    return {name: value for name, value in stored.items() if not value.startswith(_SEALED)}
