"""Small words of the templates: icons, time left, addresses in groups, hidden characters."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django import template
from django.templatetags.static import static
from django.urls import Resolver404, resolve
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from approvals import cards, checks
from approvals.models import ApprovalRequest
from approvals.troubles import waiting_count
from chimera.core.clock import now
from content.sources.clean import hidden_characters

register = template.Library()

NAVIGATION = [
    ("/", "Dashboard", "layout-dashboard"),
    ("/review/", "Inbox", "inbox"),
    ("/content/", "Content", "writing"),
    ("/executions/", "Executions", "player-play"),
    ("/workflows/", "Workflows", "route"),
    ("/wallets/", "Wallets", "wallet"),
    ("/agents/", "Agents", "robot"),
    ("/audit/", "Audit", "history"),
]
WAITING_CAP = 99


@register.simple_tag
def icon(name: str, size: str = "") -> SafeString:
    """An icon of the sprite; decoration only, a word stands beside it."""
    return format_html(
        '<svg class="icon{}" aria-hidden="true"><use href="{}#{}"></use></svg>',
        f" icon-{size}" if size else "",
        static("vendor/icons/sprite.svg"),
        name,
    )


@register.simple_tag
def navigation(path: str) -> list[dict[str, Any]]:
    """The pages that exist, and which of them the path belongs to."""
    return [
        {
            "url": url,
            "word": word,
            "icon": icon_name,
            "here": path == url or (url != "/" and path.startswith(url)),
        }
        for url, word, icon_name in NAVIGATION
        if _exists(url)
    ]


@register.simple_tag
def page_link(folder: str, key: Any) -> str:
    """The page of an object where this deployment has one, else nothing."""
    url = f"{folder}{key}/"
    return url if _exists(url) else ""


def _exists(url: str) -> bool:
    try:
        return resolve(url) is not None
    except Resolver404:
        return False


@register.simple_tag
def waiting() -> str:
    """How many requests and items wait for a person, capped: `7`, `99+`, or nothing."""
    count = ApprovalRequest.objects.waiting()[: WAITING_CAP + 1].count() + waiting_count()
    return f"{WAITING_CAP}+" if count > WAITING_CAP else str(count or "")


@register.filter
def left(moment: datetime | None) -> str:
    """Time left as text, in the words the page keeps ticking."""
    if moment is None:
        return ""
    seconds = int((moment - now()).total_seconds())
    if seconds <= 0:
        return "expired"
    hours, minutes = seconds // 3600, seconds % 3600 // 60
    if hours:
        return f"{hours} h {minutes:02d} min left"
    return f"{minutes} min left" if minutes >= 10 else f"{minutes}:{seconds % 60:02d} left"


@register.filter
def ago(moment: datetime | None) -> str:
    """Time passed as text: `just now`, `4 min ago`, `3 h ago`, `2 days ago`."""
    if moment is None:
        return ""
    seconds = int((now() - moment).total_seconds())
    if seconds < 60:
        return "just now"
    for size, unit in ((86400, "day"), (3600, "h"), (60, "min")):
        if seconds >= size:
            number = seconds // size
            return f"{number} {unit}{'s' if unit == 'day' and number > 1 else ''} ago"
    return ""


@register.filter
def groups(value: str) -> list[str]:
    """An address or digest in groups of four, `0x` with the first."""
    text = str(value)
    head = 6 if text.startswith("0x") else 4
    return [text[:head], *(text[start : start + 4] for start in range(head, len(text), 4))]


@register.filter
def short(value: str) -> str:
    """The first 16 digits of a digest in groups of four."""
    return checks.short(str(value))


@register.filter
def money(value: Any) -> str:
    """An exact amount as people read it."""
    return cards.money(value)


@register.filter
def reveal(text: Any) -> SafeString:
    """The text, escaped, with every character nobody could see shown as its code point."""
    return format_html_join("", "{}", ((piece,) for piece in _pieces(str(text))))


def _pieces(text: str) -> Iterator[str]:
    start = 0
    for index in hidden_characters(text):
        yield text[start:index]
        yield format_html('<span class="ch-hidden-mark">U+{}</span>', f"{ord(text[index]):04X}")
        start = index + 1
    yield text[start:]
