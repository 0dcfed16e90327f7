#!/usr/bin/env python3
"""A name server for tests, on port 53 of 127.0.0.1: it knows one name, and denies all others. It prints a line once it serves.

    python3 app/package/one-name-dns.py NAME ADDRESS
"""

import socket
import struct
import sys

A = 1
NO_SUCH_NAME = 3
# Response, recursion desired and available.
FLAGS = 0x8180


def question(query: bytes) -> tuple[str, int, bytes]:
    """The name and the type of the first question, and its bytes."""
    labels, at = [], 12
    while query[at]:
        labels.append(query[at + 1 : at + 1 + query[at]].decode())
        at += 1 + query[at]
    (kind,) = struct.unpack_from("!H", query, at + 1)
    return ".".join(labels), kind, query[12 : at + 5]


def answer(query: bytes, known: str, address: str) -> bytes:
    name, kind, asked = question(query)
    is_known = name.lower() == known
    record = b""
    if is_known and kind == A:
        # The name by a pointer to the question, a lifetime of a second, and the address.
        record = struct.pack("!HHHIH", 0xC00C, A, 1, 1, 4) + socket.inet_aton(address)
    flags = FLAGS if is_known else FLAGS | NO_SUCH_NAME
    return query[:2] + struct.pack("!HHHHH", flags, 1, 1 if record else 0, 0, 0) + asked + record


def main() -> None:
    known, address = sys.argv[1:]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 53))
        print("serving", flush=True)
        while True:
            query, client = server.recvfrom(512)
            server.sendto(answer(query, known, address), client)


if __name__ == "__main__":
    main()
