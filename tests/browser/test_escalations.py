"""What needs a person, in a browser: keys, names, both sizes, and nothing against WCAG 2 A and AA."""

import pytest
from playwright.sync_api import expect

from approvals.models import Escalation
from content.models import Publication
from tests.browser.conftest import DESKTOP, PHONE, Open
from tests.browser.test_accessibility import violations
from tests.helpers.desk_samples import post_request
from tests.helpers.trouble_samples import debit_trouble, plain_trouble, post_trouble, unknown_debit


def address(item: Escalation) -> str:
    return f"/review/escalations/{item.id}/"


@pytest.mark.req("X2")
@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_a_person_finds_an_unknown_post_in_the_inbox_and_says_that_it_is_live(
    open_page: Open, viewport: dict[str, int]
) -> None:
    post_trouble()
    page = open_page("/review/", viewport=viewport)
    page.get_by_role("link", name="Post on X as @aurora_style").click()
    page.get_by_label("Address of the post").fill("https://x.com/aurora_style/status/42")
    page.get_by_label("How you know").first.fill("Seen on the profile.")
    page.get_by_role("button", name="It is live").click()
    expect(page.get_by_text("Kept as published")).to_be_visible()
    assert Publication.objects.get().post_id == "42"
    assert Escalation.objects.get().state == "settled"


def test_keys_reach_an_item_open_it_and_go_to_its_note(open_page: Open) -> None:
    item = plain_trouble()
    post_request()
    page = open_page("/review/")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{address(item)}")
    page.keyboard.press("r")
    page.keyboard.type("Funded.")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Settled.", exact=True)).to_be_visible()
    assert Escalation.objects.get().note == "Funded."


def test_an_item_without_a_note_is_not_sent(open_page: Open) -> None:
    page = open_page(address(plain_trouble()))
    page.get_by_role("button", name="Settle").click()
    expect(page.get_by_label("Note")).to_be_focused()
    assert Escalation.objects.get().state == "open"


@pytest.mark.req("X2")
def test_a_post_that_comes_up_while_the_page_is_open_stops_the_verdict(open_page: Open) -> None:
    page = open_page(address(post_trouble()))
    Publication.objects.update(state="published", post_id="1", post_url="https://x.com/1")
    expect(page.get_by_text("The post is live.")).to_be_visible(timeout=20_000)
    expect(page.get_by_role("button", name="It was not posted")).to_be_disabled()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    "viewport", [DESKTOP, PHONE, {"width": 320, "height": 640}], ids=["desktop", "phone", "small"]
)
def test_the_pages_of_items_fit_the_screen_and_have_no_accessibility_violation(
    open_page: Open, viewport: dict[str, int], scheme: str
) -> None:
    items = [post_trouble(), debit_trouble(unknown_debit()), plain_trouble(3)]
    page = open_page("/review/", viewport=viewport, color_scheme=scheme)
    found = {}
    for path in ("/review/", "/review/?show=settled", *map(address, items)):
        page.goto(path)
        found[path] = violations(page)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
    assert {path: lines for path, lines in found.items() if lines} == {}
