"""httpx with tenacity, as many examples have it: pauses that grow, without regard to Retry-After."""

import errand
import httpx
from tenacity import retry, retry_if_exception_type, stop_after_attempt, wait_exponential

client = httpx.Client(timeout=30)


@retry(retry=retry_if_exception_type(httpx.HTTPError), wait=wait_exponential(multiplier=0.5), stop=stop_after_attempt(5), reraise=True)
def ask(method, url, headers, body):
    answer = client.request(method, url, headers=headers, content=body)
    answer.raise_for_status()
    return answer.status_code, answer.headers, answer.json()


errand.run(ask)
