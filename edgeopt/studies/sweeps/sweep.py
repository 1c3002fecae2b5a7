"""Compute the unfinished jobs of a sweep, here or on a cluster; finished ones are kept on disk."""

from __future__ import annotations

import contextlib
import json
import logging
import platform
import queue
import warnings
from concurrent.futures import CancelledError
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import edgeopt
from edgeopt import processes
from edgeopt.errors import EdgeOptWarning, MissingDependencyError, OptionError, WorkerError
from edgeopt.options import check_kind, check_text, check_workers, listed
from edgeopt.reading import content_of
from edgeopt.studies.progress import progress_bar
from edgeopt.studies.sweeps.jobs import Job, code_of, digest, packages_of, source_of
from edgeopt.writing import Folder

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    import pandas as pd

    from edgeopt.processes import Call, Pool


FORMAT: Final = 3
"""Version of the format of jobs."""


_LARGEST: Final = 2**26
"""Most bytes of a job."""

_TICK: Final = 0.005
"""Seconds by which the clock of files may be late."""


class StoreWarning(EdgeOptWarning):
    """A kept job is torn, foreign, unreadable or of other code, and is computed again.

    Examples
    --------
    >>> import tempfile, warnings
    >>> from edgeopt.studies.sweeps import Job, Store, StoreWarning
    >>> def square(number):
    ...     return {"square": number**2}
    ...
    >>> job = Job({"number": 3}, square, (3,))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = Store(folder)
    ...     size = store.path(job).write_text("torn")
    ...     with warnings.catch_warnings(record=True) as given:
    ...         warnings.simplefilter("always", StoreWarning)
    ...         kept = store.get(job)
    ...
    >>> kept, [warning.category.__name__ for warning in given]
    (None, ['StoreWarning'])
    """


class Store:
    """A folder of finished jobs.

    A process that is killed leaves whole jobs alone. Several processes may use a folder at a time.

    Parameters
    ----------
    folder
        The folder; made if it is not there.
    force
        Whether to use a folder that is not empty and that no sweep has made.

    Raises
    ------
    OutputError
        If it cannot be made, or is another's.

    Examples
    --------
    >>> import tempfile
    >>> from edgeopt.studies.sweeps import Job, Store, run_jobs
    >>> def square(number):
    ...     return {"square": number**2}
    ...
    >>> jobs = [Job({"number": n}, square, (n,)) for n in (2, 3)]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = Store(folder)
    ...     table = run_jobs(jobs, store=store)
    ...     print(store.get(jobs[1]))
    ...
    {'square': 9}
    """

    def __init__(self, folder: str | os.PathLike[str], *, force: bool = False) -> None:
        self._own = Folder(folder, "jobs", force=force)
        self._own.begin()

    @property
    def folder(self) -> Path:
        """Absolute path of the folder."""
        return self._own.path

    @property
    def present(self) -> bool:
        """Whether the folder is on the disk of this machine."""
        return self._own.marked

    def path(self, job: Job) -> Path:
        """Return the file of a job, whether it exists or not."""
        return self.folder / f"{job.key}.json"

    def get(self, job: Job) -> dict[str, Any] | None:
        """Return the result of a job, or None if it is not finished.

        Warns
        -----
        StoreWarning
            If its file is torn, of another job, unreadable, or of other code than would run now;
            it counts as not finished then.
        """
        row, why = self.read(job)
        if why:
            _distrust([(self.path(job), why)])
        return row

    def read(self, job: Job) -> tuple[dict[str, Any] | None, str]:
        """Return the result of a job, if it is finished, and what is wrong with its file."""
        path = self.path(job)
        try:
            if path.stat().st_size > _LARGEST:
                return None, f"is foreign: it is larger than {_LARGEST} bytes"
            kept = json.loads(content_of(path).decode())
        except FileNotFoundError:
            return None, ""
        except OSError as error:
            return None, f"cannot be read ({error})"
        except (ValueError, RecursionError):  # no UTF-8, no JSON, digits or brackets without end
            return None, "is torn: it is no whole JSON document"
        if not isinstance(kept, dict) or kept.get("format") != FORMAT:
            return None, f"is foreign: it is not of format {FORMAT}"
        if not {"key", "code", "checksum"} <= kept.keys() or not isinstance(kept.get("row"), dict):
            return None, "is foreign: it lacks what a job has"
        if kept["checksum"] != _checksum(kept):
            return None, "has changed since it was written"
        if kept["key"] != job.key:
            return None, "is foreign: it is of another job"
        if kept["code"] != code_of(job):
            return None, "is of other code: edgeopt, or what else it ran, has changed"
        return kept["row"], ""

    def put(self, job: Job, row: dict[str, Any], code: str = "") -> None:
        """Keep the result of a job with the hash of its code, by default in this process.

        Raises
        ------
        OptionError
            If the row holds anything but numbers and texts.
        OutputError
            If it cannot be written.
        """
        try:
            content: dict[str, Any] = {
                "format": FORMAT,
                "key": job.key,
                "identity": dict(job.identity),
                "code": code or code_of(job),
                "row": row,
            }
            text = json.dumps({**content, "checksum": _checksum(content)}, indent=1)
        except (TypeError, ValueError) as error:
            raise OptionError(f"row of a job: {error}") from None
        self._own.write(self.path(job).name, text)


