"""Say in one charged sentence, bound to a time or a consequence, why a video must be clicked."""

from typing import Any

from content.studio.contracts import ThesisInput, ThesisOutput
from skills.contracted import ContractSkill


class Thesis(ContractSkill):
    """The ClickThesis as a skill, so that a workflow can make and mend it."""

    input_model = ThesisInput
    output_model = ThesisOutput

    def said(self, output: Any) -> str:
        return str(output.click_thesis)
