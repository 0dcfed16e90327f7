#!/usr/bin/env python3
"""Prints the bill of materials of a binary, in CycloneDX: the crates that are linked into it, and the libraries beside them.

    python3 app/package/materials.py TARGET BINARY

cargo-cyclonedx makes it. It resolves the features of the whole workspace, so crates that only tests use are removed here, and
so are the paths of this machine.
"""

import hashlib
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NAME = "petstore-materials"
"""The name of the files that cargo-cyclonedx writes, one beside each manifest."""


def run(*command: str) -> str:
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def linked(target: str) -> set[tuple[str, str]]:
    """The names and versions of the crates in the binary."""
    tree = run("cargo", "tree", "--locked", "--package", "petstore", "--edges", "normal,no-proc-macro",
               "--target", target, "--prefix", "none", "--format", "{p}")
    words = (line.split() for line in tree.splitlines() if line.strip())
    return {(name, version.removeprefix("v")) for name, version, *_ in words}


def described(target: str) -> dict:
    """The bill of cargo-cyclonedx for the command's crate."""
    try:
        run("cargo", "cyclonedx", "--quiet", "--format", "json", "--spec-version", "1.5", "--no-build-deps", "--target", target,
            "--manifest-path", "app/cli/Cargo.toml", "--override-filename", NAME)
        text = (ROOT / "app/cli" / f"{NAME}.json").read_text()
    finally:
        for manifest in ROOT.glob("**/Cargo.toml"):
            manifest.with_name(f"{NAME}.json").unlink(missing_ok=True)
    return json.loads(text.replace(f"path+file://{ROOT}/", "path+file:///petstore/"))


def is_static(binary: Path) -> bool:
    """Returns whether the binary needs no library, so that it contains glibc; false for another system than Linux."""
    with binary.open("rb") as file:
        is_of_linux = file.read(4) == b"\x7fELF"
    return is_of_linux and "(NEEDED)" not in run("readelf", "--wide", "--dynamic", str(binary))


def beside_crates(binary: Path) -> list[dict]:
    """The libraries that no manifest names."""
    rust = run("rustc", "--version").split()[1]
    libraries = [{"type": "library", "name": "rust-std", "version": rust,
                  "licenses": [{"expression": "MIT OR Apache-2.0"}]}]
    if is_static(binary):
        glibc = run("ldd", "--version").splitlines()[0].split()[-1]
        libraries.append({"type": "library", "name": "glibc", "version": glibc,
                          "licenses": [{"expression": "LGPL-2.1-or-later"}]})
    return libraries


def main() -> None:
    target, binary = sys.argv[1], Path(sys.argv[2]).resolve()
    crates, bill = linked(target), described(target)
    kept = [part for part in bill["components"] if (part["name"], part["version"]) in crates]
    missing = crates - {(part["name"], part["version"]) for part in kept} - {("petstore", bill["metadata"]["component"]["version"])}
    if missing:
        raise SystemExit(f"the bill lacks {sorted(missing)}")
    references = {part["bom-ref"] for part in kept} | {bill["metadata"]["component"]["bom-ref"]}
    bill["dependencies"] = [
        {**each, "dependsOn": [one for one in each.get("dependsOn", []) if one in references]}
        for each in bill["dependencies"] if each["ref"] in references
    ]
    bill["components"] = kept + beside_crates(binary)
    digest = hashlib.sha256(binary.read_bytes()).hexdigest()
    bill["metadata"]["component"]["hashes"] = [{"alg": "SHA-256", "content": digest}]
    print(json.dumps(bill, indent=2))


if __name__ == "__main__":
    main()
