"""Find what hurts, intrigues and divides an audience about a topic, to build a video on."""

from typing import Any

from content.studio.contracts import ResearchInput, ResearchOutput
from skills.contracted import ContractSkill


class Research(ContractSkill):
    """Findings by the implementation of CHIMERA_SKILL_IMPL_RESEARCH."""

    input_model = ResearchInput
    output_model = ResearchOutput

    def said(self, output: Any) -> str:
        n = sum(len(items) for _, items in output)
        return f"{n} findings"
