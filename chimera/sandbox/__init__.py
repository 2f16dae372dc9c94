"""The sandbox world: what lies outside the platform, played by one process on loopback.

`python -m chimera.sandbox` serves trend resources and media tools over MCP (`/mcp`), a small
social platform (`/social/`), an agent directory (`/directory/`) and switches that make each of
them fail on demand (`/faults/`). It knows nothing of the platform's models.
"""
