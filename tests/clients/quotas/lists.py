"""Asks for responses with quota headers, in random forms, of random plans, uses, times and names of policies. http-sf, a parser of
structured fields, reads each header, and every figure must be that of `GET /rate-limit` at the same time. Prints the
responses as lines of JSON, with the figures, for other parsers."""

import http.client
import json
import math
import os
import random
import string
import sys
from datetime import datetime, timedelta, timezone
from urllib.parse import urlsplit

import http_sf

BASE, KEY = urlsplit(os.environ["PETSTORE_URL"]), os.environ["PETSTORE_KEY"]

RESPONSES = {"ratelimit": 1000, "draft-7": 100, "draft-6": 100, "x-ratelimit": 100, "x-ratelimit-delta": 100}
"""The number of responses in each form."""

WINDOWS = {"minute": 60, "day": 86_400}
"""The seconds of each window."""

LIMIT_MAX = 2**31 - 1

draws = random.Random(20)
server = http.client.HTTPConnection(BASE.netloc)


def send(method, target, body=None, key=None):
    """Sends a request. Returns the status, the headers with names in lower case, and the JSON of the body."""
    headers = {"X-API-Key": key} if key else {}
    data = None if body is None else json.dumps(body)
    server.request(method, target, data, headers | ({"Content-Type": "application/json"} if data else {}))
    response = server.getresponse()
    text = response.read()
    return response.status, {name.lower(): value for name, value in response.getheaders()}, json.loads(text or "null")


def sandbox(method, path, body=None):
    status, _, answer = send(method, f"/sandbox{path}", body)
    assert status < 300, (method, path, body, answer)
    return answer


def name():
    """A name of a policy."""
    return "".join(draws.choices(string.ascii_letters + string.digits + ".-_", k=draws.randint(1, 32)))


def new_key():
    """A key of a random plan."""
    plan = draws.choice(["free", "pro", "business", "enterprise", "enterprise"])
    # Some windows are used up soon. That of the day is the larger one.
    limits = dict(zip(WINDOWS, sorted(draws.choice([draws.randint(1, 3), draws.randint(1, LIMIT_MAX)]) for _ in WINDOWS)))
    return sandbox("POST", "/keys", {"plan": plan, **(limits if plan == "enterprise" else {})})["secret"]


def expected(key, now):
    """The limit, the rest and the seconds to the reset of each window, as `GET /rate-limit` has them."""
    status, _, quota = send("GET", f"{BASE.path}/rate-limit", key=key)
    assert status == 200, quota
    figures = {window: quota[window] for window in WINDOWS}
    return {
        window: {"limit": of["limit"], "remaining": of["remaining"], "reset": of["reset"], "wait": math.ceil(of["reset"] - now)}
        for window, of in figures.items()
    }


def check(form, headers, names, windows):
    """Reads the headers of a form, and compares each value."""
    if form == "ratelimit":
        policies = http_sf.parse(headers["ratelimit-policy"].encode(), tltype="list")
        left = http_sf.parse(headers["ratelimit"].encode(), tltype="list")
        assert policies == [(names[window], {"q": of["limit"], "w": WINDOWS[window]}) for window, of in windows.items()], headers
        assert left == [(names[window], {"r": of["remaining"], "t": of["wait"]}) for window, of in windows.items()], headers
    elif form in ("draft-7", "draft-6"):
        policies = http_sf.parse(headers["ratelimit-policy"].encode(), tltype="list")
        assert policies == [(of["limit"], {"w": WINDOWS[window]}) for window, of in windows.items()], headers
    if form == "draft-7":
        combined = http_sf.parse(headers["ratelimit"].encode(), tltype="dictionary")
        named = {member: value for member, (value, _) in combined.items()}
        assert named in [{"limit": of["limit"], "remaining": of["remaining"], "reset": of["wait"]} for of in windows.values()], headers


now = datetime(2030, 1, 1, tzinfo=timezone.utc)
keys = [new_key() for _ in range(8)]
place = refused = 0
for form, count in RESPONSES.items():
    for _ in range(count):
        names = dict(zip(WINDOWS, draws.sample([name() for _ in range(4)], 2)))
        sandbox("PUT", "/quota-headers", {"form": form, "names": names})
        # Half of the requests follow at once, so that some are refused.
        if draws.random() < 0.5:
            now += timedelta(milliseconds=draws.choice([draws.randint(1, 90_000), draws.randint(1, 100_000_000)]))
            sandbox("POST", "/clock", {"set": now.isoformat(), "freeze": True})
            place = draws.randrange(len(keys))
            if draws.random() < 0.5:
                keys[place] = new_key()
        status, headers, _ = send("GET", f"{BASE.path}/pets?limit=1", key=keys[place])
        assert status in (200, 429), status
        windows = expected(keys[place], now.timestamp())
        check(form, headers, names, windows)
        print(json.dumps({"form": form, "names": names, "windows": windows, "headers": headers, "now": now.timestamp()}))
        if status == 429:
            # A further refusal might lead to a ban, whose answer tells no quota.
            refused += 1
            keys[place] = new_key()
assert refused > 50, refused

# Requests without a key have one window, that of the address.
sandbox("PUT", "/quota-headers", {"form": "ratelimit"})
status, headers, _ = send("GET", f"{BASE.path}/pets")
assert status == 401
[(policy, limits)] = http_sf.parse(headers["ratelimit-policy"].encode(), tltype="list")
[(left, rest)] = http_sf.parse(headers["ratelimit"].encode(), tltype="list")
assert policy == left and limits["w"] == 60 and 0 <= rest["r"] < limits["q"] and 0 <= rest["t"] <= 60, headers
