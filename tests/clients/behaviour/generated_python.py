"""The Python client that openapi-generator makes, with its setting `retries`, which is a `Retry` of urllib3."""

import os
import re
from urllib.parse import parse_qs, urlsplit

from petstore_client import AnimalsApi, ApiClient, CategoriesApi, CategoryReplacement, Configuration
from petstore_client import InventoryApi, NewOrder, OrdersApi
from urllib3.util import Retry

retries = Retry(total=5, backoff_factor=0.5, status_forcelist=[429, 500, 502, 503, 504])
client = ApiClient(Configuration(host=os.environ["PETSTORE_URL"], access_token=os.environ["PETSTORE_KEY"], retries=retries))
animals, categories, orders = AnimalsApi(client), CategoriesApi(client), OrdersApi(client)

# The errand of `errand.py`, by the methods of the client.
more, cursor, pets = True, None, 0
while more:
    page = animals.list_pets_with_http_info(limit=20, cursor=cursor)
    pets += len(page.data)
    links = {name.lower(): value for name, value in page.headers.items()}.get("link", "")
    following = re.search(r'<([^>]+)>; rel="next"', links)
    more = following is not None
    cursor = more and parse_qs(urlsplit(following[1]).query)["cursor"][0]
assert pets >= 100, pets
for pet in range(1, 13):
    animals.list_pets(id=[pet])
for _ in range(2):
    categories.get_category(1)
categories.replace_category(1, CategoryReplacement(name="Birds of prey"))
for pet in (7, 8):
    order = orders.place_order(NewOrder(pet_id=pet), idempotency_key=f"order-of-{pet}")
    assert order.pet_id == pet, order
assert len(orders.list_orders(pet_id=7)) == 1
InventoryApi(client).list_inventory()
