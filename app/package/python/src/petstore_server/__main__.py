"""The command `petstore`, which is the server's binary."""

import os
import subprocess
import sys
from pathlib import Path

from ._binary import cannot_start, find_binary
from ._errors import PetstoreNotAvailable


def main() -> None:
    """Replaces this process by the binary, with the same arguments; on Windows it waits for the binary."""
    try:
        binary = find_binary()
        try:
            if os.name == "nt":
                # Windows replaces no process: this one would end while the binary goes on.
                run_below(binary)
            else:
                os.execv(binary, [str(binary), *sys.argv[1:]])
        except OSError as error:
            raise cannot_start(binary, error) from error
    except PetstoreNotAvailable as error:
        sys.exit(f"petstore: {error}")


def run_below(binary: Path) -> None:
    """Runs the binary, and ends with its exit code. Ctrl-C reaches both; this process waits for the stop in order."""
    child = subprocess.Popen([str(binary), *sys.argv[1:]])
    while True:
        try:
            sys.exit(child.wait())
        except KeyboardInterrupt:
            pass


if __name__ == "__main__":
    main()
