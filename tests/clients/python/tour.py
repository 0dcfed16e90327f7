"""The petstore through the Python client that openapi-generator makes of openapi.yaml.

    openapi-generator-cli generate -g python -i openapi.yaml -o client --additional-properties=packageName=petstore_client
    PYTHONPATH=client PETSTORE_URL=… PETSTORE_KEY=… PETSTORE_FREE_KEY=… python tour.py

The shop is empty at the start. The second key is one of the Free plan; it is used up.
"""

import os
import re
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import List, Mapping, Optional, Tuple
from urllib.parse import parse_qs, urlsplit

from petstore_client import AccountApi, AnimalsApi, ApiClient, ApiException, CategoriesApi, Configuration
from petstore_client import Error, ErrorCode, InventoryApi, InventoryUpdate, NewCategory, NewOrder, NewPet, OrderUpdate
from petstore_client import Event, NewWebhook, OrdersApi, PetStatus, PetUpdate, WebhooksApi, WebhookTest
from standardwebhooks.webhooks import Webhook as Verifier


def client(key: str, retries: int = 3) -> ApiClient:
    """On 429 and 503 the client itself waits as long as Retry-After says, and tries again so often."""
    return ApiClient(Configuration(host=os.environ["PETSTORE_URL"], access_token=key, retries=retries))


def error(refusal: ApiException) -> Error:
    """The answer to a call that was refused."""
    assert isinstance(refusal.data, Error), refusal
    return refusal.data


def next_cursor(headers: Optional[Mapping[str, str]]) -> Optional[str]:
    """The cursor in the address that Link calls the next page."""
    links = {name.lower(): value for name, value in (headers or {}).items()}["link"]
    address = re.search(r'<([^>]+)>; rel="next"', links)
    return parse_qs(urlsplit(address[1]).query)["cursor"][0] if address else None


class Receiver(BaseHTTPRequestHandler):
    """Accepts each request of a webhook, and keeps it."""

    received: List[Tuple[Mapping[str, str], bytes]] = []

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.received.append((dict(self.headers.items()), body))
        self.send_response(204)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Prints nothing."""


def receive_events(api: ApiClient) -> None:
    """Creates a webhook, and checks the signature of a sample event with the library of Standard Webhooks."""
    server = HTTPServer(("127.0.0.1", 0), Receiver)
    Thread(target=server.serve_forever, daemon=True).start()
    webhooks = WebhooksApi(api)
    url = f"http://127.0.0.1:{server.server_port}/hook"
    webhook = webhooks.create_webhook(NewWebhook(url=url, types=["order.*"]), idempotency_key="tour-2")
    assert webhook.secret is not None and [one.id for one in webhooks.list_webhooks()] == [webhook.id]
    assert webhooks.get_webhook(webhook.id).secret is None
    attempt = webhooks.test_webhook(webhook.id, WebhookTest(type="order.completed"))
    assert (attempt.status_code, attempt.error) == (204, None), attempt
    headers, body = Receiver.received[0]
    assert Verifier(webhook.secret).verify(body, dict(headers))["test"] is True
    event = Event.from_json(body.decode())
    assert event is not None and (event.type, event.id) == ("order.completed", headers["webhook-id"])
    webhooks.delete_webhook(webhook.id)
    server.shutdown()


def main() -> None:
    api = client(os.environ["PETSTORE_KEY"])
    categories, animals, inventory, orders = CategoriesApi(api), AnimalsApi(api), InventoryApi(api), OrdersApi(api)

    # A category, once: its name is unique, whatever its case. Texts may go beyond ASCII.
    text = "Groß, flauschig – und hungrig.\nNur für Kenner."
    rabbits = categories.create_category(NewCategory(name="Rabbits", description=text))
    assert rabbits.description == text
    try:
        categories.create_category(NewCategory(name="RABBITS"))
        raise AssertionError("two categories have one name")
    except ApiException as refusal:
        assert (refusal.status, error(refusal).code) == (409, ErrorCode.CATEGORY_EXISTS)

    # Three pets, read two at a time.
    for name in ("Hazel", "Fiver", "Bär 🐻"):
        animals.create_pet(NewPet(name=name, categoryId=rabbits.id))
    pages, cursor = [], None
    while True:
        page = animals.list_pets_with_http_info(limit=2, cursor=cursor, status=[PetStatus.AVAILABLE])
        pages.append([pet.name for pet in page.data])
        cursor = next_cursor(page.headers)
        if cursor is None:
            break
    assert pages == [["Hazel", "Fiver"], ["Bär 🐻"]], pages

    # An order that may be sent twice, and has one effect.
    bear = animals.list_pets(name="bär 🐻")[0]
    wanted = NewOrder(petId=bear.id, shipDate=datetime(2030, 1, 1, 12, tzinfo=timezone.utc))
    first = orders.place_order_with_http_info(wanted, idempotency_key="tour-1")
    again = orders.place_order_with_http_info(wanted, idempotency_key="tour-1")
    assert first.data == again.data and first.data.ship_date == wanted.ship_date
    assert (again.headers or {}).get("idempotent-replayed") == "true", again.headers
    assert inventory.get_inventory_item(bear.id).quantity == 0

    # The only unit is taken.
    try:
        orders.place_order(NewOrder(petId=bear.id))
        raise AssertionError("one unit was sold twice")
    except ApiException as refusal:
        assert (refusal.status, error(refusal).code) == (409, ErrorCode.PET_NOT_AVAILABLE)
    assert first.data.id is not None
    order = orders.update_order(first.data.id, OrderUpdate(complete=True))
    assert order.complete and order.ship_date == wanted.ship_date

    # Two more orders; all three are read two at a time.
    inventory.update_inventory(bear.id, InventoryUpdate(quantity=2))
    for _ in range(2):
        orders.place_order(NewOrder(petId=bear.id))
    assert len(orders.list_orders()) == 3
    start = orders.list_orders_with_http_info(limit=2)
    rest = orders.list_orders_with_http_info(limit=2, cursor=next_cursor(start.headers))
    assert (len(start.data), len(rest.data), next_cursor(rest.headers)) == (2, 1, None)

    # A change of what somebody else has changed meanwhile.
    fiver = animals.list_pets(name="Fiver")[0]
    version = (animals.get_pet_with_http_info(fiver.id).headers or {})["etag"]
    animals.update_pet(fiver.id, PetUpdate(status=PetStatus.PENDING), if_match=version)
    try:
        animals.update_pet(fiver.id, PetUpdate(name="Fiver II"), if_match=version)
        raise AssertionError("a change was lost")
    except ApiException as refusal:
        assert (refusal.status, error(refusal).code) == (412, ErrorCode.PRECONDITION_FAILED)

    receive_events(api)

    # The Free plan, until it says how long to wait: a minute has 60 requests and a day 1,000, so this comes to an end.
    free = client(os.environ["PETSTORE_FREE_KEY"], retries=0)
    for _ in range(1001):
        try:
            AnimalsApi(free).list_pets()
        except ApiException as refusal:
            assert refusal.status == 429
            assert error(refusal).code in (ErrorCode.RATE_LIMIT_EXCEEDED, ErrorCode.QUOTA_EXCEEDED)
            assert int((refusal.headers or {})["retry-after"]) >= 1
            break
    else:
        raise AssertionError("the Free plan has no end")
    assert AccountApi(free).get_rate_limit().minute.limit == 60
    print("the tour is over")


main()
