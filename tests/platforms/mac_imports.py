#!/usr/bin/env python3
"""Prints the symbols that a program of macOS imports from frameworks, each with its framework: mac_imports.py PROGRAM

Reads the symbol table of a 64-bit Mach-O file (loader.h and nlist.h of Apple).
"""

import struct
import sys
from pathlib import Path

MAGIC = 0xFEEDFACF
HEADER_BYTES = 32
SYMBOLS = 0x2
LIBRARIES = (0xC, 0x18 | 0x80000000, 0x1F | 0x80000000)
"""The commands that name a library: needed, weak, and exported again."""
ENTRY = struct.Struct("<IBBHQ")
KIND = 0x0E
"""The bits of a symbol's type that tell whether it is defined; zero if it is not."""
LOCAL = 0xE0
"""The bits of a symbol for debuggers."""


def text(data: bytes, at: int) -> str:
    return data[at : data.index(b"\0", at)].decode()


def imports(data: bytes) -> list[tuple[str, str]]:
    if struct.unpack_from("<I", data)[0] != MAGIC:
        raise SystemExit("no 64-bit program of macOS")
    count = struct.unpack_from("<I", data, 16)[0]
    at, libraries, table = HEADER_BYTES, [], (0, 0, 0)
    for _ in range(count):
        command, size = struct.unpack_from("<II", data, at)
        if command in LIBRARIES:
            libraries.append(text(data, at + struct.unpack_from("<I", data, at + 8)[0]))
        elif command == SYMBOLS:
            table = struct.unpack_from("<III", data, at + 8)
        at += size
    begin, entries, names = table
    found = []
    for name, kind, _, description, _ in ENTRY.iter_unpack(data[begin : begin + entries * ENTRY.size]):
        # The upper byte is the place of the library in the list, from one; the last values have a meaning of their own.
        place = description >> 8
        if kind & (KIND | LOCAL) == 0 and 0 < place <= len(libraries):
            found.append((libraries[place - 1], text(data, names + name)))
    return found


def main() -> None:
    found = imports(Path(sys.argv[1]).read_bytes())
    frameworks = [(Path(library).name, symbol) for library, symbol in found if ".framework/" in library]
    print(*(f"{library} {symbol}" for library, symbol in sorted(set(frameworks))), sep="\n")


main()
