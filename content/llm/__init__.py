"""The offline writer: posts from a trend and a persona without a language model."""

from content.llm.composer import OFFLINE_MODEL, Draft, compose

__all__ = ["OFFLINE_MODEL", "Draft", "compose"]
