"""urllib3 with `Retry`, which waits as Retry-After says. With `allowed_methods=None` it repeats a POST, too."""

import errand
import urllib3
from urllib3.util import Retry

retries = Retry(total=5, status_forcelist=[429, 500, 502, 503, 504], allowed_methods=None, backoff_factor=0.5)
http = urllib3.PoolManager(retries=retries)


def ask(method, url, headers, body):
    answer = http.request(method, url, headers=headers, body=body)
    return answer.status, answer.headers, answer.json() if answer.status < 400 else None


errand.run(ask)
