"""The desk in a browser: names, keys, what is on screen, and what changes while a page is open."""

import re

import pytest
from playwright.sync_api import Page, expect

from approvals.models import ApprovalRequest
from approvals.services import request_reject
from tests.browser.conftest import DESKTOP, PHONE, Open
from tests.helpers.desk_samples import (
    PASSWORD,
    make_late,
    payment_request,
    person,
    post_request,
    question_request,
)


def status_of(request: ApprovalRequest) -> str:
    return ApprovalRequest.objects.get(id=request.id).status


def bottom(page: Page, selector: str) -> float:
    box = page.locator(selector).bounding_box()
    assert box is not None
    return box["y"] + box["height"]


@pytest.mark.req("C5")
def test_a_reviewer_signs_in_approves_and_signs_by_the_accessible_names(open_page: Open) -> None:
    request = post_request()
    page = open_page(f"/review/{request.id}/", signed_in=False)
    page.get_by_label("Username").fill("reviewer")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("button", name="Approve").click()
    page.get_by_label("Confirm password").fill(PASSWORD)
    page.get_by_role("button", name="Sign").click()
    expect(page.get_by_text("Signed. It is carried out once")).to_be_visible()
    assert status_of(request) == "approved"


@pytest.mark.parametrize(
    ("button", "status"), [("Reject", "rejected"), ("Request changes", "changes_requested")]
)
def test_a_refusal_takes_the_reason_that_was_typed(
    open_page: Open, button: str, status: str
) -> None:
    request = post_request()
    page = open_page(f"/review/{request.id}/")
    page.get_by_label("Reason").fill("Name the source.")
    page.get_by_role("button", name=button).click()
    expect(page.get_by_text("Name the source.")).to_be_visible()
    assert status_of(request) == status


def test_a_refusal_without_a_reason_is_not_sent(open_page: Open) -> None:
    request = post_request()
    page = open_page(f"/review/{request.id}/")
    page.get_by_role("button", name="Reject").click()
    expect(page.get_by_label("Reason")).to_be_focused()
    assert status_of(request) == "pending"


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_preview_and_verdict_are_visible_without_scrolling(
    open_page: Open, viewport: dict[str, int]
) -> None:
    for request, content in ((post_request(), ".ch-text"), (payment_request(), ".ch-balances")):
        page = open_page(f"/review/{request.id}/", viewport=viewport)
        assert bottom(page, "[data-reject]") <= viewport["height"]
        limit = (
            viewport["height"]
            if viewport == DESKTOP
            else page.locator(".ch-decide").bounding_box()["y"]
        )  # type: ignore[index]
        assert bottom(page, content) <= limit


@pytest.mark.parametrize(
    "viewport", [DESKTOP, PHONE, {"width": 320, "height": 640}], ids=["desktop", "phone", "small"]
)
def test_no_page_is_wider_than_the_screen(open_page: Open, viewport: dict[str, int]) -> None:
    long = post_request("W" * 300, script="x" * 400)
    page = open_page("/", viewport=viewport)
    for path in (
        "/",
        "/review/",
        f"/review/{long.id}/",
        f"/review/{payment_request().id}/",
        f"/review/{question_request(long='Q' * 400, deep={'a': {'b': ['W' * 300]}}).id}/",
        f"/review/{long.id}/sign/",
    ):
        page.goto(path)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path


def test_approve_stays_inactive_until_the_content_was_on_screen(open_page: Open) -> None:
    page = open_page(f"/review/{post_request().id}/", viewport={"width": 1440, "height": 140})
    approve = page.get_by_role("button", name="Approve")
    expect(page.get_by_text("Look at the content first")).to_have_count(1)
    expect(approve).to_be_disabled()
    page.set_viewport_size({"width": 1440, "height": 900})
    expect(approve).to_be_enabled()


def test_keys_move_open_and_start_the_sign_step(open_page: Open) -> None:
    first, second = post_request("first", lane="fast"), post_request("second", lane="standard")  # type: ignore[arg-type]
    page = open_page("/review/")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/review/{second.id}/")
    page.keyboard.press("k")
    page.wait_for_url(f"**/review/{first.id}/")
    expect(page.get_by_role("button", name="Approve")).to_be_enabled()
    page.keyboard.press("a")
    page.wait_for_url(re.compile("/sign/"))
    expect(page.get_by_label("Confirm password")).to_be_focused()


def test_typing_in_the_reason_never_triggers_a_key(open_page: Open) -> None:
    request = post_request()
    page = open_page(f"/review/{request.id}/")
    expect(page.get_by_role("button", name="Approve")).to_be_enabled()
    page.keyboard.press("r")
    page.keyboard.type("a rack j?")
    expect(page.get_by_label("Reason")).to_have_value("a rack j?")
    assert page.url.endswith(f"/review/{request.id}/") and status_of(request) == "pending"


def test_the_help_opens_and_closes_with_its_key(open_page: Open) -> None:
    page = open_page("/review/")
    page.keyboard.press("?")
    expect(page.get_by_role("heading", name="Keys")).to_be_visible()
    page.keyboard.press("?")
    expect(page.get_by_role("heading", name="Keys")).to_be_hidden()


def test_an_item_decided_elsewhere_says_so_in_place_and_cannot_be_decided(open_page: Open) -> None:
    request = post_request()
    page = open_page(f"/review/{request.id}/")
    request_reject(
        request_id=request.id,
        reviewer=person("second"),
        reason="no",
        shown_digest=request.action_digest,
    )
    expect(page.get_by_text("while this page was open")).to_be_visible(timeout=15_000)
    expect(page.get_by_role("button", name="Approve")).to_be_disabled()
    expect(page.get_by_role("button", name="Reject")).to_be_disabled()


def test_new_requests_are_announced_and_no_row_moves(open_page: Open) -> None:
    post_request("the one that was there")
    page = open_page("/review/")
    post_request("the one that came later", lane="fast")  # type: ignore[arg-type]
    expect(page.get_by_text("1 new.")).to_be_visible(timeout=20_000)
    expect(page.locator("[data-row]")).to_have_count(1)


def test_a_late_item_offers_no_decision(open_page: Open) -> None:
    request = post_request()
    make_late(request)
    page = open_page(f"/review/{request.id}/")
    expect(page.get_by_role("button", name="Approve")).to_have_count(0)
    expect(page.get_by_text("Nobody decided in time")).to_be_visible()


def test_media_that_does_not_load_says_so_beside_approve(
    open_page: Open, live_server: object
) -> None:
    page = open_page(f"/review/{post_request(media_urls=['http://127.0.0.1:9/none.png']).id}/")
    expect(page.get_by_text("This file could not be shown")).to_be_visible()
    expect(page.get_by_text("You would sign it unseen")).to_be_visible()


def test_the_theme_follows_the_system_until_a_person_chooses(open_page: Open) -> None:
    page = open_page("/review/", color_scheme="dark")
    expect(page.locator("html")).to_have_attribute("data-bs-theme", "dark")
    page.get_by_role("button", name="Switch between light and dark").first.click()
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-bs-theme", "light")


def test_pages_obey_the_content_security_policy(open_page: Open) -> None:
    page, complaints = open_page("/"), []
    page.on(
        "console",
        lambda message: (
            complaints.append(message.text) if "Content Security" in message.text else None
        ),
    )
    for path in (
        "/",
        "/review/",
        f"/review/{post_request().id}/",
        f"/review/{payment_request().id}/",
        "/accounts/logout/",
    ):
        page.goto(path, wait_until="networkidle")
    assert complaints == []
