"""The module, on the installed wheel."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import pytest

from petstore_server import (
    NotEnoughRequests,
    Petstore,
    PetstoreError,
    PetstoreStopped,
    SandboxError,
    __version__,
)

TRIES = 200
"""Attempts to see the end of a process or a line of its log, with a pause of 50 ms."""


def status(shop: Petstore, path: str = "/pets", key: str | None = None, method: str = "GET", body: Any = None) -> int:
    """Sends a request as a client would, and returns the status."""
    headers = {"X-API-Key": key or shop.key, "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{shop.url}{path}", data, headers, method=method)
    try:
        with urllib.request.urlopen(request) as response:
            return int(response.status)
    except urllib.error.HTTPError as error:
        return error.code


@pytest.fixture(scope="module")
def shop() -> Iterator[Petstore]:
    with Petstore(demo=10, settings={"free-minute": 3}) as shop:
        yield shop
        shop.reset()


def test_a_reset_restores_the_shop_and_keeps_the_keys(shop: Petstore) -> None:
    key = shop.new_key(plan="pro")
    assert status(shop, "/pets/1", method="DELETE") == 204
    assert status(shop, "/pets/1", key) == 404
    shop.reset()
    assert status(shop, "/pets/1", key) == 200


def test_a_quota_ends_and_the_clock_renews_it(shop: Petstore) -> None:
    shop.reset()
    shop.clock.freeze()
    key = shop.new_key(plan="free")
    assert [status(shop, key=key) for _ in range(4)] == [200, 200, 200, 429]
    before = shop.clock.now()
    assert shop.clock.advance("2m") == before + timedelta(minutes=2)
    assert status(shop, key=key) == 200
    assert shop.clock.advance(timedelta(seconds=1.5)) == before + timedelta(minutes=2, seconds=1.5)
    late = datetime(2030, 12, 6)
    assert shop.clock.set(late) == late.replace(tzinfo=timezone.utc)
    assert status(shop, "/pets/1") == 410
    assert shop.clock.set("2030-01-01T00:00:00Z") == datetime(2030, 1, 1, tzinfo=timezone.utc)
    shop.clock.run()
    shop.clock.restore()
    assert abs(shop.clock.now() - datetime.now(timezone.utc)) < timedelta(minutes=1)


def test_planned_failures_act_and_are_counted(shop: Petstore) -> None:
    shop.faults.plan({"route": "/pets", "first": 2, "status": 503}, seed=7)
    assert [status(shop) for _ in range(3)] == [503, 503, 200]
    assert [(fault["calls"], fault["acted"]) for fault in shop.faults.planned()] == [(3, 2)]
    shop.faults.plan({"method": "POST", "first": 1, "when": "after", "drop": True})
    with pytest.raises(ConnectionError):
        status(shop, "/categories", method="POST", body={"name": "Newts", "description": "x"})
    assert status(shop, "/categories", method="POST", body={"name": "Newts", "description": "x"}) == 409
    shop.faults.clear()
    assert shop.faults.planned() == []


def test_a_refusal_has_the_words_of_the_server(shop: Petstore) -> None:
    with pytest.raises(SandboxError, match="400 .*advance") as refused:
        shop.clock.advance("soon")
    assert refused.value.status == 400 and refused.value.body is not None
    with pytest.raises(SandboxError, match="petstore keys create: .*golden"):
        shop.new_key(plan="golden")
    with pytest.raises(SandboxError, match="unknown|statuss"):
        shop.faults.plan({"statuss": 503})  # type: ignore[typeddict-unknown-key]


def test_the_requests_of_the_client_are_in_the_journal(shop: Petstore) -> None:
    shop.reset()
    key = shop.new_key(plan="pro")
    assert status(shop, "/pets?limit=2", key) == 200
    assert status(shop, "/pets", key, "POST", {"name": ""}) == 400
    first, second = shop.requests(count=2, wait=5, key=key)
    assert (first.method, first.route, first.target) == ("GET", "/pets", "/v1/pets?limit=2")
    assert (first.path, first.query, first.status, first.code) == ("/v1/pets", {"limit": ["2"]}, 200, None)
    assert second.answer is not None and (second.status, second.code) == (400, second.answer.json()["code"])
    assert second.json() == {"name": ""} and second.headers["CONTENT-type"] == "application/json"
    assert [request.method for request in shop.requests(status="4xx", key=key)] == ["POST"]
    assert shop.requests(method=["PUT", "DELETE"]) == []
    with pytest.raises(NotEnoughRequests, match="expected 3 requests within 1 s, 2 came: GET .* 200, POST .* 400"):
        shop.requests(count=3, wait=1, key=key)
    shop.clear_requests()
    assert shop.requests() == []


def test_the_report_judges_the_client(shop: Petstore) -> None:
    shop.reset()
    shop.clock.freeze()
    key = shop.new_key(plan="free")
    for _ in range(5):
        status(shop, key=key)
    shop.clock.restore()
    report = shop.report(key)
    assert report.is_broken, report
    assert [client.key_prefix for client in report.clients] == [key[:12]]
    assert [rule.verdict for rule in report.rules("waits")] == ["broken"]


def test_a_server_that_cannot_start_says_why() -> None:
    with pytest.raises(PetstoreStopped, match=r"did not start \(exit code 2\); its log, .*, ends with:\n.*free-minute.*expected") as failed:
        Petstore(settings={"free-minute": "many"})
    assert "many" in str(failed.value)
    remove_log(failed.value)
    with pytest.raises(PetstoreError, match="listen"):
        Petstore(settings={"listen": "127.0.0.1:8080"})


def remove_log(error: Exception) -> None:
    """Removes the folder of the log that an error names."""
    log = Path(str(error).split("its log, ")[1].split(", ")[0])
    assert log.is_file(), error
    shutil.rmtree(log.parent)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("exec sleep 600", "the petstore did not start within 0.3 seconds"),
        ("printf half; exec sleep 600", "the petstore did not start within 0.3 seconds"),
        ("echo hello; exec sleep 600", r"is no petstore of this version: its first line is b'hello\\n' \(exit code -9\)"),
    ],
)
def test_a_start_without_an_address_has_a_time_limit(tmp_path: Path, lines: str, expected: str) -> None:
    program = tmp_path / "petstore"
    program.write_text(f"#!/bin/sh\necho waiting for a disk >&2\n{lines}\n")
    program.chmod(0o755)
    begun = time.monotonic()
    with pytest.raises(PetstoreStopped, match=f"{expected}.*; its log, .*, ends with:\nwaiting for a disk$") as failed:
        Petstore(binary=program, start_seconds=0.3)
    assert time.monotonic() - begun < 10
    remove_log(failed.value)


def test_settings_of_the_environment_do_not_reach_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PETSTORE_FREE_MINUTE", "many")
    with Petstore() as shop:
        assert status(shop) == 200


def test_a_server_that_was_killed_is_named_with_its_exit_code() -> None:
    with Petstore() as shop:
        log = Path(os.readlink(f"/proc/{shop.pid}/fd/2"))
        for _ in range(TRIES):
            if "serving" in log.read_text():
                break
            time.sleep(0.05)
        os.kill(shop.pid, signal.SIGKILL)
        with pytest.raises(PetstoreStopped, match=r"(?s)has ended \(exit code -9\); its log, .*serving http://127") as failed:
            shop.reset()
    remove_log(failed.value)


def is_running(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_a_call_after_the_stop_says_so() -> None:
    with Petstore() as stopped:
        pass
    for call in (stopped.reset, stopped.new_key):
        with pytest.raises(PetstoreStopped, match=r": the petstore was stopped by this program$"):
            call()


def test_a_killed_test_run_leaves_no_server() -> None:
    code = "from petstore_server import Petstore; shop = Petstore(); print(shop.pid, flush=True); input()"
    run = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert run.stdout is not None
    server = int(run.stdout.readline())
    assert is_running(server)
    run.kill()
    run.wait()
    for _ in range(TRIES):
        if not is_running(server):
            break
        time.sleep(0.05)
    assert not is_running(server)


def test_the_binary_is_the_one_of_the_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    other = tmp_path / "petstore"
    other.write_text("#!/bin/sh\nexit 1\n")
    other.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with Petstore() as shop:
        assert shop.version == __version__
    files = [str(file) for file in distribution("petstore-server").files or []]
    assert "petstore_server/bin/petstore" in files


def test_the_command_is_the_binary() -> None:
    command = Path(sys.executable).with_name("petstore")
    for arguments in ([str(command)], [sys.executable, "-m", "petstore_server"]):
        told = subprocess.run([*arguments, "--version"], capture_output=True, text=True, check=True).stdout
        assert told.startswith(f"petstore {__version__} (")
        assert subprocess.run([*arguments, "no-such-command"], capture_output=True).returncode == 2


def test_a_start_takes_less_than_a_tenth_of_a_second() -> None:
    times = []
    for _ in range(10):
        begun = time.perf_counter()
        with Petstore(demo=100):
            times.append(time.perf_counter() - begun)
    assert min(times) < 0.1, times
