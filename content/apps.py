"""What agents make: trends, content packages, publications."""

from django.apps import AppConfig


class ContentConfig(AppConfig):
    name = "content"
    verbose_name = "Content"
