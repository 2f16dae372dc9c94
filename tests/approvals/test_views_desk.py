"""The desk over HTTP: who may see it, what it shows, what a decision and a refusal do."""

import hashlib

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse

from approvals.keys import key_ensure
from approvals.models import ApprovalRequest, Decision
from approvals.services import request_reject, request_void
from chimera.core.clock import now
from tests.helpers.desk_samples import PASSWORD, make_late, payment_request, person, post_request
from tests.helpers.trouble_samples import unknown_post

pytestmark = pytest.mark.django_db


@pytest.fixture
def desk(client: Client) -> Client:
    """A signed-in reviewer, and a key to sign with."""
    key_ensure(actor="system:tests")
    client.force_login(person())
    return client


def address(name: str, request: ApprovalRequest) -> str:
    return reverse(f"desk:{name}", args=[request.id])


def sign(
    client: Client, request: ApprovalRequest, *, password: str = PASSWORD, digest: str = ""
) -> int:
    data = {"password": password, "digest": digest or request.action_digest}
    return client.post(address("sign", request), data).status_code


def status_of(request: ApprovalRequest) -> str:
    return ApprovalRequest.objects.get(id=request.id).status


# --- who may come in --------------------------------------------------


def test_a_stranger_is_sent_to_the_sign_in_page(client: Client) -> None:
    request = post_request()
    for name in ("request", "sign"):
        assert client.get(address(name, request)).headers["Location"].startswith("/accounts/login/")


@pytest.mark.req("C5")
def test_a_person_without_the_permission_sees_no_request_and_decides_nothing(
    client: Client,
) -> None:
    request = post_request()
    client.force_login(person("visitor", may_decide=False))
    assert client.get(reverse("desk:inbox")).status_code == 403
    assert client.get(address("request", request)).status_code == 403
    assert sign(client, request) == 403
    assert (
        client.post(
            address("reject", request), {"reason": "no", "digest": request.action_digest}
        ).status_code
        == 403
    )
    assert client.get(address("request_state", request)).status_code == 401
    assert status_of(request) == "pending" and not Decision.objects.exists()


def test_no_page_of_the_desk_is_cached(desk: Client) -> None:
    request = post_request()
    for url in (
        reverse("desk:dashboard"),
        reverse("desk:inbox"),
        address("request", request),
        address("sign", request),
    ):
        assert "no-store" in desk.get(url).headers["Cache-Control"]


def test_a_decision_without_the_forgery_token_is_refused() -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(person())
    request = post_request()
    assert sign(strict, request) == 403
    assert status_of(request) == "pending"


# --- what the pages show --------------------------------------------------


def test_the_inbox_says_when_nothing_waits(desk: Client) -> None:
    assert "Nothing waits for you." in desk.get(reverse("desk:inbox")).content.decode()


def test_the_inbox_lists_lanes_in_order_and_leaves_out_what_is_late(desk: Client) -> None:
    post_request("careful one", lane="careful")  # type: ignore[arg-type]
    post_request("fast one", lane="fast")  # type: ignore[arg-type]
    make_late(post_request("late one"))
    page = desk.get(reverse("desk:inbox")).content.decode()
    assert page.index("fast one") < page.index("careful one")
    assert "late one" not in page


def test_the_inbox_filters_payments(desk: Client) -> None:
    post_request()
    payment_request()
    page = desk.get(reverse("desk:inbox"), {"kind": "debit_wallet"}).content.decode()
    assert "Pay 25 USDC" in page and "Merkato" not in page


def test_sixty_waiting_requests_are_shown_in_pages_without_a_gap(desk: Client) -> None:
    for number in range(60):
        post_request(f"number {number:02d} of sixty")
    pages = [desk.get(reverse("desk:inbox"), {"page": page}).content.decode() for page in (0, 1)]
    shown = [sum(f"number {number:02d} of" in page for page in pages) for number in range(60)]
    assert shown == [1] * 60


def test_the_request_page_shows_the_frozen_text_and_the_exact_digest(desk: Client) -> None:
    request = post_request()
    page = desk.get(address("request", request)).content.decode()
    assert request.sentence in page and request.action_digest in page
    assert "Merkato knew first" in page and "90 of 280" in page


@pytest.mark.req("A3.10")
def test_the_request_page_names_the_trend_and_its_sources(desk: Client) -> None:
    page = desk.get(address("request", post_request())).content.decode()
    assert "Addis street style is back" in page and "https://news.example/addis-style" in page


