"""Requests to the server's sandbox."""

import http.client
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode, urlsplit

from ._errors import SandboxError
from ._process import ENDING_SECONDS, ServerProcess

CALL_SECONDS = 10.0
"""The time limit of a call, in addition to the time for which the server is asked to wait."""


class Sandbox:
    """The requests below `/sandbox`. Each has a connection of its own, so threads and forked processes share nothing."""

    def __init__(self, url: str, process: ServerProcess) -> None:
        self.url = url
        self._address = urlsplit(url)
        self._process = process

    def call(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        query: Mapping[str, Any] | None = None,
        wait: int = 0,
    ) -> Any:
        """Sends a request. Returns the JSON of the response; none if it has no body."""
        __tracebackhide__ = True
        sent = None if body is None else json.dumps(body).encode()
        text = self.exchange(method, path, sent, query=query, wait=wait)
        return json.loads(text) if text else None

    def exchange(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        kind: str = "application/json",
        query: Mapping[str, Any] | None = None,
        wait: int = 0,
    ) -> bytes:
        """Sends a request with a body of this type. Returns the body of the response."""
        __tracebackhide__ = True
        target = f"{self._address.path}{path}"
        if query:
            target += "?" + urlencode(query, doseq=True)
        headers = {"Connection": "close"} | ({} if body is None else {"Content-Type": kind})
        connection = http.client.HTTPConnection(
            self._address.hostname or "", self._address.port, timeout=CALL_SECONDS + wait
        )
        call = f"{method} {target}"
        try:
            connection.request(method, target, body, headers)
            response = connection.getresponse()
            text = response.read()
        except (OSError, http.client.HTTPException) as error:
            raise self._process.error_of(call, str(error) or type(error).__name__, ENDING_SECONDS) from error
        finally:
            connection.close()
        if response.status < 300:
            return text
        raise _refused(call, response.status, text)


def _refused(call: str, status: int, text: bytes) -> SandboxError:
    """The error of a response, with the message of the server."""
    try:
        body: Mapping[str, Any] = json.loads(text)
        message = f"{status} {body['code']}: {body['message']}"
    except (ValueError, KeyError, TypeError, AttributeError):
        return SandboxError(call, status, f"{status} {text.decode(errors='replace')}".strip())
    return SandboxError(call, status, message, body)
