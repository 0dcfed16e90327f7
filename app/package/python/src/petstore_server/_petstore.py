"""The petstore of a test run."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from types import TracebackType

from ._binary import find_binary
from ._clock import Clock
from ._errors import PetstoreError
from ._faults import Faults
from ._process import ServerProcess
from ._report import Report, report
from ._requests import ReceivedRequest, Words, line, read
from ._sandbox import Sandbox
from ._sinks import Settled, Sinks, settle

PREFIX_LENGTH = 12
"""The characters of a key by which the server names it in journal and report."""

Setting = str | int | bool
"""The value of a setting, such as `{"free-minute": 3}`."""


class Petstore:
    """A server in memory, on a free port of this machine. It ends with the `with` statement, with `stop()`, or with this
    process, even if this process is killed."""

    url: str
    """The base of the contract, such as `http://127.0.0.1:41237/v1`."""
    key: str
    """An API key of the Business plan, which survives every reset."""
    sandbox_url: str
    """The base of the sandbox, such as `http://127.0.0.1:41237/sandbox`."""
    version: str
    """The version of the server."""
    pid: int
    """The process of the server."""

    def __init__(
        self,
        demo: int | None = None,
        settings: Mapping[str, Setting] | None = None,
        *,
        binary: Path | str | None = None,
        start_seconds: float = 10.0,
    ) -> None:
        """Starts the server.

        demo: the number of pets at the start and after each reset, always the same ones; none for an empty shop.
        settings: settings of the server, by the names that `petstore settings` lists.
        binary: another binary than that of this package: a path, or a name in the `PATH`.
        start_seconds: the time limit of the start.
        """
        taken = {"db", "listen", "sandbox", "demo", "end-with-stdin", "ready-json"} & set(settings or {})
        if taken:
            raise PetstoreError(f"the settings {', '.join(sorted(taken))} are those of the sandbox and cannot be changed")
        chosen: dict[str, Setting] = dict(settings or {})
        if "tls-cert" in chosen:
            # The sandbox has then a listener without TLS.
            chosen.setdefault("ops-listen", "127.0.0.1:0")
        arguments = ["--db=memory", "--sandbox", "--listen=127.0.0.1:0", "--end-with-stdin", "--ready-json"]
        arguments += [f"--{name}={_text(value)}" for name, value in chosen.items()]
        if demo:
            arguments.append(f"--demo={demo}")
        self._process = ServerProcess(_program(binary) if binary else find_binary(), arguments, start_seconds)
        ready = self._process.ready
        self.url = ready["url"]
        self.key = ready["key"]
        self.sandbox_url = ready["sandbox"]
        self.version = ready["version"]
        self.pid = ready["pid"]
        self._sandbox = Sandbox(self.sandbox_url, self._process)
        self.clock = Clock(self._sandbox)
        self.faults = Faults(self._sandbox)
        self.sinks = Sinks(self._sandbox)

    def __enter__(self) -> "Petstore":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Stops the server in order, and removes its folder, unless the server failed."""
        self._process.stop()

    def reset(self) -> None:
        """Restores the initial shop, quotas, and an empty plan of failures. Keys stay valid, and the clock goes on."""
        self._sandbox.call("POST", "/reset")

    def new_key(
        self,
        plan: str | None = None,
        *,
        account: str | None = None,
        scopes: str | None = None,
        expires: str | None = None,
        minute: int | None = None,
        day: int | None = None,
    ) -> str:
        """Creates a key, by default of a new account on the Free plan.

        plan: `free`, `pro`, `business` or `enterprise`; the last one with the requests a `minute` and a `day`.
        account: the account of the key, which is created if it does not exist.
        scopes: `read`, `read,write` or `read,write,webhooks`.
        expires: a time such as `30d`, or a date.
        """
        options = {"plan": plan, "account": account, "scopes": scopes, "expires": expires, "minute": minute, "day": day}
        flags = [f"--{name}={value}" for name, value in options.items() if value is not None]
        return self._process.command("keys", "create", "--db=memory", "--quiet", *flags)

    def requests(
        self,
        *,
        count: int | None = None,
        wait: int = 5,
        method: Words | None = None,
        route: str | None = None,
        status: Words | int | None = None,
        key: str | None = None,
        target: str | None = None,
        hint: str | None = None,
        after: int | None = None,
        limit: int | None = None,
    ) -> list[ReceivedRequest]:
        """The requests that the server received, oldest first.

        count: the least number of requests. The call returns as soon as that many have been answered, and raises
            `NotEnoughRequests` if they have not within `wait` seconds (at most 30).
        method, status, target: only these methods, statuses (`404` or `4xx`), or targets that contain this text.
        route: only this path of the contract, such as `/pets/{petId}`.
        key: only requests with this key.
        hint: only requests with this hint of the report.
        after: only requests behind this `sequence`.
        """
        __tracebackhide__ = True
        filters: dict[str, Words | int | None] = {
            "method": method,
            "route": route,
            "status": status,
            "key": _prefix(key),
            "target": target,
            "hint": hint,
            "after": after,
            "limit": limit,
        }
        return read(self._sandbox, count, wait, filters)

    def clear_requests(self) -> None:
        """Deletes the requests that the server received so far. A reset does it, too."""
        self._sandbox.call("DELETE", "/requests")

    def settle(self, seconds: int = 10) -> Settled:
        """Waits until no attempt to deliver a webhook is due or in flight, so that the sinks have all that the clock permits. Raises
        `NotDelivered` if it takes longer (at most 60 seconds)."""
        __tracebackhide__ = True
        return settle(self._sandbox, seconds)

    def report(self, key: str | None = None) -> Report:
        """The report about the behaviour of the client, by rule; for one key, or for all of them."""
        query = {"key": _prefix(key)} if key else None
        return report(self._sandbox.call("GET", "/report", query=query), partial(line, self._sandbox))


def _prefix(key: str | None) -> str | None:
    return key[:PREFIX_LENGTH] if key else None


def _program(binary: Path | str) -> Path:
    """The path of a binary, which starts in another folder; a name without a folder is looked up in the `PATH`."""
    path = Path(binary)
    return path.absolute() if path.name != str(binary) else path


def _text(value: Setting) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
