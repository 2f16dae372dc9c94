"""What an expression may cost, whatever an agent writes into its definition."""

from typing import Any

import pytest

from chimera.core.errors import ChimeraError
from skills.workflows.definition import parse
from skills.workflows.expressions import find

pytestmark = pytest.mark.req("W2")


@pytest.mark.parametrize(
    "doubled",
    [
        "[@,@]",
        "[@,@][]",
        "{a: @, b: @}",
        "join('', [@,@])",
        "to_string([@,@])",
        "[[@,@],[@,@]][][]",
    ],
)
def test_an_expression_that_doubles_itself_is_refused_before_it_fills_the_memory(
    doubled: str,
) -> None:
    bomb = " | ".join(["input.v", *[doubled] * 40])

    with pytest.raises(ChimeraError, match="makes too much") as refused:
        find(bomb, {"input": {"v": "text"}})

    assert refused.value.code == "INVALID_INPUT"


def test_an_expression_over_much_is_evaluated() -> None:
    rounds: Any = [{"trends": [{"text": "x" * 300, "n": n} for n in range(500)]}] * 20

    found = find("sort_by([rounds, [rounds[0]]][].trends[], &n)[-1:].[n, text]", {"rounds": rounds})

    assert found == [[499, "x" * 300]]


@pytest.mark.parametrize("opened", ["[", "!", "("])
def test_an_expression_that_is_nested_too_deep_is_refused_by_field(opened: str) -> None:
    closed = {"[": "]", "!": "", "(": ")"}[opened]
    deep = opened * 480 + "input" + closed * 480
    steps = [{"skill_name": "echo", "mapping": {"v": deep}}]

    with pytest.raises(ChimeraError) as refused:
        parse({"name": "deep", "steps": steps})
        find(deep, {"input": {"v": 1}})

    assert refused.value.code == "INVALID_INPUT"
