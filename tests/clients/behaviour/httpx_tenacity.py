"""httpx with tenacity, as many examples have it: pauses that grow, without regard to Retry-After, and a request that is
made again for each attempt, so that each attempt of an order has its own Idempotency-Key."""

import os
import uuid

import httpx
from tenacity import retry, retry_if_exception_type, stop_after_attempt, wait_exponential

BASE, KEY = os.environ["PETSTORE_URL"], os.environ["PETSTORE_KEY"]
client = httpx.Client(headers={"Authorization": f"Bearer {KEY}"})


@retry(
    retry=retry_if_exception_type(httpx.HTTPError),
    wait=wait_exponential(multiplier=0.1),
    stop=stop_after_attempt(4),
    reraise=True,
)
def ask(method, target, **rest):
    if method == "POST":
        rest["headers"] = {"Idempotency-Key": str(uuid.uuid4())}
    answer = client.request(method, target, **rest)
    answer.raise_for_status()
    return answer


# All pets, by the links of the server.
link = f"{BASE}/pets?limit=50"
while link:
    link = ask("GET", link).links.get("next", {}).get("url")

# A category is read twice and changed.
for _ in range(2):
    ask("GET", f"{BASE}/categories/1")
ask(
    "PATCH",
    f"{BASE}/categories/1",
    headers={"Content-Type": "application/merge-patch+json"},
    content='{"description": "Small"}',
)

# An order whose first answer is lost.
assert ask("POST", f"{BASE}/store/orders", json={"petId": 7}).status_code == 201

# A list that is refused twice.
ask("GET", f"{BASE}/inventory")

# A list that always fails.
try:
    ask("GET", f"{BASE}/store/orders")
    raise AssertionError("it succeeded")
except httpx.HTTPStatusError as error:
    assert error.response.status_code == 503
