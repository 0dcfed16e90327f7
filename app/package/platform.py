#!/usr/bin/env python3
"""Names the platform of a binary for one kind of package, as its header and its needed libraries demand.

    python3 app/package/platform.py BINARY archive|wheel|node|target|libc|program

A static binary runs on every Linux of its processor; another one needs the glibc whose symbols it names. A binary of macOS names
the oldest version that it runs on. `program` is the name of the file in a package.
"""

import re
import struct
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

LINUX = {62: ("x86_64", "x64"), 183: ("aarch64", "arm64")}
"""The processors in an ELF header, and their names in archives and wheels and in npm."""
MACOS = {0x0100_0007: ("x86_64", "x64"), 0x0100_000C: ("arm64", "arm64")}
"""Those in a Mach-O header."""
WINDOWS = {0x8664: ("x86_64", "x64"), 0xAA64: ("aarch64", "arm64")}
"""Those in the header of a program of Windows."""
WINDOWS_TAGS = {"x64": "win_amd64", "arm64": "win_arm64"}

STATIC_TAGS = "manylinux_2_17_{0}.musllinux_1_1_{0}"
"""The oldest systems that a wheel can name: pip knows no tag for every Linux."""

MACH_O, MACH_O_BYTES = 0xFEED_FACF, 32
BUILD_VERSION, VERSION_MIN = 0x32, 0x24
"""The commands of a Mach-O file that have the oldest version of macOS."""


class Platform(NamedTuple):
    archive: str
    wheel: str
    node: str
    target: str
    libc: str = ""
    program: str = "petstore"


def glibc(binary: str) -> tuple[int, int] | None:
    """The glibc that the binary needs; none if it is static."""

    def read(*options: str) -> str:
        return subprocess.run(["readelf", "--wide", *options, binary], check=True, capture_output=True, text=True).stdout

    if "(NEEDED)" not in read("--dynamic"):
        return None
    versions = re.findall(r"\bGLIBC_(\d+)\.(\d+)", read("--version-info"))
    return max((int(major), int(minor)) for major, minor in versions)


def linux(binary: str, processor: str, node: str) -> Platform:
    needed, target = glibc(binary), f"{processor}-unknown-linux-gnu"
    if needed is None:
        return Platform(f"linux-{processor}", STATIC_TAGS.format(processor), f"linux-{node}", target)
    version = f"{needed[0]}.{needed[1]}"
    tag = f"manylinux_{version.replace('.', '_')}_{processor}"
    return Platform(f"linux-{processor}-glibc{version}", tag, f"linux-{node}", target, "glibc")


def oldest_macos(data: bytes) -> tuple[int, int]:
    """The oldest macOS on which the program runs."""
    at = MACH_O_BYTES
    for _ in range(struct.unpack_from("<I", data, 16)[0]):
        command, size = struct.unpack_from("<II", data, at)
        if command in (BUILD_VERSION, VERSION_MIN):
            # The version is the second value of the one, and the first of the other.
            version: int = struct.unpack_from("<I", data, at + (12 if command == BUILD_VERSION else 8))[0]
            return version >> 16, version >> 8 & 0xFF
        at += size
    raise SystemExit("a program of macOS that names no version")


def macos(data: bytes, processor: str, node: str) -> Platform:
    major, minor = oldest_macos(data)
    target = f"{'x86_64' if node == 'x64' else 'aarch64'}-apple-darwin"
    return Platform(f"macos-{processor}", f"macosx_{major}_{minor}_{processor}", f"darwin-{node}", target)


def windows(processor: str, node: str) -> Platform:
    return Platform(f"windows-{processor}", WINDOWS_TAGS[node], f"win32-{node}", f"{processor}-pc-windows-msvc", program="petstore.exe")


def platform(binary: str) -> Platform:
    data = Path(binary).read_bytes()
    begin = data[:64].ljust(64, b"\0")
    if begin.startswith(b"\x7fELF\x02\x01"):
        kind, processor = "Linux", LINUX.get(int.from_bytes(begin[18:20], "little"))
        if processor:
            return linux(binary, *processor)
    elif begin.startswith(MACH_O.to_bytes(4, "little")):
        kind, processor = "macOS", MACOS.get(int.from_bytes(begin[4:8], "little"))
        if processor:
            return macos(data, *processor)
    elif begin.startswith(b"MZ"):
        header = int.from_bytes(begin[60:64], "little")
        kind, processor = "Windows", WINDOWS.get(int.from_bytes(data[header + 4 : header + 6], "little"))
        if processor:
            return windows(*processor)
    else:
        raise SystemExit(f"{binary} is no 64-bit program of Linux, macOS or Windows")
    raise SystemExit(f"{binary}: no package is made for its processor on {kind}")


def main() -> None:
    binary, kind = sys.argv[1:]
    if kind not in Platform._fields:
        raise SystemExit(__doc__)
    print(getattr(platform(binary), kind))


if __name__ == "__main__":
    main()
