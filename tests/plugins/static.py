"""The static files are listed once for the whole run: every client of Django's own would do it anew."""

from collections.abc import Iterator
from typing import Any

import pytest
from whitenoise.middleware import WhiteNoiseMiddleware


@pytest.fixture(autouse=True, scope="session")
def quick_clients() -> Iterator[None]:
    """The listing takes longer than most requests."""
    look, listed = WhiteNoiseMiddleware.add_files_from_finders, dict[str, Any]()

    def remember(middleware: Any) -> None:
        if not listed:
            look(middleware)
            listed.update(middleware.files)
        middleware.files.update(listed)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WhiteNoiseMiddleware, "add_files_from_finders", remember)
        yield
