"""The fixtures for pytest. pytest finds them because the package is installed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ._errors import PetstoreError
from ._exam import ScenarioStep
from ._petstore import Petstore, Setting

LAST_REQUESTS = 20
"""The requests in the section of a failed test."""

SCENARIO = "petstore_scenario"
"""The marker of a test whose client works in a scenario."""

_step = pytest.StashKey[ScenarioStep]()
"""The scenario of a test that runs."""


def pytest_configure(config: pytest.Config) -> None:
    """Registers the marker."""
    line = "the fixture petstore is in this scenario of `petstore exam`, and the test fails if its client does not keep the rules"
    config.addinivalue_line("markers", f"{SCENARIO}(name, *tested): {line}; rules in tested must also have applied to a request")


def pytest_addoption(parser: pytest.Parser) -> None:
    """The settings of the fixtures, in the file of pytest's settings."""
    parser.addini("petstore_demo", "the number of pets in the petstore of the fixture", default="100")
    parser.addini("petstore_shop", "a file with the shop of the fixture, instead of the demonstration shop", type="paths", default=[])
    parser.addini("petstore_settings", "settings of the petstore of the fixture, as name=value", type="linelist", default=[])


@pytest.fixture(scope="session")
def petstore_options(request: pytest.FixtureRequest) -> dict[str, Any]:
    """The arguments of `Petstore`: those in the settings `petstore_demo`, `petstore_shop` and `petstore_settings` of pytest.
    Override this fixture in `conftest.py` to compute them."""
    settings: dict[str, Setting] = {}
    for line in request.config.getini("petstore_settings"):
        name, equals, value = line.partition("=")
        if not equals:
            raise pytest.UsageError(f"petstore_settings: {line!r} has no value; write it as name=value")
        settings[name.strip()] = value.strip()
    files: list[Path] = request.config.getini("petstore_shop")
    if len(files) > 1:
        raise pytest.UsageError(f"petstore_shop: {' '.join(map(str, files))} are several files; name one")
    shop: dict[str, Any] = {"shop": files[0]} if files else {"demo": int(request.config.getini("petstore_demo"))}
    return {**shop, "settings": settings}


@pytest.fixture(scope="session")
def petstore_server(petstore_options: dict[str, Any]) -> Iterator[Petstore]:
    """The server of this test run. With pytest-xdist each worker has its own."""
    with Petstore(**petstore_options) as shop:
        yield shop


@pytest.fixture
def petstore(petstore_server: Petstore, request: pytest.FixtureRequest) -> Iterator[Petstore]:
    """The server in its initial state: shop, quotas, planned failures and clock. With the marker `petstore_scenario` it is in that
    scenario, and its key is that of the scenario."""
    petstore_server.clock.restore()
    petstore_server.reset()
    marker = request.node.get_closest_marker(SCENARIO)
    if marker is None:
        yield petstore_server
        return
    if not marker.args or not all(isinstance(one, (str, Path)) for one in marker.args):
        raise pytest.UsageError(f"{SCENARIO} needs the name of a scenario: @pytest.mark.{SCENARIO}(\"lost-answers\")")
    step = ScenarioStep(petstore_server, marker.args[0])
    request.node.stash[_step] = step
    try:
        yield petstore_server
    finally:
        step.close()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Judges the client of a test in a scenario. A failure of the test itself comes first."""
    __tracebackhide__ = True
    outcome: Any = yield
    step = item.stash.get(_step, None)
    marker = item.get_closest_marker(SCENARIO)
    if step is None or marker is None:
        return
    failure = outcome.excinfo
    if failure is not None and issubclass(failure[0], pytest.skip.Exception):
        return
    try:
        report = step.judge(failure is None, "" if failure is None else f"{failure[0].__name__}: {failure[1]}")
        if failure is None:
            report.assert_kept(*marker.args[1:])
        else:
            lines = [line for scenario in report.scenarios for line in scenario.faults()]
            item.add_report_section("call", "petstore", "\n".join([str(report), *lines]))
    except (PetstoreError, ValueError) as error:
        if failure is None:
            outcome.force_exception(error)
        else:
            item.add_report_section("call", "petstore", str(error))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Adds the last requests of each petstore among the fixtures of a failed test to its report."""
    outcome: Any = yield
    report: pytest.TestReport = outcome.get_result()
    if not report.failed:
        return
    values = getattr(item, "funcargs", {}).values()
    for shop in {id(value): value for value in values if isinstance(value, Petstore)}.values():
        report.sections.append((f"Last requests of {shop.url}", _last_requests(shop)))


def _last_requests(shop: Petstore) -> str:
    try:
        requests = shop.requests(limit=LAST_REQUESTS)
    except PetstoreError as error:
        return str(error)
    lines = []
    for request in requests:
        lines.append(f"{request}{f'; planned failure: {request.fault}' if request.fault else ''}")
        if request.answer and request.answer.code:
            lines.append(f"    {request.answer.text}")
    return "\n".join(lines) or "it has received none"
