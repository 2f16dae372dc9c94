"""Count the words and sentences of a text in any language and say how long reading it takes."""

from pydantic import BaseModel, ConfigDict, Field

from skills.contract import CostClass, RiskLevel, Skill, SkillContext, SkillMetadata, SkillResult
from skills.skill_text_analysis.counting import count_sentences, count_words, reading_seconds


class Input(BaseModel):
    """A text and how fast its audience reads."""

    model_config = ConfigDict(extra="forbid")
    text: str = Field(max_length=100_000, description="The text, in any language")
    words_per_minute: int = Field(
        ge=50, le=1000, description="Reading speed of the audience; 200 is usual for English prose"
    )


class Output(BaseModel):
    """What was counted."""

    characters: int = Field(ge=0, description="Unicode code points")
    words: int = Field(ge=0)
    sentences: int = Field(ge=0)
    reading_time_sec: int = Field(ge=0, description="Whole seconds, rounded up")


class TextAnalysis(Skill):
    """Version 2.0 asks for the reading speed, which 1.0 took to be 200 words a minute for everybody."""

    input_model = Input
    output_model = Output
    metadata = SkillMetadata(
        version="2.0",
        risk_level=RiskLevel.LOW,
        cost_class=CostClass.CHEAP,
        side_effects=False,
        idempotent=True,
        timeout_sec=5,
    )

    async def execute(self, ctx: SkillContext[Input]) -> SkillResult:
        text, words = ctx.params.text, count_words(ctx.params.text)
        output = Output(
            characters=len(text),
            words=words,
            sentences=count_sentences(text),
            reading_time_sec=reading_seconds(words, ctx.params.words_per_minute),
        )
        return SkillResult(output=output, output_text=f"{words} words")
