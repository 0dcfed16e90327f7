"""Headers and bodies of requests and answers."""

import base64
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ._errors import PetstoreError


class Headers(Mapping[str, str]):
    """The headers of a message. Names have no case. The values of a name that occurs several times are joined by `, `."""

    def __init__(self, pairs: Iterable[Sequence[str]]) -> None:
        self.pairs = tuple((name, value) for name, value in pairs)
        """Names and values, in the order in which they came."""

    def all(self, name: str) -> list[str]:
        """The values of a name, each on its own."""
        return [value for other, value in self.pairs if other.lower() == name.lower()]

    def __getitem__(self, name: str) -> str:
        values = self.all(name)
        if not values:
            raise KeyError(name)
        return ", ".join(values)

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(name.lower() for name, _ in self.pairs))

    def __len__(self) -> int:
        return len({name.lower() for name, _ in self.pairs})

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and bool(self.all(name))

    def __repr__(self) -> str:
        return f"Headers({dict(self)!r})"


@dataclass(frozen=True)
class Message:
    """A message as the server kept it: headers, and the beginning of the body."""

    headers: Headers
    body: bytes
    """The bytes that the server kept; empty without a body."""
    body_bytes: int
    """The length of the whole body."""

    @property
    def text(self) -> str:
        """The body as text; what is no UTF-8 is replaced."""
        return self.body.decode(errors="replace")

    def json(self) -> Any:
        """The body, read as JSON."""
        __tracebackhide__ = True
        if self.body_bytes > len(self.body):
            raise PetstoreError(
                f"of {self.body_bytes} bytes of the body the server kept {len(self.body)}: raise the setting sandbox-journal-body"
            )
        try:
            return json.loads(self.body)
        except ValueError as error:
            raise PetstoreError(f"the body is no JSON ({error}): {self.text[:200]!r}") from error


def message(members: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a `Message` from the server's JSON. What the JSON lacks is empty."""
    text = members.get("body") or ""
    body = base64.b64decode(text) if members.get("bodyEncoding") == "base64" else text.encode()
    return {"headers": Headers(members.get("headers") or ()), "body": body, "body_bytes": members.get("bodyBytes", len(body))}
