"""The USDC of the embedded chain: source in usdc.vy, compiled form in usdc.json.

`artifact()` needs no compiler; a test recompiles the source and compares byte for byte.
"""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Artifact:
    """A compiled contract: its ABI, the creation bytecode and what made it."""

    abi: list[dict[str, Any]]
    bytecode: bytes
    compiler: str
    version: str
    evm_version: str


@cache
def artifact() -> Artifact:
    """The committed compilation of usdc.vy."""
    content = json.loads(Path(__file__).with_name("usdc.json").read_text())
    return Artifact(**{**content, "bytecode": bytes.fromhex(content["bytecode"][2:])})
