"""A client of the petstore, as an example of a client under test. Yours takes its place."""

import json
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable, Iterator, Mapping
from http.client import HTTPException
from typing import Any

ATTEMPTS = 4
"""The attempts at a request that fails for a temporary reason."""

TEMPORARY = (429, 500, 503)


class ShopError(Exception):
    """An answer that is an error, or no answer."""

    def __init__(self, status: int, code: str) -> None:
        super().__init__(f"{status} {code}")
        self.status = status
        self.code = code


class PetsClient:
    """A client that waits as it is told, repeats orders safely, and asks again only for what has changed."""

    def __init__(
        self, url: str, key: str, sleep: Callable[[float], object] = time.sleep, headers: Mapping[str, str] | None = None
    ) -> None:
        """headers: headers of each request, such as the name of a test."""
        self._url = url
        self._sleep = sleep
        self._headers = {"X-API-Key": key, **(headers or {})}
        self._known: dict[str, tuple[str, Any]] = {}

    def pets(self, page: int = 50) -> Iterator[Any]:
        """All pets, page by page."""
        target = f"{self._url}/pets?limit={page}"
        while target:
            pets, headers = self._send("GET", target)
            yield from pets
            links = [link.split(";") for link in headers.get("Link", "").split(", ")]
            target = next((parts[0].strip(" <>") for parts in links if 'rel="next"' in "".join(parts[1:])), "")

    def category(self, number: int) -> Any:
        """A category, from memory if it has not changed."""
        path = f"/categories/{number}"
        tag, known = self._known.get(path, ("", None))
        found, headers = self._send("GET", self._url + path, **({"If-None-Match": tag} if tag else {}))
        if found is not None:
            self._known[path] = (headers["ETag"], found)
        return known if found is None else found

    def rename_category(self, number: int, name: str) -> Any:
        """Renames a category, unless it has changed since it was read."""
        path = f"/categories/{number}"
        self.category(number)
        return self._send("PATCH", self._url + path, {"name": name}, **{"If-Match": self._known[path][0]})[0]

    def order(self, pet: int) -> Any:
        """Orders a pet, once, however often the request is sent."""
        return self._send("POST", f"{self._url}/store/orders", {"petId": pet}, **{"Idempotency-Key": str(uuid.uuid4())})[0]

    def subscribe(self, receiver: str) -> Any:
        """Creates a webhook for orders."""
        return self._send("POST", f"{self._url}/webhooks", {"url": receiver, "types": ["order.placed"]})[0]

    def _send(self, method: str, target: str, body: object = None, **headers: str) -> tuple[Any, Any]:
        data = None if body is None else json.dumps(body).encode()
        kind = {} if data is None else {"Content-Type": "application/json"}
        for attempt in range(1, ATTEMPTS + 1):
            request = urllib.request.Request(target, data, {**self._headers, **kind, **headers}, method=method)
            wait = 2.0**attempt
            try:
                with urllib.request.urlopen(request, timeout=5) as answer:
                    return json.loads(answer.read() or "null"), answer.headers
            except urllib.error.HTTPError as error:
                with error:
                    if error.code == 304:
                        return None, error.headers
                    failure = ShopError(error.code, json.loads(error.read())["code"])
                if error.code not in TEMPORARY:
                    raise failure from None
                wait = max(wait, float(error.headers.get("Retry-After") or 0))
            except ValueError:
                raise ShopError(200, "not_json") from None
            except (OSError, HTTPException):
                failure = ShopError(0, "no_answer")
            if attempt == ATTEMPTS:
                raise failure
            self._sleep(wait)
        raise AssertionError("unreachable")
