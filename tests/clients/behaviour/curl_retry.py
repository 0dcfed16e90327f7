"""curl with `--retry` and `--retry-all-errors`, a run for each request, as in a script."""

import json
import subprocess
import tempfile
from pathlib import Path

import errand

FLAGS = ["--silent", "--show-error", "--fail", "--retry", "4", "--retry-all-errors"]


def ask(method, url, headers, body):
    with tempfile.TemporaryDirectory() as folder:
        head, content = Path(folder, "head"), Path(folder, "body")
        command = ["curl", *FLAGS, "--request", method, "--dump-header", head, "--output", content, url]
        command += [word for name, value in headers.items() for word in ("--header", f"{name}: {value}")]
        command += [] if body is None else ["--data-binary", body]
        subprocess.run(command, check=True)
        lines = [line.partition(": ") for line in head.read_text().splitlines()]
        return 200, {name.lower(): value for name, _, value in lines}, json.loads(content.read_bytes())


errand.run(ask)
