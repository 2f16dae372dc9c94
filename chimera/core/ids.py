"""UUIDv7: ids that sort by the time of their creation (RFC 9562, section 5.7)."""

import os
import time
from uuid import UUID


def new_id() -> UUID:
    """A fresh UUIDv7: 48 bits of Unix milliseconds, then 74 random bits."""
    millis = time.time_ns() // 1_000_000
    value = (millis & (1 << 48) - 1) << 80 | int.from_bytes(os.urandom(10), "big")
    value = value & ~(0xF << 76) | 0x7 << 76
    value = value & ~(0x3 << 62) | 0x2 << 62
    return UUID(int=value)
