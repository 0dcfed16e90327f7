"""A client that breaks every rule. It also turns the clock of the sandbox, to call an operation after its sunset."""

import http.client
import json
import os
from urllib.parse import urlsplit

BASE, KEY = urlsplit(os.environ["PETSTORE_URL"]), os.environ["PETSTORE_KEY"]


def ask(method, target, body=None, **headers):
    """Sends a request over a new connection, without a look at the answer."""
    connection = http.client.HTTPConnection(BASE.netloc)
    try:
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, target, body, {"Authorization": f"Bearer {KEY}", **headers})
        connection.getresponse().read()
    except http.client.HTTPException:
        pass
    finally:
        connection.close()


v1, of_json = BASE.path, {"Content_Type": "application/json"}
ask("GET", f"{v1}/pets?limit=2&cursor=3")  # follows-pages
ask("GET", f"{v1}/pets?limit=2&api_key={KEY}")  # one-credential
ask("GET", f"{v1}/pets", X_API_Key=os.environ["PETSTORE_OTHER_KEY"])  # one-credential
for _ in range(2):
    ask("GET", f"{v1}/categories/1")  # revalidates
ask("PUT", f"{v1}/categories/1", '{"name": "Birds"}', **of_json)  # guards-changes
for _ in range(2):
    ask("POST", f"{v1}/store/orders", '{"petId": 7}', **of_json)  # retries-safely
for _ in range(3):
    ask("GET", f"{v1}/inventory")  # waits, backs-off
for _ in range(6):
    ask("GET", f"{v1}/store/orders")  # gives-up
ask("GET", f"{v1}/pets/1")
ask("POST", "/sandbox/clock", json.dumps({"set": "2030-12-05T00:00:00Z", "freeze": True}), **of_json)
ask("GET", f"{v1}/pets/1")  # heeds-deprecation
for _ in range(100):
    ask("GET", f"{v1}/categories/1")  # spares-its-quota
