"""Tables of the kernel: the hash-chained audit log with its head, and the rate windows."""

from django.db import models

from chimera.core.jsontext import ExactDecoder, ExactEncoder


class ExactJSONField(models.JSONField):
    """A JSON column whose numbers keep their exact digits (Decimal in, Decimal out)."""

    def __init__(self, *args: object, **options: object) -> None:
        options.setdefault("encoder", ExactEncoder)
        options.setdefault("decoder", ExactDecoder)
        super().__init__(*args, **options)  # type: ignore[arg-type]  # passed on unchanged


class AuditEntry(models.Model):
    """One line of the log; the database refuses to change or delete it."""

    sequence = models.BigIntegerField(primary_key=True)
    at = models.DateTimeField()
    actor = models.CharField(max_length=200)
    action = models.CharField(max_length=100)
    object_type = models.CharField(max_length=100)
    object_id = models.CharField(max_length=200)
    data = ExactJSONField(default=dict)
    previous_hash = models.CharField(max_length=64)
    entry_hash = models.CharField(max_length=64, unique=True)

    class Meta:
        verbose_name_plural = "audit entries"
        indexes = [models.Index(fields=["object_type", "object_id"], name="audit_object")]

    def __str__(self) -> str:
        return f"{self.sequence} {self.action} {self.object_type} {self.object_id}"


class AuditHead(models.Model):
    """The one row that knows the last entry; its seal needs the secret key."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    sequence = models.BigIntegerField(default=0)
    entry_hash = models.CharField(max_length=64, default="0" * 64)
    seal = models.CharField(max_length=200, default="")

    class Meta:
        constraints = [models.CheckConstraint(condition=models.Q(id=1), name="audit_one_head")]

    def __str__(self) -> str:
        return f"head at {self.sequence}"


class RateWindow(models.Model):
    """The times of the recent calls under one key, for deployments without Redis."""

    key = models.CharField(max_length=200, primary_key=True)
    hits = models.JSONField(default=list)

    def __str__(self) -> str:
        return self.key
