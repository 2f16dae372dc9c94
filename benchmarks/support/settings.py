"""The project's settings plus the no-op skill and task of the benchmarks."""

from chimera.settings import *  # noqa: F403  the same program, with one application more

INSTALLED_APPS = [*INSTALLED_APPS, "benchmarks.support.apps.BenchmarksConfig"]  # noqa: F405
