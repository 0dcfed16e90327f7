"""The command `petstore exam` as a child process, which judges the steps of its parent."""

import json
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ._binary import cannot_start
from ._errors import PetstoreError
from ._exam_report import ExamReport, exam_report
from ._forks import owned, starting
from ._process import environment

OUTPUT_LENGTH = 8_000
"""The last characters of a client's output that are sent: the command reads lines of 64 KiB, and JSON takes six bytes for some."""

END_SECONDS = 30
"""The time in which the command ends after its last step."""


class ExamProcess:
    """A running exam, in a temporary folder. It ends when its standard input is closed, so also if Python is killed. A forked
    child of this process, such as a worker of the client, neither judges nor ends it."""

    def __init__(self, binary: Path, arguments: Sequence[str]) -> None:
        self._is_own = True
        self._folder = Path(tempfile.mkdtemp(prefix="petstore-exam-"))
        self._report = self._folder / "report.json"
        self._log = self._folder / "log"
        command = [str(binary), "exam", "--steps", f"--report={self._report}", *arguments]
        try:
            with self._log.open("wb") as log, starting:
                self._child = subprocess.Popen(
                    command,
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
            shutil.rmtree(self._folder, ignore_errors=True)
            raise cannot_start(binary, error) from error

    def next_step(self) -> Mapping[str, Any] | None:
        """Returns the petstore of the next scenario; none after the last one."""
        assert self._child.stdout is not None
        line = b"" if self._child.stdout.closed else self._child.stdout.readline()
        if not line.endswith(b"\n"):
            return None
        try:
            step: Mapping[str, Any] = json.loads(line)
        except ValueError:
            raise PetstoreError(f"the exam printed {line!r}, which is no step") from None
        return step

    def end_step(self, passed: bool, output: str = "") -> None:
        """Tells that the client is done."""
        if not self._is_own:
            return
        assert self._child.stdin is not None
        # As escapes, some characters would take twelve bytes.
        line = json.dumps({"passed": passed, "output": output[-OUTPUT_LENGTH:]}, ensure_ascii=False)
        unsent = memoryview(f"{line}\n".encode(errors="replace"))
        try:
            # A pipe may take a part of a line.
            while unsent:
                unsent = unsent[self._child.stdin.write(unsent) :]
        except OSError:
            # The exam has ended; the next step is none, and the error of the report has the reason.
            pass

    def report(self) -> ExamReport:
        """The report, once all steps have ended."""
        if not self._is_own:
            raise PetstoreError("an exam has its report in the process that started it, not in a forked child")
        try:
            code = self._child.wait(END_SECONDS)
        except subprocess.TimeoutExpired as error:
            raise PetstoreError(f"the exam did not end within {END_SECONDS} seconds after its last step") from error
        if not self._report.exists():
            raise PetstoreError(f"petstore exam ended with exit code {code}: {self._log.read_text(encoding='utf-8', errors='replace').strip()}")
        return exam_report(json.loads(self._report.read_text(encoding="utf-8")))

    def leave_to_parent(self) -> None:
        self._is_own = False
        self._close_pipes()
        # The exam is no child of this process, which cannot wait for it.
        self._child.returncode = 0

    def stop(self) -> None:
        """Ends the exam, and removes its folder. In a forked child nothing is ended."""
        if not self._is_own:
            return
        self._close_pipes()
        try:
            self._child.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _close_pipes(self) -> None:
        for pipe in (self._child.stdin, self._child.stdout):
            if pipe is not None:
                pipe.close()
