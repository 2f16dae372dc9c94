"""Generated calls of every documented operation, in process and repeatable: no 500, nothing undocumented."""

from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from agents.models import Agent
from chimera.wsgi import application

SCHEMA = schemathesis.openapi.from_wsgi("/api/schema/?format=json", application)
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]


@pytest.fixture
def bearer(transactional_db: None, api: Any, orchestrator: Agent, settings: Any) -> str:
    """A token of an agent that no rate limit stops; the limits have tests of their own.

    The calls end like a server's, with the connection closed: no transaction may be open round them.
    """
    free = {"chimera_rate_limit": 10_000, "chimera_read_rate_limit": 10_000}
    settings.CHIMERA = settings.CHIMERA.model_copy(update=free)
    return str(api(orchestrator).defaults["HTTP_AUTHORIZATION"])


@SCHEMA.parametrize()
@settings(
    max_examples=10,
    derandomize=True,
    deadline=None,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@pytest.mark.req("X4")
def test_a_generated_call_gets_a_documented_answer(case: Any, bearer: str) -> None:
    case.call_and_validate(headers={"Authorization": bearer}, checks=CHECKS)
