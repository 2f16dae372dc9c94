"""The main job with a person's hand in a real browser, over the whole running platform.

CHIMERA_SCREENSHOTS=1 takes the pictures of docs/img anew.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from chimera.demo.journey import Ended, Journey
from tests.browser.conftest import DESKTOP, PHONE, browser_type_launch_args
from tests.helpers.books import Books, books_of, rpc
from tests.helpers.campaigns import Told, assert_one_post_and_one_debit, journey_of
from tests.helpers.pictures import save_picture
from tests.helpers.stack import Stack

__all__ = ["browser_type_launch_args"]
PICTURES = Path(__file__).parents[2] / "docs" / "img"


class Desk:
    """The reviewer at the desk; every step goes by the accessible names."""

    def __init__(self, browser: Browser, stack: Stack, **options: Any) -> None:
        self.context = browser.new_context(base_url=stack.url, **options)
        self.page = self.context.new_page()
        logins = stack.place.read("demo-logins.json")
        self.person = next(row for row in logins if row["role"] == "reviewer")

    def sign_in(self) -> None:
        self.page.goto("/review/")
        self.page.get_by_label("Username").fill(self.person["username"])
        self.page.get_by_label("Password").fill(self.person["password"])
        self.page.get_by_role("button", name="Sign in").click()
        expect(self.page.get_by_role("heading", name="Inbox")).to_be_visible()

    def open(self, approval_id: str) -> None:
        """From the inbox to one request."""
        self.page.goto("/review/")
        self.page.locator(f'a[href="/review/{approval_id}/"]').click()
        expect(self.page.get_by_role("button", name="Approve")).to_be_enabled()

    def approve(self) -> None:
        self.page.get_by_role("button", name="Approve").click()
        self.page.get_by_label("Confirm password").fill(self.person["password"])
        self.page.get_by_role("button", name="Sign").click()
        self.page.wait_for_url(re.compile(r"/review/[0-9a-f-]{36}/$"))

    def reject(self, reason: str) -> None:
        self.page.get_by_label("Reason").fill(reason)
        self.page.get_by_role("button", name="Reject").click()
        expect(self.page.get_by_text(reason)).to_be_visible()


@pytest.fixture
def desk(browser: Browser, stack: Stack) -> Iterator[Desk]:
    desk = Desk(browser, stack, viewport=DESKTOP, color_scheme="light")
    desk.sign_in()
    yield desk
    desk.context.close()


@pytest.fixture
def journey(stack: Stack) -> Journey:
    return journey_of(stack, Told())


def picture(page: Page, name: str) -> None:
    """Keep what the page shows, where pictures are asked for."""
    if os.environ.get("CHIMERA_SCREENSHOTS") == "1":
        save_picture(page, PICTURES / name)


@pytest.mark.req("C5", "C6", "A9.7")
def test_one_campaign_ends_as_a_post_and_a_payment_after_a_person_signed_both_in_the_browser(
    browser: Browser, stack: Stack, desk: Desk, journey: Journey
) -> None:
    before = books_of(stack)
    content, payment = journey.propose()
    post_id, payment_id = (journey.campaign.approvals[step] for step in ("publish", "debit"))
    assert books_of(stack).since(before) == Books((), (), (), before.held)

    desk.page.reload()
    picture(desk.page, "journey-inbox.png")
    desk.open(post_id)
    expect(desk.page.locator(".ch-text")).to_contain_text(content["captions"][:60].splitlines()[0])
    picture(desk.page, "journey-request.png")
    _picture_phone(browser, stack, desk, post_id)
    desk.approve()
    desk.open(payment_id)
    picture(desk.page, "journey-payment.png")
    desk.approve()
    settled = journey.settle(content, payment)

    assert_one_post_and_one_debit(stack, before, settled)
    desk.page.goto(settled.post_url)
    expect(desk.page.locator(".text")).to_contain_text(content["captions"].splitlines()[0])
    picture(desk.page, "journey-post.png")
    desk.page.goto(f"/review/{payment_id}/")
    assert desk.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    expect(desk.page.get_by_role("button", name="Approve")).to_have_count(0)
    assert int(rpc(stack, "eth_getTransactionByHash", settled.tx_id)["blockNumber"], 16) > 0


def _picture_phone(browser: Browser, stack: Stack, desk: Desk, approval_id: str) -> None:
    phone = browser.new_context(
        base_url=stack.url,
        viewport=PHONE,
        color_scheme="dark",
        storage_state=desk.context.storage_state(),
    )
    page = phone.new_page()
    page.goto(f"/review/{approval_id}/")
    expect(page.get_by_role("button", name="Approve")).to_be_enabled()
    picture(page, "journey-request-phone-dark.png")
    phone.close()


@pytest.mark.req("C5")
def test_a_rejection_with_its_reason_reaches_the_agent_and_nothing_is_posted_or_paid(
    stack: Stack, desk: Desk, journey: Journey
) -> None:
    before = books_of(stack)
    content, payment = journey.propose()
    for step in ("publish", "debit"):
        desk.open(journey.campaign.approvals[step])
        desk.reject(f"The {step} names no source.")
    with pytest.raises(Ended, match=r"post was not approved: rejected .*publish names no source"):
        journey.settle(content, payment)
    approval = journey.payer.approval(journey.campaign.approvals["debit"])
    assert (approval["status"], approval["reason"]) == (
        "rejected",
        "The debit names no source.",
    )
    assert approval["approval_token"] is None
    ended = journey.payer.execution(payment["id"])
    while ended["status"] == "blocked":
        ended = journey.payer.execution(payment["id"])
    assert ended["status"] == "failed" and ended["error"]["code"] == "FORBIDDEN"
    assert ended["error"]["details"]["reason"] == "The debit names no source."
    assert books_of(stack) == before
