"""A Dask cluster that computes instead of this machine."""

from __future__ import annotations

import contextlib
import logging
import queue
from concurrent.futures import CancelledError
from typing import TYPE_CHECKING, Any, Final

from edgeopt.errors import MissingDependencyError, OptionError, WorkerError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from edgeopt.processes import Call, Pool

_PATIENCE: Final = 10
"""Seconds within which the scheduler has to answer."""

_INTERVAL: Final = 0.5
"""Seconds between two checks for the scheduler."""


@contextlib.contextmanager
def cluster_pool(address: str) -> Iterator[Pool]:
    """Give the workers of a cluster, as `edgeopt.processes.pool` gives processes.

    The work of a lost worker is done by another. The loss of the scheduler ends the run.
    """
    try:
        from dask.distributed import Client
    except ImportError:
        raise MissingDependencyError(
            "a cluster needs the extra: pip install 'edgeopt[cluster]'"
        ) from None
    with _silent():
        try:
            client = Client(address, timeout=_PATIENCE)  # type: ignore[no-untyped-call]
        except (OSError, ValueError) as error:
            raise OptionError(f"no Dask scheduler answers at {address!r}: {error}") from None
        try:
            yield lambda calls: _results(client, calls, address)
        finally:
            # Do not wait for a lost scheduler; that it does not answer is no news.
            with contextlib.suppress(TimeoutError):
                client.close(timeout=1)  # type: ignore[no-untyped-call]


def _results(client: Any, calls: Iterable[Call], address: str) -> Iterator[Any]:
    """Yield the results of calls as they arrive."""
    from distributed.scheduler import KilledWorker

    done: queue.SimpleQueue[Any] = queue.SimpleQueue()
    waiting = [client.submit(function, *given, pure=False) for function, given in calls]
    for future in waiting:
        future.add_done_callback(done.put)
    for _ in range(len(waiting)):
        future = _next(done, client, address)
        try:
            result = future.result()
        except KilledWorker as error:
            raise WorkerError(f"the cluster at {address}: {error}") from None
        except (OSError, CancelledError):
            if future.status == "error":
                raise  # by the call itself
            raise _lost(address) from None
        # The cluster need not keep results that have arrived.
        future.release()
        yield result


def _next(done: queue.SimpleQueue[Any], client: Any, address: str) -> Any:
    while True:
        future = None
        with contextlib.suppress(queue.Empty):
            future = done.get(timeout=_INTERVAL)
        if client.status != "running" or (future is not None and future.cancelled()):
            raise _lost(address)
        if future is not None:
            return future


def _lost(address: str) -> WorkerError:
    return WorkerError(
        f"the scheduler at {address} is lost; what is finished is kept: start another one and run "
        "this again"
    )


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """Keep the cluster's own log off the terminal; errors say what matters."""
    loud = [
        logger
        for name, logger in logging.root.manager.loggerDict.items()
        if name.startswith("distributed") and isinstance(logger, logging.Logger)
    ]
    lost = False
    for logger in loud:
        logger.disabled = True
    try:
        yield
    except WorkerError:
        # Otherwise it logs that until the process ends.
        lost = True
        raise
    finally:
        for logger in loud:
            logger.disabled = lost
