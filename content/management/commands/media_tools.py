"""Serve the media tools over MCP: to the process that starts this, or over HTTP on loopback.

Settings, database and data directory are those of the deployment; see mcp.sample.json.
"""

from argparse import ArgumentParser
from typing import Any

import anyio
import uvicorn
from django.core.management.base import BaseCommand
from mcp.server.stdio import stdio_server

from content.mediatools.server import mcp_server

HOST = "127.0.0.1"


class Command(BaseCommand):
    help = "Serve ideogram and runwayml over MCP: on standard input and output, or with --port."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--port", type=int, help=f"serve http://{HOST}:PORT/mcp instead")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["port"] is None:
            anyio.run(_serve_stdio)
        else:
            app = mcp_server().streamable_http_app(stateless_http=True)
            uvicorn.run(app, host=HOST, port=options["port"], log_level="warning", access_log=False)


async def _serve_stdio() -> None:
    server = mcp_server()
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())
