"""Tags the wheel with the platforms on which its binary runs."""

import os
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PlatformTag(BuildHookInterface):  # type: ignore[type-arg]
    """Sets a tag for any Python 3 and the platforms in PETSTORE_PACKAGE_PLATFORM."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{os.environ['PETSTORE_PACKAGE_PLATFORM']}"
