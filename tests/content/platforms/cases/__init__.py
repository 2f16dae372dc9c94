"""One module per platform that has a local server: `CASE` says what the contract suite must know of it.

A new file `cases/<platform>.py` beside a new `tests/fakes/<platform>.py` puts the platform under the
whole of `test_contract.py`; nothing else is edited.
"""

import importlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Call = tuple[str, str]
"""Method and a part of the path, which faults are aimed at."""


@dataclass(frozen=True)
class Case:
    """A platform under contract.

    files: endings of the media of a good post (jpg, png, mp4). text_only: it takes a post without
    media. prepare: the calls before the post, each aimed at in turn; send: the call that posts;
    lookup: the call that looks the post up. once: calls that happen once per intent even when the
    token expires in the middle (the beginning of an upload, a container). variants: platform_variants
    of the package. caption: the package's captions. wanted: what the account is opened with.
    absence: "resend" where a look-up that finds nothing proves that there is no post, else "person".
    skips: (kind of fault, step) that make no sense here, with the reason as a comment beside them.
    """

    platform: str
    prepare: tuple[Call, ...]
    send: Call
    lookup: Call
    files: tuple[str, ...] = ("jpg",)
    text_only: bool = False
    once: tuple[Call, ...] = ()
    variants: dict[str, Any] = field(default_factory=dict)
    caption: str = "Merkato knew first. Three looks, one market, zero waste. Made with AI."
    wanted: dict[str, Any] = field(default_factory=dict)
    absence: str = "resend"
    skips: frozenset[tuple[str, str]] = frozenset()


def all_cases() -> list[Case]:
    """Every case of this folder, by name."""
    names = sorted(path.stem for path in Path(__file__).parent.glob("[a-z]*.py"))
    return [importlib.import_module(f"{__name__}.{name}").CASE for name in names]
