"""Unique secrets, a provider that gives them back, and everything that a platform writes, to search in."""

import base64
import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import httpx
import psycopg
import redis
from psycopg.sql import SQL, Identifier

from chimera.core.jsontext import dumps, loads


class LeakyProvider(ThreadingHTTPServer):
    """Answers every request with `status` and all that it was sent, credentials first."""

    daemon_threads = True

    def __init__(self, status: int = 500) -> None:
        super().__init__(("127.0.0.1", 0), _Leaking)
        self.status = status
        self.heard: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Leaking(BaseHTTPRequestHandler):
    server: LeakyProvider

    def _answer(self) -> None:
        sent = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode(errors="replace")
        said = f"refused: {dict(self.headers)} {self.path} {sent[:500]}"
        self.server.heard.append(said)
        error = {"message": said, "code": self.server.status, "status": said}
        body = dumps({"detail": said, "title": said, "message": said, "error": error}).encode()
        self.send_response(self.server.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_DELETE = _answer

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def leaky_provider(status: int = 500) -> Iterator[LeakyProvider]:
    with LeakyProvider(status) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


# --- answers --------------------------------------------------------------------------------------


class Answers:
    """Every HTTP answer that this process has got, and the tokens that were rightly among them."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.tokens: dict[str, str] = {}

    def keep(self, answer: httpx.Response) -> None:
        path = urlsplit(str(answer.url)).path
        text = answer.text
        if path == "/oauth/token/" and answer.is_success:
            self._rightly(path, answer.json()["access_token"])
            return
        if path.startswith("/api/v1/approvals/") and answer.is_success:
            found = loads(answer.text)
            token = found.pop("approval_token", None) if isinstance(found, dict) else None
            if token:
                self._rightly(path, token)
            text = dumps(found)
        name = f"answer {len(self.texts)}: {answer.request.method} {path} {answer.status_code}"
        self.texts[name] = f"{dict(answer.headers)}\n{text}"

    def _rightly(self, path: str, token: str) -> None:
        self.tokens[f"token {len(self.tokens)} of {path}"] = token


@contextmanager
def recorded() -> Iterator[Answers]:
    """Keeps what every httpx client of this process is answered."""
    answers, send = Answers(), httpx.Client.send

    def keeping(self: httpx.Client, request: httpx.Request, **options: Any) -> httpx.Response:
        answer = send(self, request, **options)
        if not options.get("stream"):
            answers.keep(answer)
        return answer

    httpx.Client.send = keeping  # type: ignore[method-assign,assignment]  # of this block alone
    try:
        yield answers
    finally:
        httpx.Client.send = send  # type: ignore[method-assign]


# --- the transport --------------------------------------------------------------------------------


class Tap:
    """Everything that passes the broker: the files of the embedded one, or every Redis command."""

    def __init__(self, folder: Path, redis_url: str = "") -> None:
        self.folder, self.redis_url = folder, redis_url
        self.messages: dict[str, str] = {}
        self._over = threading.Event()

    def __enter__(self) -> "Tap":
        self._thread = threading.Thread(target=self._monitor if self.redis_url else self._watch)
        self._thread.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._over.set()
        if self.redis_url:
            redis.Redis.from_url(self.redis_url).ping()  # the command that the monitor waits for
        self._thread.join(10)

    def _watch(self) -> None:
        while not self._over.wait(0.001):
            with suppress(OSError):
                for entry in os.scandir(self.folder):
                    if entry.name not in self.messages:
                        with suppress(OSError):
                            self.messages[entry.name] = _opened(Path(entry.path).read_text())

    def _monitor(self) -> None:
        client = redis.Redis.from_url(self.redis_url, socket_timeout=None)
        with client.monitor() as monitor:
            while not self._over.is_set():
                command = monitor.next_command()["command"]
                self.messages[f"command {len(self.messages)}"] = _opened(command)


def _opened(message: str) -> str:
    """The message with its base64 body in clear beside it."""
    with suppress(ValueError, KeyError, TypeError):
        start = message.index("{")
        body = loads(message[start : message.rindex("}") + 1].replace('\\\\"', '"'))["body"]
        return f"{message}\n{base64.b64decode(body).decode(errors='replace')}"
    return message


# --- what is stored -------------------------------------------------------------------------------


def database_dump(data_dir: Path, url: str = "") -> dict[str, str]:
    """Table -> all its rows as text."""
    if url:
        return dict(_postgres_tables(url))
    with sqlite3.connect(data_dir / "chimera.sqlite3") as database:
        return {"database": "\n".join(database.iterdump())}


def _postgres_tables(url: str) -> Iterator[tuple[str, str]]:
    with psycopg.connect(url) as database:
        tables = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
        for (table,) in database.execute(tables).fetchall():
            with database.cursor().copy(SQL("COPY {} TO STDOUT").format(Identifier(table))) as rows:
                yield f"table {table}", b"".join(bytes(row) for row in rows).decode()


def forms_of(secret: str) -> set[str]:
    """The secret as it may be written: plain, in a URL, in base64."""
    encoded = base64.b64encode(secret.encode()).decode()
    return {secret, quote(secret, safe=""), encoded.rstrip("=")}


def hits(secrets: dict[str, str], places: dict[str, str]) -> list[str]:
    """`name in place` for every secret that is found somewhere."""
    return [
        f"{name} in {place}: ...{text[max(0, at - 200) : at + 80]}..."
        for name, secret in secrets.items()
        for form in forms_of(secret)
        for place, text in places.items()
        if (at := text.find(form)) >= 0
    ]
