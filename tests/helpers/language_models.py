"""The local language models as the deployment's own: `thinkers` in a test."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from content.llm.models import warm
from tests.fakes.faults import Fault
from tests.fakes.gemini import Gemini
from tests.fakes.openai import OpenAI
from tests.fakes.server import running

GEMINI, MINI = "google:gemini-3-flash", "openai:gpt-4o-mini"


@dataclass(frozen=True)
class Thinkers:
    """Both servers, running. use: configures the deployment's models."""

    gemini: Gemini
    openai: OpenAI
    use: Callable[..., None]

    @property
    def asked(self) -> int:
        """Calls that arrived at either."""
        return len(self.gemini.calls) + len(self.openai.calls)


def arm(server: Gemini | OpenAI, kind: str, count: int = 1) -> None:
    """The next calls fail in this way."""
    server.faults.armed.append(Fault(kind, count))


@pytest.fixture
def thinkers(settings: Any) -> Iterator[Thinkers]:
    """Gemini first, gpt-4o-mini second, both on this machine."""
    gemini, openai = Gemini(), OpenAI()
    with running([gemini, openai]) as base:

        def use(model: str = "", fallback: str = "", **more: Any) -> None:
            settings.CHIMERA = settings.CHIMERA.model_copy(
                update={
                    "chimera_llm_model": model,
                    "chimera_llm_fallback_model": fallback,
                    "chimera_gemini_api_key": "gemini-key-of-the-tests",
                    "chimera_openai_api_key": "openai-key-of-the-tests",
                    "chimera_gemini_base_url": f"{base}/gemini",
                    "chimera_openai_base_url": f"{base}/openai/v1",
                    **more,
                }
            )

        use(GEMINI, MINI, chimera_process="worker")
        warm()
        yield Thinkers(gemini, openai, use)
