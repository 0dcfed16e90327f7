"""The failures that the server injects."""

from typing import Any, Literal, TypedDict, cast

from ._sandbox import Sandbox


class FaultHeader(TypedDict):
    """A header of the calls that a rule matches."""

    name: str
    value: str


class FaultDate(TypedDict):
    """A date, as its distance from now."""

    date: str
    """A sign and a duration, such as `+3s`."""


class Fault(TypedDict, total=False):
    """A rule: the calls that it matches, and what happens to them. The names are those of the server;
    docs/sandbox.md in its source describes them."""

    method: str
    """The method of the calls; without it any."""
    route: str
    """The path as written in the contract, such as `/pets/{petId}`; without it any."""
    key: str
    """The calls with this API key, or with a key that begins so; without it any."""
    header: FaultHeader
    """The calls with this header; without it any."""
    via: Literal["http", "mcp"]
    """The calls over HTTP, or those of tools over MCP; without it both."""
    skip: int
    """The rule lets this many calls pass before the first one that it may act on."""
    first: int
    """The rule acts on this many calls, from the first one after those that it skips."""
    percent: int
    """The rule acts on this percentage of the calls."""
    status: int
    """The call ends with an error of this status."""
    code: str
    """The call ends with this error of the contract."""
    retryAfter: int | str | FaultDate | None
    """`Retry-After`: seconds, a text that is sent as it is, None for no header, or a date."""
    drop: bool
    """The connection ends without a response."""
    latency: str
    """The call waits this long, such as `200ms`."""
    jitter: str
    """The call waits a random time up to this one, in addition."""
    when: Literal["before", "after"]
    """`after`: the rule acts on the response, once the change of the call was made."""
    body: Literal["truncate", "malformed", "slow"]
    """The fault of the response's body."""
    bytesPerSecond: int
    """The speed of a slow body."""
    exhaust: Literal["minute", "day"]
    """The window of the account that is used up before the call."""
    grow: bool
    """Each object of the response has an additional member, and an error has an unknown code."""


class PlannedFault(Fault):
    """A rule of the plan, and how often it acted."""

    id: int
    """The number of the rule."""
    calls: int
    """The calls that the rule matched."""
    acted: int
    """The calls that it acted on."""


class Faults:
    """The plan of failures. The same calls in the same order fail in the same way on every machine."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

    def plan(self, *faults: Fault, seed: int = 0) -> None:
        """Replaces the plan. The first rule that acts on a call decides."""
        self._sandbox.call("PUT", "/faults", {"seed": seed, "faults": list(faults)})

    def add(self, *faults: Fault) -> list[PlannedFault]:
        """Adds rules behind those of the plan. Returns them with their numbers."""
        return _rules(self._sandbox.call("POST", "/faults", {"faults": list(faults)}))

    def remove(self, id: int) -> None:
        """Removes the rule with this number."""
        self._sandbox.call("DELETE", f"/faults/{id}")

    def planned(self) -> list[PlannedFault]:
        """The rules of the plan, with their counts."""
        return _rules(self._sandbox.call("GET", "/faults"))

    def clear(self) -> None:
        """Removes the plan. A reset does it, too."""
        self._sandbox.call("DELETE", "/faults")


class ScopeFaults:
    """The failures of one scope. They do not depend on the rules of other scopes."""

    def __init__(self, sandbox: Sandbox, name: str, value: str) -> None:
        self._all = Faults(sandbox)
        self._sandbox = sandbox
        self._header: FaultHeader = {"name": name, "value": value}

    def plan(self, *faults: Fault) -> None:
        """Replaces the rules of this scope. The first rule that acts on a call decides."""
        self.clear()
        self.add(*faults)

    def add(self, *faults: Fault) -> list[PlannedFault]:
        """Adds rules behind those of this scope. Returns them with their numbers."""
        own = [fault.copy() for fault in faults]
        for fault in own:
            if (header := fault.setdefault("header", self._header)) != self._header:
                raise ValueError(f"a rule of this scope is for its own header, {self._header}, and not for {header}")
        return self._all.add(*own)

    def planned(self) -> list[PlannedFault]:
        """The rules of this scope, with their counts."""
        name, value = self._header["name"].lower(), self._header["value"]
        return [rule for rule in self._all.planned() if rule.get("header") == {"name": name, "value": value}]

    def clear(self) -> None:
        """Removes the rules of this scope."""
        self._sandbox.call("DELETE", "/faults", query={"header": f"{self._header['name']}:{self._header['value']}"})


def _rules(answer: Any) -> list[PlannedFault]:
    return cast(list[PlannedFault], answer["faults"])
