#!/usr/bin/env python3
"""zig as the C compiler and the linker of a macOS target: zig_cc.py TARGET ARGUMENT…

Options that name the target or a SDK in another form are left out: rustc and cc give them, and zig refuses them.
"""

import os
import sys

WITH_VALUE = ("-arch", "-isysroot", "-target")
ALONE = ("--target=", "-mmacosx-version-min", "-mmacos-version-min")


def kept(arguments: list[str]) -> list[str]:
    result: list[str] = []
    rest = iter(arguments)
    for argument in rest:
        if argument in WITH_VALUE:
            next(rest, None)
        elif not argument.startswith(ALONE):
            result.append(argument)
    return result


def main() -> None:
    target, *given = sys.argv[1:]
    sdk = os.environ["SDKROOT"]
    arguments = kept(given)
    links = not {"-c", "-E"} & set(arguments)
    places = ["-F", f"{sdk}/System/Library/Frameworks", "-L", f"{sdk}/usr/lib"] if links else []
    os.execv(sys.executable, [sys.executable, "-m", "ziglang", "cc", "-target", target, *places, *arguments])


main()
