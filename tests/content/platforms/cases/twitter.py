"""X under contract."""

from tests.content.platforms.cases import Case

CASE = Case(
    platform="twitter",
    files=("jpg", "png"),
    text_only=True,
    prepare=(
        ("GET", "/2/users/me"),
        ("POST", "/initialize"),
        ("POST", "/append"),
        ("POST", "/finalize"),
    ),
    send=("POST", "/2/tweets"),
    lookup=("GET", "/tweets"),
    once=(("POST", "/initialize"),),
)
