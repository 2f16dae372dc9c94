"""Majors side by side: which one is called, which one runs, how a deprecated one says so, when it ends."""

from collections.abc import Callable, Iterator
from datetime import date
from typing import Any

import pytest
from pydantic import BaseModel

from agents.models import Agent
from chimera.core.errors import ChimeraError
from skills import tasks
from skills.catalogue import IncompleteSkill, Registry, registry
from skills.contract import Skill, SkillMetadata, SkillResult
from skills.models import SkillExecution, Status
from skills.services import submit
from tests.helpers.calls import attempt, call, drive
from tests.skills.conftest import PURE, Word

MakeSkill = Callable[..., Any]
JSON = "application/json"
SINCE, SUNSET = date(2026, 11, 1), date(2026, 12, 15)
DURING, AFTER = "2026-12-14T23:59:59Z", "2026-12-15T00:00:00Z"
URL = "/api/v1/skills/probe@v1.0/"


class Loud(BaseModel):
    """The newer contract: the parameter has another name."""

    text: str = "hello"


def version(number: str, **body: Any) -> type[Skill]:
    """A class of the skill `probe` that says which version answered."""

    async def execute(self: Skill, ctx: Any) -> SkillResult:
        return SkillResult(output={"word": f"from {number}"})

    own = {
        "name": "probe",
        "input_model": Word,
        "output_model": Word,
        "metadata": SkillMetadata(**{**PURE, "version": number}),
        "execute": execute,
    }
    return type(f"ProbeV{number[0]}", (Skill,), own | body)


@pytest.fixture
def two() -> Iterator[None]:
    """probe v2.0 beside v1.0, which ends on 15 December."""
    registry.all()
    registry.register(version("2.0", input_model=Loud))
    registry.register(version("1.0", deprecated_since=SINCE, sunset=SUNSET))
    yield
    registry.forget("probe")


# --- which one is meant ---------------------------------------------------------------------------


@pytest.mark.req("A0.7")
def test_a_call_without_a_version_gets_the_newest(two: None, orchestrator: Agent) -> None:
    execution = call(orchestrator, "probe", text="x")

    assert execution.version == "2.0" and execution.output == {"word": "from 2.0"}


@pytest.mark.req("A0.7")
def test_a_version_and_the_name_of_its_class_get_exactly_that(
    two: None, orchestrator: Agent, time_machine: Any
) -> None:
    time_machine.move_to(DURING)
    for reference in ("probe@v1.0", "ProbeV1"):
        execution = call(orchestrator, reference, word="x")

        assert execution.version == "1.0" and execution.output == {"word": "from 1.0"}


@pytest.mark.req("A0.7")
def test_each_version_checks_its_own_input(two: None, orchestrator: Agent) -> None:
    with pytest.raises(ChimeraError) as refused:
        call(orchestrator, "probe@v1.0", text="the newer name")

    assert refused.value.code == "INVALID_INPUT" and set(refused.value.errors or {}) == {"text"}
    assert not SkillExecution.objects.exists()


@pytest.mark.parametrize(
    ("number", "code"),
    [("3.0", "VERSION_GONE"), ("1.0", "VERSION_GONE"), ("9.0", "SKILL_NOT_FOUND")],
)
@pytest.mark.req("A0.7")
def test_only_the_last_two_majors_are_served(number: str, code: str) -> None:
    own = Registry()
    own.__dict__["_discovered"] = True
    for each in ("3.1", "5.0", "4.0"):
        own.register(version(each))

    assert own.versions(own.get("probe")) == ["5.0", "4.0"]
    assert own.get("probe@v4.0").metadata.version == "4.0"
    with pytest.raises(ChimeraError) as refused:
        own.get(f"probe@v{number}")
    assert refused.value.code == code and "v5.0, v4.0" in refused.value.message


