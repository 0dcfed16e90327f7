"""The report about the behaviour of clients."""

from typing import TypedDict


class ProvingRequest(TypedDict):
    """A request that proves a finding."""

    sequence: int
    id: str


class Finding(TypedDict):
    """A fault or a hint, with the requests that prove it."""

    severity: str
    """`breach` or `hint`."""
    reason: str
    requests: list[ProvingRequest]


class JudgedRule(TypedDict):
    """A rule, and how the client kept it."""

    name: str
    summary: str
    source: str
    verdict: str
    cases: int
    """The cases in which the rule applied."""
    found: int
    findings: list[Finding]


class ClientReport(TypedDict):
    """The behaviour of one client."""

    keyPrefix: str | None
    requests: int
    verdict: str
    rules: list[JudgedRule]


class Report(TypedDict):
    """The report about the behaviour of all clients."""

    verdict: str
    """`broken` if a rule was broken, then `hint`, `kept`, `untested` and `none`."""
    clients: list[ClientReport]
