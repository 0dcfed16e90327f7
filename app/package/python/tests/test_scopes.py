"""Tests that run side by side against one server."""

import json
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from petstore_server import Petstore, PlannedFault, RulesBroken, SandboxError, Scope

ROUNDS = 10
"""The tests that each of two workers runs."""


@pytest.fixture(scope="module")
def shop() -> Iterator[Petstore]:
    with Petstore(demo=3) as shop:
        yield shop


def send(shop: Petstore, scope: Scope, method: str, path: str, body: object = None) -> int:
    """Sends a request as a client would, which names its test. Returns the status; 0 without an answer."""
    headers = {"X-API-Key": shop.key, "Content-Type": "application/json", "Idempotency-Key": scope.name, **scope.headers}
    data = None if body is None else json.dumps(body).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(shop.url + path, data, headers, method=method)) as response:
            return int(response.status)
    except urllib.error.HTTPError as error:
        error.close()
        return error.code
    except OSError:
        return 0


def lost(shop: Petstore, number: int) -> None:
    """The first answer to a POST is lost, and the client repeats it safely."""
    with shop.scope(f"create.{number}") as scope:
        scope.faults.plan({"method": "POST", "first": 1, "when": "after", "drop": True})
        sent = [send(shop, scope, "POST", "/categories", {"name": scope.name}) for _ in range(2)]
        assert [*sent, send(shop, scope, "GET", "/pets")] == [0, 201, 200]
        received = scope.requests(count=3)
        assert [request.answer and request.answer.outcome for request in received] == ["dropped", "sent", "sent"]
        assert {request.headers["X-Test-Id"] for request in received} == {scope.name}
        [rule] = scope.faults.planned()
        assert (rule["calls"], rule["acted"]) == (2, 1)
        scope.report().assert_kept("retries-safely")


def refused(shop: Petstore, number: int) -> None:
    """A list is refused, and the client does not wait."""
    with shop.scope(f"list.{number}", header="X-Case") as scope:
        scope.faults.plan({"status": 500}, {"status": 429})
        scope.faults.plan({"method": "GET", "first": 1, "status": 503, "retryAfter": 30})
        assert [send(shop, scope, "GET", "/pets") for _ in range(2)] == [503, 200]
        assert send(shop, scope, "POST", "/categories", {"name": scope.name}) == 201
        assert [request.status for request in scope.requests(count=3)] == [503, 200, 201]
        assert [request.method for request in scope.requests(status=503, key=shop.key)] == ["GET"]
        report = scope.report(shop.key)
        assert [client.requests for client in report.clients] == [3]
        with pytest.raises(RulesBroken, match="waits is broken"):
            report.assert_kept()


def rounds(test: Callable[[Petstore, int], None], shop: Petstore) -> None:
    """The tests of one worker."""
    for number in range(ROUNDS):
        test(shop, number)


def test_two_workers_see_their_own_failures_requests_and_verdicts_only(shop: Petstore) -> None:
    shop.reset()
    with ThreadPoolExecutor(2) as workers:
        for run in [workers.submit(rounds, test, shop) for test in (lost, refused)]:
            run.result()
    assert shop.faults.planned() == [] and len(shop.requests()) == 2 * 3 * ROUNDS


def test_the_failures_of_a_scope_end_with_its_test(shop: Petstore) -> None:
    shop.reset()
    with pytest.raises(ZeroDivisionError):
        with shop.scope("orders.create") as scope:
            scope.faults.plan({"status": 503})
            raise ZeroDivisionError
    assert shop.faults.planned() == []


def test_rules_are_added_and_removed_one_by_one(shop: Petstore) -> None:
    def ids(rules: list[PlannedFault]) -> list[int]:
        return [rule["id"] for rule in rules]

    shop.faults.plan({"route": "/inventory", "status": 500})
    scope = shop.scope("orders.create")
    added = shop.faults.add({"grow": True}, {"percent": 1, "drop": True})
    [own] = scope.faults.add({"drop": True})
    assert own.get("header") == {"name": "x-test-id", "value": "orders.create"}
    shop.faults.remove(added[1]["id"])
    with pytest.raises(SandboxError, match="404"):
        shop.faults.remove(added[1]["id"])
    assert ids(scope.faults.planned()) == [own["id"]] and len(shop.faults.planned()) == 3
    scope.end()
    assert scope.faults.planned() == [] and len(shop.faults.planned()) == 2
    shop.faults.clear()


def test_a_name_that_no_header_can_have_is_refused(shop: Petstore) -> None:
    for name in ("größer", "", " a", "a\n"):
        with pytest.raises(ValueError, match="cannot name a scope"):
            shop.scope(name)
    with pytest.raises(SandboxError, match="400 .*header"):
        shop.scope("a", header="no header").faults.plan({"status": 503})
    with pytest.raises(ValueError, match="is for its own header"):
        shop.scope("a").faults.add({"status": 503, "header": {"name": "x-test-id", "value": "b"}})
    assert shop.faults.planned() == []
