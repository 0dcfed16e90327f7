"""The command `petstore`, which is the server's binary."""

import os
import sys

from ._binary import find_binary
from ._errors import PetstoreNotAvailable


def main() -> None:
    """Replaces this process by the binary, with the same arguments."""
    try:
        binary = find_binary()
        os.execv(binary, [str(binary), *sys.argv[1:]])
    except (PetstoreNotAvailable, OSError) as error:
        sys.exit(f"petstore: {error}")


if __name__ == "__main__":
    main()
