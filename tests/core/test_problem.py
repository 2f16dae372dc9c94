"""Problem documents."""

import pytest

from chimera.core.errors import ChimeraError
from chimera.core.problem import document

pytestmark = pytest.mark.req("X4")


def test_without_a_message_the_detail_names_the_first_field_and_its_remedy() -> None:
    error = ChimeraError("INVALID_INPUT", errors={"schedule_time": ["Is in the past"], "b": ["x"]})
    assert document(error)["detail"] == "schedule_time: Is in the past"


def test_a_message_of_its_own_stays_the_detail() -> None:
    error = ChimeraError("INVALID_INPUT", "Too much", errors={"amount": ["Too much"]})
    assert document(error)["detail"] == "Too much"


def test_without_message_and_fields_the_detail_is_the_title() -> None:
    made = document(ChimeraError("NOT_FOUND"))
    assert made["detail"] == made["title"]
