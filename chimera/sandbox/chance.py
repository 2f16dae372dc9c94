"""Chance that repeats itself: the same words, the same numbers, in every process."""

from random import Random


def seeded(*words: object) -> Random:
    """A generator for decoration and made-up figures, never for secrets."""
    return Random("/".join(str(word) for word in words))  # noqa: S311 - see above
