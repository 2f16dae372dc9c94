"""Count the words and sentences of a text in any language; reading time at 200 words a minute."""

from datetime import date

from pydantic import BaseModel, ConfigDict, Field

from skills.contract import CostClass, RiskLevel, Skill, SkillContext, SkillMetadata, SkillResult
from skills.skill_text_analysis.counting import count_sentences, count_words, reading_seconds

WORDS_PER_MINUTE = 200


class Input(BaseModel):
    """A text."""

    model_config = ConfigDict(extra="forbid")
    text: str = Field(max_length=100_000, description="The text, in any language")


class Output(BaseModel):
    """What was counted."""

    words: int = Field(ge=0)
    sentences: int = Field(ge=0)
    reading_time_sec: int = Field(ge=0, description="Whole seconds, rounded up")


class TextAnalysisV1(Skill):
    """Replaced by 2.0, which needs the reading speed of the audience."""

    input_model = Input
    output_model = Output
    metadata = SkillMetadata(
        version="1.0",
        risk_level=RiskLevel.LOW,
        cost_class=CostClass.CHEAP,
        side_effects=False,
        idempotent=True,
        timeout_sec=5,
    )
    deprecated_since = date(2026, 11, 21)
    sunset = date(2027, 12, 31)

    async def execute(self, ctx: SkillContext[Input]) -> SkillResult:
        text, words = ctx.params.text, count_words(ctx.params.text)
        output = Output(
            words=words,
            sentences=count_sentences(text),
            reading_time_sec=reading_seconds(words, WORDS_PER_MINUTE),
        )
        return SkillResult(output=output, output_text=f"{words} words")
