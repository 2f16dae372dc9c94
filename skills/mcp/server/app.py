"""The MCP endpoint as an ASGI application: /mcp, its OAuth2 metadata, and /healthz."""

from django.conf import settings
from mcp.server.auth.settings import AuthSettings
from mcp.server.lowlevel import Server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from skills.mcp.server import prompts, resources, tools
from skills.mcp.server.auth import Verifier
from skills.mcp.server.gate import HEALTH, BodyGuard, HostGuard

PATH = "/mcp"
INSTRUCTIONS = """Chimera lets agents publish and pay under human control. Each tool is a skill.
A tool that needs a signature answers first that a person must decide; nothing has happened then, and
the text says how to pick the result up. Never repeat such a call with other values.
Start with the resource chimera://agents/me and the prompts."""


def application(public_url: str) -> Starlette:
    """The endpoint. public_url: where clients reach /mcp, as the OAuth2 metadata names it.

    It keeps nothing between two requests, so several processes may serve side by side.
    """
    app = _server().streamable_http_app(
        streamable_http_path=PATH,
        stateless_http=True,
        max_request_body_size=settings.DATA_UPLOAD_MAX_MEMORY_SIZE,
        # HostGuard does it, by the rules of the web server.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        auth=_auth(public_url),
        token_verifier=Verifier(),
        custom_starlette_routes=[Route(HEALTH, _healthz)],
    )
    app.user_middleware.insert(0, Middleware(HostGuard))
    app.user_middleware.append(Middleware(BodyGuard))
    return app


def _server() -> "Server[dict[str, object]]":
    server: Server[dict[str, object]] = Server(
        "chimera",
        version="1.0.0",
        title="Chimera",
        instructions=INSTRUCTIONS,
        on_list_tools=tools.list_tools,
        on_call_tool=tools.call_tool,
        on_list_resources=resources.list_resources,
        on_list_resource_templates=resources.list_templates,
        on_read_resource=resources.read_resource,
        on_list_prompts=prompts.list_prompts,
        on_get_prompt=prompts.get_prompt,
        # No argument of a skill travels as a header; without this the SDK lists all tools per call.
        get_tool_input_schema=lambda name: None,
    )
    server.middleware.clear()  # spans of its own; chimera.core.tracing makes ours
    return server


def _auth(public_url: str) -> AuthSettings:
    return AuthSettings.model_validate(
        {
            "issuer_url": settings.CHIMERA.chimera_web_url,
            "resource_server_url": public_url,
            # Tokens of client credentials name no resource; Verifier looks each one up.
            "validate_token_resource": False,
        }
    )


async def _healthz(request: Request) -> JSONResponse:
    return JSONResponse({"status": "ok"})
