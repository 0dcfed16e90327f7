"""The Python client that openapi-generator makes, with its own retries. It repeats no POST, so the caller does."""

import os
import re
from urllib.parse import parse_qs, urlsplit

import urllib3
from petstore_client import AnimalsApi, ApiClient, ApiException, CategoriesApi, CategoryUpdate, Configuration
from petstore_client import InventoryApi, NewOrder, OrdersApi

client = ApiClient(
    Configuration(host=os.environ["PETSTORE_URL"], access_token=os.environ["PETSTORE_KEY"], retries=3)
)
animals, categories = AnimalsApi(client), CategoriesApi(client)
inventory, orders = InventoryApi(client), OrdersApi(client)

# All pets, by the cursors of the server.
more, cursor = True, None
while more:
    page = animals.list_pets_with_http_info(limit=50, cursor=cursor)
    links = {name.lower(): value for name, value in page.headers.items()}["link"]
    following = re.search(r'<([^>]+)>; rel="next"', links)
    more = following is not None
    cursor = more and parse_qs(urlsplit(following[1]).query)["cursor"][0]

# A category is read twice and changed.
for _ in range(2):
    categories.get_category(1)
categories.update_category(1, CategoryUpdate(description="Small"))

# An order whose first answer is lost.
for _ in range(2):
    try:
        orders.place_order(NewOrder(petId=7), idempotency_key="order-1")
        break
    except urllib3.exceptions.HTTPError:
        pass

# A list that is refused twice.
inventory.list_inventory()

# A list that always fails.
try:
    orders.list_orders()
    raise AssertionError("it succeeded")
except (ApiException, urllib3.exceptions.MaxRetryError):
    pass
