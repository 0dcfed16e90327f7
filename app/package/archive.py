#!/usr/bin/env python3
"""Packs a folder into a .tar.gz or a .zip that depends on its content and on SOURCE_DATE_EPOCH alone.

    python3 app/package/archive.py FOLDER ARCHIVE
"""

import gzip
import os
import sys
import tarfile
import time
import zipfile
from pathlib import Path

PROGRAMS = {"petstore", "petstore.exe"}
"""The names of the files that are executed."""


def mode(file: Path) -> int:
    return 0o755 if file.name in PROGRAMS else 0o644


def pack_tar(files: list[tuple[str, Path]], archive: Path, epoch: int) -> None:
    # Without the name and the time of the archive.
    with archive.open("wb") as out, gzip.GzipFile("", "wb", 9, out, 0) as zipped, tarfile.open(fileobj=zipped, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, file in files:
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime, entry.mode = file.stat().st_size, epoch, mode(file)
            with file.open("rb") as content:
                tar.addfile(entry, content)


def pack_zip(files: list[tuple[str, Path]], archive: Path, epoch: int) -> None:
    year, month, day, hour, minute, second = time.gmtime(epoch)[:6]
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as out:
        for name, file in files:
            entry = zipfile.ZipInfo(name, (year, month, day, hour, minute, second))
            entry.compress_type, entry.create_system, entry.external_attr = zipfile.ZIP_DEFLATED, 3, mode(file) << 16
            out.writestr(entry, file.read_bytes())


def main() -> None:
    folder, archive = Path(sys.argv[1]), Path(sys.argv[2])
    files = sorted((file.relative_to(folder.parent).as_posix(), file) for file in folder.rglob("*") if file.is_file())
    pack = pack_zip if archive.suffix == ".zip" else pack_tar
    pack(files, archive, int(os.environ["SOURCE_DATE_EPOCH"]))


if __name__ == "__main__":
    main()
