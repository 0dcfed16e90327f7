"""The errand that each client of the table runs: it reads the pets and a few more resources, changes a category and places two orders."""

import os
import re

BASE = os.environ["PETSTORE_URL"]
AUTHORIZATION = {"Authorization": f"Bearer {os.environ['PETSTORE_KEY']}"}


class Refused(Exception):
    """An answer after which the errand ends, because the library has no more attempts for it."""


def run(ask):
    """Runs the errand. `ask(method, url, headers, body)` sends a request, with what the library does if it fails, and returns the
    status, the headers and the JSON of the answer, or raises an error."""

    def need(method, path, body=None, headers=None):
        url = path if path.startswith("http") else BASE + path
        typed = {} if body is None else {"Content-Type": "application/json"}
        status, answered, value = ask(method, url, {**AUTHORIZATION, **typed, **(headers or {})}, body)
        if status >= 400:
            raise Refused(f"{method} {path}: {status}")
        return answered, value

    # All pets, by the links of the server.
    link, pets = "/pets?limit=20", 0
    while link:
        answered, page = need("GET", link)
        pets += len(page)
        following = re.search(r'<([^>]+)>; rel="next"', answered.get("Link") or answered.get("link") or "")
        link = following and following[1]
    assert pets >= 100, pets
    # Some pets, each by its number.
    for pet in range(1, 13):
        need("GET", f"/pets?id={pet}")
    # A category is read twice and changed.
    for _ in range(2):
        need("GET", "/categories/1")
    need("PUT", "/categories/1", b'{"name": "Birds of prey"}')
    # Two orders. What a library repeats has the same Idempotency-Key.
    for pet in (7, 8):
        _, order = need("POST", "/store/orders", b'{"petId": %d}' % pet, {"Idempotency-Key": f"order-of-{pet}"})
        assert order["petId"] == pet, order
    _, orders = need("GET", "/store/orders?petId=7")
    assert len(orders) == 1, orders
    need("GET", "/inventory")
