"""`UnitsField`: a whole, non-negative number of smallest units, exact in both databases.

PostgreSQL keeps it as numeric(36, 0). SQLite has 64-bit integers only (9.2 ETH in wei) and would
turn anything larger into a float, so it keeps 36 decimal digits as text with leading zeros: text of
one length compares as the number does, and the ledger's triggers add it in two halves of 18 digits.
See docs/adr/exact-units.md.
"""

from typing import TYPE_CHECKING, Any

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper

DIGITS = 36
LARGEST = 10**DIGITS - 1


if TYPE_CHECKING:
    _Field = models.Field[int, int]
else:
    _Field = models.Field


class UnitsField(_Field):
    """A Python int from 0 to 10**36 - 1. Sums and products belong into Python or the triggers."""

    description = "Smallest units of a currency"

    def db_type(self, connection: BaseDatabaseWrapper) -> str:
        return f"numeric({DIGITS}, 0)" if connection.vendor == "postgresql" else "text"

    def db_check(self, connection: BaseDatabaseWrapper) -> str:
        column = connection.ops.quote_name(str(self.column))
        if connection.vendor == "postgresql":
            return f"{column} >= 0"
        return f"length({column}) = {DIGITS} AND {column} NOT GLOB '*[^0-9]*'"

    def get_prep_value(self, value: Any) -> Any:
        value = super().get_prep_value(value)
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool):
            raise TypeError(f"{self.name} takes whole units as int, not {value!r}")
        if not 0 <= value <= LARGEST:
            raise ValueError(f"{self.name} must lie between 0 and 10**{DIGITS} - 1, not {value}")
        return value

    def get_db_prep_value(
        self, value: Any, connection: BaseDatabaseWrapper, prepared: bool = False
    ) -> Any:
        value = value if prepared else self.get_prep_value(value)
        return (
            value if value is None or connection.vendor == "postgresql" else f"{value:0{DIGITS}d}"
        )

    def from_db_value(self, value: Any, *_: Any) -> int | None:
        return None if value is None else int(value)

    def to_python(self, value: Any) -> int | None:
        return None if value is None else int(value)
