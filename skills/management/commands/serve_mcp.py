"""Serve the skills over MCP: http://127.0.0.1:PORT/mcp."""

import logging
from argparse import ArgumentParser
from typing import Any

import uvicorn
from django.conf import settings
from django.core.management.base import BaseCommand

from skills.mcp.server.app import PATH, application

STOP_SECONDS = 5


class Command(BaseCommand):
    help = "Serve every skill as an MCP tool over streamable HTTP."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--port", type=int, default=8001)
        parser.add_argument("--host", default="127.0.0.1", help="address to listen on")

    def handle(self, *args: Any, port: int, host: str, **options: Any) -> None:
        logging.getLogger("mcp").setLevel(logging.WARNING)  # it tells of every request
        uvicorn.run(
            application(public_url(port)),
            host=host,
            port=port,
            log_config=None,
            log_level="warning",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=STOP_SECONDS,
        )


def public_url(port: int) -> str:
    """Where agents reach /mcp: on loopback in a sandbox, else beside the web server."""
    env = settings.CHIMERA
    base = f"http://127.0.0.1:{port}" if env.is_sandbox else env.chimera_web_url.rstrip("/")
    return f"{base}{PATH}"
