"""Every setting the environment may give, typed, in one place (docs/settings.md is generated from it).

`NAME_FILE` reads the value of NAME from a file; both set and different is an error. A missing or
contradictory setting stops the start with a sentence that names it.
"""

import os
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import Field, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

ROOT = Path(__file__).resolve().parent.parent
Network = Literal["base", "mainnet", "sepolia", "base-sepolia", "devnet"]
DEFAULT_NETWORK: dict[str, Network] = {
    "sandbox": "devnet",
    "staging": "base-sepolia",
    "production": "base",
}

LLM_KEYS = {"google": "chimera_gemini_api_key", "openai": "chimera_openai_api_key"}


def _local(offset: int) -> str:
    """host:port of one of the stack's own servers, which lie beside PORT."""
    port = os.environ.get("PORT", "")
    return str((int(port) if port.isdigit() else 8000) + offset)


class Misconfigured(Exception):
    """The environment does not describe a deployment that can start."""


class Env(BaseSettings):
    """The typed environment; attribute names are those of the variables in lower case."""

    model_config = SettingsConfigDict(extra="ignore", env_prefix="", case_sensitive=False)

    chimera_environment: Literal["sandbox", "staging", "production"] = Field(
        "sandbox", description="What kind of deployment this is; sandbox needs nothing else"
    )
    chimera_process: Literal["web", "worker", "scheduler", "command"] = Field(
        "command", description="Which process this is; only `web` ever opens the approval keys"
    )
    chimera_data_dir: Path = Field(ROOT / "var", description="Where the data of this machine lives")
    secret_key: str = Field(
        "", description="Signs sessions and encrypts stored credentials; at least 50 characters"
    )
    database_url: str = Field(
        "", description="postgres://user:password@host/name; default SQLite in the data directory"
    )
    celery_broker_url: str = Field(
        "", description="redis://… or amqp://…; default: embedded, files in the data directory"
    )
    cache_url: str = Field(
        "", description="redis://…; default: embedded, files in the data directory"
    )
    chimera_hosts: str = Field(
        "", description="Host names the web server answers to, separated by commas"
    )
    chimera_web_url: str = Field(
        default_factory=lambda: f"http://localhost:{_local(0)}",
        description="Where people and agents reach the web server; by default PORT on localhost",
    )
    chimera_world_url: str = Field(
        default_factory=lambda: f"http://127.0.0.1:{_local(2)}",
        description="Where the sandbox world listens; by default PORT+2 on loopback",
    )
    chimera_issuer: str = Field(
        "", description="`iss` of the approval tokens; default CHIMERA_WEB_URL"
    )
    chimera_approval_keys: Path | None = Field(
        None,
        description="Folder of the private approval keys; in a sandbox keys/ in the data directory",
    )
    chimera_approval_ttl: int = Field(
        1800, ge=60, le=7200, description="Seconds an approval token lives"
    )
    chimera_approval_pending_ttl: int = Field(
        86400, ge=60, description="Seconds a request waits for a person"
    )
    chimera_rate_limit: int = Field(
        60,
        ge=1,
        description="Skill calls an agent may make in sliding 60 seconds, and as many other changes",
    )
    chimera_read_rate_limit: int = Field(
        600, ge=1, description="Other API reads an agent may make in sliding 60 seconds"
    )
    chimera_platform: Literal["sandbox", "local", "live"] = Field(
        "sandbox",
        description="Where posts go: sandbox, the sandbox world; local, local servers that speak "
        "each network's own API (runstack starts them on PORT+4; a source checkout has them); live, "
        "the networks. Production always uses the networks",
    )
    chimera_local_url: str = Field(
        default_factory=lambda: f"http://127.0.0.1:{_local(4)}",
        description="Where the local servers of CHIMERA_PLATFORM=local listen; by default PORT+4",
    )
    chimera_mcp_config: Path = Field(
        ROOT / "mcp.json",
        description="MCP servers the skills may use; mcp.sample.json when absent in a sandbox",
    )
    chimera_news_feeds: str = Field(
        "", description="RSS or Atom feeds the news trends come from, separated by commas"
    )
    chimera_ideogram_api_key: str = Field("", repr=False, description="Key of the Ideogram API")
    chimera_ideogram_url: str = Field(
        "https://api.ideogram.ai", description="Where the Ideogram API is"
    )
    chimera_runway_api_key: str = Field("", repr=False, description="Key of the Runway API")
    chimera_runway_url: str = Field(
        "https://api.dev.runwayml.com", description="Where the Runway API is"
    )
    chimera_runway_poll_sec: float = Field(
        5, gt=0, le=30, description="Seconds between two looks at a Runway task; they ask for 5"
    )
    chimera_trends_per_hour: int = Field(
        100, ge=1, description="Calls to the trend sources of one platform in sliding 60 minutes"
    )
    chimera_openclaw_url: str = Field(
        "", description="Agent directory that profiles are registered in; the sandbox's by default"
    )
    chimera_network: Network | None = Field(
        None, description="Network of new wallets; default by environment"
    )
    chimera_signer: Literal["local"] = Field("local", description="Who signs transactions")
    chimera_settlement_address: str = Field(
        "", description="Default recipient of a debit; the devnet's own in a sandbox"
    )
    chimera_llm_model: str = Field(
        "",
        description="Language model as google:NAME or openai:NAME; empty: the offline writer and score",
    )
    chimera_llm_fallback_model: str = Field(
        "", description="Language model used when the first fails"
    )
    chimera_gemini_api_key: str = Field("", repr=False, description="Key of a google: model")
    chimera_openai_api_key: str = Field(
        "",
        repr=False,
        description="Key of an openai: model; any text where the server asks for none",
    )
    chimera_gemini_base_url: str = Field("", description="Another address of the Gemini API")
    chimera_openai_base_url: str = Field(
        "", description="Any OpenAI-compatible server, with its /v1; empty: OpenAI itself"
    )
    chimera_llm_cost_limit: Decimal | None = Field(
        None, gt=0, description="US dollars that one request to a language model may cost"
    )
    chimera_approval_rules: Path = Field(
        ROOT / "skills" / "policy_rules.json",
        description="JSON object of skill name and allow, ask or deny: rules that tighten the approval "
        "policy. A file that cannot be used denies every call",
    )
    chimera_expensive_calls_per_day: int = Field(
        200,
        ge=0,
        description="Expensive skill calls an agent may make in a day (UTC); each one more is asked of "
        "a person",
    )
    chimera_media_budget: Decimal = Field(
        Decimal(100),
        ge=0,
        description="US dollars that one call of skill_generate_media_asset may ask for as its budget",
    )
    chimera_metrics_token: str = Field(
        "", description="Bearer token that may read /metrics from another machine"
    )
    chimera_otlp_endpoint: str = Field(
        "",
        pattern=r"^(https?://\S+)?$",
        description="OpenTelemetry collector that gets the traces over OTLP/HTTP, "
        "e.g. http://collector:4318; empty: no export",
    )
    chimera_kill_at: Path | None = Field(
        None, description="Chaos tests of the sandbox only: folder that arms kill points"
    )
    rpc_urls: dict[str, str] = Field(
        default_factory=dict,
        description="CHIMERA_RPC_URL_<NETWORK>: JSON-RPC endpoint of a network",
    )

    skill_impls: dict[str, str] = Field(
        default_factory=dict,
        description="CHIMERA_SKILL_IMPL_<NAME>: who writes for a contract skill: offline, llm, or the "
        "path of a coroutine function; empty: llm where a language model is configured",
    )

    @field_validator("rpc_urls", mode="before")
    @classmethod
    def _collect_rpc_urls(cls, value: Any) -> dict[str, str]:
        named = {key.replace("_", "-"): url for key, url in _prefixed("CHIMERA_RPC_URL_").items()}
        return dict(value or {}) | named

    @field_validator("skill_impls", mode="before")
    @classmethod
    def _collect_skill_impls(cls, value: Any) -> dict[str, str]:
        return dict(value or {}) | _prefixed("CHIMERA_SKILL_IMPL_")

    @model_validator(mode="after")
    def _complete(self) -> "Env":
        if self.chimera_environment != "sandbox":
            if self.chimera_kill_at:
                raise ValueError("CHIMERA_KILL_AT kills processes; unset it outside the sandbox")
            self._require(
                "secret_key",
                "chimera_issuer",
                "database_url",
                "celery_broker_url",
                "cache_url",
                "chimera_hosts",
            )
            if self.chimera_process == "web":
                self._require("chimera_approval_keys")
            if len(self.secret_key) < 50:
                raise ValueError("SECRET_KEY must have at least 50 characters outside the sandbox")
        if self.chimera_environment == "production" and self.chimera_platform != "live":
            self.chimera_platform = "live"
        return self

    @field_validator("chimera_llm_cost_limit", mode="before")
    @classmethod
    def _no_limit(cls, value: Any) -> Any:
        return None if value == "" else value

    @model_validator(mode="after")
    def _models_have_keys(self) -> "Env":
        if self.chimera_llm_fallback_model and not self.chimera_llm_model:
            raise ValueError("CHIMERA_LLM_FALLBACK_MODEL is set; set CHIMERA_LLM_MODEL as well")
        if self.chimera_llm_fallback_model == self.chimera_llm_model != "":
            raise ValueError("CHIMERA_LLM_FALLBACK_MODEL must name another model or be empty")
        for model in self.llm_models:
            maker, _, name = model.partition(":")
            if maker not in LLM_KEYS or not name.strip():
                raise ValueError(
                    f"{model!r} is no language model; write google:NAME or openai:NAME"
                )
            key = LLM_KEYS[maker]
            if not getattr(self, key):
                raise ValueError(f"{key.upper()} must be set for the language model {model}")
        return self

    def _require(self, *names: str) -> None:
        missing = [name.upper() for name in names if not getattr(self, name)]
        if missing:
            raise ValueError(
                f"{', '.join(missing)} must be set when CHIMERA_ENVIRONMENT is {self.chimera_environment}"
            )

    # The names the apps use.
    @property
    def environment(self) -> str:
        return self.chimera_environment

    @property
    def is_sandbox(self) -> bool:
        return self.chimera_environment == "sandbox"

    @property
    def data_dir(self) -> Path:
        return self.chimera_data_dir.resolve()

    @property
    def keys_dir(self) -> Path:
        return self.chimera_approval_keys or self.data_dir / "keys"

    @property
    def issuer(self) -> str:
        return self.chimera_issuer or self.chimera_web_url

    @property
    def network(self) -> Network:
        return self.chimera_network or DEFAULT_NETWORK[self.chimera_environment]

    @property
    def settlement_address(self) -> str:
        return self.chimera_settlement_address

    @property
    def openclaw_url(self) -> str:
        own = f"{self.chimera_world_url}/directory" if self.is_sandbox else ""
        return (self.chimera_openclaw_url or own).rstrip("/")

    @property
    def llm_models(self) -> list[str]:
        """The configured language models, the first choice first."""
        return [m for m in (self.chimera_llm_model, self.chimera_llm_fallback_model) if m]

    @property
    def embedded_broker(self) -> bool:
        return not self.celery_broker_url

    @property
    def hosts(self) -> list[str]:
        named = [host.strip() for host in self.chimera_hosts.split(",") if host.strip()]
        web = urlsplit(self.chimera_web_url).hostname
        return (
            [*named, "localhost", "127.0.0.1"] if self.is_sandbox else named or [web or "localhost"]
        )

    @property
    def news_feeds(self) -> list[str]:
        return [url.strip() for url in self.chimera_news_feeds.split(",") if url.strip()]


