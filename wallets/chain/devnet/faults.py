"""Fault switches, so that lost replies and an unreachable node can be tested."""

from wallets.chain.devnet.errors import RpcError

KINDS = ("drop_after_accept", "down")


class CutConnection(Exception):
    """Close the connection without an answer."""


class Faults:
    """How often each fault still strikes.

    drop_after_accept: a transaction is taken and mined, but the caller gets no answer.
    down: a request is answered with HTTP 503; calls of chimera_ methods are not.
    """

    def __init__(self) -> None:
        self._left = dict.fromkeys(KINDS, 0)

    def set(self, kind: str, count: int) -> None:
        if kind not in KINDS:
            raise RpcError(-32602, f"kind: one of {', '.join(KINDS)}, stall_mining")
        self._left[kind] = int(count)

    def clear(self) -> None:
        self._left = dict.fromkeys(KINDS, 0)

    def strikes(self, kind: str) -> bool:
        """Whether the fault strikes now; each strike counts."""
        if self._left[kind] <= 0:
            return False
        self._left[kind] -= 1
        return True

    def accepted(self) -> None:
        if self.strikes("drop_after_accept"):
            raise CutConnection
