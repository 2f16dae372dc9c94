"""Is anybody there? Questions to ports of this machine."""

import socket
import urllib.request
from http.client import HTTPException

LOOPBACK = "127.0.0.1"
# Everything asked is on this machine, so a proxy of the environment has no say.
_http = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def answers(url: str) -> bool:
    """Whether the URL answers with a 2xx within two seconds."""
    try:
        with _http.open(url, timeout=2):
            return True
    except (OSError, ValueError, HTTPException):
        return False


def accepts(port: int) -> bool:
    """Whether a process accepts connections on the port."""
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex((LOOPBACK, port)) == 0


def is_free(port: int) -> bool:
    """Whether a new process could listen on the port."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
        return True
