"""Ctrl-C during a solve returns what is known instead of throwing it away."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["run_interruptibly"]

Result = TypeVar("Result")


def run_interruptibly(work: Callable[[], Result], stop: threading.Event) -> Result:
    """Run compiled work in a thread of its own, so that Python can hear Ctrl-C meanwhile."""
    if threading.current_thread() is not threading.main_thread():
        # Python delivers Ctrl-C to the main thread only: nothing to listen for here.
        return work()
    results: list[Result] = []
    failures: list[BaseException] = []
    # Not Thread.join: interrupted, Python 3.11 takes the thread for finished.
    done = threading.Event()

    def run() -> None:
        try:
            results.append(work())
        except BaseException as failure:
            failures.append(failure)
        finally:
            done.set()

    worker = threading.Thread(target=run, name="edgeopt-solver", daemon=True)
    started = False
    while not done.is_set():
        try:
            if not started:
                started = True
                worker.start()
            done.wait()
        except KeyboardInterrupt:
            if stop.is_set():
                raise
            stop.set()
    if failures:
        raise failures[0]
    return results[0]
