"""What a network charges for a post, in US dollars; an intent's budget is held against it.

X charges per post since 2026-02-06, and more for one with a link (docs.x.com, pricing, as of
2026-11). The others charge nothing. The sandbox counts what the network would charge.
"""

from decimal import Decimal

from content.tweets import urls_in

_POST, _LINKED_POST = Decimal("0.015"), Decimal("0.200")


def post_price(platform: str, text: str) -> Decimal:
    """The price of one post with this text."""
    if platform != "twitter":
        return Decimal(0)
    return _LINKED_POST if "://" in text or urls_in(text) else _POST
