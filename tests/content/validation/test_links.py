"""Links and mentions: only those of the trend, the persona and the campaign pass unremarked."""

import pytest

from content.validation import links
from content.validation.issue import Issue
from tests.content.samples import package

KNOWN = "https://news.example/addis-style\nwith @Merkato_Market"


def found(text: str, known: str = KNOWN) -> list[Issue]:
    return list(links.check(package(captions=text.ljust(20), platform_variants=None), known))


@pytest.mark.req("A4.2")
@pytest.mark.parametrize(
    "text",
    [
        "Read https://news.example/addis-style today",
        "Read www.news.example/addis-style/.",
        "Read (http://NEWS.example/addis-style)!",
        "With @merkato_market, today",
        "Write to me@merkato.nowhere, a 3.5 km walk, e.g. now.",
    ],
)
def test_what_the_trend_names_is_not_remarked(text: str) -> None:
    assert found(text) == []


@pytest.mark.req("A4.2")
@pytest.mark.parametrize(
    ("text", "rule", "shown"),
    [
        ("Read https://evil.example/x today", "link", "https://evil.example/x"),
        ("Read https://news.example/other.", "link", "https://news.example/other"),
        ("Read bit.ly/3xY today", "link", "bit.ly/3xY"),
        ("Read shop-now.com today, folks", "link", "shop-now.com"),
        ("With @somebody_else, today", "mention", "@somebody_else"),
    ],
)
def test_other_links_and_mentions_are_warnings_with_their_place(
    text: str, rule: str, shown: str
) -> None:
    [issue] = found(text)
    assert (issue.rule, issue.severity) == (rule, "warning")
    assert text[issue.start : issue.end] == shown


@pytest.mark.req("A4.2")
@pytest.mark.parametrize(
    "link",
    [
        "https://nеws.example/addis-style",  # a Cyrillic letter
        "https://xn--nws-qdd.example/addis-style",  # the same in punycode
        "https://news.example@evil.example/addis-style",
    ],
)
def test_an_address_that_imitates_another_is_an_error(link: str) -> None:
    assert "error" in {issue.severity for issue in found(f"Read {link} today")}
