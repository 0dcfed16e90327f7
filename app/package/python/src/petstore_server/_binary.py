"""The server's binary, which is inside this package. It is never searched for elsewhere."""

import platform
from pathlib import Path

from ._errors import PetstoreNotAvailable

OWN = Path(__file__).with_name("bin") / "petstore"


def find_binary() -> Path:
    """Returns the binary in this package."""
    if not OWN.is_file():
        raise not_available("this installation has no binary")
    return OWN


def cannot_start(binary: Path, error: OSError) -> PetstoreNotAvailable:
    """The error for a binary that the system does not start."""
    if binary == OWN:
        return not_available(error.strerror or str(error))
    return PetstoreNotAvailable(f"{binary} cannot be started: {error.strerror or error}")


def not_available(why: str) -> PetstoreNotAvailable:
    """The error for a platform on which the binary cannot run, with other ways to a server."""
    here = f"{platform.system()} on {platform.machine()}"
    return PetstoreNotAvailable(
        f"petstore-server has no server for {here} ({why}). It has one for Linux on x86_64. Other ways: "
        "build a container image (app/package/Dockerfile in https://github.com/petstore-rs/petstore) and publish its port, "
        "or build the binary with Rust (cargo install --locked --path app/cli) and pass it as Petstore(binary=...)"
    )
