"""The command `petstore`, which is the server's binary."""

import os
import sys

from ._binary import cannot_start, find_binary
from ._errors import PetstoreNotAvailable


def main() -> None:
    """Replaces this process by the binary, with the same arguments."""
    try:
        binary = find_binary()
        try:
            os.execv(binary, [str(binary), *sys.argv[1:]])
        except OSError as error:
            raise cannot_start(binary, error) from error
    except PetstoreNotAvailable as error:
        sys.exit(f"petstore: {error}")


if __name__ == "__main__":
    main()
