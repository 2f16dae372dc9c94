"""Write the script of a video whose first fifteen seconds address the click thesis."""

from typing import Any

from content.studio.contracts import ScriptInput, ScriptOutput
from skills.contracted import ContractSkill


class Script(ContractSkill):
    """A script by the implementation of CHIMERA_SKILL_IMPL_SCRIPT; no cold open."""

    input_model = ScriptInput
    output_model = ScriptOutput

    def said(self, output: Any) -> str:
        return f"{len(output.script.split())} words"
