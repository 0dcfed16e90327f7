"""The report about the behaviour of clients."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ._errors import RulesBroken

EVIDENCE = 3
"""The findings of a rule that an error shows."""


@dataclass(frozen=True)
class ProvingRequest:
    """A request that proves a finding."""

    sequence: int
    id: str


@dataclass(frozen=True)
class Finding:
    """A fault or a hint, with the requests that prove it."""

    severity: str
    """`breach` or `hint`."""
    reason: str
    requests: list[ProvingRequest]
    advice: str | None = None
    """The advice: what the client should have done, with the header that told it; `None` from a server that is older than this member."""


@dataclass(frozen=True)
class JudgedRule:
    """A rule, and how the client kept it."""

    name: str
    summary: str
    source: str
    """The document that states the rule."""
    verdict: str
    """`broken`, `hint`, `kept`, or `untested` if the rule applied to no request."""
    cases: int
    """The cases in which the rule applied."""
    found: int
    findings: list[Finding]


@dataclass(frozen=True)
class ClientReport:
    """The behaviour of one client."""

    key_prefix: str | None
    requests: int
    verdict: str
    rules: list[JudgedRule]


@dataclass(frozen=True)
class Report:
    """The report about the behaviour of all clients. As text it has the findings, one a line."""

    verdict: str
    """`broken` if a rule was broken, then `hint`, `kept`, `untested` and `none`."""
    clients: list[ClientReport]
    _line: Callable[[str, int], str] = field(repr=False, compare=False)
    """Describes a request by its id and its number."""

    @property
    def is_broken(self) -> bool:
        """`True` if a client broke a rule."""
        return self.verdict == "broken"

    def rules(self, name: str) -> list[JudgedRule]:
        """The verdicts about a rule, one for each client."""
        return [rule for client in self.clients for rule in client.rules if rule.name == name]

    def assert_kept(self, *tested: str) -> None:
        """Raises `RulesBroken`, with the requests that prove it, if a client broke a rule. Rules named in `tested`, such as `waits`,
        must also have applied to a request."""
        __tracebackhide__ = True
        unknown = [name for name in tested if self.clients and not self.rules(name)]
        if unknown:
            known = ", ".join(rule.name for rule in self.clients[0].rules)
            raise ValueError(f"there is no rule {unknown[0]!r}; the rules are {known}")
        broken = [(client, rule) for client in self.clients for rule in client.rules if rule.verdict == "broken"]
        untested = [name for name in tested if all(rule.verdict == "untested" for rule in self.rules(name))]
        lines = [line for client, rule in broken for line in self._evidence(client, rule)]
        lines += [f"{name} is untested: no request met what the rule is about; plan the failure that the client has to meet" for name in untested]
        if lines:
            raise RulesBroken("\n".join(["the client does not keep the rules", *lines]), self)

    def _evidence(self, client: ClientReport, rule: JudgedRule) -> Iterable[str]:
        key = f"the client with the key {client.key_prefix}…" if client.key_prefix else "the client without a key"
        yield f"{rule.name} is broken by {key}: a client {rule.summary}"
        breaches = [finding for finding in rule.findings if finding.severity == "breach"]
        advised = None
        for finding in breaches[:EVIDENCE]:
            yield f"  {finding.reason}"
            if finding.advice and finding.advice != advised:
                advised = finding.advice
                yield f"  advice: {advised}"
            for request in finding.requests:
                yield f"    {self._line(request.id, request.sequence)}"
        if len(breaches) > EVIDENCE:
            yield f"  and {len(breaches) - EVIDENCE} more"

    def __str__(self) -> str:
        lines = []
        for client in self.clients:
            lines.append(f"{client.key_prefix or 'no key'}: {client.requests} requests, {client.verdict}")
            lines += [f"  {rule.name}: {finding.reason}" for rule in client.rules for finding in rule.findings]
        return "\n".join(lines)


def report(members: Mapping[str, Any], line: Callable[[str, int], str]) -> Report:
    """The report from the server's JSON."""
    return Report(members["verdict"], [_client(client) for client in members["clients"]], line)


def _client(members: Mapping[str, Any]) -> ClientReport:
    rules = [judged_rule(rule) for rule in members["rules"]]
    return ClientReport(members["keyPrefix"], members["requests"], members["verdict"], rules)


def judged_rule(members: Mapping[str, Any]) -> JudgedRule:
    """A rule from the server's JSON."""
    return JudgedRule(
        name=members["name"],
        summary=members["summary"],
        source=members["source"],
        verdict=members["verdict"],
        cases=members["cases"],
        found=members["found"],
        findings=[_finding(finding) for finding in members["findings"]],
    )


def _finding(members: Mapping[str, Any]) -> Finding:
    requests = [ProvingRequest(request["sequence"], request["id"]) for request in members["requests"]]
    return Finding(members["severity"], members["reason"], requests, members.get("advice"))
