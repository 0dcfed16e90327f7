"""urllib3 with `Retry` as it is. Each thread is a client with its own key."""

import os
from concurrent.futures import ThreadPoolExecutor

import urllib3
from urllib3.util import Retry

BASE, KEYS = os.environ["PETSTORE_URL"], os.environ["PETSTORE_KEYS"].split()


def ask(key):
    http = urllib3.PoolManager(retries=Retry(total=3))
    try:
        http.request("GET", f"{BASE}/pets?limit=1", headers={"X-API-Key": key})
    except urllib3.exceptions.HTTPError:
        # It gives up. The journal of the sandbox has what it sent.
        pass


with ThreadPoolExecutor(len(KEYS)) as clients:
    list(clients.map(ask, KEYS))
