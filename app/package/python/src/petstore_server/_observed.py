"""The requests that the server received, and the report about the clients: of all clients, or of one scope."""

from functools import partial

from ._report import Report, report
from ._requests import ReceivedRequest, Words, line, read
from ._sandbox import Sandbox

PREFIX_LENGTH = 12
"""The characters of a key by which the server names it in journal and report."""


class Observed:
    """The clients whose requests the server received."""

    def __init__(self, sandbox: Sandbox, header: str | None = None) -> None:
        """header: only requests with this header, as `name:value`."""
        self._sandbox = sandbox
        self._header = header

    def requests(
        self,
        *,
        count: int | None = None,
        wait: int = 5,
        method: Words | None = None,
        route: str | None = None,
        status: Words | int | None = None,
        key: str | None = None,
        target: str | None = None,
        hint: str | None = None,
        after: int | None = None,
        limit: int | None = None,
    ) -> list[ReceivedRequest]:
        """The requests that the server received, oldest first.

        count: the least number of requests. The call returns as soon as that many have been answered, and raises
            `NotEnoughRequests` if they have not within `wait` seconds (at most 30).
        method, status, target: only these methods, statuses (`404` or `4xx`), or targets that contain this text.
        route: only this path of the contract, such as `/pets/{petId}`.
        key: only requests with this key.
        hint: only requests with this hint of the report.
        after: only requests behind this `sequence`.
        """
        __tracebackhide__ = True
        filters: dict[str, Words | int | None] = {
            "method": method,
            "route": route,
            "status": status,
            "key": _prefix(key),
            "header": self._header,
            "target": target,
            "hint": hint,
            "after": after,
            "limit": limit,
        }
        return read(self._sandbox, count, wait, filters)

    def report(self, key: str | None = None) -> Report:
        """The report about the behaviour of the client, by rule; for one key, or for all of them."""
        conditions = {"key": _prefix(key), "header": self._header}
        query = {name: value for name, value in conditions.items() if value is not None}
        return report(self._sandbox.call("GET", "/report", query=query), partial(line, self._sandbox))


def _prefix(key: str | None) -> str | None:
    return key[:PREFIX_LENGTH] if key else None
