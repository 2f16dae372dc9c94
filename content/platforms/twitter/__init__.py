"""X, by its API v2 (OpenAPI 2.167, 2026)."""
