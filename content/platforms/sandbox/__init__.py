"""The sandbox platform, which plays all four networks over an HTTP API of its own."""
