"""Outbound HTTP: bounded in time and size, never retries, never reaches inside the network.

The address that was checked is the address that is connected to, so a name that changes its address
between check and use gains nothing; every redirect is checked again.
"""

import ipaddress
import socket
import ssl
from functools import cache
from time import monotonic
from urllib.parse import SplitResult, urljoin, urlsplit

import httpx

from chimera.core import capabilities, tracing
from chimera.core.errors import ChimeraError

MAX_REDIRECTS = 3
MAX_BYTES = 5 * 1024 * 1024
_DENIED = [
    ipaddress.ip_network(text)
    for text in (
        "64:ff9b::/96",
        "64:ff9b:1::/48",
        "2002::/16",
        "2001::/32",
        "192.0.0.0/24",
        "100.64.0.0/10",
    )
]


@cache
def tls() -> ssl.SSLContext:
    """Made once: loading the certificates takes longer than a call."""
    return ssl.create_default_context()


def is_public(address: str) -> bool:
    """True for a global unicast address that no transition mechanism maps to the inside."""
    ip = ipaddress.ip_address(address)
    if isinstance(ip, ipaddress.IPv6Address) and ip.ipv4_mapped:
        ip = ip.ipv4_mapped
    return (
        ip.is_global
        and not ip.is_multicast
        and not any(ip in net for net in _DENIED if net.version == ip.version)
    )


def _resolve(host: str, port: int, allow_private: bool) -> str:
    try:
        found = {
            str(info[4][0]) for info in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        }
    except OSError:
        raise ChimeraError("NETWORK_ERROR", f"The host {host} cannot be found") from None
    except ValueError:  # a label too long or empty, a NUL
        raise ChimeraError("INVALID_INPUT", f"{host[:80]} is no host name") from None
    if not allow_private and not all(is_public(address) for address in found):
        raise ChimeraError("SECURITY_VIOLATION", f"The host {host} is not a public address")
    return sorted(found)[0]


def fetch(
    url: str, *, allow_private: bool = False, timeout: float = 10.0, max_bytes: int = MAX_BYTES
) -> bytes:
    """The body behind an http(s) URL, at most `max_bytes`.

    timeout: seconds for each hop as a whole, however slowly it drips.
    Errors: INVALID_INPUT (not an http URL), SECURITY_VIOLATION (inside address), TIMEOUT,
    NETWORK_ERROR (refused, cut, status other than 200), PAYLOAD_TOO_LARGE.
    """
    capabilities.require("NET")
    goal = url
    for _ in range(MAX_REDIRECTS + 1):
        parts, port = _split(url, goal)
        answer, target = _get(parts, port, allow_private, timeout, max_bytes)
        if target is None:
            return answer
        url, goal = parts.geturl(), target
    raise ChimeraError("NETWORK_ERROR", "Too many redirects")


def _split(base: str, target: str) -> tuple[SplitResult, int]:
    """The parts of an http URL, relative to a base, and its port; INVALID_INPUT for anything else."""
    try:
        parts = urlsplit(urljoin(base, target))
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError as problem:
        raise ChimeraError("INVALID_INPUT", f"The URL cannot be read: {problem}") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
        raise ChimeraError("INVALID_INPUT", "Give an http or https URL without a user name")
    if not parts.netloc.isascii():
        raise ChimeraError("INVALID_INPUT", "Write the host name in ASCII (xn--...)")
    return parts, port


def _get(
    parts: SplitResult, port: int, allow_private: bool, timeout: float, max_bytes: int
) -> tuple[bytes, str | None]:
    assert parts.hostname  # _split has seen to it
    address = _resolve(parts.hostname, port, allow_private)
    literal = f"[{address}]" if ":" in address else address
    pinned = parts._replace(netloc=f"{literal}:{port}").geturl()
    request_headers = {
        "Host": parts.netloc,
        "User-Agent": "chimera/1",
        "Accept-Encoding": "identity",
    }
    extensions = {"sni_hostname": parts.hostname}
    try:
        with (
            httpx.Client(
                trust_env=False, timeout=timeout, verify=tls(), auth=tracing.outgoing(httpx)
            ) as client,
            client.stream("GET", pinned, headers=request_headers, extensions=extensions) as answer,
        ):
            return _read(answer, max_bytes, monotonic() + timeout)
    except httpx.TimeoutException:
        raise ChimeraError(
            "TIMEOUT", f"No answer from {parts.hostname} within {timeout:g} s"
        ) from None
    except httpx.InvalidURL as problem:
        raise ChimeraError("INVALID_INPUT", f"The URL cannot be read: {problem}") from None
    except httpx.HTTPError as problem:
        raise ChimeraError("NETWORK_ERROR", f"{parts.hostname}: {type(problem).__name__}") from None


def _read(answer: httpx.Response, max_bytes: int, until: float) -> tuple[bytes, str | None]:
    if answer.is_redirect:
        return b"", answer.headers.get("location", "")
    if answer.status_code != 200:
        raise ChimeraError("NETWORK_ERROR", f"The server answered {answer.status_code}")
    body = bytearray()
    for chunk in answer.iter_bytes():
        body += chunk
        if len(body) > max_bytes:
            raise ChimeraError("PAYLOAD_TOO_LARGE", f"The answer has more than {max_bytes} bytes")
        if monotonic() > until:
            raise ChimeraError("TIMEOUT", "The answer did not end in time")
    return bytes(body), None
