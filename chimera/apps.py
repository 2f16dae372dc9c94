"""The composition root as a Django application: Celery, management commands and system checks."""

from django.apps import AppConfig


class ChimeraConfig(AppConfig):
    name = "chimera"
    label = "chimera"
    verbose_name = "Chimera"

    def ready(self) -> None:
        from chimera import celery, checks  # noqa: F401  both register themselves once apps are loaded
