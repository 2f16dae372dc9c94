"""What an implementation is asked to write."""

from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel


@dataclass(frozen=True)
class Order:
    """What is to be written. run: 0 for the first, then 1 to 3; broken: why earlier outputs were
    thrown away, the rules that the last run broke among it.

    answer: the model of the output; seconds: time for this run; token_budget: tokens in and out.
    """

    skill: str
    params: Any
    answer: type[BaseModel]
    run: int = 0
    broken: tuple[str, ...] = ()
    attempt: int = 1
    seconds: float = 15
    token_budget: tuple[int, int] = (8000, 2000)
