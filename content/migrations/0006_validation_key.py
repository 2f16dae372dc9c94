"""A verdict knows what it depends on, and may be of a package that is not stored."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("content", "0005_media_orders")]
    operations = [
        migrations.AddField(
            model_name="validation",
            name="key",
            field=models.CharField(blank=True, db_index=True, max_length=64),
        ),
        migrations.AlterField(
            model_name="validation",
            name="revision",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="validations",
                to="content.contentrevision",
            ),
        ),
    ]
