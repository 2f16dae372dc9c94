"""Platform adapters: one folder per network, one shape for all (`base`), found by `registry`."""
