"""axe-core finds nothing against WCAG 2 A and AA on any page of the desk, in light and in dark."""

from pathlib import Path

import pytest
from playwright.sync_api import Page

from approvals.services import request_reject
from tests.browser.conftest import PHONE, Open
from tests.helpers.desk_samples import payment_request, person, post_request, question_request

AXE = (Path(__file__).parent / "vendor" / "axe.min.js").read_text()
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]


def violations(page: Page) -> list[str]:
    """What axe finds, one line each, with the first element it was found on."""
    page.evaluate(AXE)
    found = page.evaluate("rules => axe.run(document, {runOnly: rules})", RULES)
    return [
        f"{item['id']}: {item['nodes'][0]['html'][:160]} {item['nodes'][0]['failureSummary'][:200]}"
        for item in found["violations"]
    ]


def desk_paths() -> list[str]:
    """One path of every kind of page, with something on each."""
    issue = {
        "rule": "sources",
        "severity": "warning",
        "message": "A claim without a source",
        "field": "script",
    }
    post = post_request(issues=[issue], fallback_platforms=["instagram"])
    others = [
        post_request("Hidden \u200b and long " + "word " * 60, platform=name)
        for name in ("twitter", "tiktok", "youtube")
    ]
    decided = post_request("another text for a decided one")
    request_reject(
        request_id=decided.id,
        reviewer=person("second"),
        reason="No.",
        shown_digest=decided.action_digest,
    )
    asked = question_request(more={"deeper": {"deepest": ["a" * 100, "b" * 100]}})
    shown = (post, *others, payment_request(known=True), asked, decided)
    items = [f"/review/{item.id}/" for item in shown]
    return [
        "/",
        "/review/",
        "/review/?show=decided",
        *items,
        f"/review/{post.id}/sign/",
        "/accounts/logout/",
        "/review/no-such-page/",
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_of_the_desk_has_an_accessibility_violation(open_page: Open, scheme: str) -> None:
    paths = desk_paths()
    page = open_page(paths[0], color_scheme=scheme)
    found = {}
    for path in paths:
        page.goto(path)
        found[path] = violations(page)
    assert {path: lines for path, lines in found.items() if lines} == {}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_phone_pages_have_no_accessibility_violation(open_page: Open, scheme: str) -> None:
    paths = ["/", "/review/", f"/review/{post_request().id}/", f"/review/{payment_request().id}/"]
    page = open_page(paths[0], color_scheme=scheme, viewport=PHONE)
    found = {}
    for path in paths:
        page.goto(path)
        found[path] = violations(page)
    assert {path: lines for path, lines in found.items() if lines} == {}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_sign_in_page_and_the_empty_inbox_have_no_violation(
    open_page: Open, scheme: str
) -> None:
    assert violations(open_page("/accounts/login/", signed_in=False, color_scheme=scheme)) == []
    assert violations(open_page("/review/", color_scheme=scheme)) == []
