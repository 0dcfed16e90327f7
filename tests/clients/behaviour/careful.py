"""A client that keeps every rule in every scenario of the exam, with Python's own library. It ends with 0 if its work is done, or
with 3 if the server prevents that and the client stops as it should."""

import email.utils
import http.client
import json
import os
import random
import re
import sys
import time
import uuid
from urllib.parse import urlsplit

FAILURES = (OSError, http.client.HTTPException)
POLL_SECONDS = 1
POLLS = 90


class Refused(Exception):
    """An answer after which another attempt cannot succeed."""


class Client:
    """One connection, one request at a time."""

    attempts = 5
    shortest_pause = 0.8

    def __init__(self, url, key):
        self.base, self.key = urlsplit(url), key
        self.connection = http.client.HTTPConnection(self.base.netloc, timeout=30)
        self.tags = {}
        self.is_deprecated = False

    def ask(self, method, path, body=None, **headers):
        """Repeats what may succeed later: a lost answer, 429, 500 and more. Returns the answer and its value."""
        target = path if path.startswith(self.base.path) else self.base.path + path
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        if body is not None:
            body, headers["Content-Type"] = json.dumps(body), "application/json"
        if method == "POST":
            headers["Idempotency-Key"] = str(uuid.uuid4())
        if method == "GET" and target in self.tags:
            headers["If-None-Match"], seen = self.tags[target]
        for attempt in range(1, self.attempts + 1):
            try:
                answer, value = self.send(method, target, body, headers)
            except FAILURES as error:
                self.connection.close()
                self.lost(headers, error)
                failure, pause = repr(error), self.pause_without_answer(attempt)
            else:
                if answer.status == 304:
                    value = seen
                elif method == "GET" and answer.status < 400 and answer.getheader("ETag"):
                    self.tags[target] = answer.getheader("ETag"), value
                if answer.status < 400:
                    self.spare(answer)
                    return answer, value
                if not self.may_repeat(answer):
                    raise Refused(f"{method} {target}: {answer.status}")
                failure, pause = f"{answer.status}", self.pause_after(answer, attempt)
            if attempt < self.attempts:
                time.sleep(pause)
        raise Refused(f"{method} {target}: {failure} after {self.attempts} attempts")

    def send(self, method, target, body, headers):
        self.connection.request(method, target, body, {"Authorization": f"Bearer {self.key}", **headers})
        answer = self.connection.getresponse()
        content = answer.read()
        if answer.status >= 400 or answer.status == 304:
            return answer, None
        return answer, self.value_of(content)

    def value_of(self, content):
        return json.loads(content) if content else None

    def lost(self, headers, error):
        """No whole answer came: the next attempt has the same Idempotency-Key, so that it cannot take effect twice."""

    def may_repeat(self, answer):
        return answer.status in (408, 429) or answer.status >= 500

    def pause_without_answer(self, attempt):
        """Each pause is about twice as long as the one before."""
        return self.shortest_pause * 2 ** (attempt - 1) * random.uniform(1, 1.1)

    def pause_after(self, answer, attempt):
        return max(self.pause_without_answer(attempt), self.wait_of(answer))

    def wait_of(self, answer):
        """The seconds that Retry-After asks for, in either form. A date is compared with that of the answer."""
        value = answer.getheader("Retry-After", "0")
        try:
            return float(value)
        except ValueError:
            until = email.utils.parsedate_to_datetime(value)
            now = email.utils.parsedate_to_datetime(answer.getheader("Date"))
            return (until - now).total_seconds()

    def spare(self, answer):
        """Waits while no request is left, before one is refused. It asks the server, which costs nothing, because some forms of
        the headers have a time by the server's clock, which may differ from this one."""
        for _ in range(POLLS):
            if not nothing_left(answer):
                return
            time.sleep(POLL_SECONDS)
            try:
                answer, _ = self.send("GET", f"{self.base.path}/rate-limit", None, {})
            except FAILURES:
                # The next request finds out by itself.
                self.connection.close()
                return
            if answer.status >= 400:
                time.sleep(self.wait_of(answer))

    def next_page(self, answer):
        """The link of the server to the next page."""
        links = (answer.getheader("Link") or "").split(",")
        following = next((link.split(">")[0].strip(" <") for link in links if 'rel="next"' in link), None)
        if following and "://" in following:
            following = following.split(self.base.netloc, 1)[1]
        return following

    def pet(self, number):
        """Asks for a pet; in the list, which is the successor, once an answer has said that the operation is deprecated."""
        if self.is_deprecated:
            return self.ask("GET", f"/pets?id={number}")
        answer, pet = self.ask("GET", f"/pets/{number}")
        self.is_deprecated = answer.getheader("Deprecation") is not None
        return answer, [pet]


def nothing_left(answer):
    """Whether the quota headers of an answer, in whatever form, say that no request is left."""
    counts = [answer.getheader(name) for name in ("X-RateLimit-Remaining", "RateLimit-Remaining")]
    in_list = re.search(r"\b(r|remaining)=0\b", answer.getheader("RateLimit") or "")
    return "0" in counts or in_list is not None


def work(client):
    following, pets = "/pets?limit=50", 0
    while following:
        answer, page = client.ask("GET", following)
        pets += len(page)
        following = client.next_page(answer)
    assert pets >= 100, f"found {pets} pets, and the shop has 100"
    for number in range(1, 16):
        client.pet(number)
    # A category is read twice and changed.
    client.ask("GET", "/categories/1")
    client.ask("GET", "/categories/1")
    tag, _ = client.tags.pop(f"{client.base.path}/categories/1")
    client.ask("PUT", "/categories/1", {"name": "Birds of prey"}, If_Match=tag)
    for pet in (7, 8):
        _, order = client.ask("POST", "/store/orders", {"petId": pet})
        assert order["petId"] == pet
    _, orders = client.ask("GET", "/store/orders?petId=7")
    assert len(orders) == 1, orders
    client.ask("GET", "/inventory")


def main(kind):
    try:
        work(kind(os.environ["PETSTORE_URL"], os.environ["PETSTORE_KEY"]))
    except (Refused, ValueError) as error:
        print(error, file=sys.stderr)
        sys.exit(3)


if __name__ == "__main__":
    main(Client)
