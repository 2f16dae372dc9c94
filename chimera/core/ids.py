"""UUIDv7: ids that sort by the time of their creation (RFC 9562, section 5.7)."""

import os
import time
from uuid import UUID


def new_id() -> UUID:
    """A fresh UUIDv7: 48 bits of Unix milliseconds, 12 bits of their fraction (section 6.2, method
    3: a quarter of a microsecond), then 62 random bits.
    """
    millis, nanos = divmod(time.time_ns(), 1_000_000)
    clock = (millis & (1 << 48) - 1) << 16 | 0x7 << 12 | nanos * 4096 // 1_000_000
    random = int.from_bytes(os.urandom(8), "big") & (1 << 62) - 1
    return UUID(int=clock << 64 | 0b10 << 62 | random)
