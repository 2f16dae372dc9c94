"""The language a skill is written in: contract, context, result.

A skill declares (models, roles, limits, retries, cache, risk, approval); the framework does. It sees no
request, no Celery, no token and no other skill.
"""

import logging
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar
from uuid import UUID

from asgiref.sync import sync_to_async
from pydantic import BaseModel, ConfigDict, Field

from agents.models import Agent
from agents.roles import Role
from approvals.models import ApprovalRequest
from chimera.core import capabilities, clock
from chimera.core.errors import ChimeraError
from chimera.core.grants import Grant
from skills.mcp.client import MCPClient

SkillError = ChimeraError
InputT = TypeVar("InputT", bound=BaseModel)

EVERY_ROLE = frozenset(Role)
STORED = {"stored": True}
"""Validation context of an input that was accepted before: what depends on the time is not asked again."""


class RiskLevel(StrEnum):
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class CostClass(StrEnum):
    CHEAP = "cheap"
    NORMAL = "normal"
    EXPENSIVE = "expensive"


class StepStatus(StrEnum):
    PENDING = "pending"
    RUNNING = "running"
    RETRYING = "retrying"
    BLOCKED = "blocked"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


def version_numbers(version: str) -> tuple[int, int]:
    """(major, minor) of a version such as 1.0."""
    major, minor = version.split(".")
    return int(major), int(minor)


