"""The agent directory: it believes signatures only, and the newest."""

import json
from typing import Any

import pytest

from chimera.core.digest import canonical
from tests.helpers.http import HTTP
from tests.helpers.statements import Signer


def url_of(world: str, signer: Signer) -> str:
    return f"{world}/directory/agents/{signer.agent_id}"


def listed(world: str) -> list[str]:
    results = HTTP.get(f"{world}/directory/agents").json()["results"]
    return [agent["agent_id"] for agent in results]


@pytest.mark.req("A10.3")
def test_registering_again_updates_and_keeps_the_directory_id(world: str) -> None:
    signer = Signer()
    url = url_of(world, signer)

    first = HTTP.put(url, json=signer.body(1)).json()
    second = HTTP.put(url, json=signer.body(2, name="Borealis")).json()

    assert first == second
    stored = HTTP.get(url).json()
    assert (stored["profile"]["name"], stored["sequence"]) == ("Borealis", 2)
    assert stored["signature"] == signer.body(2, name="Borealis")["signature"]
    assert listed(world).count(signer.agent_id) == 1


@pytest.mark.req("A10.2")
@pytest.mark.parametrize("sequence", [1, 2])
def test_an_older_sequence_is_refused_and_changes_nothing(world: str, sequence: int) -> None:
    signer = Signer()
    url = url_of(world, signer)
    HTTP.put(url, json=signer.body(2)).raise_for_status()

    answer = HTTP.put(url, json=signer.body(sequence, name="Borealis"))

    assert answer.status_code == 409 and "sequence 2" in answer.json()["detail"]
    assert HTTP.get(url).json()["profile"]["name"] == "Aurora"


@pytest.mark.req("A10.3")
def test_the_same_statement_again_changes_nothing(world: str) -> None:
    signer = Signer()
    url = url_of(world, signer)
    HTTP.put(url, json=signer.body(3)).raise_for_status()
    before = HTTP.get(url).json()

    assert HTTP.put(url, json=signer.body(3)).status_code == 200
    assert HTTP.get(url).json() == before


@pytest.mark.req("A10.2")
def test_another_key_cannot_speak_for_an_agent(world: str) -> None:
    signer, thief = Signer(), Signer()
    thief.agent_id = signer.agent_id
    url = url_of(world, signer)
    HTTP.put(url, json=signer.body(1)).raise_for_status()

    assert HTTP.put(url, json=thief.body(2, name="Thief")).status_code == 403
    assert HTTP.get(url).json()["profile"]["name"] == "Aurora"


def _tampered(signer: Signer) -> dict[str, Any]:
    return signer.body() | {"profile": signer.profile(reputation_score=1.0)}


def _broken(signer: Signer) -> dict[str, Any]:
    head, payload, _ = signer.body()["signature"].split(".")
    return signer.body() | {"signature": f"{head}.{payload}.{'A' * 86}"}


def _of_another_agent(signer: Signer) -> dict[str, Any]:
    return signer.body(agent_id=Signer().agent_id)


def _not_canonical(signer: Signer) -> dict[str, Any]:
    payload = json.dumps({"sequence": 1, "profile": signer.profile()}).encode()
    return {"profile": signer.profile(), "signature": signer.sign(payload)}


def _foreign_kid(signer: Signer) -> dict[str, Any]:
    payload = canonical({"profile": signer.profile(), "sequence": 1})
    return {"profile": signer.profile(), "signature": signer.sign(payload, kid="mine")}


def _without_key(signer: Signer) -> dict[str, Any]:
    payload = canonical({"profile": signer.profile(), "sequence": 1})
    return {"profile": signer.profile(), "signature": signer.sign(payload, jwk=None)}


@pytest.mark.req("A10.2")
@pytest.mark.parametrize(
    ("make", "status"),
    [
        (_tampered, 401),
        (_broken, 401),
        (_of_another_agent, 401),
        (_not_canonical, 422),
        (_foreign_kid, 422),
        (_without_key, 422),
        (lambda signer: signer.body(0), 422),
        (lambda signer: signer.body("1"), 422),
        (lambda signer: signer.body() | {"signature": 7}, 422),
        (lambda signer: signer.body() | {"signature": "a..b"}, 422),
        (lambda signer: signer.body() | {"signature": "no jws"}, 422),
        (lambda signer: signer.body() | {"profile": {}}, 401),
    ],
)
def test_a_registration_that_is_not_signed_right_is_refused_and_not_listed(
    world: str, make: Any, status: int
) -> None:
    signer = Signer()

    assert HTTP.put(url_of(world, signer), json=make(signer)).status_code == status
    assert signer.agent_id not in listed(world)


def test_an_address_that_is_no_uuid_is_refused(world: str) -> None:
    answer = HTTP.put(f"{world}/directory/agents/not-a-uuid", json=Signer().body())

    assert answer.status_code == 400


def test_a_profile_page_shows_markup_as_text(world: str) -> None:
    signer = Signer()
    body = signer.body(name="<b>Aurora</b>", capabilities=["<i>writing</i>"])
    entry = HTTP.put(url_of(world, signer), json=body).json()

    for page_url in (entry["profile_url"], f"{world}/agents/"):
        page = HTTP.get(page_url).text
        assert "&lt;b&gt;Aurora&lt;/b&gt;" in page
        for raw in ("<b>Aurora", "<i>writing"):
            assert raw not in page
