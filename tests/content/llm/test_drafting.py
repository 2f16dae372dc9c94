"""A model's words inside the frame: whatever it says, the structure stays and the rules hold."""

import asyncio
from typing import Any

import pytest

from chimera.core.errors import ChimeraError
from content.llm.budget import Budget
from content.llm.composer import Draft, Frame, plan, write
from content.llm.drafting import Drafter, Offensive, fitted, structure, text_of
from content.llm.guard import allowed_of, found_in
from content.llm.models import LanguageModel, connected
from content.schemas import TWEET_WEIGHT
from content.tweets import tweet_weight
from content.validation.match import has_word
from tests.content.samples import NOW, persona, trend
from tests.helpers.language_models import Thinkers

MODEL = LanguageModel("google", "gemini-3-flash")
TYPES = ("video_script", "carousel", "single_post", "thread")
STYLES = ("narrative", "listicle", "question_answer", "data_driven", "inspirational")


def framed(content_type: Any = "single_post", platform: Any = "twitter", **voice: Any) -> Frame:
    return plan(trend(), persona(**voice), platform, content_type, now=NOW)


def drafted(frame: Frame) -> tuple[Draft, list[str]]:
    async def main() -> tuple[Draft, list[str]]:
        allowed = allowed_of(frame.writer.trend, frame.writer.persona)
        async with connected([MODEL]) as connection:
            drafter = Drafter(connection, MODEL, frame, allowed, Budget(), 10)
            return await drafter.draft(), drafter.smuggled

    return asyncio.run(main())


def own(frame: Frame) -> Draft:
    return write(frame, frame.story, frame.tags)


@pytest.mark.req("A3.1", "A3.5")
@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("content_type", TYPES)
def test_a_model_words_the_post_and_the_structure_stays(
    thinkers: Thinkers, content_type: str, style: str
) -> None:
    frame = framed(content_type, content_style__storytelling_style=style)
    draft, _ = drafted(frame)
    assert draft.script != own(frame).script
    sections, length = structure(draft.script)
    goal_sections, goal_length = structure(own(frame).script)
    assert sections == goal_sections
    assert abs(length - goal_length) <= 0.045 * goal_length
    assert len(draft.hashtags) == len(own(frame).hashtags)
    assert draft.platform_variants.twitter is not None
    assert tweet_weight(draft.platform_variants.twitter.text) <= TWEET_WEIGHT


@pytest.mark.req("A3.5")
@pytest.mark.parametrize("habit", ["", "obey", "invent", "wordy", "missing"])
def test_whatever_a_model_does_two_posts_of_one_input_have_one_structure(
    thinkers: Thinkers, habit: str
) -> None:
    frame = framed("thread", content_style__post_length_preference="detailed")
    first, _ = drafted(frame)
    thinkers.gemini.habit = habit
    try:
        second, _ = drafted(frame)
    except ChimeraError as problem:
        assert problem.code == "LLM_ERROR"
        return
    assert structure(first.script)[0] == structure(second.script)[0]
    assert len(first.hashtags) == len(second.hashtags)
    lengths = sorted([len(first.script), len(second.script)])
    assert lengths[1] <= 1.1 * lengths[0]


@pytest.mark.req("A3.5")
@pytest.mark.parametrize("times", [0.2, 0.6, 1.5, 3])
def test_words_of_any_length_are_fitted_by_giving_the_frames_own_back(times: float) -> None:
    frame = framed("carousel")
    goal = structure(frame.script(frame.story))
    longer = {"headline": "x" * int(times * 60), "ask": "y" * int(times * 50), "lead": "z"}
    sections, length = structure(frame.script(fitted(frame, longer)))
    assert sections == goal[0] and abs(length - goal[1]) <= 0.045 * goal[1]


@pytest.mark.req("A2.4", "A3.5")
def test_the_same_question_is_asked_with_the_same_words_and_gets_the_same_post(
    thinkers: Thinkers,
) -> None:
    assert drafted(framed())[0] == drafted(framed())[0]
    assert thinkers.gemini.requests[0] == thinkers.gemini.requests[1]


@pytest.mark.req("A3.4")
def test_a_model_that_obeys_strangers_gets_no_link_and_no_account_into_a_post(
    thinkers: Thinkers,
) -> None:
    thinkers.gemini.habit = "obey"
    with pytest.raises(ChimeraError) as caught:
        drafted(framed())
    assert caught.value.code == "LLM_ERROR" and "look at the trend" in caught.value.message


def test_one_bad_sentence_gives_way_to_the_frames_own_and_is_told(
    thinkers: Thinkers, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.fakes import _minds

    usual, lured = _minds._spoilt, []

    def once(text: str, *rest: Any) -> str:
        lured.append(text)
        return f"{text} {_minds.LURE}" if len(lured) == 1 else usual(text, *rest)

    monkeypatch.setattr(_minds, "_spoilt", once)
    draft, smuggled = drafted(framed())
    assert smuggled == ["https://lure.example/now", "@lure_account"]
    posted = draft.platform_variants.twitter
    assert posted and found_in(f"{draft.script} {draft.captions} {posted.text}") == []


def test_facts_nobody_gave_are_not_taken_over(thinkers: Thinkers) -> None:
    thinkers.gemini.habit = "invent"
    with pytest.raises(ChimeraError, match="No sentence"):
        drafted(framed())
    assert len(thinkers.gemini.requests) == 2, "asked once more before it is given up"


def test_forbidden_words_are_never_taken_over(thinkers: Thinkers) -> None:
    frame = framed(vocabulary__forbidden_words=["look", "right", "well"])
    draft, _ = drafted(frame)
    assert not has_word(f"{draft.script} {draft.captions}", ["look", "right", "well"])


def test_a_disclaimer_stands_in_the_post_word_for_word(thinkers: Thinkers) -> None:
    told = "Paid partnership with the tailors of Merkato."
    draft, _ = drafted(framed(brand_guidelines={"required_disclaimers": [told]}))
    posted = draft.platform_variants.twitter
    assert posted and told in posted.text and told in draft.script


@pytest.mark.req("A3.4")
def test_offensive_words_of_a_model_are_told_apart_from_failures(thinkers: Thinkers) -> None:
    thinkers.gemini.habit = "swear_always"
    with pytest.raises(Offensive):
        drafted(framed())


@pytest.mark.req("W5")
def test_the_largest_persona_fits_into_the_token_budget(thinkers: Thinkers) -> None:
    words = [f"word{number}" for number in range(100)]
    frame = framed(
        bio="b" * 500,
        vocabulary__preferred_words=words,
        vocabulary__forbidden_words=[f"never{number}" for number in range(100)],
        content_style__post_length_preference="detailed",
    )
    drafted(frame)
    assert thinkers.gemini.requests


def test_every_sentence_of_the_frame_is_offered_to_the_model(thinkers: Thinkers) -> None:
    frame = framed("thread", content_style__post_length_preference="detailed")
    drafted(frame)
    prompt = thinkers.gemini.requests[0]["contents"][-1]["parts"][0]["text"]
    assert all(word in prompt for word in text_of(frame.story).split() if word.isalpha())
