"""The child processes of this process, which belong to it and to none of its forked children."""

import os
import threading
import weakref
from typing import Protocol


class Owned(Protocol):
    """A child process with pipes and a folder."""

    def leave_to_parent(self) -> None:
        """Closes this process's copies of the pipes, and no longer waits for the process or removes its folder."""


owned: "weakref.WeakSet[Owned]" = weakref.WeakSet()
"""The child processes that this process has started."""

starting = threading.RLock()
"""Held while one starts and is entered into `owned`, and while this process forks: a child finds every pipe there."""


def _leave_to_parent() -> None:
    """Gives up, in a child that was forked without exec, the child processes of its parent: the child would keep their pipes
    open, and remove their folders when it ends."""
    for process in list(owned):
        process.leave_to_parent()
    owned.clear()
    starting.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=starting.acquire, after_in_parent=starting.release, after_in_child=_leave_to_parent)
