"""requests with the `Retry` of urllib3 in an adapter, as many examples have it: it repeats no POST."""

import errand
import requests
from requests.adapters import HTTPAdapter
from urllib3.util import Retry

session = requests.Session()
retries = Retry(total=5, backoff_factor=0.5, status_forcelist=[429, 500, 502, 503, 504])
session.mount("http://", HTTPAdapter(max_retries=retries))


def ask(method, url, headers, body):
    answer = session.request(method, url, headers=headers, data=body, timeout=30)
    answer.raise_for_status()
    return answer.status_code, answer.headers, answer.json()


errand.run(ask)