def _prefixed(prefix: str) -> dict[str, str]:
    """The rest of the name, in lower case -> value, of the variables that begin with the prefix."""
    return {k[len(prefix) :].lower(): v for k, v in os.environ.items() if k.startswith(prefix)}


def _read_files() -> None:
    """Put the content of every NAME_FILE into NAME, for the names of this module."""
    for field in Env.model_fields:
        name = field.upper()
        path = os.environ.get(f"{name}_FILE")
        if not path:
            continue
        try:
            value = Path(path).read_text().rstrip("\n")
        except OSError as problem:
            raise Misconfigured(f"{name}_FILE cannot be read: {problem}") from None
        if os.environ.get(name, value) != value:
            raise Misconfigured(f"{name} and {name}_FILE are both set and differ; remove one")
        os.environ[name] = value


def load() -> Env:
    """The environment of this process, or Misconfigured with one sentence per problem."""
    _read_files()
    try:
        return Env(rpc_urls={}, skill_impls={})
    except ValidationError as problem:
        lines = [_sentence(error) for error in problem.errors()]
        raise Misconfigured("; ".join(lines)) from None


def _sentence(error: Any) -> str:
    where = ".".join(str(part) for part in error["loc"]).upper()
    text = str(error["msg"]).removeprefix("Value error, ")
    return f"{where}: {text}" if where else text