def test_links_and_markup_of_an_agent_stay_text(desk: Client) -> None:
    request = post_request(
        "<a href='https://evil.example'>x</a>", script="<script>alert(1)</script> " + "word " * 20
    )
    page = desk.get(address("request", request)).content.decode()
    assert "<script>alert" not in page and "href='https://evil.example'" not in page
    assert 'href="https://aurora.example' not in page


def test_hidden_characters_are_shown_and_counted_as_a_problem(desk: Client) -> None:
    page = desk.get(address("request", post_request("Free\u200b now \u202etxt"))).content.decode()
    assert "U+200B" in page and "U+202E" in page and "2 hidden characters in the text" in page
    assert "\u202e" not in page


def test_an_address_that_is_not_a_web_address_is_not_loaded(desk: Client) -> None:
    page = desk.get(
        address("request", post_request(media_urls=["javascript:alert(1)"]))
    ).content.decode()
    assert "javascript:alert" not in page and "No address that can be shown" in page


def test_a_post_over_the_limit_is_marked_where_it_is_cut(desk: Client) -> None:
    page = desk.get(address("request", post_request("word " * 70))).content.decode()
    assert "ch-over" in page and "X would refuse or cut it." in page


def test_a_payment_shows_exact_amounts_and_the_address_in_groups(desk: Client) -> None:
    page = desk.get(address("request", payment_request("0.001234"))).content.decode()
    assert "0.001234" in page and "112.498766" in page
    assert "<span>0xfB69</span><span>1609</span>" in page and "new payee" in page


def test_a_known_payee_is_shown_with_the_last_payments(desk: Client) -> None:
    page = desk.get(address("request", payment_request(known=True))).content.decode()
    assert "known payee" in page and "Settlement of week 46" in page and "22.50" in page


def test_a_payment_over_the_balance_is_a_problem(desk: Client) -> None:
    page = desk.get(address("request", payment_request("1250"))).content.decode()
    assert "The wallet does not hold enough" in page and "−1,137.50" in page


def test_an_action_that_no_longer_matches_its_digest_is_a_problem(desk: Client) -> None:
    request = post_request()
    ApprovalRequest.objects.filter(id=request.id).update(
        action={**request.action, "text": "something else"}
    )
    assert "does not match its digest" in desk.get(address("request", request)).content.decode()


def test_an_unknown_request_is_a_plain_404(desk: Client) -> None:
    answer = desk.get("/review/01a1fdd4-dfcd-7b44-a47c-6520a2496ff5/")
    assert answer.status_code == 404 and "This page does not exist" in answer.content.decode()


def test_pages_carry_no_inline_script_or_style(desk: Client) -> None:
    for url in (
        reverse("desk:dashboard"),
        reverse("desk:inbox"),
        address("request", post_request()),
    ):
        page = desk.get(url).content.decode()
        assert "style=" not in page and "<style" not in page and " onclick=" not in page
        assert page.count("<script") == page.count("<script src=")


# --- deciding --------------------------------------------------


@pytest.mark.req("C5")
def test_signing_with_the_password_approves_exactly_what_was_shown(desk: Client) -> None:
    request = post_request()
    assert (
        request.sentence
        in desk.get(address("sign", request), {"digest": request.action_digest}).content.decode()
    )
    assert sign(desk, request) == 302
    decision = Decision.objects.get()
    assert status_of(request) == "approved"
    assert (decision.verdict, decision.action_digest) == ("approve", request.action_digest)


@pytest.mark.req("C5")
def test_a_wrong_password_signs_nothing(desk: Client) -> None:
    request = post_request()
    assert sign(desk, request, password="not it") == 403
    assert status_of(request) == "pending" and not Decision.objects.exists()


def test_guessing_the_password_is_stopped_even_for_the_right_one(desk: Client) -> None:
    request = post_request()
    for _ in range(5):
        sign(desk, request, password="guess")
    assert sign(desk, request) == 429
    assert status_of(request) == "pending"


def test_another_digest_than_the_shown_one_signs_nothing(desk: Client) -> None:
    request = post_request()
    assert sign(desk, request, digest="0" * 64) == 302
    assert status_of(request) == "pending" and not Decision.objects.exists()


def test_a_late_request_cannot_be_signed(desk: Client) -> None:
    request = post_request()
    make_late(request)
    assert "Approve" not in desk.get(address("request", request)).content.decode()
    assert sign(desk, request) == 302
    assert status_of(request) == "pending" and not Decision.objects.exists()


