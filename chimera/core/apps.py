"""The kernel as a Django application: the audit log and the rate windows."""

from django.apps import AppConfig


class CoreConfig(AppConfig):
    name = "chimera.core"
    label = "core"
    verbose_name = "Kernel"
    default_auto_field = "django.db.models.BigAutoField"
