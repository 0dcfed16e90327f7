#!/usr/bin/env python3
"""Names the platform of a Linux binary for one kind of package, as its ELF header and its needed libraries demand.

    python3 app/package/platform.py BINARY archive|wheel|node|libc

A static binary runs on every Linux of its processor; another one needs the glibc whose symbols it names.
"""

import re
import subprocess
import sys

# The processor in the ELF header, and its name in archives and wheels and in npm.
PROCESSORS = {"X86-64": ("x86_64", "x64"), "AArch64": ("aarch64", "arm64")}

# The oldest systems that a wheel can name: pip knows no tag for every Linux.
STATIC_TAGS = "manylinux_2_17_{0}.musllinux_1_1_{0}"


def read(binary: str, *options: str) -> str:
    return subprocess.run(["readelf", "--wide", *options, binary], check=True, capture_output=True, text=True).stdout


def glibc(binary: str) -> tuple[int, int] | None:
    """The glibc that the binary needs; none if it is static."""
    if "(NEEDED)" not in read(binary, "--dynamic"):
        return None
    versions = re.findall(r"\bGLIBC_(\d+)\.(\d+)", read(binary, "--version-info"))
    return max((int(major), int(minor)) for major, minor in versions)


def name(binary: str, kind: str) -> str:
    machine = re.search(r"Machine:\s+(.*)", read(binary, "--file-header"))
    found = [names for word, names in PROCESSORS.items() if machine and word in machine[1]]
    if not found:
        raise SystemExit(f"{binary}: no package is made for the processor {machine and machine[1]}")
    processor, node = found[0]
    needed = glibc(binary)
    match kind:
        case "archive":
            return f"linux-{processor}" + ("" if needed is None else f"-glibc{needed[0]}.{needed[1]}")
        case "wheel":
            tags = STATIC_TAGS if needed is None else f"manylinux_{needed[0]}_{needed[1]}_{{0}}"
            return tags.format(processor)
        case "node":
            return f"linux-{node}"
        case "libc":
            return "" if needed is None else "glibc"
        case _:
            raise SystemExit(__doc__)


if __name__ == "__main__":
    print(name(*sys.argv[1:]))