@pytest.mark.parametrize(
    ("name", "status"), [("reject", "rejected"), ("request_changes", "changes_requested")]
)
def test_a_refusal_keeps_its_reason(desk: Client, name: str, status: str) -> None:
    request = post_request()
    desk.post(
        address(name, request), {"reason": "Name the source.", "digest": request.action_digest}
    )
    assert status_of(request) == status and Decision.objects.get().reason == "Name the source."
    assert "Name the source." in desk.get(address("request", request)).content.decode()


def test_a_refusal_without_a_reason_decides_nothing(desk: Client) -> None:
    request = post_request()
    answer = desk.post(
        address("reject", request), {"reason": "  ", "digest": request.action_digest}, follow=True
    )
    assert "reason" in answer.content.decode() and status_of(request) == "pending"


def test_the_next_request_of_the_agent_shows_how_the_earlier_ones_ended(desk: Client) -> None:
    first, second, withdrawn = (post_request(name) for name in ("first", "second", "third"))
    sign(desk, first)
    request_void(request_id=withdrawn.id, actor="agent:x", reason="The run was cancelled")
    page = desk.get(address("request", second)).content.decode()
    assert "Record of Aurora: 1 of 1 decided requests approved." in page


def test_a_decided_request_cannot_be_decided_again(desk: Client) -> None:
    request = post_request()
    other = person("second")
    request_reject(
        request_id=request.id, reviewer=other, reason="first", shown_digest=request.action_digest
    )
    assert sign(desk, request) == 302
    assert status_of(request) == "rejected" and Decision.objects.count() == 1


# --- live parts --------------------------------------------------


def test_an_open_page_learns_that_its_request_was_decided(desk: Client) -> None:
    request = post_request()
    asked = {"shown": "pending"}
    assert desk.get(address("request_state", request), asked).status_code == 204
    request_reject(
        request_id=request.id,
        reviewer=person("second"),
        reason="no",
        shown_digest=request.action_digest,
    )
    answer = desk.get(address("request_state", request), asked)
    assert answer.status_code == 200 and "data-changed" in answer.content.decode()


def test_the_inbox_announces_only_what_is_new(desk: Client) -> None:
    post_request("before")
    newest = desk.get(reverse("desk:inbox")).context["newest"]
    assert desk.get(reverse("desk:inbox_count"), {"after": newest}).status_code == 204
    post_request("after")
    assert "1 new" in desk.get(reverse("desk:inbox_count"), {"after": newest}).content.decode()
    for after in ("yesterday", "", "9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00"):
        assert desk.get(reverse("desk:inbox_count"), {"after": after}).status_code == 204


# --- files --------------------------------------------------


@pytest.mark.parametrize("folder", ["static/vendor", "tests/browser/vendor"])
def test_vendored_files_are_the_ones_their_checksums_name(folder: str) -> None:
    root = settings.BASE_DIR / folder
    lines = [line.split("  ./") for line in (root / "CHECKSUMS").read_text().splitlines()]
    listed = {name: checksum for checksum, name in lines}
    actual = {
        str(file.relative_to(root)): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in root.rglob("*")
        if file.is_file() and file.name != "CHECKSUMS"
    }
    assert listed == actual


# --- what became of it ------------------------------------------------


@pytest.mark.req("X2")
@pytest.mark.parametrize(
    ("state", "tone", "word", "told"),
    [
        ("published", "ok", "Done", "Open the post"),
        ("publishing", "info", "Under way", "Being published"),
        ("outcome_unknown", "warn", "Not known yet", "it is being looked up"),
        ("publish_failed", "bad", "Not done", "The platform refused it"),
    ],
)
def test_a_used_signature_is_done_only_once_the_post_is_out(
    desk: Client, state: str, tone: str, word: str, told: str
) -> None:
    shown = {"post_id": "42", "post_url": "https://x.com/aurora_style/status/42"}
    live = shown | {"published_at": now()} if state == "published" else {}
    post = unknown_post(state=state, **live)
    request = ApprovalRequest.objects.get(id=post.approval_id)
    used = {"status": "consumed", "decided_at": now(), "consumed_by": post.execution_id}
    ApprovalRequest.objects.filter(id=request.id).update(**used)

    page = desk.get(address("request", request)).content.decode()

    assert f'class="ch-outcome ch-is-{tone}"' in page
    assert word in page and told in page
