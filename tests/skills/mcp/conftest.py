"""A world of its own process for the tests of this folder."""

from tests.helpers.world_fixtures import shared_world, world

__all__ = ["shared_world", "world"]
