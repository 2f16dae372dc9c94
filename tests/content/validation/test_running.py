"""Rules in bounded time: what fails or does not end is never "nothing found"."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from chimera.env import ROOT
from content import wordlists
from content.validation.issue import Issue
from content.validation.page import page
from content.validation.rules import FAMILIES, Case, rules_of
from content.validation.running import run
from tests.content.samples import package, persona

FOUND = Issue(rule="r", severity="warning", message="m", field="captions")


def sound() -> Iterator[Issue]:
    yield FOUND


def broken() -> Iterator[Issue]:
    yield FOUND
    raise KeyError("error")


@pytest.mark.req("A4.6")
def test_a_rule_that_does_not_end_is_given_up_with_what_was_found() -> None:
    release = threading.Event()
    began = time.monotonic()
    done = run([("sound", sound), ("slow", lambda: [FOUND] * release.wait(30))], seconds=0.2)
    release.set()
    assert time.monotonic() - began < 2
    assert (done.in_time, done.at_work) == (False, "slow")
    assert [(i.rule, i.severity) for i in done.issues] == [("slow", "error"), ("r", "warning")]


@pytest.mark.req("A4.7")
def test_a_rule_that_fails_is_named_and_the_others_still_run() -> None:
    done = run([("broken", broken), ("sound", sound)])
    assert (done.in_time, done.failed) == (True, ["broken"])
    assert [i.severity for i in done.issues] == ["error", "warning"]


def test_rules_that_end_leave_only_their_findings() -> None:
    done = run([("sound", sound)])
    assert done.in_time and not done.failed and done.issues == [FOUND]


@pytest.mark.parametrize("content", ["", "[error]\n# nothing\n"])
def test_an_empty_word_list_is_an_error_not_a_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str
) -> None:
    (tmp_path / "some.txt").write_text(content)
    monkeypatch.setattr(wordlists, "_FOLDER", tmp_path)
    with pytest.raises(ValueError, match=r"some\.txt is empty"):
        wordlists.sections("some")


HOSTILE = {
    "quotes": "“" * 5000,
    "inch marks": '" ' * 2500,
    "digits": "1" * 4990 + "@x",
    "dots": "1." * 2490 + "@",
    "capitals": "AAAA " * 1000,
    "names": "a Aa Aa " * 600,
    "addresses": "http://a" * 600,
    "labels": "a." * 2500,
    "mentions": "@a" * 2500,
    "hidden": "\u200b" * 5000,
    "selectors": "😀\ufe01" * 2500,
    "lyrics": "[verse" * 800,
    "claims": "cures " * 830,
    "shouts": "!?" * 2500,
    "accents": "e\u0301" * 2500,
    "digits for letters": "5h1t$" * 1000,
}


@pytest.mark.req("A4.6")
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_no_text_keeps_the_rules_busy_past_their_time(text: str) -> None:
    strict = persona(
        vocabulary__forbidden_words=[f"word{n}" for n in range(100)],
        brand_guidelines__forbidden_associations=[f"two words {n}" for n in range(50)],
    )
    variants = {"tiktok": {"description": text[:2200]}, "instagram": {"caption": text[:2200]}}
    hostile = package(
        script=text[:5000].ljust(50), captions=text[:2000].ljust(20), platform_variants=variants
    )
    assert run(rules_of(Case(hostile, strict, source_text=text))).in_time


@pytest.mark.req("A4.2")
def test_every_family_says_what_it_can_and_cannot_see_and_the_page_repeats_it() -> None:
    for module in FAMILIES.values():
        assert module.CAN_SEE and module.CANNOT_SEE
    assert (ROOT / "docs" / "validation.md").read_text() == page()
