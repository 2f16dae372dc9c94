"""Outbound HTTP never reaches inside the network, and what it reads has bounds."""

import time

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from chimera.core import http
from chimera.core.errors import ChimeraError
from chimera.core.http import MAX_REDIRECTS, fetch

guard = http.is_public


def refused(url: str, **options: object) -> str:
    """The code that a fetch ends with."""
    with pytest.raises(ChimeraError) as caught:
        fetch(url, **options)  # type: ignore[arg-type]
    return caught.value.code


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0.0.0.0",
        "10.0.0.1",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "224.0.0.1",
        "[::1]",
        "[::]",
        "[fe80::1]",
        "[fc00::1]",
        "[::ffff:127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
        "[2001:0:7f00:1::]",
    ],
)
def test_an_address_inside_is_never_connected_to(host: str, httpserver: HTTPServer) -> None:
    assert refused(f"http://{host}:{httpserver.port}/") == "SECURITY_VIOLATION"
    assert not httpserver.log


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:99999/",
        "http://127.0.0.1:9702.evil.example/",
        "http://[::1",
        f"http://{'a' * 300}.com/",
        "http://a..example/",
        "http://b\xfccher.example/",
        "http://user@example.com/",
        "http://user:word@example.com/",
        "http://:word@example.com/",
        "ftp://example.com/",
        "file:///etc/passwd",
        "http:///",
        "",
    ],
)
def test_what_is_no_plain_http_address_is_refused(url: str) -> None:
    assert refused(url) == "INVALID_INPUT"


@pytest.mark.parametrize("target", ["file:///etc/passwd", "http://user@example.com/"])
def test_a_redirect_is_checked_like_an_address(target: str, httpserver: HTTPServer) -> None:
    httpserver.expect_request("/").respond_with_data(status=302, headers={"Location": target})

    assert refused(httpserver.url_for("/"), allow_private=True) == "INVALID_INPUT"


def test_a_redirect_to_the_inside_is_not_followed(
    httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = httpserver.url_for("/secret")
    httpserver.expect_request("/").respond_with_data(status=302, headers={"Location": inside})
    # the first address passes as one outside; every later one is judged by the guard itself
    passed = iter([True])
    monkeypatch.setattr(http, "is_public", lambda address: next(passed, False) or guard(address))
    first = httpserver.url_for("/")

    assert refused(first) == "SECURITY_VIOLATION"
    assert [request.path for request, _ in httpserver.log] == ["/"]


def test_redirects_end_after_a_few(httpserver: HTTPServer) -> None:
    httpserver.expect_request("/").respond_with_data(status=302, headers={"Location": "/"})

    assert refused(httpserver.url_for("/"), allow_private=True) == "NETWORK_ERROR"
    assert len(httpserver.log) == MAX_REDIRECTS + 1


def test_an_answer_has_a_largest_size(httpserver: HTTPServer) -> None:
    httpserver.expect_request("/").respond_with_data(b"x" * 11)
    url = httpserver.url_for("/")

    assert fetch(url, allow_private=True, max_bytes=11) == b"x" * 11
    assert refused(url, allow_private=True, max_bytes=10) == "PAYLOAD_TOO_LARGE"


def test_a_server_that_does_not_answer_is_given_up(httpserver: HTTPServer) -> None:
    def slow(request: Request) -> Response:
        time.sleep(0.4)
        return Response()

    httpserver.expect_request("/").respond_with_handler(slow)

    assert refused(httpserver.url_for("/"), allow_private=True, timeout=0.1) == "TIMEOUT"
