"""Which calls need a person: the table that follows from a skill's metadata, and nothing else.

| risk | without a rule |
|---|---|
| low | allow |
| medium, idempotent and without side effects | allow |
| medium otherwise | ask |
| high | ask |

An expensive call above the agent's daily budget asks, whatever the row. A rule takes the place of the
answer where it is stricter, and in the row `medium otherwise` also where it is not: that row is left to it.
"""

from enum import IntEnum

from skills.contract import CostClass, RiskLevel, SkillMetadata


class Verdict(IntEnum):
    """What is to happen with a call, the strictest last. ask: a person says yes first."""

    ALLOW = 0
    ASK = 1
    DENY = 2


def decide(
    metadata: SkillMetadata, rule: Verdict | None = None, *, within_budget: bool = True
) -> Verdict:
    """The verdict on a call. ValueError for a rule that would loosen what the metadata ask for."""
    usual = _usual(metadata)
    least = Verdict.ASK if metadata.risk_level is RiskLevel.HIGH else Verdict.ALLOW
    chosen = usual if rule is None else rule
    if chosen < least:
        raise ValueError("a skill of high risk always asks a person; a rule cannot allow it")
    over = metadata.cost_class is CostClass.EXPENSIVE and not within_budget
    return max(chosen, Verdict.ASK if over else Verdict.ALLOW)


def _usual(metadata: SkillMetadata) -> Verdict:
    match metadata.risk_level:
        case RiskLevel.LOW:
            return Verdict.ALLOW
        case RiskLevel.MEDIUM if metadata.idempotent and not metadata.side_effects:
            return Verdict.ALLOW
    return Verdict.ASK
