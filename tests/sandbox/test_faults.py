"""Every fault, seen from a plain HTTP client."""

from typing import Any
from uuid import uuid4

import httpx
import pytest

from tests.helpers.http import HTTP
from tests.helpers.statements import Signer
from tests.helpers.world import arm_fault


def register(world: str, agent_id: str) -> httpx.Response:
    url = f"{world}/directory/agents/{agent_id}"
    return HTTP.put(url, json=signed(agent_id), timeout=2)


def signed(agent_id: str) -> dict[str, Any]:
    signer = Signer()
    signer.agent_id = agent_id
    return signer.body()


def is_registered(world: str, agent_id: str) -> bool:
    url = f"{world}/directory/agents/{agent_id}"
    return HTTP.get(url).status_code == 200


def armed(world: str) -> list[dict[str, Any]]:
    return list(HTTP.get(f"{world}/faults/").json()["armed"])


@pytest.mark.parametrize(("kind", "status"), [("down", 503), ("429", 429)])
def test_a_fault_before_the_effect_leaves_nothing_behind(
    world: str, kind: str, status: int
) -> None:
    agent_id = str(uuid4())
    arm_fault(world, "directory", kind)
    reply = register(world, agent_id)
    assert reply.status_code == status
    assert reply.headers.get("retry-after") == ("2" if kind == "429" else None)
    assert not is_registered(world, agent_id)


def test_an_error_after_the_effect_leaves_the_effect(world: str) -> None:
    agent_id = str(uuid4())
    arm_fault(world, "directory", "500_after_effect")
    assert register(world, agent_id).status_code == 500
    assert is_registered(world, agent_id)


def test_a_cut_after_the_effect_sends_no_reply_at_all(world: str) -> None:
    agent_id = str(uuid4())
    arm_fault(world, "directory", "cut_after_effect")
    with pytest.raises((httpx.RemoteProtocolError, httpx.ReadError)):
        register(world, agent_id)
    assert is_registered(world, agent_id)


def test_a_malformed_reply_is_broken_json(world: str) -> None:
    agent_id = str(uuid4())
    arm_fault(world, "directory", "malformed")
    reply = register(world, agent_id)
    assert reply.status_code == 200
    with pytest.raises(ValueError, match=r"Expecting|Unterminated"):
        reply.json()
    assert is_registered(world, agent_id)


def test_a_slow_reply_drips_while_the_effect_is_already_there(world: str) -> None:
    agent_id = str(uuid4())
    arm_fault(world, "directory", "slow")
    url = f"{world}/directory/agents/{agent_id}"
    with HTTP.stream("PUT", url, json=signed(agent_id)) as reply:
        assert next(reply.iter_raw()) == b" "
        assert is_registered(world, agent_id)


def test_a_read_does_not_use_up_a_fault_that_waits_for_an_effect(world: str) -> None:
    agent_id = str(uuid4())
    register(world, agent_id)
    arm_fault(world, "directory", "500_after_effect")
    assert is_registered(world, agent_id)
    assert armed(world) == [{"target": "directory", "kind": "500_after_effect", "count": 1}]


def test_a_fault_lasts_for_its_count_and_for_its_target(world: str) -> None:
    agent_id = str(uuid4())
    arm_fault(world, "directory", "down", 2)
    arm_fault(world, "platform", "down", 1)
    assert [register(world, agent_id).status_code for _ in range(3)] == [503, 503, 200]
    assert armed(world) == [{"target": "platform", "kind": "down", "count": 1}]


def test_cleared_faults_are_gone(world: str) -> None:
    arm_fault(world, "directory", "down", 5)
    HTTP.delete(f"{world}/faults/")
    assert armed(world) == []
    assert register(world, str(uuid4())).status_code == 200


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({"target": "moon", "kind": "down", "count": 1}, "target"),
        ({"target": "media", "kind": "explode", "count": 1}, "kind"),
        ({"target": "media", "kind": "down", "count": 0}, "count"),
        ({"target": "media", "kind": "down", "count": True}, "count"),
        ({"target": ["media"], "kind": "down"}, "target"),
        ([], "object"),
    ],
)
def test_a_bad_fault_is_refused_by_name_and_not_armed(world: str, body: Any, named: str) -> None:
    reply = HTTP.post(f"{world}/faults/", json=body)
    assert reply.status_code == 400
    assert named in reply.json()["detail"]
    assert armed(world) == []
