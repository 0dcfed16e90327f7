"""Assertions about the client: the report, the sinks, and the messages of both."""

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from datetime import timedelta

import pytest

from petstore_server import Headers, NotDelivered, Petstore, PetstoreError, RulesBroken


@pytest.fixture(scope="module")
def server() -> Iterator[Petstore]:
    with Petstore(demo=3, settings={"free-minute": 3, "sandbox-journal-body": 100}) as shop:
        yield shop


@pytest.fixture
def shop(server: Petstore) -> Petstore:
    server.clock.restore()
    server.reset()
    return server


def send(shop: Petstore, method: str, path: str, body: object = None, **headers: str) -> int:
    """Sends a request as a client would, and returns the status; 0 without an answer."""
    data = None if body is None else json.dumps(body).encode()
    headers = {"X-API-Key": shop.key, "Content-Type": "application/json"} | {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        with urllib.request.urlopen(urllib.request.Request(shop.url + path, data, headers, method=method)) as response:
            return int(response.status)
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return 0


def test_a_report_without_breaches_passes(shop: Petstore) -> None:
    shop.report().assert_kept()
    send(shop, "GET", "/pets")
    shop.report().assert_kept("one-credential")


def test_a_broken_rule_is_told_with_the_requests_that_prove_it(shop: Petstore) -> None:
    shop.faults.plan({"route": "/pets", "first": 1, "status": 503, "retryAfter": 30}, {"method": "POST", "first": 1, "drop": True})
    assert [send(shop, "GET", "/pets") for _ in range(2)] == [503, 200]
    assert [send(shop, "POST", "/categories", {"name": "Newts"}) for _ in range(2)] == [0, 201]
    with pytest.raises(RulesBroken) as failed:
        shop.report().assert_kept("gives-up", "heeds-deprecation")
    assert failed.value.report.is_broken and isinstance(failed.value, AssertionError)
    lines = iter(str(failed.value).splitlines())
    expected = [
        "the client does not keep the rules",
        f"waits is broken by the client with the key {shop.key[:12]}…: a client sends nothing before the Retry-After",
        "  It came ",
        "  advice: Wait 30 s, as `Retry-After: 30` said, before the next request.",
        "    #1 ",
        "    #2 ",
        "retries-safely is broken by the client with the key",
        "  It repeats a POST whose first attempt had no Idempotency-Key",
        "    #3 ",
        "    #4 ",
        "heeds-deprecation is untested: no request met what the rule is about",
    ]
    for beginning in expected:
        assert any(line.startswith(beginning) for line in lines), (beginning, str(failed.value))
    assert " GET /v1/pets 503 unavailable" in str(failed.value) and " POST /v1/categories dropped" in str(failed.value)
    assert "waits: It came" in str(shop.report())


def test_a_rule_that_does_not_exist_is_a_mistake_of_the_test(shop: Petstore) -> None:
    send(shop, "GET", "/pets")
    with pytest.raises(ValueError, match="there is no rule 'wait'; the rules are waits, backs-off, "):
        shop.report().assert_kept("wait")


def test_a_report_of_requests_that_are_gone_says_so(shop: Petstore) -> None:
    shop.faults.plan({"first": 1, "status": 503, "retryAfter": 30})
    for _ in range(2):
        send(shop, "GET", "/pets")
    report = shop.report()
    shop.clear_requests()
    with pytest.raises(RulesBroken, match=r"    #1 \S+, which the server no longer keeps"):
        report.assert_kept()


def test_a_webhook_is_awaited_in_its_sink(shop: Petstore) -> None:
    shop.clock.freeze()
    sink = shop.sinks["orders"]
    sink.answer({"status": 503, "first": 1})
    assert send(shop, "POST", "/webhooks", {"url": sink.url}) == 201
    assert send(shop, "POST", "/categories", {"name": "Newts"}) == 201
    [first] = sink.wait()
    assert (first.sequence, first.signature, first.duplicate, first.status) == (1, "valid", False, 503)
    assert first.json()["type"] == "category.created" and first.headers["webhook-id"] == first.json()["id"]
    settled = shop.settle()
    assert settled.count == 1 and settled.left[0].event_id == first.headers["Webhook-Id"]
    assert settled.left[0].next_attempt_at is not None
    shop.clock.set(settled.left[0].next_attempt_at)
    assert shop.settle().count == 0
    [second] = sink.deliveries(after=1)
    assert second.duplicate and second.status == 204
    with pytest.raises(NotDelivered, match=r"expected 3 requests in the sink orders within 1 s, 2 came:\n  #1 evt_\w+ valid 503\n  #2 .* duplicate 204$") as few:
        sink.wait(3, seconds=1)
    assert len(few.value.deliveries) == 2
    sink.delete()
    assert sink.deliveries() == []


def test_deliveries_that_do_not_settle_are_told(shop: Petstore) -> None:
    sink = shop.sinks["slow"]
    sink.answer({"delay": "5s"})
    send(shop, "POST", "/webhooks", {"url": sink.url})
    send(shop, "POST", "/categories", {"name": "Newts"})
    with pytest.raises(NotDelivered, match="attempts are still due or in flight after 1 s; 1 deliveries are left"):
        shop.settle(1)


def test_a_secret_of_a_sink_checks_signatures(shop: Petstore) -> None:
    sink = shop.sinks["other"]
    sink.answer(secret="whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    urllib.request.urlopen(urllib.request.Request(sink.url, b"{}", method="POST")).close()
    [unsigned] = sink.wait()
    assert unsigned.signature == "unsigned" and unsigned.why


def test_a_body_that_was_cut_is_no_json(shop: Petstore) -> None:
    send(shop, "POST", "/categories", {"name": "x" * 200})
    send(shop, "GET", "/pets/1")
    cut, empty = shop.requests()
    with pytest.raises(PetstoreError, match="of 212 bytes of the body the server kept 100: raise the setting sandbox-journal-body"):
        cut.json()
    with pytest.raises(PetstoreError, match="the body is no JSON"):
        empty.json()
    assert (empty.body, empty.text, empty.body_bytes) == (b"", "", 0)


def test_headers_have_no_case() -> None:
    headers = Headers([("accept", "a"), ("X-Id", "1"), ("Accept", "b")])
    assert headers["ACCEPT"] == "a, b" and headers.all("accept") == ["a", "b"] and headers.get("none") is None
    assert "x-id" in headers and "y" not in headers and len(headers) == 2 and dict(headers) == {"accept": "a, b", "x-id": "1"}
    with pytest.raises(KeyError):
        headers["none"]


def test_times_are_those_of_the_clock(shop: Petstore) -> None:
    now = shop.clock.freeze()
    send(shop, "GET", "/pets")
    [request] = shop.requests(count=1)
    assert abs(request.at - now) < timedelta(seconds=1) and request.answer and request.answer.at >= request.at
    assert request.quota and request.quota.limit == 1000
