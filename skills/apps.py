"""What agents can do: framework, catalogue, executions, doors."""

from django.apps import AppConfig


class SkillsConfig(AppConfig):
    name = "skills"
    verbose_name = "Skills"
