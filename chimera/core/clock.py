"""The one clock: UTC, with a time zone, and the wire format of a point in time."""

import re
from datetime import UTC, datetime
from typing import Annotated, Any

from django.utils import timezone
from pydantic import AwareDatetime, BeforeValidator

FIRST_YEAR, LAST_YEAR = 1970, 2200
_ISO = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.,][0-9]{1,9})?)?"
    r"(Z|[+-][0-9]{2}(:?[0-9]{2})?)"
)


def now() -> datetime:
    """The current time, UTC."""
    return timezone.now()


def iso(moment: datetime | None) -> str | None:
    """ISO 8601 in UTC with a trailing Z, microseconds only where there are any."""
    if moment is None:
        return None
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def moment_of(value: Any) -> datetime:
    """A time that came in (text, or a datetime with a time zone), in UTC. ValueError says the remedy."""
    known = isinstance(value, datetime) and value.tzinfo is not None
    if not known and not (isinstance(value, str) and _ISO.fullmatch(value.upper())):
        raise ValueError("give an ISO 8601 time with a time zone, such as 2026-11-21T08:30:00Z")
    moment = value if known else datetime.fromisoformat(value.upper())
    # the year is checked before the conversion too: at the ends of the calendar it overflows
    if moment.year in range(FIRST_YEAR - 1, LAST_YEAR + 2):
        moment = moment.astimezone(UTC)
    if moment.year not in range(FIRST_YEAR, LAST_YEAR + 1):
        raise ValueError(f"give a time in the years {FIRST_YEAR} to {LAST_YEAR}")
    return moment


Moment = Annotated[AwareDatetime, BeforeValidator(moment_of)]
