"""The database refuses to change or delete rows of content_contentrevision."""

from django.db import migrations

from chimera.core.triggers import append_only, forget


class Migration(migrations.Migration):
    dependencies = [("content", "0001_content")]
    operations = [
        migrations.RunPython(append_only("content_contentrevision"), forget("content_contentrevision")),
    ]
