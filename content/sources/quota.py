"""How often the sources of a platform may be asked, over all callers and processes."""

from django.conf import settings

from chimera.core import ratelimit

HOUR = 3600


def count_call(platform: str) -> None:
    """Count one upstream call; over CHIMERA_TRENDS_PER_HOUR: RATE_LIMITED with backoff_sec."""
    ratelimit.hit(f"trends:{platform}", settings.CHIMERA.chimera_trends_per_hour, HOUR)
