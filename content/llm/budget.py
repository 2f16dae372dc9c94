"""Limits of one request to a language model: tokens in, tokens out, and money."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.conf import settings

from chimera.core.errors import ChimeraError

_BYTES_PER_TOKEN = 3
"""English has about four bytes to a token; three keeps the estimate on the safe side."""


def estimated_tokens(*texts: str) -> int:
    """Tokens that the texts take, rather too many than too few."""
    return sum(len(text.encode()) for text in texts) // _BYTES_PER_TOKEN + 1


class InputTooLarge(ChimeraError):
    """The question does not fit into the input tokens."""


@dataclass(frozen=True)
class Budget:
    """What one request may use. cost: US dollars; None: no limit of that kind."""

    input_tokens: int | None = 8000
    output_tokens: int | None = 2000
    cost: Decimal | None = None

    def limits(self, maker: str, model: str, tokens: int) -> Any:
        """What the client checks against the usage that the provider reports.

        Refuses before anything is sent what would go over a limit. A limit in dollars cannot be kept
        for a model whose price is unknown; then the token limits must stand in for it.
        """
        from pydantic_ai.usage import UsageLimits

        if self.input_tokens is not None and tokens > self.input_tokens:
            needs = f"needs about {tokens} input tokens; {self.input_tokens} are allowed"
            raise _over(needs, InputTooLarge)
        return UsageLimits(
            request_limit=1,
            input_tokens_limit=self.input_tokens,
            output_tokens_limit=self.output_tokens,
            cost_limit=self._cost_limit(maker, model, tokens),
        )

    def _cost_limit(self, maker: str, model: str, tokens: int) -> Decimal | None:
        if self.cost is None:
            return None
        dearest = price(maker, model, tokens, self.output_tokens or 0)
        if dearest is not None and dearest > self.cost:
            raise _over(f"could cost {dearest:.4f} USD; {self.cost} are allowed")
        if dearest is None and (self.input_tokens is None or self.output_tokens is None):
            raise _over(f"has a cost limit, but the price of {model} is unknown")
        return self.cost if dearest is not None else None


def budget_of(token_budget: tuple[int, int]) -> Budget:
    """The budget of a call with the deployment's limit in dollars."""
    tokens_in, tokens_out = token_budget
    return Budget(tokens_in, tokens_out, settings.CHIMERA.chimera_llm_cost_limit)


def price(maker: str, model: str, tokens_in: int, tokens_out: int) -> Decimal | None:
    """US dollars of a request, None where the price of the model is unknown."""
    from genai_prices import Usage, calc_price  # the price list takes half a second to load

    usage = Usage(input_tokens=tokens_in, output_tokens=tokens_out)
    try:
        return calc_price(usage, model, provider_id=maker).total_price
    except LookupError:
        return None


def _over(why: str, kind: type[ChimeraError] = ChimeraError) -> ChimeraError:
    return kind("LLM_ERROR", f"The request {why}", final=True)
