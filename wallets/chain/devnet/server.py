"""JSON-RPC over HTTP on 127.0.0.1."""

import errno
import json
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from wallets.chain.devnet.errors import DevnetError, RpcError
from wallets.chain.devnet.faults import CutConnection
from wallets.chain.devnet.rpc import INVALID_REQUEST, PARSE_ERROR, Rpc, failure

MAX_BODY = 2_000_000


class Handler(BaseHTTPRequestHandler):
    """One connection; without these two settings every answer would wait 40 ms for an ACK."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    server: "Server"

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "")
        if not length.isdigit() or int(length) > MAX_BODY:
            return self._reply(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, None)
        try:
            status, answer = self.server.handle_body(self.rfile.read(int(length)))
        except CutConnection:
            self.close_connection = True
            return None
        return self._reply(status, answer)

    def _reply(self, status: HTTPStatus, answer: Any) -> None:
        body = b"" if answer is None else json.dumps(answer).encode()
        self.send_response(status)
        if status != HTTPStatus.OK:
            # Said aloud: a client that reuses a closing connection would see it cut instead.
            self.send_header("Connection", "close")
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Silent: a line per call would bury everything else."""


class Server(ThreadingHTTPServer):
    """Bound at once, so that a port in use is known before anything else happens.

    `server_activate` opens it: until then a connection is refused, so an open port means ready.
    """

    daemon_threads = True
    request_queue_size = 128
    rpc: Rpc

    def __init__(self, port: int) -> None:
        try:
            super().__init__(("127.0.0.1", port), Handler, bind_and_activate=False)
            self.server_bind()
        except OverflowError:
            raise DevnetError(f"port {port} does not exist: give 0 to 65535") from None
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise DevnetError(f"cannot listen on port {port}: {error.strerror}") from None
            advice = "stop the program that uses it or choose another with --port"
            raise DevnetError(f"port {port} is in use: {advice}") from None

    def handle_body(self, body: bytes) -> tuple[HTTPStatus, Any]:
        """Status and answer to one HTTP body: a request object or a batch of them."""
        try:
            content = json.loads(body)
        except ValueError:
            return HTTPStatus.OK, failure(None, RpcError(PARSE_ERROR, "the body is not valid JSON"))
        requests = content if isinstance(content, list) else [content]
        if not _control(requests) and self.rpc.faults.strikes("down"):
            return HTTPStatus.SERVICE_UNAVAILABLE, None
        if not requests:
            return HTTPStatus.OK, failure(None, RpcError(INVALID_REQUEST, "an empty batch"))
        answers = [self.rpc.answer(request) for request in requests]
        return HTTPStatus.OK, answers if isinstance(content, list) else answers[0]


def _control(requests: list[Any]) -> bool:
    names = [request.get("method") for request in requests if isinstance(request, dict)]
    return bool(names) and all(str(name).startswith("chimera_") for name in names)
