"""Instagram under contract."""

from tests.content.platforms.cases import Case

PREPARE = (
    ("GET", "/v25.0/me"),
    ("GET", "/content_publishing_limit"),
    ("POST", "/media"),
    ("GET", "/v25.0/178"),
)
SEND, LOOKUP = ("POST", "/media_publish"), ("GET", "/v25.0/178")

CASE = Case(
    platform="instagram",
    files=("jpg",),
    prepare=PREPARE,
    send=SEND,
    lookup=LOOKUP,
    # A long-lived token that has expired cannot be renewed: a person connects the account again.
    # The tests of the adapter prove that the same container is gone on with then.
    skips=frozenset(
        ("token_expired", step)
        for step in ("prepare", "send", "lookup", *(path for _, path in (*PREPARE, SEND)))
    ),
)
