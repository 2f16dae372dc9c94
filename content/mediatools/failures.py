"""How an order fails, in the words that a tool reports to its caller."""

from typing import Any


class MediaFailure(Exception):
    """The order gave nothing.

    code: MEDIA_GENERATION_FAILED, SAFETY_VIOLATION or RATE_LIMITED. final: the same order again is
    pointless, or could buy a second time. retry_after: seconds, where the provider says.
    """

    def __init__(
        self,
        message: str,
        code: str = "MEDIA_GENERATION_FAILED",
        *,
        final: bool = False,
        retry_after: float | None = None,
    ) -> None:
        self.message = message
        self.code = code
        self.final = final
        self.retry_after = retry_after
        super().__init__(message)

    def as_dict(self) -> dict[str, Any]:
        """The `data` of the tool's error."""
        told = {"code": self.code, "final": self.final}
        return told | ({"retry_after": self.retry_after} if self.retry_after is not None else {})


def refused_as_unsafe() -> MediaFailure:
    """What the provider's safety rules refuse; which of them is not passed on."""
    message = "The provider's safety rules refuse this; change the prompt"
    return MediaFailure(message, "SAFETY_VIOLATION", final=True)
