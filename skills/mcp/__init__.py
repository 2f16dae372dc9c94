"""The Model Context Protocol, from both sides."""
