"""The local language models."""

from tests.helpers.language_models import thinkers

__all__ = ["thinkers"]
