"""A world of its own process and the platforms' local servers for the tests of this folder."""

from tests.content.platforms.stage import stage_of

__all__ = ["stage_of"]
