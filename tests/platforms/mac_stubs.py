#!/usr/bin/env python3
"""Writes stubs (.tbd) of the libraries of Apple that zig does not have: mac_stubs.py FOLDER SYMBOLS

SYMBOLS has a line `LIBRARY SYMBOL` for each symbol that the petstore imports; that Apple's library has it is not checked.
"""

import sys
from pathlib import Path

LIBRARIES = {
    name: f"System/Library/Frameworks/{name}.framework" for name in ("CoreFoundation", "Security", "SystemConfiguration")
}


def stub(install_name: str, symbols: list[str]) -> str:
    return (
        "--- !tapi-tbd\ntbd-version: 4\ntargets: [ x86_64-macos, arm64-macos ]\n"
        f"install-name: '{install_name}'\ncurrent-version: 1\ncompatibility-version: 1\nexports:\n"
        f"  - targets: [ x86_64-macos, arm64-macos ]\n    symbols: [ {', '.join(symbols)} ]\n...\n"
    )


def main() -> None:
    folder, listed = Path(sys.argv[1]), Path(sys.argv[2])
    pairs = [line.split() for line in listed.read_text().splitlines()]
    places = {name: (f"{place}/{name}.tbd", f"/{place}/Versions/A/{name}") for name, place in LIBRARIES.items()}
    places["iconv"] = ("usr/lib/libiconv.tbd", "/usr/lib/libiconv.2.dylib")
    for name, (path, install_name) in places.items():
        # A stub without a symbol is not valid.
        symbols = sorted(symbol for library, symbol in pairs if library == name) or ["_petstore_has_none"]
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(stub(install_name, symbols))


main()
