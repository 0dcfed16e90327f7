"""Children that are forked without exec, as multiprocessing and locust make them: server and exam belong to their parent."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from petstore_server import Petstore

TRIES = 200
"""Attempts to see the end of a process, with a pause of 50 ms."""

# Several threads run in some tests, which is what they are for.
pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")


def is_running(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def has_ended(process: int) -> bool:
    for _ in range(TRIES):
        if not is_running(process):
            return True
        time.sleep(0.05)
    return False


def folder_of(shop: Petstore) -> Path:
    return Path(os.readlink(f"/proc/{shop.pid}/cwd"))


def test_a_stop_does_not_wait_for_forked_workers() -> None:
    shop = Petstore()
    folder = folder_of(shop)
    worker = multiprocessing.get_context("fork").Process(target=time.sleep, args=(60,))
    worker.start()
    begun = time.monotonic()
    shop.stop()
    assert time.monotonic() - begun < 5 and not folder.exists()
    worker.kill()


def test_a_forked_child_leaves_no_server_when_its_parent_is_killed() -> None:
    code = (
        "import os, time; from petstore_server import Petstore; shop = Petstore(); child = os.fork()\n"
        "if child: print(shop.pid, child, flush=True)\n"
        "time.sleep(60)"
    )
    run = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert run.stdout is not None
    server, child = map(int, run.stdout.readline().split())
    run.kill()
    run.wait()
    try:
        assert has_ended(server) and is_running(child)
    finally:
        os.kill(child, signal.SIGKILL)


def test_a_forked_child_leaves_no_exam_when_its_parent_is_killed() -> None:
    code = (
        "import os, time; from petstore_server import exam\n"
        "def client(shop):\n"
        "    child = os.fork()\n"
        "    if child: print(child, flush=True)\n"
        "    time.sleep(60)\n"
        "exam(client, 'lost-answers')"
    )
    run = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert run.stdout is not None
    child = int(run.stdout.readline())
    children = Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text().split()
    (judge,) = set(map(int, children)) - {child}
    run.kill()
    run.wait()
    try:
        assert has_ended(judge) and is_running(child)
    finally:
        os.kill(child, signal.SIGKILL)


def test_a_forked_child_leaves_the_exam_to_its_parent() -> None:
    # The children end as programs do, through the `finally` of the exam, or go on in it.
    code = """if True:
        import os, sys
        from petstore_server import PetstoreError, exam
        parent = os.getpid()

        def client(shop):
            for way in ("leaves", "fails", "goes on"):
                child = os.fork()
                if child == 0 and way == "leaves":
                    sys.exit(0)
                if child == 0 and way == "fails":
                    raise ValueError
                if child == 0:
                    return
                assert os.waitpid(child, 0)[1] == 0, way

        try:
            scenarios = exam(client, "lost-answers", "calm").scenarios
            assert os.getpid() == parent and len(scenarios) == 2
        except PetstoreError as error:
            assert os.getpid() != parent and "forked child" in str(error), error
    """
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


def test_a_forked_child_uses_the_server_and_leaves_it_to_its_parent() -> None:
    # The children end as programs do, with their finalisers.
    code = """if True:
        import gc, os, sys
        from pathlib import Path
        from petstore_server import Petstore
        shop = Petstore(demo=1)
        folder = Path(os.readlink(f"/proc/{shop.pid}/cwd"))
        for way in ("calls", "stops", "forgets", "starts"):
            child = os.fork()
            if child == 0:
                if way == "calls":
                    shop.reset()
                    assert shop.new_key().startswith("pet_")
                if way == "stops":
                    shop.stop()
                if way == "forgets":
                    del shop
                    gc.collect()
                if way == "starts":
                    with Petstore() as own:
                        own.reset()
                        other = Path(os.readlink(f"/proc/{own.pid}/cwd"))
                        assert other.is_dir() and other != folder
                    assert not other.exists()
                sys.exit(0)
            assert os.waitpid(child, 0)[1] == 0, way
            shop.reset()
            assert folder.is_dir(), way
        shop.stop()
        assert not folder.exists()
    """
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


def test_a_fork_during_a_start_holds_no_pipe() -> None:
    children: list[int] = []
    done = threading.Event()

    def fork() -> None:
        while not done.wait(0.001):
            child = os.fork()
            if child == 0:
                time.sleep(60)
                os._exit(0)
            children.append(child)

    thread = threading.Thread(target=fork)
    thread.start()
    try:
        shops = [Petstore() for _ in range(5)]
    finally:
        done.set()
        thread.join()
    begun = time.monotonic()
    for shop in shops:
        shop.stop()
    assert time.monotonic() - begun < 10
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
