"""The clock of the server."""

from datetime import datetime, timedelta, timezone
from typing import Any

from ._sandbox import Sandbox


class Clock:
    """The clock by which quotas, bans, keys and sunsets go. The machine's clock does not change."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

    def now(self) -> datetime:
        """The server's time."""
        return _now(self._sandbox.call("GET", "/clock"))

    def advance(self, time: str | timedelta) -> datetime:
        """Moves the clock forward, by a time such as `90s`, `2m` or `36h`. Returns the new time."""
        return self._change(advance=f"{time // timedelta(milliseconds=1)}ms" if isinstance(time, timedelta) else time)

    def set(self, time: str | datetime) -> datetime:
        """Sets the clock, to a date with an offset. A `datetime` without a time zone is in UTC."""
        if isinstance(time, datetime):
            time = (time if time.tzinfo else time.replace(tzinfo=timezone.utc)).isoformat()
        return self._change(set=time)

    def freeze(self) -> datetime:
        """Stops the clock, so that a test does not cross the end of a minute. Returns the time."""
        return self._change(freeze=True)

    def run(self) -> datetime:
        """Lets a stopped clock run."""
        return self._change(freeze=False)

    def restore(self) -> None:
        """Returns to the machine's clock."""
        self._sandbox.call("DELETE", "/clock")

    def _change(self, **change: Any) -> datetime:
        return _now(self._sandbox.call("POST", "/clock", change))


def _now(answer: Any) -> datetime:
    return instant(answer["now"])


def instant(text: str) -> datetime:
    """A time from the server's JSON."""
    # Python 3.10 does not read `Z`.
    return datetime.fromisoformat(text.replace("Z", "+00:00"))
