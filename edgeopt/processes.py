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
from collections import deque
from concurrent.futures import BrokenExecutor, Future, wait
from contextvars import copy_context
from dataclasses import dataclass
from functools import cache, partial
from multiprocessing import resource_tracker
from typing import TYPE_CHECKING, Any, Final, Protocol

from edgeopt.errors import WorkerError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator

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
def pool(workers: int, *, ordered: bool = True, alone: float | None = None) -> Iterator[Pool]:
    """Give processes that run independent calls.

    They start once the calls seem to take more than `alone` seconds in this process, all together;
    at once if that is None.
    """
    with _interruptible(), contextlib.ExitStack() as stack:
        if workers == 1:
            yield lambda calls: (function(*given) for function, given in calls)
            return
        own = _Own(None if multiprocessing.parent_process() else alone)
        kind = "generator" if ordered else "generator_unordered"

        @cache
        def started() -> Any:
            from joblib import Parallel, parallel_config
            from joblib.externals.loky.backend import resource_tracker as tracker

            own.seconds = None
            # If these start later, they unblock signals in the process that starts them.
            tracker.ensure_running()
            resource_tracker.ensure_running()
            with _interrupts_blocked():
                if multiprocessing.parent_process() is None:
                    computed = parallel_config(
                        "loky", initializer=_watch_parent, initargs=(os.getpid(),)
                    )
                    stack.enter_context(computed)
                return stack.enter_context(Parallel(n_jobs=workers, return_as=kind))

        yield lambda calls: _results(started, calls, own)


@dataclass
class _Own:
    """Calls that this process runs itself, in a thread that goes on while others start."""

    seconds: float | None
    """What is left of the time for them; None once others have started."""

    def run(self, left: deque[Call]) -> Generator[Any, None, Future[Any] | None]:
        """Take calls and yield their results; return one that takes too long."""
        spent, total = 0.0, len(left)
        while left and self.seconds is not None:
            # The next may take so long that all would fit, were those after it like all so far.
            ratio = (len(left) - 1) / (total - len(left) + 1)
            patience = (self.seconds - spent * ratio) / (1.0 + ratio) if ratio else None
            if patience is not None and patience <= 0.0:
                return None
            began = time.perf_counter()
            call: Future[Any] = Future()
            run = partial(copy_context().run, _fulfil, call, *left.popleft())
            threading.Thread(target=run, daemon=True).start()
            if wait([call], patience).not_done:
                return call
            took = time.perf_counter() - began
            spent += took
            self.seconds -= took
            yield call.result()
        return None


def _fulfil(call: Future[Any], function: Callable[..., Any], given: tuple[Any, ...]) -> None:
    try:
        call.set_result(function(*given))
    except BaseException as raised:
        call.set_exception(raised)


def _results(started: Callable[[], Any], calls: Iterable[Call], own: _Own) -> Iterator[Any]:
    slow = None
    if own.seconds is not None:
        calls = deque(calls)
        slow = yield from own.run(calls)
        if not calls:
            return
    from joblib import delayed

    results = None
    try:
        parallel = started()
        # Workers start here, and inherit that interrupts are blocked.
        with _interrupts_blocked():
            results = parallel(delayed(function)(*given) for function, given in calls)
        if slow is not None:
            yield slow.result()
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
