"""The petstore of a test run."""

from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from . import _baseline
from ._baseline import BaselineCounts, Shop
from ._binary import find_binary, program
from ._clock import Clock
from ._errors import PetstoreError
from ._faults import Faults
from ._observed import Observed
from ._process import ServerProcess
from ._sandbox import Sandbox
from ._scope import HEADER, Scope
from ._sinks import Settled, Sinks, settle

Setting = str | int | bool
"""The value of a setting, such as `{"free-minute": 3}`."""


class Petstore(Observed):
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
        shop: Path | str | None = None,
        binary: Path | str | None = None,
        start_seconds: float = 10.0,
    ) -> None:
        """Starts the server.

        demo: the number of pets at the start and after each reset, always the same ones; none for an empty shop.
        shop: a file with the shop at the start and after each reset, instead of `demo`: the lines of `petstore import`.
        settings: settings of the server, by the names that `petstore settings` lists.
        binary: another binary than that of this package: a path, or a name in the `PATH`.
        start_seconds: the time limit of the start.
        """
        taken = {"db", "listen", "sandbox", "demo", "sandbox-shop", "end-with-stdin", "ready-json"} & set(settings or {})
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
        if shop is not None:
            # The server starts in another folder.
            arguments.append(f"--sandbox-shop={Path(shop).absolute()}")
        self._process = ServerProcess(program(binary) if binary else find_binary(), arguments, start_seconds)
        ready = self._process.ready
        self.url = ready["url"]
        self.key = ready["key"]
        self.sandbox_url = ready["sandbox"]
        self.version = ready["version"]
        self.pid = ready["pid"]
        super().__init__(Sandbox(self.sandbox_url, self._process))
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
        """Restores the shop of the baseline, quotas, and an empty plan of failures. Keys stay valid, and the clock goes on."""
        self._sandbox.call("POST", "/reset")

    def baseline(self) -> list[dict[str, Any]]:
        """The records of the shop that a reset restores: categories, then pets, then orders."""
        return _baseline.records(self._sandbox)

    def put_baseline(self, shop: Shop) -> BaselineCounts:
        """Sets the shop that a reset restores: all of it, or nothing if a line is wrong. The present shop stays until a reset. The
        baseline stays over resets, so also for later tests on this server.

        shop: a file with the lines of `petstore import`, or records such as `{"category": {"name": "Dogs", "id": 1}}`.
        """
        __tracebackhide__ = True
        return _baseline.put(self._sandbox, shop)

    def save_baseline(self) -> BaselineCounts:
        """Makes the shop as it is now the one that a reset restores, also for later tests on this server."""
        return _baseline.save(self._sandbox)

    def drop_baseline(self) -> None:
        """Lets a reset restore the shop of the start again."""
        _baseline.drop(self._sandbox)

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

    def clear_requests(self) -> None:
        """Deletes the requests that the server received so far. A reset does it, too."""
        self._sandbox.call("DELETE", "/requests")

    def settle(self, seconds: int = 10) -> Settled:
        """Waits until no attempt to deliver a webhook is due or in flight, so that the sinks have all that the clock permits. Raises
        `NotDelivered` if it takes longer (at most 60 seconds)."""
        __tracebackhide__ = True
        return settle(self._sandbox, seconds)

    def scope(self, name: str, *, header: str = HEADER) -> Scope:
        """The part of this petstore that belongs to one test: with a header for its client, and with failures, requests and a report
        of the requests that have it. Tests that run side by side then share one server.

        name: the value of the header, such as `orders.create`.
        header: the name of the header.
        """
        return Scope(self._sandbox, name, header)


def _text(value: Setting) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
