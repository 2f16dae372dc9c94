"""Registers what the benchmarks call."""

from django.apps import AppConfig


class BenchmarksConfig(AppConfig):
    name = "benchmarks.support"

    def ready(self) -> None:
        from benchmarks.support import noop, tasks  # noqa: F401  the task registers itself
        from skills.catalogue import registry

        registry.register(noop.BenchNoop)