def _checksum(kept: dict[str, Any]) -> str:
    """Hash what is kept, to detect damage; it does not detect forgery."""
    try:
        return digest([kept[name] for name in ("key", "code", "row")])
    except RecursionError:  # brackets just shallow enough to be read
        return ""


def _distrust(spoilt: Sequence[tuple[Path, str]]) -> None:
    """Warn of files that are not used, once for all with the same fault."""
    several: dict[str, list[Path]] = {}
    for path, why in spoilt:
        several.setdefault(why, []).append(path)
    for why, paths in several.items():
        others = f"; so it is with {len(paths) - 1} of its folder" if len(paths) > 1 else ""
        said = "the jobs are" if others else "the job is"
        warnings.warn(
            f"{paths[0]} {why}{others}; {said} computed again", StoreWarning, stacklevel=4
        )


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


def run_jobs(
    jobs: Iterable[Job],
    *,
    store: str | os.PathLike[str] | Store | None = None,
    workers: int = 1,
    cluster: str | None = None,
    progress: bool | None = None,
) -> pd.DataFrame:
    """Compute jobs and return them as a table, in their order.

    Parameters
    ----------
    jobs, store, workers, cluster, progress
        As in :func:`compute_jobs`.

    Returns
    -------
    pandas.DataFrame
        One row per job: its identity, then what it came to.

    Examples
    --------
    >>> from edgeopt.studies.sweeps import Job, run_jobs
    >>> def square(number):
    ...     return {"square": number**2}
    ...
    >>> run_jobs([Job({"number": n}, square, (n,)) for n in (2, 3)])
       number  square
    0       2       4
    1       3       9
    """
    several = listed("jobs", jobs)
    return tabulate(
        several,
        compute_jobs(several, store=store, workers=workers, cluster=cluster, progress=progress),
    )


def tabulate(jobs: Iterable[Job], rows: Mapping[str, Mapping[str, Any]]) -> pd.DataFrame:
    """Return jobs as a table, one row per job: its identity, then its result.

    Parameters
    ----------
    jobs
        The jobs.
    rows
        What they came to, by their keys.

    Returns
    -------
    One row per job.

    Examples
    --------
    >>> from edgeopt.studies.sweeps import Job, compute_jobs, tabulate
    >>> def square(number):
    ...     return {"square": number**2}
    ...
    >>> jobs = [Job({"number": n}, square, (n,)) for n in (2, 3)]
    >>> tabulate(jobs, compute_jobs(jobs))
       number  square
    0       2       4
    1       3       9
    """
    import pandas as pd

    return pd.DataFrame([{**job.identity, **rows[job.key]} for job in jobs])