class SkillMetadata(BaseModel):
    """What the framework must know about a skill before it runs it."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    version: str = Field("1.0", pattern=r"^\d+\.\d+$")
    risk_level: RiskLevel
    cost_class: CostClass
    side_effects: bool = Field(
        description="Changes state outside; reading the network is no side effect"
    )
    idempotent: bool = Field(description="The same input causes the effect once")
    capabilities: frozenset[str] = frozenset()
    requires_gpu: bool = False
    timeout_sec: float = Field(gt=0, le=600, description="Limit of one attempt in seconds")

    @property
    def major(self) -> int:
        """The first number of the version: another one means another contract."""
        return version_numbers(self.version)[0]


class SkillResult(BaseModel):
    """What a skill gives back. output: a dict or the output model; artifacts: absolute paths of files."""

    model_config = ConfigDict(arbitrary_types_allowed=True)
    output: Any = None
    output_text: str = ""
    status: StepStatus = StepStatus.COMPLETED
    artifacts: list[str] = []


@dataclass
class SkillContext(Generic[InputT]):
    """Everything a skill is given. `SkillContext(params=..., mcp=None)` suffices in tests."""

    params: InputT
    execution_id: UUID | None = None
    agent: Agent | None = None
    trace_id: str = ""
    deadline: datetime | None = None
    token_budget: tuple[int, int] = (8000, 2000)
    mcp: MCPClient | None = None
    grant: Grant | None = None
    now: Callable[[], datetime] = clock.now
    log: logging.Logger = field(default_factory=lambda: logging.getLogger("chimera.skill"))
    warnings: list[str] = field(default_factory=list)
    approved: dict[str, Any] | None = None
    prepared: Any = None
    attempt: int = 1
    last_attempt: bool = True
    again: tuple[str, ...] = ()
    """Why a workflow asks for the same anew: the reason of each round that came back for it."""
    cached: bool = False
    """Set by a skill that keeps its own store of results and has answered from it."""
    home: Path | None = None
    """Where the framework lets this call put files; None without the capability IO."""

    def folder(self) -> Path:
        """The folder for this call's files; a temporary one outside the framework.

        A file in it becomes an artifact by its absolute path in `SkillResult.artifacts`.
        SECURITY_VIOLATION in a skill that does not declare IO.
        """
        if self.home is None:
            capabilities.require("IO")
            self.home = Path(tempfile.mkdtemp(prefix="chimera-"))
        self.home.mkdir(parents=True, exist_ok=True)
        return self.home

    keep_progress: Callable[[dict[str, Any]], None] = field(default=lambda said: None, repr=False)
    resumed: dict[str, Any] | None = None
    """The state that an attempt which was cut short had left with `progress`."""

    async def progress(
        self, fraction: float, message: str, state: dict[str, Any] | None = None
    ) -> None:
        """Say how far a long job is; `state` is what it needs to go on from here after a kill.

        fraction: 0 to 1. CONCURRENCY_ERROR where another worker has taken the execution over: stop.
        """
        said = {"fraction": round(min(max(fraction, 0.0), 1.0), 4), "message": message[:200]}
        await sync_to_async(self.keep_progress)(said | {"state": state})

    def warn(self, code: str) -> None:
        """Put a warning code on the execution; it still completes."""
        if code not in self.warnings:
            self.warnings.append(code)

    def seconds_left(self, limit: float) -> float:
        """What remains until the deadline, at most `limit`."""
        if self.deadline is None:
            return limit
        return max(0.0, min(limit, (self.deadline - self.now()).total_seconds()))

    @property
    def caller(self) -> Agent:
        """The calling agent; RuntimeError where a skill that needs one is run without."""
        if self.agent is None:
            raise RuntimeError("this skill needs a calling agent")
        return self.agent


ALWAYS_RETRIED = frozenset(
    {"TIMEOUT", "RATE_LIMITED", "NETWORK_ERROR", "PLATFORM_UNAVAILABLE", "TX_FAILED"}
)


@dataclass(frozen=True)
class Retry:
    """Retries after the first attempt and the codes that allow them, beside those of every skill."""

    retries: int = 2
    codes: frozenset[str] = ALWAYS_RETRIED

    def __post_init__(self) -> None:
        object.__setattr__(self, "codes", self.codes | ALWAYS_RETRIED)


class Skill(ABC):
    """Base class of every skill. The first paragraph of the module's docstring is its description."""

    name: ClassVar[str] = ""
    input_model: ClassVar[type[BaseModel]]
    output_model: ClassVar[type[BaseModel]]
    metadata: ClassVar[SkillMetadata]
    compatible_versions: ClassVar[tuple[str, ...]] = ()
    """Earlier minor versions that this class answers to as well."""
    deprecated_since: ClassVar[date | None] = None
    sunset: ClassVar[date | None] = None
    """The day from which a call is 410 VERSION_GONE; at least 30 days after deprecated_since."""
    roles: ClassVar[frozenset[Role]] = EVERY_ROLE
    retry: ClassVar[Retry] = Retry()
    cache_seconds: ClassVar[int] = 0
    stale_codes: ClassVar[frozenset[str]] = frozenset()
    timeout_code: ClassVar[str] = "TIMEOUT"
    error_codes: ClassVar[tuple[str, ...]] = ()
    escalate_codes: ClassVar[frozenset[str]] = frozenset()
    """Codes of a final failure that a person must hear of: they become an item in the inbox."""
    field_codes: ClassVar[dict[str, str]] = {}
    secret_field: ClassVar[str | None] = None
    queue: ClassVar[str] = "default"
    requires_approval: ClassVar[bool] = False

    @property
    def capabilities(self) -> frozenset[str]:
        """The declared resource needs."""
        return self.metadata.capabilities

    @abstractmethod
    async def execute(self, ctx: Any) -> SkillResult:
        """Do the work. Raises SkillError with one of `error_codes`."""

    def told(self, given: dict[str, Any], error: ChimeraError) -> dict[str, Any] | None:
        """The output that says `error`, where the contract puts failures there; None: the execution fails.

        given: the stored input. An outcome that is not known yet is said with OUTCOME_UNKNOWN.
        """
        return None

    def idempotency(self, params: Any) -> tuple[str, str] | None:
        """(scope, key) where the input itself carries the key; else the Idempotency-Key header counts."""
        return None


class GatedSkill(Skill):
    """A skill with an outside effect that a person signs first.

    `prepare` says exactly what would be sent; the framework redeems the approval of exactly that and
    calls `begin` in the same transaction; `execute` then carries the effect out, as often as needed.
    """

    requires_approval: ClassVar[bool] = True

    @abstractmethod
    async def prepare(self, ctx: Any) -> dict[str, Any]:
        """The action, recomputed from what is about to be sent. Raises what makes it impossible.

        ctx.approved is the action that the token names, still to be compared with the answer. What
        `begin` needs beside the action (a price, a row) goes into ctx.prepared.
        """

    @abstractmethod
    def begin(self, ctx: Any, grant: Grant) -> datetime | None:
        """Record the start of the effect; when it is due, None for at once.

        Runs inside the transaction that consumed the approval.
        """

    def under_way(self, execution_id: UUID) -> bool:
        """The effect may have happened already: a revocation comes too late to stop it."""
        return False

    def call_off(self, execution_id: UUID) -> None:
        """The execution has failed for good: give free what `begin` reserved and nothing has used."""

    def ask(self, ctx: Any) -> ApprovalRequest | None:
        """Open the approval request when the call came without a token; None: a token is required."""
        return None


BaseSkill = Skill
