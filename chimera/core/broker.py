"""The embedded broker: kombu's filesystem transport with messages that appear whole or not at all.

kombu writes a message under its final name, so a reader can take it half-written and the worker
dies of it. Here a message is written aside and renamed, and taken by renaming it. A message that a
killed worker held is lost all the same: the execution row is the queue, a message only a hint.
"""

import os
from pathlib import Path
from queue import Empty
from time import monotonic_ns
from typing import Any
from uuid import uuid4

from kombu.transport import TRANSPORT_ALIASES, filesystem
from kombu.utils.json import dumps, loads

SCHEME = "embedded"


class Channel(filesystem.Channel):
    """Messages as files of one folder, `<time>_<id>.<queue>.msg`."""

    def _put(self, queue: str, message: Any, **kwargs: Any) -> None:  # type: ignore[override]  # kombu's bases disagree
        name = f"{monotonic_ns():020d}_{uuid4().hex}"
        aside = Path(self.data_folder_out) / f".{name}"
        aside.write_text(dumps(message))
        aside.rename(Path(self.data_folder_out) / f"{name}.{queue}.msg")

    def _get(self, queue: str, timeout: Any = None) -> Any:
        for name in sorted(os.listdir(self.data_folder_in)):
            if name.startswith(".") or name.partition(".")[2] != f"{queue}.msg":
                continue
            taken = Path(self.data_folder_in) / f".taken_{name}"
            try:
                (Path(self.data_folder_in) / name).rename(taken)
            except FileNotFoundError:
                continue  # another worker was first
            text = taken.read_text()
            taken.unlink()
            return loads(text)
        raise Empty

    def get_table(self, exchange: str) -> Any:
        try:
            return super().get_table(exchange)
        except ValueError:
            return []  # being written by another process just now


class Transport(filesystem.Transport):
    """`embedded://` with the options of kombu's filesystem transport."""

    Channel = Channel
    driver_type = driver_name = SCHEME


TRANSPORT_ALIASES[SCHEME] = f"{__name__}:Transport"
