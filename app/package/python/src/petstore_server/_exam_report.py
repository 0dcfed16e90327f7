"""The report of an exam."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ._clock import instant
from ._errors import ExamFailed
from ._messages import Headers
from ._report import EVIDENCE, JudgedRule, judged_rule


@dataclass(frozen=True)
class ExamRequest:
    """A request of the client in a scenario, without its body."""

    sequence: int
    """The number in the order of arrival, from 1 in each scenario."""
    id: str
    at: datetime
    """The time by the clock of the exam's petstore."""
    method: str
    target: str
    route: str | None
    headers: Headers
    status: int | None
    """The status of the answer; none if the connection was closed without one."""
    code: str | None
    outcome: str | None
    """`sent`, `streaming`, `dropped` by a planned failure, or `gone`; none without an answer."""
    fault: str | None
    """The planned failure that acted on the request."""
    hints: list[str]
    """The rules that the request did not follow."""

    def __str__(self) -> str:
        words = [self.status, self.code, None if self.outcome == "sent" else self.outcome or "in progress"]
        return " ".join([f"#{self.sequence}", f"{self.at:%H:%M:%S.%f}"[:-3], self.method, self.target, *(str(word) for word in words if word is not None)])


@dataclass(frozen=True)
class ExamScenario:
    """The behaviour of the client in one scenario."""

    name: str
    title: str
    proves: list[str]
    """The rules that the scenario is made to prove."""
    must_pass: bool
    """The client has to succeed in this scenario."""
    passed: bool
    """The client raised no exception."""
    output: str
    """The exception of the client, with its trace."""
    verdict: str
    """`broken` if a rule was broken, then `hint`, `kept` and `untested`."""
    duration_ms: int
    rules: list[JudgedRule]
    requests: list[ExamRequest]

    def rule(self, name: str) -> JudgedRule:
        """The verdict about a rule."""
        for rule in self.rules:
            if rule.name == name:
                return rule
        raise ValueError(f"there is no rule {name!r}; the rules are {', '.join(rule.name for rule in self.rules)}")

    def faults(self) -> list[str]:
        """Lines about the rules that were broken, about a failure in a scenario in which the client has to succeed, and about a client that
        sent nothing."""
        lines = []
        if self.must_pass and not self.passed:
            lines += ["the client failed, and has to succeed in this scenario", *(f"  {line}" for line in self.output.splitlines()[-1:])]
        if not self.requests:
            lines.append("no request arrived; does the client use the URL and the key that it gets?")
        for rule in self.rules:
            if rule.verdict == "broken":
                lines += [f"{rule.name} is broken: a client {rule.summary}", *self._evidence(rule)]
        return lines

    def _evidence(self, rule: JudgedRule) -> list[str]:
        known = {request.sequence: request for request in self.requests}
        lines = []
        advised = None
        for finding in [finding for finding in rule.findings if finding.severity == "breach"][:EVIDENCE]:
            lines.append(f"  {finding.reason}")
            if finding.advice and finding.advice != advised:
                advised = finding.advice
                lines.append(f"  advice: {advised}")
            lines += [f"    {known.get(proof.sequence, f'#{proof.sequence} {proof.id}')}" for proof in finding.requests]
        return lines


@dataclass(frozen=True)
class ExamReport:
    """The report of an exam. As text it has a line for each scenario."""

    version: str
    """The version of the server."""
    scenarios: list[ExamScenario]

    @property
    def is_broken(self) -> bool:
        """`True` if the client broke a rule in a scenario."""
        return any(scenario.verdict == "broken" for scenario in self.scenarios)

    def scenario(self, name: str) -> ExamScenario:
        """The scenario with this name."""
        for scenario in self.scenarios:
            if scenario.name == name:
                return scenario
        raise ValueError(f"there is no scenario {name!r} in this exam; it has {', '.join(scenario.name for scenario in self.scenarios)}")

    def assert_kept(self, *tested: str) -> None:
        """Raises `ExamFailed`, with the requests that prove it, if the client broke a rule in a scenario, or failed where it has to
        succeed. Rules named in `tested`, such as `waits`, must also have applied to a request."""
        __tracebackhide__ = True
        lines = [f"{scenario.name}: {line}" for scenario in self.scenarios for line in scenario.faults()]
        for name in tested:
            if all(scenario.rule(name).verdict == "untested" for scenario in self.scenarios):
                lines.append(f"{name} is untested: no request met what the rule is about in {', '.join(scenario.name for scenario in self.scenarios)}")
        if lines:
            raise ExamFailed("\n".join(["the client does not pass the exam", *lines]), self)

    def __str__(self) -> str:
        width = max((len(scenario.name) for scenario in self.scenarios), default=0)
        ends = {True: "succeeded", False: "failed"}
        return "\n".join(
            f"{scenario.name:<{width}}  {scenario.verdict:<8}  {len(scenario.requests)} requests, {ends[scenario.passed]}" for scenario in self.scenarios
        )


def exam_report(members: Mapping[str, Any]) -> ExamReport:
    """The report from the JSON of the command."""
    return ExamReport(members["version"], [_scenario(scenario) for scenario in members["scenarios"]])


def _scenario(members: Mapping[str, Any]) -> ExamScenario:
    return ExamScenario(
        name=members["name"],
        title=members["title"],
        proves=members["proves"],
        must_pass=members["mustPass"],
        passed=members["end"] == {"how": "exited", "code": 0},
        output=members["output"],
        verdict=members["verdict"],
        duration_ms=members["durationMs"],
        rules=[judged_rule(rule) for rule in members["rules"]],
        requests=[_request(request) for request in members["requests"]],
    )


def _request(members: Mapping[str, Any]) -> ExamRequest:
    answer = members["answer"] or {}
    return ExamRequest(
        sequence=members["sequence"],
        id=members["id"],
        at=instant(members["at"]),
        method=members["method"],
        target=members["target"],
        route=members["route"],
        headers=Headers(members["headers"]),
        status=answer.get("status"),
        code=answer.get("code"),
        outcome=answer.get("outcome"),
        fault=members["fault"],
        hints=members["hints"],
    )
