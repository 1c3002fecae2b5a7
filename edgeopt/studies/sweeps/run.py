"""Compute the unfinished cells of a sweep, on this machine or on a cluster."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING, Any, NamedTuple

from edgeopt import processes
from edgeopt.digests import changed
from edgeopt.errors import OptionError
from edgeopt.options import check_kind, check_text, check_workers, listed
from edgeopt.studies.progress import progress_bar
from edgeopt.studies.sweeps.cells import Cell, code_of, modules_of
from edgeopt.studies.sweeps.cluster import cluster_pool
from edgeopt.studies.sweeps.store import Store

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping

    import pandas as pd


def run_cells(
    cells: Iterable[Cell],
    *,
    store: str | os.PathLike[str] | Store | None = None,
    workers: int = 1,
    cluster: str | None = None,
    progress: bool | None = None,
) -> pd.DataFrame:
    """Compute cells and return them as a table, in their order.

    Parameters
    ----------
    cells, store, workers, cluster, progress
        As in :func:`compute_cells`.

    Returns
    -------
    pandas.DataFrame
        One row per cell: its identity, then what it came to.
    """
    several = listed("cells", cells)
    return tabulate(
        several,
        compute_cells(several, store=store, workers=workers, cluster=cluster, progress=progress),
    )


def tabulate(cells: Iterable[Cell], rows: Mapping[str, Mapping[str, Any]]) -> pd.DataFrame:
    """Return cells as a table, one row per cell: its identity, then its result.

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
    """Compute cells that are not kept yet, in any order, and keep each when it is finished.

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
        If an option is out of range, no scheduler answers, sources have changed since this process
        began, or a process that computes has other code.
    WorkerError
        If a process that computes has ended without a word, or the scheduler is lost; what is
        finished is kept.
    MissingDependencyError
        If a cluster is given and the extra ``cluster`` is not installed.
    """
    check_workers(workers)
    if cluster is not None:
        check_text("cluster", cluster)
    for cell in (cells := listed("cells", cells)):
        check_kind("cells", cell, Cell)
    unique = {cell.key: cell for cell in cells}
    kept = store if store is None or isinstance(store, Store) else Store(store)
    if kept is not None:
        _refuse_changed(unique.values())
    rows: dict[str, dict[str, Any]] = {}
    if kept is not None:
        found = {key: kept.get(cell) for key, cell in unique.items()}
        rows = {key: row for key, row in found.items() if row is not None}
    todo = [cell for key, cell in unique.items() if key not in rows]
    spoilt = {cell.key for cell in todo if kept is not None and kept.path(cell).exists()}
    keep = [None if kept is None else Keep.of(cell, kept) for cell in todo]
    where = processes.pool(workers, ordered=False) if cluster is None else cluster_pool(cluster)
    with progress_bar(len(todo), show=progress) as step, where as pool:
        for key, row in pool((_finish, work) for work in zip(todo, keep, strict=True)):
            rows[key] = row
            if kept is not None and (key in spoilt or not kept.path(unique[key]).exists()):
                # The machine that computed it has another disk.
                kept.put(unique[key], row)
            step("cells")
    return rows


def _refuse_changed(cells: Iterable[Cell]) -> None:
    """Refuse code in memory that differs from the files, by which cells are identified."""
    for file in changed({module for cell in cells for module in modules_of(cell)}):
        raise OptionError(f"{file} has changed since this process began; start it again")


class Keep(NamedTuple):
    """Where a cell is kept, and the digest of its code in the process that hands it out."""

    store: Store
    code: str
    imported: str
    """The part of `code` that every process must have in its own files."""

    @classmethod
    def of(cls, cell: Cell, store: Store) -> Keep:
        """Return it for a cell."""
        return cls(store, code_of(cell), code_of(cell, scripts=False))


def _finish(cell: Cell, keep: Keep | None) -> tuple[str, dict[str, Any]]:
    """Compute a cell and keep it at once, if this machine can reach the store."""
    if keep is not None and code_of(cell, scripts=False) != keep.imported:
        raise OptionError(
            f"the code on {platform.node() or 'a worker'} is not the one that was started, for "
            f"{dict(cell.identity)}: install the same edgeopt there, or start again"
        )
    row = cell.compute()
    if keep is not None and keep.store.present:
        keep.store.put(cell, row, keep.code)
    return cell.key, row
