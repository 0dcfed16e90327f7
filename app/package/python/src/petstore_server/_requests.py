"""The journal of the requests that the server received."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

from ._clock import instant
from ._errors import NotEnoughRequests, SandboxError
from ._messages import Message, message
from ._sandbox import Sandbox


@dataclass(frozen=True)
class Answer(Message):
    """A response, as the server sent it."""

    at: datetime
    outcome: str
    """`sent`, `streaming`, `dropped` by a planned failure, or `gone` if the client closed the connection."""
    status: int | None
    code: str | None
    """The code of an error."""


@dataclass(frozen=True)
class Quota:
    """The values of the quota headers."""

    limit: int
    remaining: int
    reset: int
    resource: str


@dataclass(frozen=True)
class ReceivedRequest(Message):
    """A request, as the server received it. Credentials are cut to their prefix."""

    id: str
    sequence: int
    """The number of the request, from 1, since the last reset."""
    at: datetime
    """The time by the server's clock."""
    uptime_ms: float
    """The time since the start of the server, by the machine's clock."""
    duration_ms: float | None
    client: str
    connection: int
    protocol: str
    account: int | None
    key_prefix: str | None
    method: str
    target: str
    """The path and the query, as they were received."""
    route: str | None
    """The path as written in the contract, such as `/pets/{petId}`."""
    answer: Answer | None
    """None while the request is in progress."""
    quota: Quota | None
    fault: str | None
    """The planned failure that acted on the request."""
    hints: list[str]
    """The rules of the report that name the request."""

    @property
    def path(self) -> str:
        """The path of the target, without the query."""
        return urlsplit(self.target).path

    @property
    def query(self) -> dict[str, list[str]]:
        """The parameters of the query, decoded."""
        return parse_qs(urlsplit(self.target).query, keep_blank_values=True)

    @property
    def status(self) -> int | None:
        """The status of the answer; none while there is none, and for a connection that was closed without one."""
        return self.answer.status if self.answer else None

    @property
    def code(self) -> str | None:
        """The code of the answer, if it is an error."""
        return self.answer.code if self.answer else None

    def __str__(self) -> str:
        """One line: number, time, method, target, and the answer."""
        parts = [f"#{self.sequence}", f"{self.at:%H:%M:%S.%f}"[:-3], self.method, self.target, _result(self)]
        return " ".join(parts)


Words = str | Iterable[str]


def read(sandbox: Sandbox, count: int | None, wait: int, filters: dict[str, Words | int | None]) -> list[ReceivedRequest]:
    """Reads the requests that match. With `count`, waits until that many have been answered."""
    __tracebackhide__ = True
    query: dict[str, Any] = {name: _words(value) for name, value in filters.items() if value is not None}
    if count is not None:
        query |= {"count": count, "wait": wait}
    found = [_request(members) for members in sandbox.call("GET", "/requests", query=query, wait=wait)]
    if count is not None and len(found) < count:
        came = ", ".join(map(_brief, found)) or "none"
        raise NotEnoughRequests(f"expected {count} requests within {wait} s, {len(found)} came: {came}", found)
    return found


def line(sandbox: Sandbox, identity: str, sequence: int) -> str:
    """One line about a request, which the server may no longer keep."""
    try:
        found = sandbox.call("GET", f"/requests/{quote(identity, safe='')}", query={"sequence": sequence})
    except SandboxError as error:
        if error.status != 404:
            raise
        return f"#{sequence} {identity}, which the server no longer keeps"
    return str(_request(found))


def _request(members: Mapping[str, Any]) -> ReceivedRequest:
    answer, quota = members["answer"], members["quota"]
    return ReceivedRequest(
        **message(members),
        id=members["id"],
        sequence=members["sequence"],
        at=instant(members["at"]),
        uptime_ms=members["uptimeMs"],
        duration_ms=members["durationMs"],
        client=members["client"],
        connection=members["connection"],
        protocol=members["protocol"],
        account=members["account"],
        key_prefix=members["keyPrefix"],
        method=members["method"],
        target=members["target"],
        route=members["route"],
        answer=None if answer is None else _answer(answer),
        quota=None if quota is None else Quota(quota["limit"], quota["remaining"], quota["reset"], quota["resource"]),
        fault=members["fault"],
        hints=members["hints"],
    )


def _answer(members: Mapping[str, Any]) -> Answer:
    return Answer(
        **message(members),
        at=instant(members["at"]),
        outcome=members["outcome"],
        status=members["status"],
        code=members["code"],
    )


def _words(value: Words | int) -> Any:
    return value if isinstance(value, (str, int)) else list(value)


def _brief(request: ReceivedRequest) -> str:
    return f"{request.method} {request.target} {_result(request)}"


def _result(request: ReceivedRequest) -> str:
    answer = request.answer
    if answer is None:
        return "in progress"
    words = [answer.status, answer.code, None if answer.outcome == "sent" else answer.outcome]
    return " ".join(str(word) for word in words if word is not None)
