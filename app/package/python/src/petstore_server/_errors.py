"""The errors of this package."""

from collections.abc import Mapping, Sequence
from typing import Any


class PetstoreError(Exception):
    """Any error of this package."""


class PetstoreNotAvailable(PetstoreError):
    """There is no server that this machine starts: the package has none for the platform, or the system refuses the binary. The
    message has the reason, and a way out."""


class PetstoreStopped(PetstoreError):
    """The server could not start, or has ended. The message has the last lines of its log."""


class SandboxError(PetstoreError):
    """The server refused a call of the sandbox or of its administration; the message is that of the server."""

    def __init__(self, call: str, status: int | None, message: str, body: Mapping[str, Any] | None = None) -> None:
        super().__init__(f"{call}: {message}")
        self.status = status
        """The status of the response; none if the call was a command."""
        self.body = body
        """The error as the server sent it."""


class NotEnoughRequests(PetstoreError, AssertionError):
    """Fewer requests came than were expected."""

    def __init__(self, message: str, requests: Sequence[Mapping[str, Any]]) -> None:
        super().__init__(message)
        self.requests = requests
        """The requests that came."""
