"""What the demo remembers: a restart goes on with the same keys, a new campaign has new ones."""

from pathlib import Path

import pytest

from chimera.demo import run as demo
from chimera.demo.campaign import Campaign


@pytest.fixture
def place(tmp_path: Path) -> demo.Place:
    return demo.Place("http://localhost:1", tmp_path)


@pytest.mark.req("X3")
def test_unfinished_campaign_is_taken_up_with_the_same_keys(place: demo.Place) -> None:
    first = demo.take_up(place, "", [])
    first.remember_approval("publish", "a1")
    again = demo.take_up(place, "", [])
    assert again.key("publish") == first.key("publish")
    assert again.approvals == {"publish": "a1"}


def test_finished_campaign_is_followed_by_a_new_one(place: demo.Place) -> None:
    first = demo.take_up(place, "", [])
    first.finish("settled")
    second = demo.take_up(place, "", [])
    assert second.key("publish") != first.key("publish")
    assert second.approvals == {}


def test_other_trends_start_another_campaign(place: demo.Place) -> None:
    first = demo.take_up(place, "", [])
    second = demo.take_up(place, "feed.xml", [{"topic": "x"}])
    assert second.id != first.id
    assert Campaign.load(second.path) == second


def test_steps_of_one_campaign_have_different_keys(place: demo.Place) -> None:
    campaign = demo.take_up(place, "", [])
    assert campaign.key("publish") != campaign.key("debit")


def test_damaged_file_is_no_campaign(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    path.write_text('{"id": ')
    assert Campaign.load(path) is None


def test_first_campaign_is_started_once_in_the_life_of_the_data(place: demo.Place) -> None:
    first = demo.take_up_first(place)
    assert first is not None
    assert demo.take_up_first(place) == first
    first.finish("the post was not approved: rejected")
    assert demo.take_up_first(place) is None


def test_first_campaign_is_not_started_after_one_of_the_terminal(place: demo.Place) -> None:
    demo.take_up(place, "", [])
    assert demo.take_up_first(place) is None


def test_missing_agents_file_says_what_to_do(place: demo.Place) -> None:
    with pytest.raises(demo.NotSetUp, match="make run"):
        place.agent("orchestrator", print)
