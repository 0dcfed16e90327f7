"""The fixtures for pytest. pytest finds them because the package is installed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ._errors import PetstoreError
from ._petstore import Petstore, Setting

LAST_REQUESTS = 20
"""The requests in the section of a failed test."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """The settings of the fixtures, in the file of pytest's settings."""
    parser.addini("petstore_demo", "the number of pets in the petstore of the fixture", default="100")
    parser.addini("petstore_settings", "settings of the petstore of the fixture, as name=value", type="linelist", default=[])


@pytest.fixture(scope="session")
def petstore_options(request: pytest.FixtureRequest) -> dict[str, Any]:
    """The arguments of `Petstore`: those in the settings `petstore_demo` and `petstore_settings` of pytest. Override this fixture
    in `conftest.py` to compute them."""
    settings: dict[str, Setting] = {}
    for line in request.config.getini("petstore_settings"):
        name, equals, value = line.partition("=")
        if not equals:
            raise pytest.UsageError(f"petstore_settings: {line!r} has no value; write it as name=value")
        settings[name.strip()] = value.strip()
    return {"demo": int(request.config.getini("petstore_demo")), "settings": settings}


@pytest.fixture(scope="session")
def petstore_server(petstore_options: dict[str, Any]) -> Iterator[Petstore]:
    """The server of this test run. With pytest-xdist each worker has its own."""
    with Petstore(**petstore_options) as shop:
        yield shop


@pytest.fixture
def petstore(petstore_server: Petstore) -> Petstore:
    """The server in its initial state: shop, quotas, planned failures and clock."""
    petstore_server.clock.restore()
    petstore_server.reset()
    return petstore_server


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
