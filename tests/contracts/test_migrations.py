"""Migrations and foreign keys follow the line of imports."""

import re

import pytest
from django.apps import apps
from django.db.migrations.loader import MigrationLoader

ORDER = ["core", "agents", "content", "wallets", "approvals", "skills"]
LOADER = MigrationLoader(None, ignore_no_migrations=True)
OWN = sorted(key for key in LOADER.disk_migrations if key[0] in ORDER)


@pytest.mark.parametrize(("app", "name"), OWN)
def test_a_migration_has_a_name_that_says_something(app: str, name: str) -> None:
    assert not re.search(r"_auto_|_initial$", name)


@pytest.mark.parametrize(("app", "name"), OWN)
def test_a_migration_depends_on_lower_apps_alone(app: str, name: str) -> None:
    above = [
        other
        for other, _ in LOADER.disk_migrations[app, name].dependencies
        if other in ORDER and ORDER.index(other) > ORDER.index(app)
    ]

    assert above == []


@pytest.mark.parametrize("app", ORDER)
def test_foreign_keys_point_down_the_line(app: str) -> None:
    above = [
        f"{model.__name__}.{field.name}"
        for model in apps.get_app_config(app).get_models()
        for field in model._meta.get_fields()
        if field.is_relation
        and not field.auto_created
        and field.related_model
        and field.related_model._meta.app_label in ORDER
        and ORDER.index(field.related_model._meta.app_label) > ORDER.index(app)
    ]

    assert above == []
