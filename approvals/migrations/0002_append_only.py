"""The database refuses to change or delete rows of approvals_decision."""

from django.db import migrations

from chimera.core.triggers import append_only, forget


class Migration(migrations.Migration):
    dependencies = [("approvals", "0001_approvals")]
    operations = [
        migrations.RunPython(append_only("approvals_decision"), forget("approvals_decision")),
    ]
