"""What X counts and sees in a text, by X's own rules.

Their tables take a good second to load, so they are loaded at the first use: most processes never do.
"""

from typing import Any


def tweet_weight(text: str) -> int:
    """Length of a post on X as X counts it: an address is 23, an emoji or a CJK letter 2."""
    return int(_parsed(text).weightedLength)


def tweet_fits(text: str) -> int:
    """How many characters of the text X shows, from the first."""
    return int(_parsed(text).validRangeEnd) + 1


def urls_in(text: str) -> list[str]:
    """Addresses that X would make a link of, with a scheme or without."""
    from twitter_text import extract_urls

    return list(extract_urls(text))


def has_emoji(text: str) -> bool:
    """Whether X finds an emoji in the text."""
    from twitter_text.extract_emojis import extract_emojis_with_indices

    return bool(extract_emojis_with_indices(text))


def _parsed(text: str) -> Any:
    from twitter_text import parse_tweet

    return parse_tweet(text)
