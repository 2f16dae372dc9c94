"""Signing in: nothing here gives an account to somebody who only holds its session."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.test import Client
from django.urls import reverse
from oauth2_provider.models import AccessToken

from agents.models import Agent
from chimera.accounts import KEPT_FROM_ADMIN

pytestmark = [pytest.mark.django_db, pytest.mark.req("C5")]


@pytest.mark.parametrize(
    "path", ["signup", "email", "password/set", "password/reset", "set_password", "inactive"]
)
def test_pages_that_change_how_a_person_is_reached_do_not_exist(
    client: Client, reviewer: User, path: str
) -> None:
    client.force_login(reviewer)
    for answer in (
        client.get(f"/accounts/{path}/"),
        client.post(f"/accounts/{path}/", {"email": "thief@evil.example"}),
    ):
        assert answer.status_code == 404
    reviewer.refresh_from_db()
    assert reviewer.email == ""
    assert reviewer.check_password("correct horse battery")
    assert mail.outbox == []


def test_a_password_is_changed_only_by_who_knows_it(client: Client, reviewer: User) -> None:
    client.force_login(reviewer)
    fresh = {"password1": "another long password", "password2": "another long password"}
    client.post(reverse("account_change_password"), {"oldpassword": "a guess", **fresh})
    reviewer.refresh_from_db()
    assert reviewer.check_password("correct horse battery")


def test_a_person_signs_in_and_out(client: Client, reviewer: User) -> None:
    sign_in = {"login": "rita", "password": "correct horse battery"}
    assert client.post("/accounts/login/", sign_in).status_code == 302
    assert client.get("/review/").status_code == 200
    client.post("/accounts/logout/")
    assert client.get("/review/").status_code == 302


def test_the_admin_has_no_sign_in_of_its_own(client: Client, reviewer: User) -> None:
    """Its own would ask for no second factor and count no wrong password."""
    User.objects.filter(pk=reviewer.pk).update(is_staff=True, is_superuser=True)
    answer = client.post("/admin/login/", {"username": "rita", "password": "correct horse battery"})
    assert (answer.status_code, answer["Location"]) == (
        302,
        "/accounts/login/?next=%2Fadmin%2Flogin%2F",
    )
    assert client.get("/admin/").status_code == 302
    client.force_login(reviewer)
    assert client.get("/admin/").status_code == 200


def test_who_is_no_admin_is_refused_at_the_admin_with_a_page(
    client: Client, reviewer: User
) -> None:
    client.force_login(reviewer)
    assert client.get("/admin/", follow=True).status_code == 403


@pytest.mark.req("A0.5")
def test_the_admin_has_no_page_for_tokens_and_second_factors(admin_client: Client) -> None:
    for label in KEPT_FROM_ADMIN:
        app, _, model = label.lower().partition(".")
        assert admin_client.get(f"/admin/{app}/{model}/").status_code == 404, label


@pytest.mark.req("A0.5", "W5")
def test_an_access_token_is_kept_as_its_checksum_alone(api: Any, orchestrator: Agent) -> None:
    client = api(orchestrator)

    assert client.get("/api/v1/agents/me/").status_code == 200
    assert list(AccessToken.objects.values_list("token", flat=True)) == [""]
