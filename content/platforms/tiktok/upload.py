"""A video in pieces, by the rules of TikTok's media transfer guide (bytes, decimal megabytes).

Each piece has 5 to 64 MB; the last takes the rest and may have up to 128 MB; a video below 5 MB goes
in one piece; the number of pieces is the size divided by the piece, rounded down; strictly in order.
"""

from collections.abc import Iterator
from dataclasses import dataclass

CHUNK = 10_000_000  # as in TikTok's own example: a cut costs little, and 1,000 of them are 10 GB
MAX_VIDEO = 4 * 1024**3


@dataclass(frozen=True)
class Plan:
    """size, chunk: bytes; count: pieces, of which the last has `chunk` to 2 * `chunk` - 1."""

    size: int
    chunk: int
    count: int

    def pieces_from(self, offset: int) -> Iterator[tuple[int, int]]:
        """(first byte, last byte) of what is still to be sent, `offset` bytes having arrived."""
        for index in range(min(offset // self.chunk, self.count - 1), self.count):
            last = self.size - 1 if index == self.count - 1 else (index + 1) * self.chunk - 1
            yield max(index * self.chunk, offset), last


def plan(size: int) -> Plan:
    """How a video of `size` bytes is cut."""
    if not 0 < size <= MAX_VIDEO:
        raise ValueError(f"a video has 1 to {MAX_VIDEO} bytes, not {size}")
    chunk = min(size, CHUNK)
    return Plan(size, chunk, size // chunk)
