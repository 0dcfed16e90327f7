"""httpx with tenacity, with a wait that reads Retry-After, and attempts only after what may pass."""

import email.utils

import errand
import httpx
from tenacity import retry, retry_if_exception, stop_after_attempt, wait_exponential

client = httpx.Client(timeout=30)
growing = wait_exponential(multiplier=0.5)


def may_pass(error):
    """Returns whether another attempt may succeed."""
    if isinstance(error, httpx.HTTPStatusError):
        return error.response.status_code in (408, 429, 500, 502, 503, 504)
    return isinstance(error, httpx.TransportError)


def pause(state):
    """At least Retry-After, if the server sent it, in seconds or as a date."""
    answer = getattr(state.outcome.exception(), "response", None)
    value = answer.headers.get("Retry-After", "0") if answer is not None else "0"
    if value.isdigit():
        asked = int(value)
    else:
        until, now = (email.utils.parsedate_to_datetime(text) for text in (value, answer.headers["Date"]))
        asked = (until - now).total_seconds() + 1
    return max(asked, growing(state))


@retry(retry=retry_if_exception(may_pass), wait=pause, stop=stop_after_attempt(5), reraise=True)
def ask(method, url, headers, body):
    answer = client.request(method, url, headers=headers, content=body)
    answer.raise_for_status()
    return answer.status_code, answer.headers, answer.json()


errand.run(ask)
