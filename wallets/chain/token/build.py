"""Compiles usdc.vy into usdc.json: `python -m wallets.chain.token.build`.

Needs the development tools. The compiler's metadata section is left out, so that the bytecode
depends on nothing but the source.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
EVM_VERSION = "prague"


def compiled() -> dict[str, Any]:
    """The artifact of usdc.vy as the installed vyper makes it: the content of usdc.json."""
    compiler = Path(sys.executable).with_name("vyper")
    flags = ["--evm-version", EVM_VERSION, "--no-bytecode-metadata", "-f", "abi,bytecode"]
    result = subprocess.run(
        [str(compiler), *flags, "usdc.vy"], cwd=FOLDER, capture_output=True, text=True, check=True
    )
    abi, bytecode = result.stdout.split("\n")[:2]
    version = subprocess.run(
        [str(compiler), "--version"], capture_output=True, text=True, check=True
    )
    return {
        "compiler": "vyper",
        "version": version.stdout.strip(),
        "evm_version": EVM_VERSION,
        "abi": json.loads(abi),
        "bytecode": bytecode,
    }


if __name__ == "__main__":
    (FOLDER / "usdc.json").write_text(json.dumps(compiled(), indent=1) + "\n")
