"""Judge a video on paper: PASS, or FAIL with the reason that names what must be done again."""

from typing import Any

from content.studio.contracts import EvalInput, EvalOutput
from skills.contracted import ContractSkill


class Eval(ContractSkill):
    """A verdict by the implementation of CHIMERA_SKILL_IMPL_EVAL."""

    input_model = EvalInput
    output_model = EvalOutput

    def said(self, output: Any) -> str:
        return f"{output.result} {output.failure_reason or ''}".strip()
