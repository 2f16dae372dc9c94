"""Questions of workflows at the desk: what a person reads, and what an answer does."""

from typing import Any
from uuid import UUID

import pytest
from django.test import Client
from django.urls import reverse

from approvals.keys import key_ensure
from approvals.models import ApprovalRequest, ApprovalToken
from approvals.question_cards import question
from approvals.questions import question_take
from approvals.services import request_revoke
from tests.helpers.desk_samples import PASSWORD, person, question_request

pytestmark = [pytest.mark.django_db, pytest.mark.req("W6", "C5")]


@pytest.fixture
def desk(client: Client) -> Client:
    """A signed-in reviewer, and a key to sign with."""
    key_ensure(actor="system:tests")
    client.force_login(person())
    return client


def text_of(client: Client, name: str, *args: Any, **query: str) -> str:
    answer = client.get(reverse(f"desk:{name}", args=args), query)
    assert answer.status_code == 200
    return answer.content.decode()


def answered(client: Client, request: ApprovalRequest) -> ApprovalRequest:
    data = {"password": PASSWORD, "digest": request.action_digest}
    assert client.post(reverse("desk:sign", args=[request.id]), data).status_code == 302
    request.refresh_from_db()
    return request


def test_the_page_shows_the_question_and_all_that_is_shown_and_no_post(desk: Client) -> None:
    request = question_request()

    page = text_of(desk, "request", request.id)

    assert "Is this thesis clear enough" in page and "click-loop v1" in page
    for seen in ("Thesis", "Second-hand markets", "Urgent", "Risk level", "Street first"):
        assert seen in page
    assert "characters on" not in page and "No media" not in page


def test_the_inbox_names_the_question_and_its_workflow_and_can_show_questions_alone(
    desk: Client,
) -> None:
    question_request()

    page = text_of(desk, "inbox", kind="workflow_question")

    assert (
        "Question" in page and "Is this thesis clear" in page and "Aurora · click-loop v1" in page
    )
    assert "Is this thesis clear" not in text_of(desk, "inbox", kind="debit_wallet")


def test_a_signed_question_says_that_what_asked_goes_on(desk: Client) -> None:
    request = answered(desk, question_request())
    assert "What asked goes on" in text_of(desk, "request", request.id)
    assert not ApprovalToken.objects.exists(), "there is nothing that it could be redeemed for"

    assert question_take(request=request, run_id=UUID(request.action["run_id"]))

    request.refresh_from_db()
    assert request.status == "consumed"
    assert "What asked has gone on" in text_of(desk, "request", request.id)


def test_an_answer_belongs_to_one_run_and_not_to_one_that_took_it_back(desk: Client) -> None:
    request = answered(desk, question_request())
    reviewer = request.decisions.get().reviewer
    request_revoke(request_id=request.id, reviewer=reviewer, reason="On second thoughts")
    request.refresh_from_db()

    assert not question_take(request=request, run_id=UUID(request.action["run_id"]))


def test_hidden_characters_in_what_is_shown_are_a_problem(desk: Client) -> None:
    request = question_request(thesis="Go\u200b on")

    page = text_of(desk, "request", request.id)

    assert "1 hidden character in the text" in page and "U+200B" in page


def test_more_than_a_page_holds_is_cut_and_says_so() -> None:
    card = question(question_request(rows=[{"n": number} for number in range(300)]))
    assert card and card.cut

    deep: dict[str, Any] = {}
    for _ in range(20):
        deep = {"in": deep or "x"}
    card = question(question_request(deep=deep))
    assert card and card.cut
