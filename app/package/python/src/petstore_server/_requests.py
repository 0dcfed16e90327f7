"""The journal of the requests that the server received."""

from collections.abc import Iterable
from typing import Any, TypedDict, cast

from ._errors import NotEnoughRequests
from ._sandbox import Sandbox


class Answer(TypedDict):
    """A response, as the server sent it."""

    at: str
    outcome: str
    """`sent`, `streaming`, `dropped` by a planned failure, or `gone` if the client closed the connection."""
    status: int | None
    code: str | None
    """The code of an error."""
    headers: list[list[str]]
    body: str | None
    bodyEncoding: str | None
    bodyBytes: int


class Quota(TypedDict):
    """The values of the quota headers."""

    limit: int
    remaining: int
    reset: int
    resource: str


class ReceivedRequest(TypedDict):
    """A request, as the server received it. Credentials are cut to their prefix."""

    id: str
    sequence: int
    at: str
    """The time by the server's clock."""
    uptimeMs: float
    """The time since the start of the server, by the machine's clock."""
    durationMs: float | None
    client: str
    connection: int
    protocol: str
    account: int | None
    keyPrefix: str | None
    method: str
    target: str
    route: str | None
    """The path as written in the contract, such as `/pets/{petId}`."""
    headers: list[list[str]]
    """Names and values, in the order in which they came."""
    body: str | None
    bodyEncoding: str | None
    """`base64` if the body is not text."""
    bodyBytes: int
    answer: Answer | None
    """None while the request is in progress."""
    quota: Quota | None
    fault: str | None
    hints: list[str]


Words = str | Iterable[str]


def read(sandbox: Sandbox, count: int | None, wait: int, filters: dict[str, Words | int | None]) -> list[ReceivedRequest]:
    """Reads the requests that match. With `count`, waits until that many have been answered."""
    query: dict[str, Any] = {name: _words(value) for name, value in filters.items() if value is not None}
    if count is not None:
        query |= {"count": count, "wait": wait}
    found = cast(list[ReceivedRequest], sandbox.call("GET", "/requests", query=query, wait=wait))
    if count is not None and len(found) < count:
        came = ", ".join(map(_brief, found)) or "none"
        raise NotEnoughRequests(f"expected {count} requests within {wait} s, {len(found)} came: {came}", found)
    return found


def _words(value: Words | int) -> Any:
    return value if isinstance(value, (str, int)) else list(value)


def _brief(request: ReceivedRequest) -> str:
    answer = request["answer"]
    return f"{request['method']} {request['target']} {answer['status'] if answer else 'in progress'}"
