"""The server as a child process: start, first line, end."""

import json
import os
import select
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ._binary import cannot_start
from ._errors import PetstoreStopped, SandboxError

LOG_LINES = 20
"""The lines of the log in an error message."""

STOP_SECONDS = 15
"""The time for a stop in order, which is more than the server's own time limits."""

ENDING_SECONDS = 0.5
"""The time in which a server that closed its connections is seen to end."""

COMMAND_SECONDS = 30
"""The time limit of a command."""


class ServerProcess:
    """A running server in a temporary folder. It ends when its standard input is closed, so also if Python is killed."""

    def __init__(self, binary: Path, arguments: Sequence[str], start_seconds: float) -> None:
        self._binary = binary
        self._was_stopped = False
        self._folder = tempfile.TemporaryDirectory(prefix="petstore-")
        self._log = Path(self._folder.name, "log")
        try:
            with self._log.open("wb") as log:
                self._child = subprocess.Popen(
                    [str(binary), *arguments],
                    cwd=self._folder.name,
                    env=_environment(),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                )
        except OSError as error:
            self._folder.cleanup()
            raise cannot_start(binary, error) from error
        try:
            self.ready: Mapping[str, Any] = json.loads(self._first_line(start_seconds))
        except BaseException:
            self.stop()
            raise

    def _first_line(self, start_seconds: float) -> bytes:
        output = self._child.stdout
        assert output is not None
        if not select.select([output], [], [], start_seconds)[0]:
            self._child.kill()
            raise self.stopped(f"the petstore did not start within {start_seconds:g} seconds")
        line = output.readline()
        if not line:
            self._child.wait()
            raise self.stopped("the petstore did not start")
        return bytes(line)

    def command(self, *arguments: str) -> str:
        """Runs a command of the binary in the server's folder. Returns what it printed."""
        call = " ".join(["petstore", *arguments[:2]])
        if self._was_stopped:
            raise self.error_of(call, "")
        command = [str(self._binary), *arguments]
        done = subprocess.run(
            command, cwd=self._folder.name, env=_environment(), capture_output=True, text=True, timeout=COMMAND_SECONDS
        )
        if done.returncode != 0:
            raise self.error_of(call, done.stderr.strip())
        return done.stdout.strip()

    def error_of(self, call: str, message: str, seconds: float = 0.0) -> SandboxError | PetstoreStopped:
        """The error of a failed call: that of the server, or its end, which may come within some seconds."""
        if self._was_stopped:
            return PetstoreStopped(f"{call}: the petstore was stopped by this program")
        try:
            self._child.wait(seconds)
        except subprocess.TimeoutExpired:
            return SandboxError(call, None, message)
        return self.stopped(f"{call}: the petstore has ended")

    def stopped(self, message: str) -> PetstoreStopped:
        """An error with the exit code and the end of the log."""
        code = self._child.poll()
        ended = "" if code is None else f" (exit code {code})"
        log = self._log.read_text(errors="replace").strip() if self._log.exists() else ""
        lines = "\n".join(log.splitlines()[-LOG_LINES:]) or "its log is empty"
        return PetstoreStopped(f"{message}{ended}:\n{lines}")

    def stop(self) -> None:
        """Closes the standard input of the server, and waits until it has ended."""
        self._was_stopped = True
        for pipe in (self._child.stdin, self._child.stdout):
            if pipe is not None:
                pipe.close()
        try:
            self._child.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()
        self._folder.cleanup()


def _environment() -> dict[str, str]:
    """The environment without settings of a petstore, which would change the server of the tests."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PETSTORE_")}
