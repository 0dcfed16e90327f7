"""The fixtures for pytest. pytest finds them because the package is installed."""

from collections.abc import Iterator
from typing import Any

import pytest

from ._petstore import Petstore


@pytest.fixture(scope="session")
def petstore_options() -> dict[str, Any]:
    """The arguments of `Petstore`. Override this fixture in `conftest.py` to change them."""
    return {"demo": 100}


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
