"""The two ways in which the embedded chain says no."""


class RpcError(Exception):
    """Answered as a JSON-RPC error: code, message and, for a revert, its data as hex."""

    def __init__(self, code: int, message: str, data: str | None = None) -> None:
        self.code = code
        self.message = message
        self.data = data
        super().__init__(message)


class DevnetError(Exception):
    """Stops the process with one line that says what to do."""
