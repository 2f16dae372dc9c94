"""One of several processes that call as one agent: `-m tests.skills.rate_worker KEY CALLS`. Prints a line per pass."""

import os
import sys

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "chimera.settings")
django.setup()

from chimera.core import ratelimit  # noqa: E402  settings first
from chimera.core.errors import ChimeraError  # noqa: E402

key, calls = sys.argv[1], int(sys.argv[2])
for _ in range(calls):
    try:
        ratelimit.hit(key, 60)
    except ChimeraError as refusal:
        assert refusal.code == "RATE_LIMITED" and refusal.backoff_sec
    else:
        sys.stdout.write("passed\n")
