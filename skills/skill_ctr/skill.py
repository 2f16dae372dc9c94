"""Write hooks, titles and thumbnail texts that keep the promise of a click thesis."""

from typing import Any

from content.studio.contracts import CtrInput, CtrOutput
from content.studio.sources import names_unchecked
from skills.contract import SkillContext, SkillResult
from skills.contracted import ContractSkill


class Ctr(ContractSkill):
    """Ideas by the implementation of CHIMERA_SKILL_IMPL_CTR; no number, date or name of their own."""

    input_model = CtrInput
    output_model = CtrOutput

    async def execute(self, ctx: SkillContext[CtrInput]) -> SkillResult:
        """The ideas; a warning says where a name could have hidden among capitals."""
        result = await super().execute(ctx)
        ideas = result.output
        if any(map(names_unchecked, [*ideas.hooks, *ideas.titles, *ideas.thumbnail_texts])):
            ctx.warn("NAMES_UNCHECKED")
        return result

    def said(self, output: Any) -> str:
        return f"{len(output.hooks)} hooks, {len(output.titles)} titles, {len(output.thumbnail_texts)} thumbnail texts"
