"""mcp.json: which MCP servers there are, how each is reached and what it is asked for.

A value under `headers` or `env` may name a variable of the environment, so that no secret stands in
the file: `${NAME}`, or `${NAME:-text}` where it may be absent. A variable that comes out empty is not
passed on.
"""

import os
import re
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")


class ServerConfig(BaseModel):
    """One entry of mcp.json: a server reached at `url`, or started by `command`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    type: Literal["http", "streamable-http", "stdio"] | None = None
    url: str | None = Field(default=None, pattern=r"^https?://")
    headers: dict[str, str] = Field(default_factory=dict, repr=False)
    offers: list[str] = Field(
        default=[], description="Tools and beginnings of resource URIs; empty: asked for anything"
    )
    prices: dict[str, Annotated[Decimal, Field(ge=0)]] = Field(
        default={},
        description="US dollars that a tool asks for one image or one second of video; a tool without "
        "a price is not called by skills that have a budget",
    )
    command: str | None = None
    args: list[str] = []
    env: dict[str, str] = Field(default_factory=dict, repr=False)

    @model_validator(mode="after")
    def _one_way_in(self) -> Self:
        if (self.url is None) == (self.command is None):
            raise ValueError("give either url or command")
        return self

    @field_validator("headers", "env")
    @classmethod
    def _filled_in(cls, values: dict[str, str]) -> dict[str, str]:
        filled = {name: _VARIABLE.sub(_value, text) for name, text in values.items()}
        return {name: text for name, text in filled.items() if text}

    def may_have(self, wanted: str) -> bool:
        """Whether the server is to be asked for this tool or resource."""
        named = [offer for offer in self.offers if wanted == offer]
        below = [offer for offer in self.offers if "://" in offer and wanted.startswith(offer)]
        return bool(not self.offers or named or below)


def _value(found: re.Match[str]) -> str:
    name, instead = found.group(1), found.group(2)
    value = os.environ.get(name, instead)
    if value is None:
        raise ValueError(f"the environment has no {name}; set it, or write ${{{name}:-}}")
    return value


class _ConfigFile(BaseModel):
    servers: dict[str, ServerConfig] = Field(alias="mcpServers", min_length=1)


def load_config(path: Path | str) -> dict[str, ServerConfig]:
    """The servers of an mcp.json by name, in its order.

    Raises ValueError with a sentence that names the file and the field.
    """
    try:
        return _ConfigFile.model_validate_json(Path(path).read_bytes()).servers
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from error
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"]) or "the file"
        raise ValueError(f"{path}: {field}: {first['msg']}") from error
