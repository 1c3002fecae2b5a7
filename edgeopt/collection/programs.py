"""Solvers on a folder of programs in files: times, and answers held against each other."""

from __future__ import annotations

import hashlib
import json
import warnings
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.collection.compare import GAPS, checked_gaps, checked_solvers
from edgeopt.collection.comparison import OFFLINE, Bench
from edgeopt.collection.entries import OPTIMAL
from edgeopt.collection.measures import timed
from edgeopt.errors import EdgeOptError, InputError, OptionError
from edgeopt.options import check_real
from edgeopt.solvers import LinearProgram, solve
from edgeopt.solvers.program_files import SUFFIXES
from edgeopt.solvers.registry import find_backend, kind_of
from edgeopt.solvers.solution import Quality, Status, recomputed_objective
from edgeopt.solvers.tolerance import TIGHT
from edgeopt.studies.sweeps import Job, compute_jobs

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Sequence

    from edgeopt.solvers.solution import Solution

    Row = dict[str, Any]

SOLVED: Final = "solved"
INFEASIBLE: Final = "infeasible"
"""Answers that count: an optimum within the gap, and a proof that there is no point."""


def bench_programs(
    folder: str | os.PathLike[str],
    offline: Iterable[str],
    *,
    time_limit: float = 60.0,
    gap: float | Iterable[float] = GAPS,
    workers: int = 1,
    cluster: str | None = None,
    store: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
) -> Bench:
    """Compare solvers on all programs in a folder, at any depth.

    An answer counts if its point, checked against the data, is within the gap of its bound, or if
    infeasibility is proven. Answers are then held against each other: who excludes a point that
    another has is wrong. Every solver uses one thread; reading a file counts for none.

    Parameters
    ----------
    folder
        Folder with files that `LinearProgram.read` takes; programs in one subfolder are a set, and
        sets weigh the same.
    offline
        Solvers of `edgeopt.solve` by name. Where one does not take programs of a kind, these are
        left out of the comparison.
    time_limit
        Seconds for each program and gap.
    gap
        Relative gap to which programs are solved, or several.
    workers, cluster, store, progress
        As for `bench`.

    Returns
    -------
    Bench
        Results, profiles and rankings.

    Raises
    ------
    InputError
        If the folder holds no program.
    OptionError
        If a solver is not installed, or an option is out of range.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from edgeopt.collection import bench_programs
    >>> from edgeopt.solvers import LinearProgram
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = LinearProgram([1, 2], [[1, 1]], 3, 3).write(folder / "tiny.mps")
    >>> found = bench_programs(folder, ["highs", "scipy"], gap=1e-6, progress=False)
    >>> found.results["value"].tolist(), found.results["failed"].tolist()
    ([3.0, 3.0], ['', ''])
    """
    check_real("time_limit", time_limit, "(0, inf)")
    gaps, solvers, base = checked_gaps(gap), checked_solvers(offline, own=False), Path(folder)
    if not solvers:
        raise OptionError("nothing to compare: name solvers (offline)")
    jobs = [
        _job(base, path, solver, gaps, float(time_limit))
        for path in programs_in(base)
        for solver in solvers
    ]
    found = compute_jobs(jobs, store=store, workers=workers, cluster=cluster, progress=progress)
    rows = [_row(job, one) for job in jobs for one in json.loads(found[job.key]["reached"])]

    import pandas as pd

    table = pd.DataFrame(_held_together(rows))
    return Bench(table, float(time_limit), tuple(sorted(gaps)), folder=str(folder))


def programs_in(folder: Path) -> list[Path]:
    """Return the files of programs in a folder, at any depth."""
    files = (path for path in folder.rglob("*") if path.name.lower().endswith(SUFFIXES))
    found = sorted(path for path in files if path.is_file())
    if not found:
        raise InputError(str(folder), f"holds no file that ends in {', '.join(SUFFIXES)}")
    return found


def _job(base: Path, path: Path, solver: str, gaps: Sequence[float], time_limit: float) -> Job:
    """Solve a program with one solver, to each gap."""
    wanted = tuple(sorted(gaps, reverse=True))
    identity = {
        "instance": path.relative_to(base).as_posix(),
        "fingerprint": hashlib.sha256(path.read_bytes()).hexdigest(),
        "competitor": solver, "gaps": " ".join(f"{gap:g}" for gap in wanted),
        "time_limit": time_limit,
    }  # fmt: skip
    return Job(identity, _solve, (str(path), solver, wanted, time_limit))


