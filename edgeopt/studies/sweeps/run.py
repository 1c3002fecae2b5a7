"""All cells of a sweep, on this machine or on a cluster, those that are finished left alone."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Final

from edgeopt.errors import MissingDependencyError, OptionError
from edgeopt.studies.progress import progress_bar
from edgeopt.studies.sweeps.store import Store

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping
    from contextlib import AbstractContextManager

    import pandas as pd

    from edgeopt.studies.sweeps.cells import Cell

__all__ = ["compute_cells", "run_cells", "tabulate"]

_PATIENCE: Final = 10
"""Seconds within which the scheduler of a cluster has to answer."""


def run_cells(
    cells: Iterable[Cell],
    *,
    store: str | os.PathLike[str] | Store | None = None,
    workers: int = 1,
    cluster: str | None = None,
    progress: bool | None = None,
) -> pd.DataFrame:
    """Compute cells and return them as a table, in the order in which they are given.

    Parameters
    ----------
    cells, store, workers, cluster, progress
        As in :func:`compute_cells`.

    Returns
    -------
    pandas.DataFrame
        One row per cell: its identity, then what it came to.
    """
    listed = list(cells)
    return tabulate(
        listed,
        compute_cells(listed, store=store, workers=workers, cluster=cluster, progress=progress),
    )


def tabulate(cells: Iterable[Cell], rows: Mapping[str, Mapping[str, Any]]) -> pd.DataFrame:
    """Return cells as a table, one row per cell: its identity, then what it came to.

    Parameters
    ----------
    cells
        The cells.
    rows
        What they came to, by their keys.
    """
    import pandas as pd

    return pd.DataFrame([{**cell.identity, **rows[cell.key]} for cell in cells])


def compute_cells(
    cells: Iterable[Cell],
    *,
    store: str | os.PathLike[str] | Store | None = None,
    workers: int = 1,
    cluster: str | None = None,
    progress: bool | None = None,
) -> dict[str, dict[str, Any]]:
    """Compute cells that are not kept yet, in any order, and keep each as soon as it is finished.

    Parameters
    ----------
    cells
        The cells. Those of the same identity are computed once.
    store
        Folder in which finished cells are kept. What it holds is not computed again; a run that is
        killed at any moment loses no finished cell.
    workers
        Processes on this machine; -1 takes all cores.
    cluster
        Address of the scheduler of a Dask cluster, which computes instead.
    progress
        Whether to show a progress bar; by default only when standard error is a terminal.

    Returns
    -------
    dict
        What each cell came to, by its key.

    Raises
    ------
    OptionError
        If an option is out of range, or no scheduler answers.
    MissingDependencyError
        If a cluster is asked for and the extra ``cluster`` is not installed.
    """
    from joblib import Parallel, delayed

    if workers < 1 and workers != -1:
        raise OptionError(f"workers = {workers}: must be at least 1, or -1 for all cores")
    unique = {cell.key: cell for cell in cells}
    kept = store if store is None or isinstance(store, Store) else Store(store)
    rows: dict[str, dict[str, Any]] = {}
    if kept is not None:
        found = {key: kept.get(cell) for key, cell in unique.items()}
        rows = {key: row for key, row in found.items() if row is not None}
    todo = [cell for key, cell in unique.items() if key not in rows]
    with progress_bar(len(todo), show=progress) as step, _where(cluster):
        pool = Parallel(n_jobs=workers, return_as="generator_unordered")
        for key, row in pool(delayed(_finish)(cell, kept) for cell in todo):
            rows[key] = row
            if kept is not None and not kept.path(unique[key]).exists():
                # The machine that computed it does not share this disk.
                kept.put(unique[key], row)
            step("cells")
    return rows


def _finish(cell: Cell, store: Store | None) -> tuple[str, dict[str, Any]]:
    """Compute a cell and keep it at once, if the store can be seen from where this runs."""
    row = cell.compute()
    if store is not None and store.present:
        store.put(cell, row)
    return cell.key, row


def _where(cluster: str | None) -> AbstractContextManager[Any]:
    if cluster is None:
        return nullcontext()
    try:
        from dask.distributed import Client
    except ImportError:
        raise MissingDependencyError(
            "a cluster needs the extra: pip install 'edgeopt[cluster]'"
        ) from None
    from contextlib import ExitStack

    from joblib import parallel_config

    stack = ExitStack()
    try:
        client = Client(cluster, timeout=_PATIENCE)  # type: ignore[no-untyped-call]
        stack.enter_context(client)
    except (OSError, ValueError) as error:
        raise OptionError(f"no Dask scheduler answers at {cluster!r}: {error}") from None
    stack.enter_context(parallel_config(backend="dask"))
    return stack
