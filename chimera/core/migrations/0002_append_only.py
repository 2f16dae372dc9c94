"""The database refuses to change or delete rows of core_auditentry."""

from django.db import migrations

from chimera.core.triggers import append_only, forget


class Migration(migrations.Migration):
    dependencies = [("core", "0001_kernel")]
    operations = [
        migrations.RunPython(append_only("core_auditentry", "sequence"), forget("core_auditentry")),
    ]
