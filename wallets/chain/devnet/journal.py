"""The chain on disk: one JSON line per block, `{"raw": transaction or null, "ts": timestamp}`.

A line is on the disk before its transaction is answered for. A kill can only tear the last line;
it is dropped, and so is a transaction that nobody was told about.
"""

import fcntl
import json
import os
from pathlib import Path

from wallets.chain.devnet.errors import DevnetError

Entry = tuple[bytes | None, int]


class Journal:
    """The open journal file; one process at a time may hold it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("a+b")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise DevnetError(f"{path} is in use by another devnet: stop that one first") from None

    def load(self) -> list[Entry]:
        """Every block in order; a torn last line is cut off, any other damage is a DevnetError."""
        self._file.seek(0)
        content = self._file.read()
        complete = content[: content.rfind(b"\n") + 1]
        if len(complete) < len(content):
            self._file.truncate(len(complete))
        return [self._entry(number, line) for number, line in enumerate(complete.splitlines(), 1)]

    def _entry(self, number: int, line: bytes) -> Entry:
        try:
            record = json.loads(line)
            raw = record["raw"]
            return (None if raw is None else bytes.fromhex(raw[2:])), int(record["ts"])
        except (ValueError, KeyError, TypeError):
            advice = "restore the file, or delete it to start a new chain"
            raise DevnetError(f"{self.path} line {number} is damaged: {advice}") from None

    def append(self, raw: bytes | None, timestamp: int) -> None:
        record = {"raw": None if raw is None else "0x" + raw.hex(), "ts": timestamp}
        self._file.write(json.dumps(record).encode() + b"\n")
        self._sync()

    def keep(self, count: int) -> list[Entry]:
        """Cut the file after its first `count` blocks and return them."""
        self._file.seek(0)
        self._file.truncate(sum(len(line) for line in self._file.readlines()[:count]))
        self._sync()
        return self.load()

    def _sync(self) -> None:
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        self._file.close()
