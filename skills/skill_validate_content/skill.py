"""Check a content package against the rules: language, claims, copyright, platform, persona.

A verdict is served again for six hours, as long as nothing that it depends on has changed.
"""

import time
from typing import Any, Literal

from asgiref.sync import sync_to_async
from pydantic import BaseModel, ConfigDict, Field

from agents.roles import Role
from chimera.core.errors import ChimeraError
from chimera.core.jsontext import plain
from content import services as content
from content.schemas import ContentPackage
from content.validation import duplicates, sensitive
from content.validation.issue import Issue
from content.validation.rules import RULESET_VERSION, Checks, confidence, in_order, rules_of
from content.validation.running import Run, run
from content.validations import Subject, subject_of, verdict_kept
from skills.contract import CostClass, RiskLevel, Skill, SkillContext, SkillMetadata, SkillResult


class Rules(BaseModel):
    """Which rule families run."""

    model_config = ConfigDict(extra="forbid")
    check_offensive_language: bool = Field(True, strict=True)
    check_misinformation: bool = Field(True, strict=True)
    check_copyright: bool = Field(True, strict=True)
    check_platform_compliance: bool = Field(True, strict=True)


class Input(BaseModel):
    """The package and the rules to apply."""

    model_config = ConfigDict(extra="forbid")
    content: ContentPackage = Field(description="The package to check")
    validation_rules: Rules = Field(
        default_factory=Rules, description="Rule families, all on by default"
    )


class IssueOut(BaseModel):
    """One finding."""

    rule: str
    severity: Literal["error", "warning", "info"]
    message: str


class Output(BaseModel):
    """The verdict."""

    valid: bool
    confidence_score: float = Field(ge=0, le=1)
    issues: list[IssueOut]
    requires_human_review: bool
    validation_time_ms: int


class ValidateContent(Skill):
    """Runs the rules; the verdict on a stored revision makes it requestable."""

    input_model = Input
    output_model = Output
    metadata = SkillMetadata(
        risk_level=RiskLevel.LOW,
        cost_class=CostClass.NORMAL,
        side_effects=False,
        idempotent=True,
        capabilities=frozenset({"DB"}),
        timeout_sec=5,
    )
    roles = frozenset({Role.JUDGE, Role.ORCHESTRATOR})
    timeout_code = "SAFETY_CHECK_TIMEOUT"
    error_codes = ("VALIDATION_ERROR", "SAFETY_CHECK_TIMEOUT", "INVALID_CONTENT")
    field_codes = {"content": "INVALID_CONTENT"}

    async def execute(self, ctx: SkillContext[Input]) -> SkillResult:
        return await sync_to_async(_verdict)(ctx)


def _verdict(ctx: SkillContext[Input]) -> SkillResult:
    started = time.monotonic()
    switches = ctx.params.validation_rules.model_dump()
    checks = Checks(**{name.removeprefix("check_"): on for name, on in switches.items()})
    subject = subject_of(ctx.params.content, checks)
    kept = verdict_kept(subject)
    if kept:
        ctx.cached = True
        issues = [Issue.model_validate(issue) for issue in kept.issues]
    else:
        issues = _judged(subject, started)
    return _result(ctx.params.content, issues, started)


def _judged(subject: Subject, started: float) -> list[Issue]:
    """The issues of the rules, kept with the verdict; the worst is assumed where they did not end."""
    done = run(rules_of(subject.case))
    if not done.in_time or done.failed:
        _keep(subject, done.issues, key="", sure=0.0)
        raise _unfinished(done, started)
    issues = in_order([*done.issues, *_switched_off(subject.case.checks)])
    _keep(subject, issues, subject.key, confidence(subject.case.package.confidence_score, issues))
    return issues


def _keep(subject: Subject, issues: list[Issue], key: str, sure: float) -> None:
    content.validation_record(
        revision=subject.revision,
        valid=_valid(issues),
        confidence=sure,
        issues=[plain(issue) for issue in issues],
        ruleset=RULESET_VERSION,
        persona_version=subject.persona_version,
        key=key,
    )


def _unfinished(done: Run, started: float) -> ChimeraError:
    """The error with the worst case as its output."""
    output = {
        "valid": False,
        "confidence_score": 0.0,
        "issues": _shown(done.issues),
        "requires_human_review": True,
        "validation_time_ms": _ms(started),
    }
    if not done.in_time:
        message = f"The rule {done.at_work} did not end in time; the content counts as not valid"
        return ChimeraError("SAFETY_CHECK_TIMEOUT", message, output=output)
    message = f"Rules that could not run: {', '.join(done.failed)}; the content counts as not valid"
    details = {"rules": done.failed}
    return ChimeraError("VALIDATION_ERROR", message, details=details, output=output)


def _switched_off(checks: Checks) -> list[Issue]:
    """What was not looked for, so that whoever decides knows."""
    return [
        Issue(
            rule="not_checked",
            severity="info",
            message=f"the rules of {name.replace('_', ' ')} were switched off for this check",
            field="content",
        )
        for name, on in vars(checks).items()
        if not on
    ]


def _result(package: ContentPackage, issues: list[Issue], started: float) -> SkillResult:
    valid = _valid(issues)
    output = {
        "valid": valid,
        "confidence_score": confidence(package.confidence_score, issues),
        "issues": _shown(issues),
        "requires_human_review": not valid or package.requires_review or _delicate(issues),
        "validation_time_ms": _ms(started),
    }
    return SkillResult(
        output=output, output_text=f"{'valid' if valid else 'not valid'}, {len(issues)} findings"
    )


def _valid(issues: list[Issue]) -> bool:
    return not any(issue.severity == "error" for issue in issues)


def _delicate(issues: list[Issue]) -> bool:
    """Nothing forbidden, but for a person to weigh: sensitive subjects, and what was said before."""
    return any(issue.rule in (sensitive.RULE, duplicates.RULE) for issue in issues)


def _shown(issues: list[Issue]) -> list[dict[str, Any]]:
    return [{"rule": i.rule, "severity": i.severity, "message": i.message} for i in issues]


def _ms(started: float) -> int:
    return int((time.monotonic() - started) * 1000)
