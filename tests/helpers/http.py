"""The HTTP client of the tests."""

import httpx

# One client, as each has to load the certificates; no kept connections, as servers come and go.
HTTP = httpx.Client(trust_env=False, timeout=30, limits=httpx.Limits(max_keepalive_connections=0))
