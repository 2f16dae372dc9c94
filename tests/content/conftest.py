"""The world and the platforms' local servers for the tests of the publisher."""

from tests.content.platforms.stage import stage_of

__all__ = ["stage_of"]
