"""What a call may spend and how long it may take, kept with the execution before anything is bought.

An attempt that is cut short may have bought what it asked for, so whoever goes on finds the sum and
the beginning as they were and spends no more than the budget in all.
"""

from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any

from chimera.core.clock import iso
from chimera.core.errors import ChimeraError
from skills.contract import SkillContext


@dataclass
class Purse:
    """budget: US dollars; began: when the first attempt began; spent: the most that is gone."""

    ctx: SkillContext[Any]
    budget: Decimal
    began: datetime
    spent: Decimal = Decimal(0)
    orders: list[str] = field(default_factory=list)

    @classmethod
    async def open(cls, ctx: SkillContext[Any], budget: Decimal) -> "Purse":
        """The purse of this call, as an earlier attempt has left it."""
        left = ctx.resumed or {}
        began = datetime.fromisoformat(left["began"]) if left else ctx.now()
        spent = Decimal(left.get("spent", 0))
        purse = cls(ctx, budget, began, spent, list(left.get("orders", [])))
        await purse._keep("begun")
        return purse

    def seconds_left(self, limit: float) -> float:
        """What remains of so many seconds from the beginning."""
        return max(0.0, limit - (self.ctx.now() - self.began).total_seconds())

    async def pay(self, what: str, price: Decimal | None, *, order: str = "") -> None:
        """Take the price out before the purchase. BUDGET_EXCEEDED, and nothing is bought, where it
        is not there or the price is not known.

        order: names a purchase that is made once however often it is asked for, and paid once.
        """
        if order and order in self.orders:
            return
        if price is None:
            self._refuse(f"The price of {what} is not known; name it under `prices` in mcp.json")
        elif self.spent + price > self.budget:
            left = self.budget - self.spent
            self._refuse(f"{what} costs {price} USD and {left} of the budget are left")
        else:
            self.spent += price
            self.orders += [order] if order else []
            await self._keep(f"ordered {what}")

    def _refuse(self, why: str) -> None:
        message = f"{why}. It was not asked for."
        errors = {"constraints.budgetUsd": [message]}
        raise ChimeraError("BUDGET_EXCEEDED", message, errors=errors)

    async def _keep(self, message: str) -> None:
        state = {"began": iso(self.began), "spent": str(self.spent), "orders": self.orders}
        await self.ctx.progress(0.0, message, state)
