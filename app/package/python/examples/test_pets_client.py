"""Twelve tests of a client. Nothing else is needed: the fixture `petstore` comes with the package."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
from pets_client import PetsClient, ShopError
from petstore_server import Petstore


@pytest.fixture
def client(petstore: Petstore) -> Iterator[PetsClient]:
    """The client under test, whose pauses move the shop's clock instead of taking time. After each test it has kept all rules."""
    petstore.clock.freeze()
    yield client_with(petstore, petstore.key)
    petstore.report().assert_kept()


def client_with(shop: Petstore, key: str) -> PetsClient:
    return PetsClient(shop.url, key, sleep=lambda seconds: shop.clock.advance(timedelta(seconds=seconds)))


def test_all_pages_are_read(petstore: Petstore, client: PetsClient) -> None:
    assert [pet["id"] for pet in client.pets(page=40)] == list(range(1, 101))
    assert [request.query.get("limit") for request in petstore.requests()] == [["40"]] * 3
    petstore.report().assert_kept("follows-pages")


@pytest.mark.parametrize("pet", [1, 1])
def test_each_test_begins_with_the_whole_stock(petstore: Petstore, client: PetsClient, pet: int) -> None:
    assert client.order(pet)["id"] == 1


def test_the_key_is_sent_in_one_header(petstore: Petstore, client: PetsClient) -> None:
    client.category(1)
    [sent] = petstore.requests()
    assert sent.headers["X-API-Key"].startswith(petstore.key[:12])
    assert "authorization" not in sent.headers and petstore.key[:12] not in sent.target


def test_an_order_has_the_pet_and_a_key_of_its_own(petstore: Petstore, client: PetsClient) -> None:
    client.order(2)
    client.order(3)
    first, second = petstore.requests(method="POST", route="/store/orders", count=2)
    assert first.json() == {"petId": 2} and first.headers["Content-Type"] == "application/json"
    assert first.headers["Idempotency-Key"] != second.headers["Idempotency-Key"]


def test_a_503_is_repeated_when_the_server_says(petstore: Petstore, client: PetsClient) -> None:
    petstore.faults.plan({"route": "/pets", "first": 1, "status": 503, "retryAfter": 30})
    assert len(list(client.pets(page=100))) == 100
    refused, served = petstore.requests()
    assert (refused.status, served.status) == (503, 200)
    assert served.at - refused.at >= timedelta(seconds=30)
    petstore.report().assert_kept("waits")


def test_a_used_up_quota_is_waited_for(petstore: Petstore, client: PetsClient) -> None:
    free = petstore.new_key("free", account="small")
    petstore.faults.plan({"route": "/pets", "first": 1, "exhaust": "minute"})
    assert len(list(client_with(petstore, free).pets(page=100))) == 100
    assert [request.code for request in petstore.requests(key=free)] == ["rate_limit_exceeded", None]


def test_the_client_gives_up(petstore: Petstore, client: PetsClient) -> None:
    petstore.faults.plan({"route": "/pets", "status": 503})
    with pytest.raises(ShopError, match="503 unavailable"):
        list(client.pets())
    assert len(petstore.requests(status=503)) == 4


def test_a_lost_answer_does_not_order_twice(petstore: Petstore, client: PetsClient) -> None:
    petstore.faults.plan({"method": "POST", "first": 1, "when": "after", "drop": True})
    assert client.order(3)["id"] == 1
    lost, repeated = petstore.requests(method="POST", count=2)
    assert lost.answer and lost.answer.outcome == "dropped"
    assert repeated.answer and repeated.answer.headers["Idempotent-Replayed"] == "true"
    petstore.report().assert_kept("retries-safely")


def test_a_malformed_body_is_an_error(petstore: Petstore, client: PetsClient) -> None:
    petstore.faults.plan({"body": "malformed"})
    with pytest.raises(ShopError, match="not_json"):
        client.category(1)


def test_what_has_not_changed_is_not_sent_again(petstore: Petstore, client: PetsClient) -> None:
    assert client.category(1) == client.category(1)
    assert [request.status for request in petstore.requests(route="/categories/{categoryId}")] == [200, 304]


def test_a_change_by_others_is_not_overwritten(petstore: Petstore, client: PetsClient) -> None:
    client.category(2)
    client_with(petstore, petstore.key).rename_category(2, "Geckos")
    client.rename_category(2, "Newts")
    changes = petstore.requests(method="PATCH")
    assert [change.status for change in changes] == [200, 200]
    assert changes[0].headers["If-Match"] != changes[1].headers["If-Match"]


def test_an_order_is_told_to_the_webhook(petstore: Petstore, client: PetsClient) -> None:
    sink = petstore.sinks["orders"]
    sink.answer({"status": 503, "first": 1})
    client.subscribe(sink.url)
    client.order(4)
    petstore.settle()
    petstore.clock.advance("10s")
    petstore.settle()
    first, second = sink.wait(count=2)
    assert first.signature == second.signature == "valid" and second.duplicate
    assert second.json()["type"] == "order.placed" and second.json()["data"]["petId"] == 4
