"""Worker processes, none of which outlives this one.

An interrupt from the keyboard reaches this process only: it ends its workers at once and then
unwinds. Workers whose parent was killed notice that within a second, and end.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
import time
import warnings
from concurrent.futures import BrokenExecutor
from functools import partial
from multiprocessing import resource_tracker
from typing import TYPE_CHECKING, Any, Final, Protocol

from edgeopt.errors import WorkerError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

Call = tuple["Callable[..., Any]", tuple[Any, ...]]
"""A function and its arguments; both have to be picklable where several processes compute."""

_WORKER: Final = "LokyProcess"
"""Prefix of the names of joblib's processes."""

_MANAGER: Final = "ExecutorManagerThread"
"""Name of the thread that hands calls to joblib's processes."""

_KILL: Final = getattr(signal, "SIGKILL", signal.SIGTERM)

_INTERVAL: Final = 0.5
"""Seconds between two checks of a worker for its parent."""


class Pool(Protocol):
    """Runs calls, and yields what they return."""

    def __call__(self, calls: Iterable[Call], /) -> Iterator[Any]:
        """Start when iterated; calls left when the iteration ends early are cancelled."""


@contextlib.contextmanager
def pool(workers: int, *, ordered: bool = True) -> Iterator[Pool]:
    """Give processes that run independent calls."""
    from joblib import Parallel, parallel_config
    from joblib.externals.loky.backend import resource_tracker as tracker

    if workers != 1:
        # If these start later, they unblock signals in the process that starts them.
        tracker.ensure_running()
        resource_tracker.ensure_running()
    kind = "generator" if ordered else "generator_unordered"
    with _interruptible(), contextlib.ExitStack() as stack:
        with _interrupts_blocked():
            if workers != 1 and multiprocessing.parent_process() is None:
                computed = parallel_config(
                    "loky", initializer=_watch_parent, initargs=(os.getpid(),)
                )
                stack.enter_context(computed)
            parallel = stack.enter_context(Parallel(n_jobs=workers, return_as=kind))
        yield lambda calls: _results(parallel, calls)


def _results(parallel: Any, calls: Iterable[Call]) -> Iterator[Any]:
    from joblib import delayed

    results = None
    try:
        # Workers start here, and inherit that interrupts are blocked.
        with _interrupts_blocked():
            results = parallel(delayed(function)(*given) for function, given in calls)
        yield from results
    except BrokenExecutor:
        raise WorkerError(
            "a worker process was killed or crashed, perhaps because memory ran out; try again "
            "with fewer workers"
        ) from None
    finally:
        with warnings.catch_warnings():
            # Leaving early cancels the rest on purpose.
            warnings.simplefilter("ignore")
            if results is not None:
                results.close()


def _watch_parent(parent: int) -> None:
    """End this worker when its parent has been killed."""
    if os.name != "posix":
        return

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_INTERVAL)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextlib.contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Block interrupts; processes that are started meanwhile never receive them."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """Let an interrupt end the workers first, and ignore others meanwhile."""
    usual = signal.getsignal(signal.SIGINT)
    mine = threading.current_thread() is threading.main_thread()
    if not mine or usual is not signal.default_int_handler:
        yield
        return

    def end(number: int, frame: Any) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        for child in multiprocessing.active_children():
            if child.name.startswith(_WORKER) and child.pid is not None:
                with contextlib.suppress(OSError):  # it may just have ended
                    os.kill(child.pid, _KILL)
        threading.excepthook = partial(_but_the_managers, threading.excepthook)
        signal.default_int_handler(number, frame)

    signal.signal(signal.SIGINT, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)


def _but_the_managers(others: Callable[..., Any], raised: threading.ExceptHookArgs) -> None:
    """Print what a thread raised, unless it hands out calls that an interrupt has just dropped."""
    if raised.thread is None or raised.thread.name != _MANAGER:
        others(raised)
