"""The errors of this package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._exam_report import ExamReport
    from ._report import Report
    from ._requests import ReceivedRequest
    from ._sinks import Delivery


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

    def __init__(self, message: str, requests: Sequence[ReceivedRequest]) -> None:
        super().__init__(message)
        self.requests = requests
        """The requests that came."""


class NotDelivered(PetstoreError, AssertionError):
    """Fewer webhooks came to a sink than were expected, or deliveries did not settle."""

    def __init__(self, message: str, deliveries: Sequence[Delivery]) -> None:
        super().__init__(message)
        self.deliveries = deliveries
        """The requests that came to the sink."""


class RulesBroken(PetstoreError, AssertionError):
    """The client broke rules of the report, or met no case of a rule. The message has the rules, and the requests that prove it."""

    def __init__(self, message: str, report: Report) -> None:
        super().__init__(message)
        self.report = report


class ExamFailed(PetstoreError, AssertionError):
    """The client broke rules in an exam, or failed where it has to succeed. The message has the scenarios, the rules, and the requests
    that prove it."""

    def __init__(self, message: str, report: ExamReport) -> None:
        super().__init__(message)
        self.report = report
