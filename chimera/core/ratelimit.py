"""The sliding-window rate limit, shared by every process: Redis where there is one, else the database."""

import time
from functools import lru_cache
from math import ceil

import redis  # noqa: F401  limits asks for its version, and finds none while a thread imports it
from django.conf import settings
from django.db import transaction
from limits import RateLimitItemPerSecond
from limits.storage import MovingWindowSupport, Storage, storage_from_string
from limits.strategies import MovingWindowRateLimiter

from chimera.core import capabilities
from chimera.core.errors import ChimeraError
from chimera.core.models import RateWindow


class DatabaseStorage(Storage, MovingWindowSupport):
    """Moving windows in one row per key; the row lock makes a check and its hit one step."""

    STORAGE_SCHEME = ["database"]

    @property
    def base_exceptions(self) -> type[Exception]:
        return Exception

    def acquire_entry(self, key: str, limit: int, expiry: int, amount: int = 1) -> bool:
        with transaction.atomic():
            RateWindow.objects.bulk_create([RateWindow(key=key)], ignore_conflicts=True)
            window = RateWindow.objects.select_for_update().get(key=key)
            moment = time.time()
            recent = [hit for hit in window.hits if hit > moment - expiry]
            if len(recent) + amount > limit:
                return False
            window.hits = recent + [moment] * amount
            window.save(update_fields=["hits"])
            return True

    def get_moving_window(self, key: str, limit: int, expiry: int) -> tuple[float, int]:
        window = RateWindow.objects.filter(key=key).first()
        moment = time.time()
        recent = [hit for hit in (window.hits if window else []) if hit > moment - expiry]
        return (recent[0] if recent else moment), len(recent)

    def incr(self, key: str, expiry: int, amount: int = 1) -> int:
        raise NotImplementedError("only the moving window is offered")

    def get(self, key: str) -> int:
        return len(RateWindow.objects.filter(key=key).values_list("hits", flat=True).first() or [])

    def get_expiry(self, key: str) -> float:
        return time.time()

    def check(self) -> bool:
        return True

    def reset(self) -> int | None:
        return RateWindow.objects.all().delete()[0]

    def clear(self, key: str) -> None:
        RateWindow.objects.filter(key=key).delete()


@lru_cache(maxsize=1)
def _limiter(cache_url: str) -> MovingWindowRateLimiter:
    return MovingWindowRateLimiter(storage_from_string(cache_url or "database://"))


def hit(key: str, limit: int, seconds: int = 60) -> None:
    """Count one call under the key; over `limit` in sliding `seconds`: RATE_LIMITED with backoff_sec."""
    limiter = _limiter(settings.CHIMERA.cache_url)
    item = RateLimitItemPerSecond(limit, seconds, namespace="chimera")
    with capabilities.aside():  # the count is the framework's, whoever calls
        if limiter.hit(item, key):
            return
        reset_at = limiter.get_window_stats(item, key).reset_time
    wait = max(1, ceil(reset_at - time.time()))
    raise ChimeraError(
        "RATE_LIMITED",
        f"More than {limit} calls in {seconds} seconds; try again in {wait} s",
        backoff_sec=wait,
    )


def forget(key: str, limit: int, seconds: int = 60) -> None:
    """Start the window of the key anew."""
    item = RateLimitItemPerSecond(limit, seconds, namespace="chimera")
    _limiter(settings.CHIMERA.cache_url).clear(item, key)
