"""What the demo remembers of a campaign, so that it goes on after a crash without doubling anything."""

import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4, uuid5

from chimera.core import jsontext


@dataclass
class Campaign:
    """One run of the main job.

    source: the TRENDS it was started with, empty for the platform's own trends.
    trends: the trends read from the source, as they were then.
    input, run: what the run of the workflow is started with, and its id once it is known.
    approvals: step -> approval id, once asked for.
    outcome: empty while it runs, else one sentence.
    """

    path: Path
    id: str = field(default_factory=lambda: str(uuid4()))
    source: str = ""
    trends: list[dict[str, Any]] = field(default_factory=list)
    input: dict[str, Any] = field(default_factory=dict)
    run: str = ""
    approvals: dict[str, str] = field(default_factory=dict)
    outcome: str = ""

    @classmethod
    def load(cls, path: Path) -> "Campaign | None":
        """The campaign kept in the file; None if there is none or the file is damaged."""
        try:
            return cls(path=path, **jsontext.loads(path.read_text()))
        except (OSError, ValueError, TypeError):
            return None

    @property
    def unfinished(self) -> bool:
        return not self.outcome

    def key(self, step: str) -> UUID:
        """The idempotency key of a step: the same for every attempt of this campaign."""
        return uuid5(UUID(self.id), step)

    def save(self) -> None:
        """Write the file in one step, so that a crash leaves the old or the new one."""
        content = {name: value for name, value in asdict(self).items() if name != "path"}
        fresh = self.path.with_suffix(".tmp")
        fresh.write_text(jsontext.dumps(content))
        os.replace(fresh, self.path)

    def prepare(self, data: dict[str, Any]) -> None:
        """Keep the input before the run begins: the same key must come with the same body."""
        self.input = data
        self.save()

    def begun(self, run_id: str) -> None:
        self.run = run_id
        self.save()

    def remember_approval(self, step: str, approval_id: str) -> None:
        self.approvals[step] = approval_id
        self.save()

    def finish(self, outcome: str) -> None:
        self.outcome = outcome
        self.save()
