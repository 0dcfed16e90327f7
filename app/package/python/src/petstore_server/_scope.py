"""The part of a petstore that belongs to one test of several that run side by side."""

import re
from types import TracebackType

from ._faults import ScopeFaults
from ._observed import Observed
from ._sandbox import Sandbox

HEADER = "x-test-id"
"""The header that names a test, unless the tester chooses another one."""

_NAME = re.compile(r"[!-~]([ -~]*[!-~])?")
"""The values of a header that arrive as they were sent."""


class Scope(Observed):
    """The requests of one test, which name it in a header, with failures, journal and report for them alone. The failures end with
    the `with` statement, or with `end()`."""

    name: str
    """The value of the header."""
    headers: dict[str, str]
    """The header that the client under test sends: `{"x-test-id": "orders.create"}`."""

    def __init__(self, sandbox: Sandbox, name: str, header: str) -> None:
        if not _NAME.fullmatch(name):
            raise ValueError(
                f"{name!r} cannot name a scope, because it is the value of a header: use visible ASCII characters, with spaces only between them"
            )
        super().__init__(sandbox, f"{header}:{name}")
        self.name = name
        self.headers = {header: name}
        self.faults = ScopeFaults(sandbox, header, name)

    def end(self) -> None:
        """Removes the failures of this scope. Its requests stay in the journal."""
        self.faults.clear()

    def __enter__(self) -> "Scope":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()
