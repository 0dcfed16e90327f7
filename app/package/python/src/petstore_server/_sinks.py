"""Sinks, which receive webhooks in the sandbox itself."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypedDict
from urllib.parse import quote

from ._clock import instant
from ._errors import NotDelivered
from ._messages import Message, message
from ._sandbox import Sandbox


class SinkAnswer(TypedDict, total=False):
    """An answer of a sink. The names are those of the server."""

    first: int
    """The number of requests that get this answer before the next one follows; without it all further ones."""
    delay: str
    """The time before the answer, such as `50ms`."""
    status: int
    redirect: str
    """The value of `Location`."""
    retryAfter: int | str
    """The value of `Retry-After`."""
    bytes: int
    """The length of the body."""
    drop: bool
    """The connection closes without an answer."""
    hang: bool
    """The answer does not come."""


@dataclass(frozen=True)
class Delivery(Message):
    """A request that a sink received."""

    sequence: int
    """The number of the request in its sink, from 1."""
    at: datetime
    """The time by the server's clock."""
    signature: str
    """`valid`, `invalid`, `stale`, `unsigned`, or `unknown` if there is no secret to check it with."""
    why: str | None
    """The reason, unless the signature is valid."""
    duplicate: bool
    """An earlier request had the same `webhook-id`."""
    status: int | None
    """The status of the answer; none if there was none."""

    def __str__(self) -> str:
        kind = self.headers.get("webhook-id", "without webhook-id")
        return f"#{self.sequence} {kind} {self.signature}{' duplicate' if self.duplicate else ''} {self.status}"


class Sink:
    """A receiver of webhooks. It exists as soon as it gets a request; a reset deletes it."""

    def __init__(self, sandbox: Sandbox, name: str) -> None:
        self._sandbox = sandbox
        self._path = f"/sinks/{quote(name, safe='')}"
        self.name = name
        self.url = sandbox.url + self._path
        """The URL for a webhook."""

    def answer(self, *answers: SinkAnswer, secret: str | None = None) -> None:
        """Sets the answers, one after the other; 204 after the last one. `secret` checks the signatures; without it the secrets of the
        webhooks with this URL do."""
        body: dict[str, Any] = {"answers": list(answers)} if answers else {}
        self._sandbox.call("PUT", self._path, body | ({} if secret is None else {"secret": secret}))

    def deliveries(self, *, after: int = 0) -> list[Delivery]:
        """The requests behind this `sequence`, oldest first."""
        return [_delivery(members) for members in self._sandbox.call("GET", self._path, query={"after": after})]

    def wait(self, count: int = 1, *, seconds: int = 10, after: int = 0) -> list[Delivery]:
        """The requests behind this `sequence`, as soon as there are `count` of them. Raises `NotDelivered` if they have not come
        within `seconds` (at most 30)."""
        __tracebackhide__ = True
        query = {"after": after, "count": count, "wait": seconds}
        found = [_delivery(members) for members in self._sandbox.call("GET", self._path, query=query, wait=seconds)]
        if len(found) < count:
            came = "".join(f"\n  {delivery}" for delivery in found) or " none"
            raise NotDelivered(f"expected {count} requests in the sink {self.name} within {seconds} s, {len(found)} came:{came}", found)
        return found

    def delete(self) -> None:
        """Forgets the sink with its requests and its answers."""
        self._sandbox.call("DELETE", self._path)


class Sinks:
    """The sinks by their names: `shop.sinks["orders"]`."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

    def __getitem__(self, name: str) -> Sink:
        return Sink(self._sandbox, name)


@dataclass(frozen=True)
class OpenDelivery:
    """A delivery whose next attempt is not due yet."""

    webhook_id: str
    event_id: str
    attempts: int
    next_attempt_at: datetime | None
    """The time to which a test sets the clock for the next attempt."""


@dataclass(frozen=True)
class Settled:
    """The deliveries that are left when no attempt is due."""

    count: int
    left: list[OpenDelivery]
    """The first hundred."""


def settle(sandbox: Sandbox, seconds: int) -> Settled:
    """Waits until no attempt is due or in flight."""
    __tracebackhide__ = True
    answer = sandbox.call("POST", "/webhooks/settle", query={"within": seconds}, wait=seconds)
    left = [_open(members) for members in answer["left"]]
    if not answer["settled"]:
        lines = "".join(f"\n  {one}" for one in left)
        raise NotDelivered(f"attempts are still due or in flight after {seconds} s; {answer['count']} deliveries are left:{lines}", [])
    return Settled(answer["count"], left)


def _delivery(members: Mapping[str, Any]) -> Delivery:
    return Delivery(
        **message(members),
        sequence=members["sequence"],
        at=instant(members["at"]),
        signature=members["signature"],
        why=members.get("why"),
        duplicate=members["duplicate"],
        status=members["status"],
    )


def _open(members: Mapping[str, Any]) -> OpenDelivery:
    due = members.get("nextAttemptAt")
    return OpenDelivery(members["webhookId"], members["eventId"], members["attempts"], None if due is None else instant(due))
