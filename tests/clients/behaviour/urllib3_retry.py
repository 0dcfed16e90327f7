"""urllib3 with `Retry`, which waits as Retry-After says. Only with `allowed_methods=None` it also repeats a POST."""

import os
import re

import urllib3
from urllib3.util import Retry

BASE, KEY = os.environ["PETSTORE_URL"], os.environ["PETSTORE_KEY"]
retries = Retry(total=3, status_forcelist=[429, 503], allowed_methods=None, backoff_factor=0.1)
http = urllib3.PoolManager(retries=retries, headers={"Authorization": f"Bearer {KEY}"})


def ask(method, target, headers=None, **rest):
    return http.request(method, target, headers={**http.headers, **(headers or {})}, **rest)


# All pets, by the links of the server.
link = f"{BASE}/pets?limit=50"
while link:
    page = ask("GET", link)
    assert page.status == 200, page.data
    found = re.search(r'<([^>]+)>; rel="next"', page.headers.get("Link", ""))
    link = found and found[1]

# A category is read twice and changed.
for _ in range(2):
    assert ask("GET", f"{BASE}/categories/1").status == 200
merge_patch = {"Content-Type": "application/merge-patch+json"}
assert ask("PATCH", f"{BASE}/categories/1", merge_patch, body='{"description": "Small"}').status == 200

# An order whose first answer is lost.
once = {"Idempotency-Key": "order-1"}
assert ask("POST", f"{BASE}/store/orders", once, json={"petId": 7}).status == 201

# A list that is refused twice.
assert ask("GET", f"{BASE}/inventory").status == 200

# A list that always fails.
try:
    ask("GET", f"{BASE}/store/orders")
    raise AssertionError("it succeeded")
except urllib3.exceptions.MaxRetryError:
    pass
