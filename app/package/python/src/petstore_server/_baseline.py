"""The shop that a reset restores."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ._sandbox import Sandbox

LINES = "application/x-ndjson"
"""The content type of a shop."""

Shop = Path | str | Iterable[Mapping[str, Any]]
"""A shop: the path of a file with the lines of `petstore import`, or its records, such as `{"category": {"name": "Dogs", "id": 1}}`."""


@dataclass(frozen=True)
class BaselineCounts:
    """The numbers of records in a baseline."""

    categories: int
    pets: int
    orders: int


def records(sandbox: Sandbox) -> list[dict[str, Any]]:
    """The records of the baseline."""
    return [json.loads(line) for line in sandbox.exchange("GET", "/baseline").splitlines()]


def put(sandbox: Sandbox, shop: Shop) -> BaselineCounts:
    """Sets the baseline."""
    __tracebackhide__ = True
    if isinstance(shop, (str, Path)):
        lines = Path(shop).read_bytes()
    else:
        lines = "".join(f"{json.dumps(record)}\n" for record in shop).encode()
    return _counts(sandbox.exchange("PUT", "/baseline", lines, LINES))


def save(sandbox: Sandbox) -> BaselineCounts:
    """Makes the present shop the baseline."""
    return _counts(sandbox.exchange("POST", "/baseline"))


def drop(sandbox: Sandbox) -> None:
    """Returns to the baseline of the start."""
    sandbox.exchange("DELETE", "/baseline")


def _counts(answer: bytes) -> BaselineCounts:
    members = json.loads(answer)
    return BaselineCounts(members["categories"], members["pets"], members["orders"])
