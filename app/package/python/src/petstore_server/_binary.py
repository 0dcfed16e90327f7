"""The server's binary, which is inside this package. It is never searched for elsewhere."""

import errno
import os
import platform
import shlex
import stat
from pathlib import Path

from ._errors import PetstoreNotAvailable

OWN = Path(__file__).with_name("bin") / ("petstore.exe" if os.name == "nt" else "petstore")

WHEELS = {("Linux", "x86_64"), ("Linux", "aarch64"), ("Darwin", "arm64"), ("Darwin", "x86_64"), ("Windows", "AMD64")}
"""The platforms with a wheel, as Python names them."""

LINUX = {62: "x86_64", 183: "aarch64"}
"""The processors in an ELF header, by the names that Linux has for them."""

MACOS = {0x0100_0007: "x86_64", 0x0100_000C: "arm64"}
"""Those in a Mach-O header."""

WINDOWS = {0x8664: "x86_64", 0xAA64: "arm64"}
"""Those in the header of a program of Windows."""


def find_binary() -> Path:
    """Returns the binary in this package."""
    if os.path.isfile(OWN):
        return OWN
    if (platform.system(), platform.machine()) in WHEELS:
        raise PetstoreNotAvailable(
            f"{OWN} is missing: this installation of petstore-server is not complete; install its wheel for {_here()} with pip"
        )
    raise _not_available("this installation has no binary")


def program(binary: Path | str) -> Path:
    """The path of another binary, which starts in another folder; a name without a folder is looked up in the `PATH`."""
    path = Path(binary)
    return path.absolute() if path.name != str(binary) else path


def cannot_start(binary: Path, error: OSError) -> PetstoreNotAvailable:
    """The error for a binary that the system does not start, with the system's reason and a way out."""
    reason = error.strerror or str(error)
    # The system may refuse another file than the binary, such as the log or the folder in which the server starts.
    of_binary = error.filename is None or os.fspath(error.filename) == str(binary)
    if of_binary and error.errno == errno.ENOEXEC:
        made_for = _made_for(binary)
        if made_for == _here():
            # Another platform is no way out of a damaged file.
            return PetstoreNotAvailable(f"{binary} cannot be started: {reason}; the file is damaged or incomplete: install it again")
        return _wrong_format(binary, f"{reason}; it is {f'made for {made_for}' if made_for else f'no program of {platform.system()}'}")
    # A file that is not found although it exists names a loader or an interpreter that this system lacks.
    if of_binary and error.errno == errno.ENOENT and binary.is_absolute() and os.path.isfile(binary):
        return _wrong_format(binary, f"{reason}; its loader or interpreter is missing")
    named = "" if of_binary else f" ({error.filename})"
    return PetstoreNotAvailable(f"{binary} cannot be started: {reason}{named}{_way_out(binary, error)}")


def _wrong_format(binary: Path, reason: str) -> PetstoreNotAvailable:
    """The error for a binary that this platform does not run."""
    if binary == OWN:
        return _not_available(f"{binary}: {reason}")
    return PetstoreNotAvailable(f"{binary} cannot be started: {reason}; this is {_here()}")


def _way_out(binary: Path, error: OSError) -> str:
    """The advice for a refusal that a tester can mend; empty for another one."""
    match error.errno:
        case errno.EACCES | errno.EPERM:
            return _permission(binary)
        case errno.E2BIG:
            size = sum(len(os.fsencode(name)) + len(os.fsencode(value)) for name, value in os.environ.items())
            return f"; the environment has {size} bytes: remove large variables"
        case errno.EMFILE | errno.ENFILE:
            return "; close files, or raise `ulimit -n`"
    return ""


def _permission(binary: Path) -> str:
    """The advice for a file that the user may not execute. Windows has no permission of this kind."""
    if os.name == "nt":
        return "; a policy or a virus scanner may forbid it"
    try:
        mode = binary.stat().st_mode
    except OSError:
        return "; its folder cannot be read"
    if stat.S_ISDIR(mode):
        return "; it is a folder"
    if not mode & 0o111:
        return f"; it has no permission to be executed: chmod +x {shlex.quote(str(binary))}, or install the wheel with pip"
    if not os.access(binary, os.X_OK):
        return "; its folder is mounted noexec, or this user may not execute it: install it into another folder"
    return ""


def _made_for(binary: Path) -> str | None:
    """The platform in the header of a binary; none if it is no program for a known processor."""
    try:
        with binary.open("rb") as file:
            begin = file.read(64).ljust(64, b"\0")
            file.seek(int.from_bytes(begin[60:64], "little"))
            header = file.read(6)
    except OSError:
        return None
    for system, magic, processor in (
        ("Linux", b"\x7fELF\x02\x01", LINUX.get(int.from_bytes(begin[18:20], "little"))),
        ("macOS", b"\xcf\xfa\xed\xfe", MACOS.get(int.from_bytes(begin[4:8], "little"))),
        ("Windows", b"MZ", WINDOWS.get(int.from_bytes(header[4:6], "little"))),
    ):
        if begin.startswith(magic) and processor:
            return f"{system} on {processor}"
    return None


def _here() -> str:
    return f"{platform.system()} on {platform.machine()}"


def _not_available(why: str) -> PetstoreNotAvailable:
    """The error for a platform on which the binary cannot run, with other ways to a server."""
    return PetstoreNotAvailable(
        f"petstore-server has no server for {_here()} ({why}). Other ways: in a checkout of Petstore's source, build a container "
        "image (bash app/package/image petstore) and publish its port, or build the binary with Rust (cargo install --locked "
        "--path app/cli) and pass it as Petstore(binary=...)"
    )
