"""The exam of a client: a function of the test works in one scenario after the other, and is judged."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ._binary import find_binary, program
from ._errors import PetstoreError
from ._exam_process import ExamProcess
from ._exam_report import ExamReport
from ._petstore import Petstore


@dataclass(frozen=True)
class ExamShop:
    """The petstore of one scenario, as the client under test gets it."""

    scenario: str
    """The name, such as `busy`; with the form of the quota headers if there are several, such as `dialects/draft-7`."""
    url: str
    """The base of the contract, such as `http://127.0.0.1:41237/v1`."""
    key: str
    """The API key of this scenario."""
    sandbox_url: str
    """The base of the sandbox."""


def exam(
    client: Callable[[ExamShop], object],
    *scenarios: str | Path,
    shop: Path | str | None = None,
    on: Petstore | None = None,
    binary: Path | str | None = None,
) -> ExamReport:
    """Lets a client work in each scenario, and returns how it behaved. An exception of the client is a part of the report.

    client: a function that lets the client under test do its work with the URL and the key that it gets.
    scenarios: names of built-in scenarios such as `lost-answers`, and files; without them all that are built in.
    shop: a file with the shop, instead of a hundred demonstration pets: the lines of `petstore import`.
    on: a running petstore, which is reset before each scenario, instead of one that the exam starts.
    binary: another binary than that of this package.
    """
    if inspect.iscoroutinefunction(client):
        raise TypeError("the client of an exam is a plain function: exam(lambda shop: asyncio.run(client(shop)))")
    with _steps(scenarios, shop, on, binary) as process:
        while (handout := process.next_step()) is not None:
            given = ExamShop(handout["scenario"], handout["url"], handout["key"], handout["sandbox"])
            try:
                client(given)
            except Exception:
                process.end_step(False, traceback.format_exc())
            else:
                process.end_step(True)
        return process.report()


class ScenarioStep:
    """One scenario on a running petstore, whose client is the caller. The key of the petstore is that of the scenario meanwhile."""

    def __init__(self, shop: Petstore, scenario: str | Path) -> None:
        self._shop = shop
        self._scenario = scenario
        self._process = ExamProcess(_path(None), _arguments((scenario,), None, shop))
        self._key = shop.key
        try:
            handout = self._process.next_step()
            if handout is None:
                # Without a step the exam has ended, and the error has its reason.
                self._process.report()
                raise PetstoreError(f"the scenario {scenario} has no step")
        except BaseException:
            self._process.stop()
            raise
        shop.key = handout["key"]

    def judge(self, passed: bool, output: str = "") -> ExamReport:
        """Ends the scenario, and returns how the client behaved."""
        self._process.end_step(passed, output)
        if self._process.next_step() is not None:
            raise PetstoreError(f"the scenario {self._scenario} has several steps, and a test is one: use petstore_server.exam")
        return self._process.report()

    def close(self) -> None:
        """Ends the scenario, if it was not judged, and restores the key of the petstore."""
        self._shop.key = self._key
        self._process.stop()


@contextmanager
def _steps(
    scenarios: tuple[str | Path, ...], shop: Path | str | None, on: Petstore | None, binary: Path | str | None
) -> Iterator[ExamProcess]:
    process = ExamProcess(_path(binary), _arguments(scenarios, shop, on))
    try:
        yield process
    finally:
        process.stop()


def _path(binary: Path | str | None) -> Path:
    return program(binary) if binary else find_binary()


def _arguments(scenarios: tuple[str | Path, ...], shop: Path | str | None, on: Petstore | None) -> list[str]:
    """The arguments of the exam, which starts in another folder."""
    arguments = [f"--scenario={_scenario(one)}" for one in scenarios]
    if shop is not None:
        arguments.append(f"--sandbox-shop={Path(shop).absolute()}")
    if on is not None:
        arguments.append(f"--url={on.url}")
    return arguments


def _scenario(scenario: str | Path) -> str:
    """The name of a scenario, or the path of its file."""
    path = Path(scenario)
    is_file = isinstance(scenario, Path) or path.suffix == ".toml" or path.name != scenario
    return str(path.absolute() if is_file else scenario)
