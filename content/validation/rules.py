"""All rules over one package: the issues, and the confidence that is left."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import ModuleType

from agents.schemas import Persona
from content.schemas import ContentPackage, Platform
from content.validation import (
    compliance,
    copyright,
    duplicates,
    hidden,
    links,
    misinformation,
    offensive,
    sensitive,
)
from content.validation import persona as voice
from content.validation.issue import Issue
from content.validation.sensitive import sensitive_topics

__all__ = ["FAMILIES", "RULESET_VERSION", "Checks", "confidence", "sensitive_topics", "validate"]

RULESET_VERSION = "1.1"
"""Raised with every change of what a rule finds, so that no verdict of older rules is served."""
FAMILIES: dict[str, ModuleType] = {
    "offensive_language": offensive,
    "misinformation": misinformation,
    "copyright": copyright,
    "platform_compliance": compliance,
    "persona": voice,
    "sensitive_topics": sensitive,
    "hidden_characters": hidden,
    "links": links,
    "duplicates": duplicates,
}
_ERROR_COST, _WARNING_COST = 10, 2  # percent
_ORDER = ("error", "warning", "info")


@dataclass(frozen=True)
class Checks:
    """The switchable rule families; all others always run."""

    offensive_language: bool = True
    misinformation: bool = True
    copyright: bool = True
    platform_compliance: bool = True


@dataclass(frozen=True)
class Case:
    """A package and what it is held against.

    platforms: where it would be posted; those that have a variant when none is named.
    source_text: what the trends behind it say (`TrendData.source_text`), None where not at hand.
    allowed: further texts whose links and mentions are known, such as a campaign's.
    earlier: what the author and the account have published before.
    """

    package: ContentPackage
    persona: Persona | None = None
    platforms: Sequence[Platform] = ()
    checks: Checks = Checks()
    source_text: str | None = None
    allowed: str = ""
    earlier: Sequence[duplicates.Earlier] = ()

    @property
    def targets(self) -> tuple[Platform, ...]:
        """The platforms it would be posted on."""
        variants = self.package.platform_variants
        names: tuple[Platform, ...] = ("twitter", "tiktok", "instagram", "youtube")
        own = tuple(name for name in names if variants and getattr(variants, name))
        return tuple(self.platforms) or own

    @property
    def persona_text(self) -> str:
        """The persona's own words, which need no source."""
        persona = self.persona
        return "\n".join([persona.name, persona.bio, *persona.disclaimers]) if persona else ""


Rule = tuple[str, Callable[[], Iterable[Issue]]]


def rules_of(case: Case) -> list[Rule]:
    """The rules that run over the case, by name, in their order."""
    package, on, persona = case.package, case.checks, case.persona
    known = "\n".join([case.source_text or "", case.persona_text, case.allowed])
    rules: list[tuple[str, bool, Callable[[], Iterable[Issue]]]] = [
        ("hidden_characters", True, lambda: hidden.check(package)),
        ("offensive_language", on.offensive_language, lambda: offensive.check(package)),
        (
            "misinformation",
            on.misinformation,
            lambda: misinformation.check(package, case.source_text, case.persona_text),
        ),
        ("copyright", on.copyright, lambda: copyright.check(package)),
        (
            "platform_compliance",
            on.platform_compliance,
            lambda: compliance.check(package, case.targets),
        ),
        (
            "persona",
            persona is not None,
            lambda: voice.check(package, persona, case.targets) if persona else (),
        ),
        ("links", True, lambda: links.check(package, known)),
        ("duplicates", True, lambda: duplicates.check(package, case.targets, case.earlier)),
        ("sensitive_topics", True, lambda: sensitive.check(package)),
        ("media_missing", not package.media_urls, _media_missing),
    ]
    return [(name, check) for name, wanted, check in rules if wanted]


def _media_missing() -> Iterator[Issue]:
    yield Issue(
        rule="media_missing",
        severity="warning",
        message="the package has no image or video; post it as text or generate media",
        field="media_urls",
    )


def validate(
    package: ContentPackage,
    *,
    persona: Persona | None = None,
    platforms: Sequence[Platform] = (),
    checks: Checks | None = None,
    source_text: str | None = None,
) -> list[Issue]:
    """Every issue of the package, errors first, here and now; `running.run` does it in bounded time."""
    case = Case(package, persona, platforms, checks or Checks(), source_text)
    return in_order(issue for _, check in rules_of(case) for issue in check())


def in_order(issues: Iterable[Issue]) -> list[Issue]:
    """The first place of each finding; errors first."""
    found: dict[tuple[str, str], Issue] = {}
    for issue in issues:
        found.setdefault((issue.rule, issue.message), issue)
    return sorted(found.values(), key=lambda issue: _ORDER.index(issue.severity))


def confidence(package_confidence: float, issues: Sequence[Issue]) -> float:
    """min(package confidence, max(0, 1 - 0.1 per error - 0.02 per warning))."""
    errors = sum(issue.severity == "error" for issue in issues)
    warnings = sum(issue.severity == "warning" for issue in issues)
    left = max(0, 100 - _ERROR_COST * errors - _WARNING_COST * warnings) / 100
    return min(package_confidence, left)
