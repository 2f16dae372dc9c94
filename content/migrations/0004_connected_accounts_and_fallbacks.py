"""Accounts are renewed by one worker; a publication remembers its first send and its fallbacks."""


from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('content', '0003_publication_handles'),
    ]

    operations = [
        migrations.AddField(
            model_name='platformaccount',
            name='refresh_until',
            field=models.DateTimeField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name='publication',
            name='begun_at',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name='publication',
            name='failure_code',
            field=models.CharField(blank=True, max_length=40),
        ),
        migrations.AddField(
            model_name='publication',
            name='fallbacks',
            field=models.JSONField(default=list, help_text='Platforms the approval names for when this one fails, in order'),
        ),
        migrations.AlterField(
            model_name='historicalplatformaccount',
            name='base_url',
            field=models.URLField(blank=True, help_text="Empty: the network's own address"),
        ),
        migrations.AlterField(
            model_name='historicalplatformaccount',
            name='mode',
            field=models.CharField(choices=[('sandbox', 'Sandbox world'), ('local', 'Local servers'), ('live', 'The real network')], default='sandbox', max_length=10),
        ),
        migrations.AlterField(
            model_name='platformaccount',
            name='base_url',
            field=models.URLField(blank=True, help_text="Empty: the network's own address"),
        ),
        migrations.AlterField(
            model_name='platformaccount',
            name='mode',
            field=models.CharField(choices=[('sandbox', 'Sandbox world'), ('local', 'Local servers'), ('live', 'The real network')], default='sandbox', max_length=10),
        ),
        migrations.AlterField(
            model_name='publication',
            name='approval_id',
            field=models.UUIDField(),
        ),
        migrations.AddConstraint(
            model_name='publication',
            constraint=models.UniqueConstraint(condition=models.Q(('state', 'publish_failed'), _negated=True), fields=('approval_id',), name='approval_published_once'),
        ),
        migrations.AddConstraint(
            model_name='publication',
            constraint=models.UniqueConstraint(fields=('approval_id', 'platform'), name='approval_tried_once_per_platform'),
        ),
    ]
