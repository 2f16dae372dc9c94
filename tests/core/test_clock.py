"""Times that come in: with a time zone, within bounds, kept in UTC."""

from datetime import UTC, datetime
from typing import Any

import pytest

from chimera.core.clock import moment_of


@pytest.mark.parametrize(
    "text", ["2026-11-21T08:30:00Z", "2026-11-21t11:30:00+03:00", "2026-11-21 08:30:00.000+00:00"]
)
def test_a_time_is_kept_in_utc(text: str) -> None:
    found = moment_of(text)

    assert found == datetime(2026, 11, 21, 8, 30, tzinfo=UTC) and found.tzinfo is UTC


@pytest.mark.parametrize(
    "value",
    [
        "9999-12-31T23:59:59-14:00",
        "0001-01-01T00:00:00+14:00",
        "1969-12-31T23:59:59Z",
        "2200-12-31T23:59:59-01:00",
    ],
)
def test_a_time_out_of_bounds_is_refused(value: str) -> None:
    with pytest.raises(ValueError, match="years 1970 to 2200"):
        moment_of(value)


@pytest.mark.parametrize(
    "value",
    [
        "",
        "now",
        "2026-11-21",
        "2026-11-21T08:30:00",
        "1700000000",
        "1e-5",
        "2026-W47-6T08:00Z",
        "2026-11-21T08:30:00Z\n",
        1700000000,
        True,
        None,
        datetime(2026, 11, 21),
    ],
)
def test_what_is_no_time_with_a_zone_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="with a time zone"):
        moment_of(value)


@pytest.mark.parametrize("text", ["2026-13-01T00:00:00Z", "2026-02-30T00:00:00Z"])
def test_a_day_that_does_not_exist_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"month|day"):
        moment_of(text)
