"""What needs a person, over HTTP: who may see it, what it shows, what settling and looking again do."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from approvals.models import Escalation
from chimera.core.clock import now
from chimera.core.models import AuditEntry
from content.models import Publication
from tests.helpers.desk_samples import person, post_request
from tests.helpers.trouble_samples import (
    debit_trouble,
    plain_trouble,
    post_trouble,
    unknown_debit,
    unknown_post,
)
from wallets.models import Debit

pytestmark = pytest.mark.django_db
ACTIONS = ("escalation_settle", "escalation_look", "outcome_live", "outcome_absent")
LIVE = {"note": "Seen on the profile.", "post_url": "https://x.com/aurora_style/status/42"}


@pytest.fixture
def desk(client: Client) -> Client:
    """A signed-in reviewer."""
    client.force_login(person())
    return client


def address(name: str, item: Escalation) -> str:
    return reverse(f"desk:{name}", args=[item.id])


def page(client: Client, item: Escalation) -> str:
    answer = client.get(address("escalation", item))
    assert answer.status_code == 200
    return answer.content.decode()


def inbox(client: Client, **query: str) -> str:
    return client.get(reverse("desk:inbox"), query).content.decode()


def state_of(item: Escalation) -> str:
    item.refresh_from_db()
    return item.state


# --- who may come in --------------------------------------------------


def test_a_stranger_and_a_person_without_the_permission_see_and_change_nothing(
    client: Client,
) -> None:
    item = post_trouble()
    assert "/accounts/login/" in client.get(address("escalation", item)).headers["Location"]
    client.force_login(person("visitor", may_decide=False))
    assert client.get(address("escalation", item)).status_code == 403
    assert client.get(address("escalation_state", item)).status_code == 401
    for action in ACTIONS:
        assert client.post(address(action, item), LIVE).status_code == 403
    assert state_of(item) == "open"
    assert Publication.objects.get().state == "outcome_unknown"


def test_an_action_without_the_forgery_token_or_by_get_is_refused() -> None:
    item = post_trouble()
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(person())
    for action in ACTIONS:
        assert strict.post(address(action, item), LIVE).status_code == 403
        assert strict.get(address(action, item)).status_code == 405
    assert state_of(item) == "open"


# --- the inbox --------------------------------------------------


@pytest.mark.req("X2", "A9.3")
def test_the_inbox_shows_what_happened_to_whom_how_often_above_the_requests(desk: Client) -> None:
    plain_trouble(times=3)
    post_request("one that waits")
    shown = inbox(desk)
    assert shown.index("Needs a person") < shown.index("one that waits")
    assert "fund the wallet" in shown and "Cashier · debit wallet" in shown
    assert "3 times since" in shown and "1 waiting · oldest 0 min · 1 needs a person" in shown


def test_items_count_in_the_navigation_and_on_the_dashboard(desk: Client) -> None:
    plain_trouble()
    post_request()
    answer = desk.get(reverse("desk:dashboard"))
    assert '<span class="ch-count">2<span' in answer.content.decode()
    trouble = answer.context["tiles"][-1]
    assert (trouble.figure, trouble.url) == ("1", "/review/")
    assert "1 needs a person" in trouble.note


def test_a_filtered_list_and_the_decided_ones_leave_items_out(desk: Client) -> None:
    plain_trouble()
    for query in ({"lane": "fast"}, {"show": "decided"}, {"page": "1"}):
        assert "fund the wallet" not in inbox(desk, **query)


def test_new_items_are_announced(desk: Client) -> None:
    newest = desk.get(reverse("desk:inbox")).context["newest"]
    plain_trouble()
    answer = desk.get(reverse("desk:inbox_count"), {"after": newest})
    assert "1 new" in answer.content.decode()


def test_the_inbox_asks_the_database_the_same_number_of_times_for_one_item_and_for_thirty(
    desk: Client, django_assert_max_num_queries: Any
) -> None:
    for number in range(30):
        post_trouble(unknown_post(text=f"text number {number}"))
    with django_assert_max_num_queries(20):
        assert inbox(desk).count("Outcome unknown") == 30


# --- one item --------------------------------------------------


def test_the_page_lays_the_input_and_the_error_out_in_words(desk: Client) -> None:
    shown = page(desk, plain_trouble())
    assert "<dt>Wallet address</dt>" in shown and "<dt>Required</dt>" in shown
    assert "250.000000" in shown and "Fund the wallet if the payment is wanted" in shown
    assert "redacted" not in shown and "{&#x27;" not in shown and "{&quot;" not in shown


@pytest.mark.req("X2")
def test_the_page_of_an_unknown_post_shows_the_evidence(desk: Client) -> None:
    item = post_trouble()
    shown = page(desk, item)
    post = Publication.objects.get()
    for fact in ("@aurora_style on X", "1455952740635586573", post.error, str(post.id)):
        assert fact in shown
    assert f"/review/{post.approval_id}/" in shown and "account&#x27;s page" not in shown
    assert "Open the account's page" in shown and "First sent" in shown


@pytest.mark.req("X2", "A9.4")
def test_the_page_of_an_unknown_payment_shows_the_chain_and_offers_no_verdict(desk: Client) -> None:
    debit = unknown_debit()
    shown = page(desk, debit_trouble(debit))
    for fact in (debit.tx_hash, "<dd>7</dd>", "<dd>4</dd>", "the node is silent", "25.00 USDC"):
        assert str(fact) in shown
    assert "Look again now" in shown and "The chain decides" in shown
    assert "It is live" not in shown and ">Settle</button>" not in shown
    assert "Payment of 25.00 USDC to 0x" in inbox(desk) and debit.recipient not in inbox(desk)


def test_hidden_characters_of_an_agent_are_shown_and_markup_stays_text(desk: Client) -> None:
    item = plain_trouble()
    item.context["input"]["tx_description"] = "Fee\u202e <script>alert(1)</script>"
    item.save()
    shown = page(desk, item)
    assert "U+202E" in shown and "<script>alert" not in shown


def test_pages_of_items_carry_no_inline_script_or_style_and_are_not_cached(desk: Client) -> None:
    answer = desk.get(address("escalation", post_trouble()))
    shown = answer.content.decode()
    assert "style=" not in shown and " onclick=" not in shown
    assert shown.count("<script") == shown.count("<script src=")
    assert "no-store" in answer.headers["Cache-Control"]


# --- settling --------------------------------------------------


def test_settling_keeps_who_when_and_the_note_and_takes_the_item_out(desk: Client) -> None:
    item = plain_trouble()
    desk.post(address("escalation_settle", item), {"note": "Funded with 500."})
    assert (state_of(item), item.note, item.settled_by.username) == (
        "settled", "Funded with 500.", "reviewer",
    )  # fmt: skip
    entry = AuditEntry.objects.get(action="escalation.settled")
    assert entry.actor == f"person:{item.settled_by_id}" and entry.data["note"] == item.note
    assert "fund the wallet" not in inbox(desk)
    assert "fund the wallet" in inbox(desk, show="settled")
    assert "Funded with 500." in page(desk, item)


def test_settling_without_a_note_changes_nothing(desk: Client) -> None:
    item = plain_trouble()
    answer = desk.post(address("escalation_settle", item), {"note": "  "})
    assert answer.status_code == 400 and "nothing was changed" in answer.content.decode()
    assert state_of(item) == "open" and not AuditEntry.objects.exists()


def test_a_second_person_does_not_settle_it_again(desk: Client) -> None:
    item = plain_trouble()
    desk.post(address("escalation_settle", item), {"note": "First."})
    assert desk.post(address("escalation_settle", item), {"note": "Second."}).status_code == 409
    item.refresh_from_db()
    assert item.note == "First." and AuditEntry.objects.count() == 1


def test_the_same_trouble_after_it_was_settled_is_a_new_item(desk: Client) -> None:
    item = plain_trouble()
    desk.post(address("escalation_settle", item), {"note": "Funded."})
    assert plain_trouble().id != item.id


@pytest.mark.req("X2")
@pytest.mark.parametrize("about", ["post", "payment"])
def test_an_open_outcome_cannot_be_settled_with_a_note_alone(desk: Client, about: str) -> None:
    item = post_trouble() if about == "post" else debit_trouble(unknown_debit())
    answer = desk.post(address("escalation_settle", item), {"note": "Forget it."})
    assert answer.status_code == 422 and state_of(item) == "open"


@pytest.mark.req("X2")
def test_a_post_that_is_live_settles_both_the_post_and_the_item(desk: Client) -> None:
    item = post_trouble()
    answer = desk.post(address("outcome_live", item), LIVE, follow=True)
    post = Publication.objects.get()
    assert (post.state, post.post_id, state_of(item)) == ("published", "42", "settled")
    assert "Kept as published" in answer.content.decode()
    assert {e.action for e in AuditEntry.objects.all()} >= {
        "publication.settled", "escalation.settled",
    }  # fmt: skip


@pytest.mark.req("X2")
@pytest.mark.parametrize(
    ("then", "state"),
    [("", "publish_failed"), ("send_again", "publishing"), ("x", "publish_failed")],
)
def test_a_post_that_was_not_made_is_given_up_or_sent_again(
    desk: Client, then: str, state: str
) -> None:
    item = post_trouble()
    desk.post(address("outcome_absent", item), {"note": "Not there.", "then": then})
    assert (Publication.objects.get().state, state_of(item)) == (state, "settled")


@pytest.mark.req("X2")
def test_a_wrong_address_is_said_beside_the_form_with_what_was_typed(desk: Client) -> None:
    item = post_trouble()
    answer = desk.post(address("outcome_live", item), LIVE | {"post_url": "status/42"})
    shown = answer.content.decode()
    assert answer.status_code == 400 and "Give the full address of the post on X" in shown
    assert 'value="status/42"' in shown and LIVE["note"] in shown and 'aria-invalid="true"' in shown
    assert Publication.objects.get().state == "outcome_unknown" and state_of(item) == "open"


@pytest.mark.req("X2")
def test_a_post_found_meanwhile_is_not_overruled_and_the_item_says_so(desk: Client) -> None:
    item = post_trouble()
    Publication.objects.update(state="published", post_id="1", post_url="https://x.com/1")
    assert desk.post(address("outcome_absent", item), {"note": "No."}).status_code == 409
    assert Publication.objects.get().state == "published" and state_of(item) == "open"
    assert "Known by now" in inbox(desk)
    shown = page(desk, item)
    assert "Post on X as @aurora_style: The post is live." in shown
    assert "It was not posted" not in shown
    desk.post(address("escalation_settle", item), {"note": "It came up."})
    assert state_of(item) == "settled"


@pytest.mark.req("X2")
def test_a_post_that_the_platform_is_working_on_offers_no_verdict(desk: Client) -> None:
    item = post_trouble(state="publishing")
    shown = page(desk, item)
    assert "the platform is still working on it" in shown and "Look again now" in shown
    assert "It is live" not in shown and ">Settle</button>" not in shown
    for action in ("outcome_live", "outcome_absent"):
        assert desk.post(address(action, item), LIVE).status_code == 409
    assert desk.post(address("escalation_settle", item), LIVE).status_code == 422
    assert Publication.objects.get().state == "publishing" and state_of(item) == "open"


@pytest.mark.req("X2")
def test_a_post_that_is_being_sent_just_now_is_not_asked_about(desk: Client) -> None:
    item = post_trouble(state="publishing", armed_at=now())
    answer = desk.post(address("escalation_look", item), follow=True)
    assert "The post is being sent just now." in answer.content.decode()
    assert Publication.objects.get().state == "publishing"


@pytest.mark.req("X2", "A9.4")
@pytest.mark.parametrize("action", ["outcome_live", "outcome_absent"])
def test_no_person_can_say_what_became_of_a_payment(desk: Client, action: str) -> None:
    item = debit_trouble(unknown_debit())
    assert desk.post(address(action, item), LIVE).status_code == 404
    assert Debit.objects.get().status == "outcome_unknown" and state_of(item) == "open"


# --- looking again, and pages that stay open --------------------------------------------------


@pytest.mark.req("X2")
def test_looking_again_says_what_the_platform_said_and_leaves_it_open(
    desk: Client, settings: Any
) -> None:
    settings.CHIMERA = settings.CHIMERA.model_copy(
        update={"chimera_world_url": "http://127.0.0.1:9"}
    )
    item = post_trouble()
    answer = desk.post(address("escalation_look", item), follow=True)
    assert "Asked just now. The platform cannot be asked" in answer.content.decode()
    assert Publication.objects.get().state == "outcome_unknown" and state_of(item) == "open"


def test_an_open_page_learns_that_the_item_has_changed(desk: Client) -> None:
    item = post_trouble()
    asked = {"shown": "open"}
    assert desk.get(address("escalation_state", item), asked).status_code == 204
    Publication.objects.update(state="published", post_id="1", post_url="https://x.com/1")
    answer = desk.get(address("escalation_state", item), asked)
    assert "The post is live." in answer.content.decode() and "data-changed" in str(answer.content)
