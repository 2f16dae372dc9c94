"""Pages for people: every post as it would look on a platform, the list of posts, the agents.

Django's template engine is used alone, without settings: it escapes whatever it prints. Values
are handed over as text, as localising numbers would ask for settings.
"""

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.template import Context, Engine
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from chimera.sandbox.chance import seeded
from chimera.sandbox.replies import Refused
from chimera.sandbox.social import TEXT_LIMITS, engagement
from chimera.sandbox.store import Row, Store

PAGE = 24
_NAMES = {"twitter": "X", "tiktok": "TikTok", "instagram": "Instagram", "youtube": "YouTube"}
_TAG = re.compile(r"(?<![&\w])([#@]\w+)")
_LINK = re.compile(r"(https?://[^\s<>&]+)")
_ENGINE = Engine(dirs=[str(Path(__file__).parent / "templates")])


class Pages:
    """The HTML routes of the world."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def routes(self) -> list[Route]:
        return [
            Route("/", self.index),
            Route("/posts/{post_id}", self.post),
            Route("/agents/", self.agents),
            Route("/agents/{agent_id}", self.agent),
        ]

    async def index(self, request: Request) -> Response:
        query = request.query_params
        platform = query.get("platform", "")
        found = self._store.posts(platform=platform, before=query.get("before", ""), limit=PAGE + 1)
        filters = [{"key": "", "name": "All"}] + [
            {"key": key, "name": _NAMES[key]} for key in TEXT_LIMITS
        ]
        return _page(
            "index.html",
            posts=[self._shown(post) for post in found[:PAGE]],
            filters=[item | {"current": item["key"] == platform} for item in filters],
            platform=platform,
            older=found[PAGE - 1]["post_id"] if len(found) > PAGE else "",
        )

    async def post(self, request: Request) -> Response:
        post = self._store.post(request.path_params["post_id"])
        if post is None:
            raise Refused(404, "no such post")
        return _page("post.html", post=self._shown(post))

    async def agents(self, request: Request) -> Response:
        return _page("agents.html", agents=[_agent(agent) for agent in self._store.agents()])

    async def agent(self, request: Request) -> Response:
        agent = self._store.agent(request.path_params["agent_id"])
        if agent is None:
            raise Refused(404, "no such agent in the directory")
        return _page("agent.html", agent=_agent(agent))

    def _shown(self, post: Row) -> Row:
        moment = datetime.fromisoformat(post["created_at"])
        counts = engagement(post)
        return {
            "id": post["post_id"],
            "reference": post["client_reference"],
            "platform": post["platform"],
            "platform_name": _NAMES[post["platform"]],
            "handle": post["handle"],
            "name": _display_name(post["handle"]),
            "initials": _initials(post["handle"]),
            "tint": str(seeded(post["handle"]).randrange(6)),
            "text": marked_up(post["text"]),
            "media": [self._picture(item) for item in post["media"]],
            "columns": str(min(2, len(post["media"]))),
            "counts": {name: short(count) for name, count in counts.items()},
            "iso": post["created_at"],
            "date": _date(moment),
            "ago": ago(moment, datetime.now(UTC)),
        }

    def _picture(self, item: Row) -> Row:
        """Where the page finds the bytes: only what this world holds itself is shown."""
        path = self._store.media_file(item["sha256"])
        return {
            "src": f"/media/{path.name}" if path else "",
            "url": item["url"],
            "host": urlsplit(item["url"]).hostname or "",
        }


def marked_up(text: str) -> SafeString:
    """The text, escaped, with addresses, hashtags and mentions standing out."""
    parts = _LINK.split(str(escape(text)))
    for index, part in enumerate(parts):
        if index % 2:
            parts[index] = f'<span class="link">{part}</span>'
        else:
            parts[index] = _TAG.sub(r'<span class="link">\1</span>', part)
    return mark_safe("".join(parts).replace("\n", "<br>"))  # noqa: S308 - escaped above


def short(count: int) -> str:
    """1234 -> 1.2K."""
    if count < 1000:
        return str(count)
    return f"{count / 1000:.1f}".removesuffix(".0") + "K"


def ago(moment: datetime, now: datetime) -> str:
    """How long ago in one short word."""
    seconds = max(0, int((now - moment).total_seconds()))
    for unit, length in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= length:
            return f"{seconds // length} {unit}"
    return "now"


def _date(moment: datetime) -> str:
    return moment.strftime("%-d %B %Y, %H:%M UTC")


def _display_name(handle: str) -> str:
    return re.sub(r"[._]+", " ", handle).strip().title() or handle


def _initials(handle: str) -> str:
    words = _display_name(handle).split()
    return "".join(word[0] for word in words[:2]).upper()


def _agent(agent: Row) -> Row:
    profile = agent["profile"]
    name = str(profile.get("name") or agent["agent_id"])
    return {
        "id": agent["agent_id"],
        "name": name,
        "initials": _initials(name),
        "tint": str(seeded(name).randrange(6)),
        "type": str(profile.get("type", "")).replace("_", " "),
        "availability": str(profile.get("availability", "")),
        "capabilities": [str(item).replace("_", " ") for item in _listed(profile)],
        "registered": _date(datetime.fromisoformat(agent["registered_at"])),
        "updated": _date(datetime.fromisoformat(agent["updated_at"])),
        "profile": json.dumps(profile, indent=2, ensure_ascii=False),
        "signature": agent["signature"]
        if isinstance(agent["signature"], str)
        else json.dumps(agent["signature"], indent=2),
    }


def _listed(profile: Row) -> list[Any]:
    capabilities = profile.get("capabilities", [])
    return capabilities if isinstance(capabilities, list) else []


def _page(template: str, **values: Any) -> HTMLResponse:
    return HTMLResponse(_ENGINE.get_template(template).render(Context(values)))
