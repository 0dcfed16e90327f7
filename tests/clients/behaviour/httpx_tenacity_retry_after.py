"""httpx with tenacity, with a wait of Retry-After, one Idempotency-Key for all attempts of an order, and entity tags."""

import os
import uuid

import httpx
from tenacity import retry, retry_if_exception_type, stop_after_attempt, wait_exponential

BASE, KEY = os.environ["PETSTORE_URL"], os.environ["PETSTORE_KEY"]
client = httpx.Client(headers={"Authorization": f"Bearer {KEY}"})
growing = wait_exponential(multiplier=0.1)


def pause(state):
    """At least Retry-After, if the server sent it."""
    answer = getattr(state.outcome.exception(), "response", None)
    asked = float(answer.headers.get("Retry-After", 0)) if answer is not None else 0
    return max(asked, growing(state))


@retry(retry=retry_if_exception_type(httpx.HTTPError), wait=pause, stop=stop_after_attempt(4), reraise=True)
def ask(method, target, **rest):
    answer = client.request(method, target, **rest)
    if answer.status_code != 304:
        answer.raise_for_status()
    return answer


# All pets, by the links of the server.
link = f"{BASE}/pets?limit=50"
while link:
    link = ask("GET", link).links.get("next", {}).get("url")

# A category is read twice and changed.
tag = ask("GET", f"{BASE}/categories/1").headers["ETag"]
assert ask("GET", f"{BASE}/categories/1", headers={"If-None-Match": tag}).status_code == 304
ask(
    "PATCH",
    f"{BASE}/categories/1",
    headers={"Content-Type": "application/merge-patch+json", "If-Match": tag},
    content='{"description": "Small"}',
)

# An order whose first answer is lost.
once = {"Idempotency-Key": str(uuid.uuid4())}
assert ask("POST", f"{BASE}/store/orders", json={"petId": 7}, headers=once).status_code == 201

# A list that is refused twice.
ask("GET", f"{BASE}/inventory")

# A list that always fails. After it the client sends nothing for as long as the server asks.
try:
    ask("GET", f"{BASE}/store/orders")
    raise AssertionError("it succeeded")
except httpx.HTTPStatusError as error:
    assert error.response.status_code == 503