@pytest.mark.req("A0.7")
def test_a_minor_version_that_never_was_is_not_found_and_an_old_one_is_gone() -> None:
    own = Registry()
    own.__dict__["_discovered"] = True
    own.register(version("1.3", compatible_versions=("1.2",)))

    assert own.get("probe@v1.2") is own.get("probe")
    for asked, code in (("1.1", "VERSION_GONE"), ("1.4", "SKILL_NOT_FOUND")):
        with pytest.raises(ChimeraError, match=code):
            own.get(f"probe@v{asked}")


# --- what runs ------------------------------------------------------------------------------------


@pytest.mark.req("A0.7", "X3")
def test_what_was_accepted_runs_in_its_version_even_after_the_sunset(
    two: None, orchestrator: Agent, time_machine: Any
) -> None:
    time_machine.move_to(DURING)
    made = submit(agent=orchestrator, skill_name="probe@v1.0", data={}, wake=False).execution

    time_machine.move_to("2026-12-16T00:00:00Z")
    tasks.sweep()
    drive(made)

    assert made.status == Status.COMPLETED and made.output == {"word": "from 1.0"}


@pytest.mark.req("A0.7")
def test_the_cache_of_one_version_never_answers_for_another(
    orchestrator: Agent, time_machine: Any
) -> None:
    time_machine.move_to(DURING)
    registry.all()
    for number in ("2.0", "1.0"):
        registry.register(version(number, cache_seconds=60))
    try:
        outputs = [call(orchestrator, f"probe@v{each}").output for each in ("1.0", "2.0")]
    finally:
        registry.forget("probe")

    assert outputs == [{"word": "from 1.0"}, {"word": "from 2.0"}]


@pytest.mark.req("X3")
def test_a_version_that_only_a_newer_program_knows_is_left_to_it(
    make_skill: MakeSkill, orchestrator: Agent
) -> None:
    calls = make_skill()
    newer = submit(agent=orchestrator, skill_name="probe", data={}, wake=False).execution
    SkillExecution.objects.update(version="1.7", hinted_at="2026-01-01T00:00:00Z")

    tasks.sweep()

    assert not attempt(newer) and not calls
    assert newer.status == Status.QUEUED and newer.claims == 0


# --- what a caller is told ------------------------------------------------------------------------


def expect_dates(answer: Any) -> None:
    """Deprecation as RFC 9745 has it, Sunset as RFC 8594 has it."""
    assert answer.headers["Deprecation"] == "@1793491200"  # 2026-11-01T00:00:00Z
    assert answer.headers["Sunset"] == "Tue, 15 Dec 2026 00:00:00 GMT"


@pytest.mark.req("A0.7")
def test_every_answer_about_a_deprecated_version_says_since_when_and_until_when(
    two: None, api: Any, orchestrator: Agent, time_machine: Any
) -> None:
    time_machine.move_to("2026-12-14T20:00:00Z")
    client = api(orchestrator)

    made = client.post(f"{URL}executions/", {"input": {}}, content_type=JSON)
    one = f"/api/v1/executions/{made.json()['id']}/"
    refused = client.post(f"{URL}executions/", {"input": {"text": ""}}, content_type=JSON)

    assert (made.status_code, refused.status_code) == (202, 400)
    for answer in (made, refused, client.get(one), client.get(URL), client.post(f"{one}cancel/")):
        expect_dates(answer)
    shown = client.get(URL).json()
    assert shown["deprecated"] is True and shown["sunset"] == "2026-12-15T00:00:00Z"
    assert shown["version"] == "1.0" and shown["versions"] == ["2.0", "1.0"]


@pytest.mark.req("A0.7")
def test_the_newest_version_says_nothing_of_the_kind(
    two: None, api: Any, orchestrator: Agent
) -> None:
    client = api(orchestrator)

    made = client.post("/api/v1/skills/probe/executions/", {"input": {}}, content_type=JSON)
    read = client.get(made.headers["Location"])
    shown = client.get("/api/v1/skills/probe/")

    for answer in (made, read, shown, client.get("/api/v1/skills/")):
        assert not {"Deprecation", "Sunset"} & set(answer.headers)
    assert shown.json()["deprecated"] is False and shown.json()["sunset"] is None