def _solve(path: str, solver: str, gaps: Sequence[float], time_limit: float) -> Row:
    """Solve to each gap, the widest first; one that an earlier answer keeps takes no other run."""
    reached: list[Row] = []
    last: Row | None = None
    try:
        program = LinearProgram.read(path)
    except EdgeOptError as error:
        return {"reached": json.dumps([{"target": gap, "failed": str(error)} for gap in gaps])}
    if kind_of(program) not in find_backend(solver).routes:
        return {"reached": "[]"}
    for target in gaps:
        if last is None or not _counts(last, target):
            _warm(solver)
            last = _answer(program, solver, target, time_limit)
        reached.append({"target": target} | last)
    return {"reached": json.dumps(reached)}


@cache
def _warm(solver: str) -> None:
    """Let a solver solve something small, so that no time holds imports."""
    _answer(LinearProgram([1.0, 2.0], [[1.0, 1.0]], 3.0, 3.0), solver, 1e-2, 10.0)


def _answer(program: LinearProgram, solver: str, gap: float, time_limit: float) -> Row:
    """Solve once; return seconds, and what the data say of the answer."""
    run = partial(solve, program, solver, gap=gap, time_limit=time_limit, threads=1, raises=False)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = timed(run)
    except EdgeOptError as error:
        return {"failed": str(error)}
    found = made.last
    size = 0.0 if found.values is None else recomputed_objective(found).size
    return {
        "seconds": made.median, "value": _finite(found.objective), "bound": _finite(found.bound),
        "gap": _finite(found.gap), "answer": _kind(found), "sense": program.sense, "terms": size,
        "residual": None if found.values is None else found.primal_residual(), "failed": "",
        "status": f"{found.in_hand}, {found.status.value}",
    }  # fmt: skip


def _kind(found: Solution) -> str:
    if found.status in (Status.PROVEN_INFEASIBLE, Status.CLAIMED_INFEASIBLE):
        return INFEASIBLE
    if found.quality is Quality.OPTIMAL:
        return SOLVED
    return "point" if found.quality.usable else ""


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _counts(row: Row, target: float) -> bool:
    """Return whether an answer is one to a gap."""
    if row.get("answer") == INFEASIBLE:
        return str(row["status"]).endswith(Status.PROVEN_INFEASIBLE.value)
    near = row.get("gap") is not None and row["gap"] <= target
    return bool(near and row.get("answer") in (SOLVED, "point"))


def _row(job: Job, found: Row) -> Row:
    name = job.identity["instance"]
    row: Row = {
        "part": OFFLINE, "instance": name, "system": Path(name).parent.as_posix(), "size": "",
        "competitor": job.identity["competitor"], "value": None, "bound": None, "bounds": "",
        "gap": None, "seconds": None, "se": None, "violated": None, "answer": "", "status": "",
        "residual": None,
    } | found  # fmt: skip
    if not row["failed"] and not _counts(row, row["target"]):
        row["failed"] = row["status"]
    if not row["failed"] and row["answer"] == INFEASIBLE:
        row["gap"] = 0.0  # a proof leaves nothing open
    return row


def _held_together(rows: Sequence[Row]) -> Iterator[Row]:
    """Mark what the points of others contradict."""
    several: dict[tuple[str, float], list[Row]] = {}
    for row in rows:
        several.setdefault((row["instance"], row["target"]), []).append(row)
    for row in rows:
        others = several[row["instance"], row["target"]]
        points = [one for one in others if one["answer"] in (SOLVED, "point")]
        if points:
            sign = 1.0 if points[0]["sense"] == "min" else -1.0
            best = min(points, key=lambda one: sign * one["value"])
            row["failed"] = _contradicted(row, best, sign) or row["failed"]
        yield {name: value for name, value in row.items() if name not in ("sense", "terms")}


def _contradicted(row: Row, best: Row, sign: float) -> str:
    """Say how a point contradicts an answer, "" where it does not."""
    point = f"{best['competitor']} has a point of {best['value']:.9g}"
    if row["answer"] == INFEASIBLE:
        return f"wrong: infeasible, it says; {point}"
    if row["bound"] is None:
        return ""
    size = max(abs(best["value"]), abs(row["bound"]))
    if sign * (row["bound"] - best["value"]) > 10 * OPTIMAL * size + TIGHT * best["terms"]:
        return f"wrong: its bound {row['bound']:.9g} excludes that {point}"
    return ""
