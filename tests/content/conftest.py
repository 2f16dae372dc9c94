"""The world and the platforms' local servers for the tests of the publisher."""

from tests.content.platforms.stage import stage_of
from tests.fakes.fixtures import fake
from tests.helpers.world_fixtures import shared_world, world

__all__ = ["fake", "shared_world", "stage_of", "world"]