@pytest.mark.req("A0.7", "X4")
def test_after_the_sunset_a_call_is_gone_and_nothing_is_saved(
    two: None, api: Any, orchestrator: Agent, time_machine: Any
) -> None:
    time_machine.move_to(AFTER)
    client = api(orchestrator)

    answers = [client.get(URL), client.post(f"{URL}executions/", {"input": {}}, content_type=JSON)]

    for answer in answers:
        assert answer.status_code == 410 and answer.json()["code"] == "VERSION_GONE"
        assert "v2.0" in answer.json()["detail"]
        expect_dates(answer)
    assert not SkillExecution.objects.exists()
    assert client.get("/api/v1/skills/probe/").json()["versions"] == ["2.0"]


# --- what may be registered -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dates", "why"),
    [
        ({"sunset": date(2026, 12, 1)}, "needs deprecated_since"),
        ({"sunset": date(2026, 11, 30), "deprecated_since": SINCE}, "at least 30 days"),
    ],
)
@pytest.mark.req("A0.7", "W1")
def test_an_end_without_thirty_days_notice_is_refused(dates: dict[str, Any], why: str) -> None:
    own = Registry()

    with pytest.raises(IncompleteSkill, match=why):
        own.register(version("1.0", **dates))
    assert own._majors == {}


@pytest.mark.req("A0.7")
def test_thirty_days_are_enough() -> None:
    Registry().register(version("1.0", sunset=date(2026, 12, 1), deprecated_since=SINCE))


@pytest.mark.req("A0.7", "W1")
def test_a_second_class_of_the_same_major_is_refused() -> None:
    own = Registry()
    own.register(version("2.0"))

    with pytest.raises(IncompleteSkill, match=r"probe is registered already as v2\.0"):
        own.register(type("Other", (version("2.1"),), {}))


# --- the two that show it -------------------------------------------------------------------------


@pytest.mark.req("A0.7", "W3")
def test_echo_2_gives_any_object_back_to_the_digit(api: Any, orchestrator: Agent) -> None:
    client = api(orchestrator)
    sent = '{"input": {"a": {"b": [1, null, "é"]}, "amount": 0.1000000000000000055, "self": 1}}'

    made = client.post("/api/v1/skills/echo/executions/", sent, content_type=JSON)
    execution = drive(SkillExecution.objects.get(id=made.json()["id"]))
    answer = client.get(f"/api/v1/executions/{execution.id}/").content.decode()

    assert execution.version == "2.0" and execution.output == execution.input
    assert answer.count("0.1000000000000000055") == 2 and answer.count('"self":1') == 2


@pytest.mark.req("A0.7")
def test_echo_1_takes_a_message_alone(orchestrator: Agent) -> None:
    assert call(orchestrator, "echo@v1.0", message="hi").output == {"message": "hi"}
    with pytest.raises(ChimeraError, match="INVALID_INPUT"):
        call(orchestrator, "echo@v1.0", message="hi", more=1)


@pytest.mark.req("A0.7", "I4")
def test_text_analysis_2_needs_the_reading_speed_that_1_assumed(orchestrator: Agent) -> None:
    text = "One two three. Four? Five!"

    older = call(orchestrator, "text_analysis@v1.0", text=text).output
    newer = call(orchestrator, "text_analysis", text=text, words_per_minute=100).output

    assert older == {"words": 5, "sentences": 3, "reading_time_sec": 2}
    assert newer == {"characters": 26, "words": 5, "sentences": 3, "reading_time_sec": 3}
    with pytest.raises(ChimeraError) as refused:
        call(orchestrator, "text_analysis", text=text)
    assert set(refused.value.errors or {}) == {"words_per_minute"}
