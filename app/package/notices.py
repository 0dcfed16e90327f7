#!/usr/bin/env python3
"""Prints the licences of the software that is linked into a binary and is not this project's: crates, the standard library of
Rust, SQLite, Swagger UI and, in a static binary, glibc.

    python3 app/package/notices.py BINARY

The texts are those in the packages of the crates. A text that several crates share is printed once. A crate with a choice of
licences that include MIT is used under MIT.
"""

import json
import re
import sys
from pathlib import Path
from zipfile import ZipFile

sys.dont_write_bytecode = True  # Leaves no folder in the repository.
sys.path.insert(0, str(Path(__file__).parent))
from materials import ROOT, is_static, linked, run  # noqa: E402
from repository import repository  # noqa: E402

LICENCE = re.compile(r"(LICEN[SC]E|COPYING|COPYRIGHT|NOTICE|UNLICENSE)", re.IGNORECASE)
"""The beginnings of the names of files with licences."""

RULE = "-" * 80

HEAD = """\
The binary `petstore` contains the following software. Each part is used under the licence that follows its name.
The licences of Petstore itself are in LICENSE-MIT and LICENSE-APACHE.
"""

GLIBC = """\
This binary is statically linked with the GNU C Library, {version}, which is copyright (C) Free Software
Foundation, Inc. and others. The library and its use are covered by the GNU Lesser General Public License, version 2.1 or later, whose
text follows.

You may change the library and link the binary again with the changed one. Petstore's licences permit changes, and
reverse engineering for debugging them. You need:

- the source of Petstore, at the commit that `petstore --version` names{address}
- the source of glibc, which is in the same release, as glibc-source-*.tar; `bash app/package/glibc-source FOLDER` in the
  source of Petstore fetches it on Debian
- a build with the changed library installed: `bash app/package/release`

"""


def crates(packages: list[dict], target: str) -> list[dict]:
    """The crates in the binary that come from a registry."""
    inside = linked(target)
    found = [one for one in packages if one["source"] and (one["name"], one["version"]) in inside]
    return sorted(found, key=lambda one: (one["name"], one["version"]))


def texts(crate: dict) -> list[str]:
    """The licences in a crate's package under which it is used."""
    folder = Path(crate["manifest_path"]).parent
    files = sorted(file for file in folder.iterdir() if file.is_file() and LICENCE.match(file.name))
    mit = [file for file in files if "MIT" in file.name.upper()]
    # `AND` demands each of its licences.
    if mit and "MIT" in crate["license"] and " AND " not in crate["license"]:
        files = mit
    if not files:
        raise SystemExit(f"the package of {crate['name']} {crate['version']} has no file with its licence")
    return [file.read_text(errors="replace").strip() for file in files]


def swagger_ui(packages: list[dict]) -> tuple[str, list[str]]:
    """The name and the licences of the reference page's program, which is an archive in a crate for building."""
    vendored = next(one for one in packages if one["name"] == "utoipa-swagger-ui-vendored")
    archive = next((Path(vendored["manifest_path"]).parent / "res").glob("*.zip"))
    with ZipFile(archive) as files:
        wanted = [name for name in files.namelist() if re.fullmatch(r"swagger-ui-[\d.]+/(LICENSE|NOTICE)", name)]
        found = [files.read(name).decode().strip() for name in sorted(wanted)]
    if len(found) != 2:
        raise SystemExit(f"{archive} has no licence and notice of Swagger UI")
    return f"Swagger UI {archive.stem.removeprefix('v')}", found


def rust_std() -> tuple[str, list[str]]:
    """The name and the licence of Rust's standard library."""
    mit = (ROOT / "LICENSE-MIT").read_text()
    grant = mit[mit.index("Permission is hereby granted"):].strip()
    version = run("rustc", "--version").split()[1]
    return f"The standard library of Rust {version}, and the crates in it", [f"Copyright (c) The Rust Project Contributors\n\n{grant}"]


def main() -> None:
    binary = Path(sys.argv[1]).resolve()
    target = run(sys.executable, "app/package/platform.py", str(binary), "target").strip()
    packages = json.loads(run("cargo", "metadata", "--locked", "--format-version", "1"))["packages"]
    parts: dict[str, tuple[list[str], str]] = {}

    def add(name: str, found: list[str]) -> None:
        for text in found:
            # Texts that differ in spaces alone are equal.
            parts.setdefault(" ".join(text.split()), ([], text))[0].append(name)

    for crate in crates(packages, target):
        add(f"{crate['name']} {crate['version']}", texts(crate))
    add(*rust_std())
    add(*swagger_ui(packages))
    add("SQLite", ["SQLite is in the public domain: https://sqlite.org/copyright.html"])
    print(HEAD)
    for names, text in parts.values():
        print(f"{RULE}\n{', '.join(names)}\n\n{text}\n")
    if is_static(binary):
        # Such as `ldd (Debian GLIBC 2.36-9) 2.36`.
        version = run("ldd", "--version").splitlines()[0].partition("(")[2].partition(")")[0]
        address = f": {repository()}" if repository() else ""
        print(f"{RULE}\nglibc\n\n{GLIBC.format(version=version, address=address)}{(ROOT / 'app/package/LGPL-2.1').read_text()}")


if __name__ == "__main__":
    main()
