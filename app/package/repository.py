#!/usr/bin/env python3
"""Prints the public address of this repository, which is in the workspace's manifest alone; nothing if its owner has set none.

    python3 app/package/repository.py
"""

import re
from pathlib import Path

MANIFEST = Path(__file__).resolve().parents[2] / "Cargo.toml"


def repository(manifest: str | None = None) -> str:
    """The address in this manifest, or in the workspace's."""
    text = MANIFEST.read_text() if manifest is None else manifest
    package = text.partition("[workspace.package]")[2].partition("\n[")[0]
    found = re.search(r'^repository = "(.*)"$', package, re.MULTILINE)
    if not found:
        raise SystemExit(f"{MANIFEST}: [workspace.package] has no repository")
    return found[1]


if __name__ == "__main__":
    if address := repository():
        print(address)
