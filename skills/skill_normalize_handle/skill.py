"""Bring a social handle into its one spelling: NFKC, trimmed, lower case, no @, no profile address."""

import re
import unicodedata

from pydantic import BaseModel, ConfigDict, Field

from skills.contract import CostClass, RiskLevel, Skill, SkillContext, SkillMetadata, SkillResult

_ADDRESS = re.compile(
    r"(?:https?://)?(?:[a-z]{1,10}\.)?"
    r"(?:twitter\.com|x\.com|instagram\.com|tiktok\.com|youtube\.com|threads\.net|facebook\.com)/",
    re.IGNORECASE,
)
_HANDLE = re.compile(r"[a-z0-9_](?:[a-z0-9_.-]{0,98}[a-z0-9_])?")


class Input(BaseModel):
    """A handle as people write it."""

    model_config = ConfigDict(extra="forbid")
    handle: str = Field(
        min_length=1, max_length=500, description="Handle or profile address, e.g. ' @Aurora '"
    )


class Output(BaseModel):
    """The handle in its one spelling."""

    handle: str


class NormalizeHandle(Skill):
    """Pure: text in, text out."""

    input_model = Input
    output_model = Output
    metadata = SkillMetadata(
        risk_level=RiskLevel.LOW,
        cost_class=CostClass.CHEAP,
        side_effects=False,
        idempotent=True,
        timeout_sec=2,
    )
    error_codes = ("INVALID_INPUT",)

    async def execute(self, ctx: SkillContext[Input]) -> SkillResult:
        handle = normalized(ctx.params.handle)
        return SkillResult(output=Output(handle=handle), output_text=f"@{handle}")


def normalized(text: str) -> str:
    """The handle; ValueError names a character that no handle has."""
    plain = unicodedata.normalize("NFKC", text).strip()
    found = _ADDRESS.match(plain)
    if found:
        plain = re.split(r"[/?#]", plain[found.end() :], maxsplit=1)[0]
    handle = plain.strip().removeprefix("@").lower()
    if not _HANDLE.fullmatch(handle):
        raise ValueError(
            f"handle: {text[:60]!r} is no handle; use letters a to z, digits, _ . and -"
        )
    return handle