def compute_jobs(
    jobs: Iterable[Job],
    *,
    store: str | os.PathLike[str] | Store | None = None,
    workers: int = 1,
    cluster: str | None = None,
    progress: bool | None = None,
) -> dict[str, dict[str, Any]]:
    """Compute jobs that are not kept yet, in any order, and keep each when it is finished.

    Parameters
    ----------
    jobs
        The jobs. Those of the same identity are computed once.
    store
        Folder in which finished jobs are kept. What it holds is not computed again; a run that is
        killed at any moment loses no finished job.
    workers
        Processes on this machine; -1 takes all cores.
    cluster
        Address of the scheduler of a Dask cluster, which computes instead.
    progress
        Whether to show a progress bar; by default only when standard error is a terminal.

    Returns
    -------
    dict
        What each job came to, by its key.

    Raises
    ------
    OptionError
        If an option is out of range, no scheduler answers, sources have changed since this process
        began, or a process that computes has other code.
    WorkerError
        If a process that computes has ended without a word, or the scheduler is lost; what is
        finished is kept.
    MissingDependencyError
        If a cluster is given and the extra ``cluster`` is not installed.

    Examples
    --------
    >>> from edgeopt.studies.sweeps import Job, compute_jobs
    >>> def square(number):
    ...     return {"square": number**2}
    ...
    >>> list(compute_jobs([Job({"number": 3}, square, (3,))]).values())
    [{'square': 9}]
    """
    check_workers(workers)
    if cluster is not None:
        check_text("cluster", cluster)
    for job in (jobs := listed("jobs", jobs)):
        check_kind("jobs", job, Job)
    unique = {job.key: job for job in jobs}
    kept = store if store is None or isinstance(store, Store) else Store(store)
    if kept is not None:
        _refuse_changed(unique.values())
    rows: dict[str, dict[str, Any]] = {}
    if kept is not None:
        found = {key: kept.read(job) for key, job in unique.items()}
        rows = {key: row for key, (row, _) in found.items() if row is not None}
        _distrust([(kept.path(unique[key]), why) for key, (_, why) in found.items() if why])
    todo = [job for key, job in unique.items() if key not in rows]
    spoilt = {job.key for job in todo if kept is not None and kept.path(job).exists()}
    keep = [None if kept is None else Keep.of(job, kept) for job in todo]
    where = processes.pool(workers, ordered=False) if cluster is None else cluster_pool(cluster)
    with progress_bar(len(todo), show=progress) as step, where as pool:
        for key, row in pool((_finish, work) for work in zip(todo, keep, strict=True)):
            rows[key] = row
            if kept is not None and (key in spoilt or not kept.path(unique[key]).exists()):
                # The machine that computed it has another disk.
                kept.put(unique[key], row)
            step("jobs")
    return rows


def _refuse_changed(jobs: Iterable[Job]) -> None:
    """Refuse code in memory that may differ from the files, by which jobs are identified."""
    for package in sorted({one for job in jobs for one in packages_of(job)}):
        source = source_of(package)
        if source.touched > edgeopt._BEGAN - _TICK:
            raise OptionError(
                f"{source.latest} has changed since this process began; start it again"
            )


class Keep(NamedTuple):
    """Where a job is kept, and the hash of its code in the process that hands it out."""

    store: Store
    code: str
    imported: str
    """The part of `code` that every process must have in its own files."""

    @classmethod
    def of(cls, job: Job, store: Store) -> Keep:
        """Return it for a job."""
        return cls(store, code_of(job), code_of(job, scripts=False))


def _finish(job: Job, keep: Keep | None) -> tuple[str, dict[str, Any]]:
    """Compute a job and keep it at once, if this machine can reach the store."""
    if keep is not None and code_of(job, scripts=False) != keep.imported:
        raise OptionError(
            f"the code on {platform.node() or 'a worker'} is not the one that was started, for "
            f"{dict(job.identity)}: install the same edgeopt there, or start again"
        )
    row = job.compute()
    if keep is not None and keep.store.present:
        keep.store.put(job, row, keep.code)
    return job.key, row
