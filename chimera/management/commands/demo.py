"""The main job in a terminal: one campaign from a trend to a post and a payment."""

import signal
import sys
from argparse import ArgumentParser
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from rich.console import Console
from rich.text import Text

from chimera import stack
from chimera.core import clock, http, jsontext
from chimera.core.errors import ChimeraError
from chimera.demo import run as demo
from chimera.demo.campaign import Campaign
from chimera.demo.client import Unreachable
from chimera.demo.reviewer import DeskRefused
from chimera.management.commands.runstack import default_port
from chimera.supervisor import StackError
from content.sources.feeds import FeedResult, parse_feed

UNUSABLE_INPUT = 2
MOST_TRENDS = 1000


class Command(BaseCommand):
    help = "Run one campaign from a trend to a published post and a settled payment."
    requires_system_checks = ()  # the processes make their own

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.console = Console(highlight=False, soft_wrap=True)

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--port", type=int, default=default_port(), help="web port; default PORT or 8000"
        )
        parser.add_argument(
            "--trends", default="", help="RSS or Atom feed or JSON list of TrendData: path or URL"
        )
        parser.add_argument(
            "--approve", action="store_true", help="sign as the demo reviewer (sandbox only)"
        )
        parser.add_argument(
            "--background", action="store_true", help="the first campaign of `make run`"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["approve"] and not settings.CHIMERA.is_sandbox:
            raise CommandError(
                "--approve signs as the demo reviewer and works in the sandbox only."
            )
        place = demo.Place(stack.web_url(options["port"]), settings.DATA_DIR)
        try:
            if options["background"]:
                return self._background(place)
            trends = self._read_trends(options["trends"])
            # SIGTERM must unwind the stack of our own, too.
            signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
            with stack.own_stack(options["port"], settings.DATA_DIR):
                campaign = demo.take_up(place, options["trends"], trends)
                self._foreground(place, campaign, approve=options["approve"])
        except (demo.NotSetUp, Unreachable, DeskRefused, StackError) as problem:
            raise CommandError(str(problem)) from None
        except KeyboardInterrupt:
            raise CommandError(
                "Stopped. The campaign is kept; make demo goes on with it."
            ) from None

    def _background(self, place: demo.Place) -> None:
        campaign = demo.take_up_first(place)
        if campaign is None:
            return
        settled = demo.run(place, campaign, self._say)
        self._say("end", settled.post_url if settled else campaign.outcome)

    def _foreground(self, place: demo.Place, campaign: Campaign, *, approve: bool) -> None:
        self._say("campaign", campaign.id)
        if not approve:
            self._say(
                "reviewer", f"decide at {place.base_url}/review/ as soon as it shows the requests"
            )
        settled = demo.run(place, campaign, self._say, approve=approve)
        if settled is None:
            raise CommandError(
                f"The campaign ended without a post and a payment: {campaign.outcome}"
            )
        self.stdout.write(jsontext.dumps(asdict(settled)))

    def _say(self, step: str, text: str) -> None:
        self.console.print(Text.assemble((f"{step:<21}", "bold cyan"), text))

    def _read_trends(self, source: str) -> list[dict[str, Any]]:
        """The trends of the file or URL; every item that was left out is named on stderr."""
        if not source:
            return []
        try:
            found = _read_source(source)
        except (ChimeraError, OSError) as problem:
            why = (
                problem.message
                if isinstance(problem, ChimeraError)
                else f"{source}: {problem.strerror}"
            )
            raise CommandError(f"TRENDS cannot be used: {why}", returncode=UNUSABLE_INPUT) from None
        for problem_line in found.problems:
            self.stderr.write(problem_line)
        if not found.trends:
            why = f"{source} holds no usable item"
            raise CommandError(f"TRENDS cannot be used: {why}", returncode=UNUSABLE_INPUT)
        self._say(
            "trends", f"{len(found.trends)} usable in {source}, {len(found.problems)} remarks"
        )
        return [
            jsontext.plain(trend.model_dump(exclude_none=True))
            for trend in found.trends[:MOST_TRENDS]
        ]


def _read_source(source: str) -> FeedResult:
    if source.startswith(("http://", "https://")):
        data = http.fetch(source, allow_private=settings.CHIMERA.is_sandbox)
    else:
        data = Path(source).read_bytes()
    return parse_feed(data, source=source, now=clock.now())
