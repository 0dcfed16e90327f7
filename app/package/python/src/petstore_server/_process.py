"""The server as a child process: start, first line, end."""

import json
import os
import queue
import selectors
import shutil
import subprocess
import tempfile
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from ._binary import cannot_start
from ._errors import PetstoreStopped, SandboxError
from ._forks import owned, starting

READY = ("url", "sandbox", "key", "pid", "version")
"""The members of the server's first line that this package reads."""

PIPE_BYTES = 65_536
"""The most bytes that are read from the pipe at once."""

LOG_LINES = 20
"""The lines of the log in an error message."""

STOP_SECONDS = 15
"""The time for a stop in order, which is more than the server's own time limits."""

ENDING_SECONDS = 0.5
"""The time in which a server that closed its connections is seen to end."""

COMMAND_SECONDS = 30
"""The time limit of a command."""


def _line_by_selector(output: IO[bytes], deadline: float) -> bytes | None:
    """The first line of a pipe; empty if it ends without one, and none if it has none at the deadline."""
    line = b""
    with selectors.DefaultSelector() as selector:
        selector.register(output, selectors.EVENT_READ)
        while not line.endswith(b"\n"):
            if not selector.select(max(0.0, deadline - time.monotonic())):
                return None
            part = os.read(output.fileno(), PIPE_BYTES)
            if not part:
                break
            line += part
    return line


def _line_by_thread(output: IO[bytes], deadline: float) -> bytes | None:
    """The same on Windows, where no pipe can be waited for. After the deadline the thread ends with the pipe."""
    lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=lambda: lines.put(output.readline()), daemon=True).start()
    try:
        return lines.get(timeout=max(0.0, deadline - time.monotonic()))
    except queue.Empty:
        return None


_read_line = _line_by_thread if os.name == "nt" else _line_by_selector


class ServerProcess:
    """A running server in a temporary folder. It ends when its standard input is closed, so also if Python is killed. The
    folder is removed, except after a failure, so that its log can be read.

    A forked child of this process can call the server, and does not stop it: the server belongs to the process that started
    it."""

    def __init__(self, binary: Path, arguments: Sequence[str], start_seconds: float) -> None:
        self._binary = binary
        self._was_stopped = False
        self._is_own = True
        self._folder = Path(tempfile.mkdtemp(prefix="petstore-"))
        self._remove_folder = weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        self._log = self._folder / "log"
        try:
            with self._log.open("wb") as log, starting:
                self._child = subprocess.Popen(
                    [str(binary), *arguments],
                    # Without buffers, whose locks another thread may hold during a fork.
                    bufsize=0,
                    cwd=self._folder,
                    env=environment(),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                )
                owned.add(self)
        except OSError as error:
            self._remove_folder()
            raise cannot_start(binary, error) from error
        try:
            self.ready: Mapping[str, Any] = self._read_ready(start_seconds)
        except BaseException:
            self.stop()
            raise

    def _read_ready(self, start_seconds: float) -> Mapping[str, Any]:
        """Reads the line that the server prints once it accepts requests."""
        line = self._first_line(time.monotonic() + start_seconds)
        if line is None:
            self._child.kill()
            raise self.stopped(f"the petstore did not start within {start_seconds:g} seconds")
        if not line:
            self._child.wait()
            raise self.stopped("the petstore did not start")
        try:
            ready: Mapping[str, Any] = json.loads(line)
            return {name: ready[name] for name in READY}
        except (ValueError, KeyError, TypeError) as error:
            self._child.kill()
            self._child.wait()
            raise self.stopped(f"{self._binary} is no petstore of this version: its first line is {line!r}") from error

    def _first_line(self, deadline: float) -> bytes | None:
        """The first line; empty if the server ends without one, and none if it has printed none at the deadline."""
        output = self._child.stdout
        assert output is not None
        return _read_line(output, deadline)

    def leave_to_parent(self) -> None:
        self._is_own = False
        self._remove_folder.detach()
        self._close_pipes()
        # The server is no child of this process, which cannot wait for it.
        self._child.returncode = 0

    def command(self, *arguments: str) -> str:
        """Runs a command of the binary in the server's folder. Returns what it printed."""
        call = " ".join(["petstore", *arguments[:2]])
        if self._was_stopped:
            raise self.error_of(call, "")
        command = [str(self._binary), *arguments]
        try:
            done = subprocess.run(
                command, cwd=self._folder, env=environment(), capture_output=True, text=True, timeout=COMMAND_SECONDS
            )
        except OSError as error:
            raise cannot_start(self._binary, error) from error
        except subprocess.TimeoutExpired as error:
            raise self.error_of(call, f"no result within {COMMAND_SECONDS} seconds") from error
        if done.returncode != 0:
            raise self.error_of(call, done.stderr.strip())
        return done.stdout.strip()

    def error_of(self, call: str, message: str, seconds: float = 0.0) -> SandboxError | PetstoreStopped:
        """The error of a failed call: that of the server, or its end, which may come within some seconds."""
        if self._was_stopped:
            return PetstoreStopped(f"{call}: the petstore was stopped by this program")
        if not self._is_own:
            return SandboxError(call, None, f"{message}; this is a forked child of the process that started the petstore")
        try:
            self._child.wait(seconds)
        except subprocess.TimeoutExpired:
            return SandboxError(call, None, message)
        return self.stopped(f"{call}: the petstore has ended")

    def stopped(self, message: str) -> PetstoreStopped:
        """An error with the exit code, and with the path and the end of the log."""
        code = self._child.poll()
        ended = "" if code is None else f" (exit code {code})"
        log = self._log.read_text(encoding="utf-8", errors="replace").strip() if self._log.exists() else ""
        lines = "\n".join(log.splitlines()[-LOG_LINES:])
        state = f"ends with:\n{lines}" if lines else "is empty"
        return PetstoreStopped(f"{message}{ended}; its log, {self._log}, {state}")

    def stop(self) -> None:
        """Closes the standard input of the server, and waits until it has ended. Removes its folder, unless it failed. In a
        forked child nothing is stopped."""
        self._was_stopped = True
        if not self._is_own:
            return
        self._close_pipes()
        try:
            self._child.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()
        if self._child.returncode == 0:
            self._remove_folder()
        else:
            self._remove_folder.detach()

    def _close_pipes(self) -> None:
        for pipe in (self._child.stdin, self._child.stdout):
            if pipe is not None:
                pipe.close()


def environment() -> dict[str, str]:
    """The environment without settings of a petstore, which would change the server of the tests."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PETSTORE_")}
