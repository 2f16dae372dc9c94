"""Skills whose output must keep a written contract, whoever wrote it (docs/contract_rules.md).

An output that breaks a rule is thrown away whole and written again, at most three times. Then a
person is shown the best attempt: the framework asks, and the execution waits for the answer.
"""

from typing import Any, ClassVar

from pydantic import BaseModel

from agents.roles import Role
from chimera.core.digest import digest
from chimera.core.errors import ChimeraError
from chimera.core.jsontext import dumps, plain
from content.studio.implementations import implementation
from content.studio.order import Order
from content.studio.rules import violations
from skills.contract import (
    CostClass,
    Retry,
    RiskLevel,
    Skill,
    SkillContext,
    SkillMetadata,
    SkillResult,
)

RERUNS = 3
MOST_SHOWN = 20_000
"""Characters of an attempt that a person is shown."""
WARNING = "CONTRACT_RERUN"


class ContractBroken(ChimeraError):
    """No run kept the contract. best: the output that broke the fewest rules; it is not accepted."""

    def __init__(self, skill: str, runs: int, best: Any, broken: list[str]) -> None:
        details = {"runs": runs, "violations": broken}
        message = f"{skill} broke its contract in each of {runs} runs: {'; '.join(broken)}"
        super().__init__("CONTRACT_VIOLATION", message, details=details)
        self.best = _showable(best)


def _showable(output: Any) -> Any:
    """The output as a person can be shown it, whatever it is: JSON, or else the beginning of its repr."""
    try:
        shown = plain(output)
        digest(shown)
        text = dumps(shown)
    except (TypeError, ValueError, RecursionError):
        return repr(output)[:MOST_SHOWN]
    whole = len(text) <= MOST_SHOWN and "\\u0000" not in text  # no database keeps a NUL
    return shown if whole else repr(output)[:MOST_SHOWN]


class ContractSkill(Skill):
    """A skill of the contracts. It declares its models; the implementation is a setting."""

    metadata: ClassVar[SkillMetadata] = SkillMetadata(
        risk_level=RiskLevel.LOW,
        cost_class=CostClass.EXPENSIVE,
        side_effects=False,
        idempotent=True,
        capabilities=frozenset({"LLM"}),
        timeout_sec=60,
    )
    roles = frozenset({Role.CONTENT_CREATOR, Role.ORCHESTRATOR})
    retry = Retry(2, frozenset({"LLM_ERROR"}))
    error_codes = ("CONTRACT_VIOLATION", "LLM_ERROR")

    async def execute(self, ctx: SkillContext[Any]) -> SkillResult:
        """The first output that keeps the contract. ContractBroken after the last run."""
        write = implementation(self.name)
        best: tuple[list[str], Any] | None = None
        broken: list[str] = []
        for run in range(RERUNS + 1):
            output = await write(self._order(ctx, run, broken))
            broken = violations(ctx.params, self.output_model, output)
            if not broken:
                return self._result(ctx, output)
            ctx.warn(WARNING)
            if best is None or len(broken) < len(best[0]):
                best = broken, output
        assert best is not None
        raise ContractBroken(self.name, RERUNS + 1, best[1], best[0])

    def _order(self, ctx: SkillContext[Any], run: int, broken: list[str]) -> Order:
        return Order(
            skill=self.name,
            params=ctx.params,
            answer=self.output_model,
            run=run,
            broken=(*ctx.again, *broken),
            attempt=ctx.attempt,
            seconds=ctx.seconds_left(self.metadata.timeout_sec / (RERUNS + 1)),
            token_budget=ctx.token_budget,
        )

    def _result(self, ctx: SkillContext[Any], output: Any) -> SkillResult:
        kept: BaseModel = self.output_model.model_validate(output)
        return SkillResult(output=kept, output_text=self.said(kept))

    def said(self, output: Any) -> str:
        """One line about the output, for lists and logs."""
        return " ".join(output.__class__.__doc__.split())
