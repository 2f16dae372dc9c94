"""When the runs of a workflow start by themselves."""

from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError
from pydantic import BaseModel, ConfigDict, Field, model_validator

from chimera.core.clock import now


class Schedule(BaseModel):
    """When runs start by themselves."""

    model_config = ConfigDict(extra="forbid")
    cron: str = Field(max_length=100, description="minute hour day month weekday")
    time_zone: str = Field("UTC", max_length=64, description="IANA name")
    input: dict[str, Any] = Field(default_factory=dict, description="Input of each run")

    @model_validator(mode="after")
    def _readable(self) -> "Schedule":
        self.after(now())
        return self

    def next(self, moment: datetime) -> datetime | None:
        """The first start after the moment; None where none comes any more."""
        try:
            return self.after(moment)
        except ValueError:
            return None

    def after(self, moment: datetime) -> datetime:
        """The first start after the moment; ValueError where there is none."""
        try:
            place = ZoneInfo(self.time_zone)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise ValueError(f"time_zone: {self.time_zone!r} is no IANA time zone") from None
        try:
            return next(CronSim(self.cron, moment.astimezone(place))).astimezone(UTC)
        except (CronSimError, StopIteration) as problem:
            raise ValueError(f"cron: {problem or 'never comes'}") from None
