"""Solvers held against public programs: known optima, verdicts with proofs, and a report."""

from __future__ import annotations

import argparse
import csv
import json
import sys
import time
import warnings
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, get_args

import numpy as np

import edgeopt
from edgeopt.errors import CertificateError, EdgeOptError, InputError, OptionError
from edgeopt.options import listed
from edgeopt.representation import compact_repr
from edgeopt.solvers.dispatch import solve
from edgeopt.solvers.exact_proofs import infeasibility_certificate
from edgeopt.solvers.program import LinearProgram
from edgeopt.solvers.program_files import SUFFIXES
from edgeopt.solvers.registry import DEFAULTS, Backend, Kind, backends, find_backend, kind_of
from edgeopt.solvers.solution import Quality, Status, recomputed_objective
from edgeopt.solvers.tolerance import DEFAULT, TIGHT
from edgeopt.studies.files import plain
from edgeopt.testing.report import describe
from edgeopt.writing import write_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import ArrayLike

    from edgeopt.solvers.solution import Solution


def proves_no_point(program: LinearProgram, multipliers: ArrayLike) -> bool:
    """Return whether multipliers of the rows prove that no point satisfies rows and bounds.

    `edgeopt.checker` adds the sum up in rationals, where each double counts as its shortest
    decimal; costs and whole-number conditions count for nothing. Multipliers of a floating-point
    solver leave roundings on infinite sides. So those of rows are dropped there, and reduced costs
    are, if need be, made exactly 0 by a small system in rationals, or moved into a row that implies
    the missing side. A proof is only what then passes, whatever the multipliers came from.
    """
    try:
        infeasibility_certificate(program, multipliers)
    except CertificateError:
        return False
    return True


LIST: Final = "optima.csv"
COLUMNS: Final = ("set", "name", "status", "objective")
"""Columns of the list that are needed."""


@dataclass(frozen=True)
class Known:
    """A program by its set and name, and its optimum; nan where it is infeasible."""

    set: str
    name: str
    path: Path  # without the suffix
    objective: float

    @property
    def infeasible(self) -> bool:
        """Whether no point satisfies it."""
        return bool(np.isnan(self.objective))

    def program(self) -> LinearProgram:
        """Read its file."""
        for suffix in SUFFIXES:
            file = self.path.with_name(self.path.name + suffix)
            if file.is_file():
                return LinearProgram.read(file)
        raise InputError(str(self.path), f"no file of this name ends in {', '.join(SUFFIXES)}")


def known_programs(folder: str | Path, sets: Sequence[str] | None = None) -> list[Known]:
    """Return the programs that the list of a folder names, of some sets or of all."""
    path = Path(folder) / LIST
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as failure:
        raise InputError(str(path), f"cannot be read: {failure}") from None
    table = csv.DictReader(text.splitlines())
    missing = [name for name in COLUMNS if name not in (table.fieldnames or ())]
    if missing:
        raise InputError(f"{path}, line 1", f"there is no column {missing[0]!r}")
    found = [_known(path, table.line_num, row) for row in table]
    there = list(dict.fromkeys(one.set for one in found))
    for name in there if sets is None else sets:
        if name not in there:
            raise OptionError(f"sets: {path} has no set {name!r}; it has {', '.join(there)}")
    return [one for one in found if sets is None or one.set in sets]


def _known(path: Path, line: int, row: Mapping[str, str | None]) -> Known:
    where = f"{path}, line {line}"
    group, name, status, objective = (row[column] or "" for column in COLUMNS)
    if status not in ("optimal", "infeasible"):
        raise InputError(where, "status must be optimal or infeasible", value=repr(status))
    optimum = float("nan")
    if status == "optimal":
        try:
            optimum = float(objective)
        except ValueError:
            raise InputError(where, "objective is no number", value=repr(objective)) from None
        if not np.isfinite(optimum):
            raise InputError(where, "objective must be finite", value=repr(objective))
    return Known(group, name, path.parent / group / name, optimum)


Verdict: TypeAlias = Literal["proven", "right", "wrong point", "false", "none", "error"]
VERDICTS: Final[tuple[Verdict, ...]] = get_args(Verdict)

TOLERANCE: Final = {Kind.LINEAR: DEFAULT, Kind.QUADRATIC: 1e-5, Kind.MIXED_INTEGER: 1e-5}
"""Relative error up to which an objective is right, by kind of program."""

EXACTNESS: Final = TIGHT
"""How well optima are known, relative to the terms that they are added up from."""

TINY: Final = float(np.finfo(float).tiny)
"""What an optimum of 0 is divided by where a point has no terms: no distance but 0 is right."""


@dataclass(frozen=True)
class Judged:
    """What a solver made of one program.

    Parameters
    ----------
    set, name
        The program.
    solver
        Its name; ``"default"`` where none was asked for.
    verdict
        ``"proven"``, ``"right"``, ``"wrong point"``, ``"false"``, ``"none"`` or ``"error"``.
    quality, status, objective, bound, gap, bound_by
        As in the solution; empty or nan where an error was raised instead.
    error
        Distance of the objective from the known optimum, relative; nan without a point.
    residual
        Largest relative violation of a constraint; nan without a point.
    seconds
        Processor time, s.
    text
        The error that was raised.
    """

    set: str
    name: str
    solver: str
    verdict: Verdict
    quality: str = ""
    status: str = ""
    objective: float = float("nan")
    bound: float = float("nan")
    gap: float = float("nan")
    bound_by: str = ""
    error: float = float("nan")
    residual: float = float("nan")
    seconds: float = 0.0
    text: str = ""

    def __str__(self) -> str:
        said = self.text or f"{self.quality}, {self.status}"
        measures = {
            "objective": f"{self.objective:.10g}",
            "error": f"{self.error:.2g}",
            "bound": f"{self.bound:.10g}",
            "residual": f"{self.residual:.2g}",
        }
        known = [f", {name} {text}" for name, text in measures.items() if text != "nan"]
        return f"{self.set}/{self.name} by {self.solver}: {self.verdict}: {said}{''.join(known)}"

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON types; measures by six digits."""
        short = {
            name: float(f"{getattr(self, name):.6g}")
            for name in ("gap", "error", "residual", "seconds")
        }
        written: dict[str, Any] = plain(asdict(self) | short)
        return written


@compact_repr
@dataclass(frozen=True)
class ProgramReport:
    r"""What solvers made of a folder of programs whose optima are known.

    Parameters
    ----------
    programs
        One entry for each program and solver, with `set`, `name`, `solver`, `verdict`, `quality`,
        `status`, `objective`, `bound`, `gap`, `bound_by`, relative `error`, `residual`, processor
        `seconds`, and the `text` of an error. ``str`` of an entry is one line.
    versions
        Of the solvers that answered, by name.
    time_limit
        Seconds that each had for each program.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from edgeopt.solvers import LinearProgram
    >>> from edgeopt.testing import check_programs
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> (folder / "mine").mkdir()
    >>> path = LinearProgram([1, 2], [[1, 1]], 3, 3).write(folder / "mine" / "tiny.mps")
    >>> lines = "set,name,status,objective\nmine,tiny,optimal,3\n"
    >>> _ = (folder / "optima.csv").write_text(lines)
    >>> report = check_programs(folder, ["highs"])
    >>> report.failed, report.table()[0]["proven"]
    ((), 1)
    """

    programs: tuple[Judged, ...]
    versions: Mapping[str, str]
    time_limit: float | None

    def of(self, *verdicts: Verdict) -> tuple[Judged, ...]:
        """Return the entries with any of some verdicts."""
        return tuple(one for one in self.programs if one.verdict in verdicts)

    @property
    def failed(self) -> tuple[Judged, ...]:
        """Entries with something false that was claimed as proven, or a foreign error."""
        return self.of("false", "error")

    def table(self) -> list[dict[str, Any]]:
        """Return set, solver, number of programs by verdict, and seconds, by set and solver."""
        groups: dict[tuple[str, str], list[Judged]] = {}
        for one in self.programs:
            groups.setdefault((one.set, one.solver), []).append(one)
        rows = []
        for (group, solver), entries in groups.items():
            counts = Counter(one.verdict for one in entries)
            seconds = round(sum(one.seconds for one in entries), 1)
            each: dict[str, Any] = {verdict: counts[verdict] for verdict in VERDICTS}
            rows.append({"set": group, "solver": solver} | each | {"seconds": seconds})
        return rows

    def to_dict(self) -> dict[str, Any]:
        """Return versions, the table and all entries as JSON types; no number is None."""
        return {
            "edgeopt": edgeopt.__version__,
            "versions": dict(self.versions),
            "time_limit": self.time_limit,
            "table": self.table(),
            "programs": [one.to_dict() for one in self.programs],
        }

    def __str__(self) -> str:
        rows = [["set", "solver", *VERDICTS, "seconds"]]
        rows += [[str(value) for value in row.values()] for row in self.table()]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join(
                text.ljust(width) if place < 2 else text.rjust(width)
                for place, (text, width) in enumerate(zip(row, widths, strict=True))
            )
            for row in rows
        ]
        others = self.of(*(verdict for verdict in VERDICTS if verdict != "proven"))
        return "\n".join([*lines, *([""] if others else []), *map(str, others)])

    def _brief(self) -> Iterator[str]:
        for verdict in VERDICTS:
            if found := self.of(verdict):
                yield f"{len(found)} {verdict}"

    def _repr_html_(self) -> str:
        """Show the table."""
        from edgeopt.writing.results import html_table

        rows = [[str(value) for value in row.values()] for row in self.table()]
        return html_table("Programs", ["set", "solver", *VERDICTS, "seconds"], rows, left=2)


def check_programs(
    folder: str | Path,
    solver: str | Backend | Sequence[str | Backend | None] | None = None,
    *,
    sets: Sequence[str] | None = None,
    time_limit: float | None = 20.0,
    **options: Any,
) -> ProgramReport:
    r"""Hold solvers against a folder of programs whose optima are known.

    The folder has a list ``optima.csv`` with the columns set, name, status ("optimal" or
    "infeasible") and objective, and in a folder for each set the files ``NAME.mps``, ``NAME.lp``,
    either also with ``.gz``, or ``NAME.mat``: a quadratic program :math:`\min \tfrac12 x^\top P x +
    q^\top x + r` subject to :math:`l \le A x \le u` with these names, where 1e20 is no limit and
    last rows of A that are the identity are bounds of the columns.

    An objective is right if it is within 1e-6 of the known optimum, relatively, in a linear program
    and within 1e-5 in others. Optima are known to 1e-9 of the terms that they are added up from: no
    distance below that counts, which matters where an optimum is about 0. The verdicts are

    - ``"proven"``: right, and of quality optimal, by the solver's bound where columns are whole
      numbers; infeasible, with multipliers in `Solution.evidence` that prove it in exact numbers,
    - ``"right"``: right, without this proof,
    - ``"wrong point"``: a usable point with another objective, said to be no more than feasible,
    - ``"false"``: an optimum or a bound that is none, infeasibility of a program that has points,
      unboundedness, or a usable point of a program that has none,
    - ``"none"``: no usable point, or an error of edgeopt, such as that of a file,
    - ``"error"``: any other exception.

    Parameters
    ----------
    folder
        The folder.
    solver
        Name of a backend, or a :class:`edgeopt.solvers.Backend`, or several of these; by default
        the one that `edgeopt.solve` chooses. Each program is read once for all.
    sets
        Names of the sets; all by default.
    time_limit
        Seconds for each program and solver; None for any time.
    **options
        Further options of :func:`edgeopt.solve`.

    Returns
    -------
    ProgramReport
        Every program with its verdict. ``print`` it for a table.

    Raises
    ------
    InputError
        If the list cannot be read; the text names the line.
    OptionError
        If there is no such set or solver.
    MissingDependencyError
        If a solver is not installed.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from edgeopt.solvers import LinearProgram
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> (folder / "mine").mkdir()
    >>> path = LinearProgram([1, 2], [[1, 1]], 3, 3).write(folder / "mine" / "tiny.mps")
    >>> lines = "set,name,status,objective\nmine,tiny,optimal,3\n"
    >>> _ = (folder / "optima.csv").write_text(lines)
    >>> check_programs(folder, ["highs", "scipy"])
    ProgramReport(2 proven)
    """
    if solver is None or isinstance(solver, str | Backend):
        solver = [solver]
    wanted = [(_loaded(one), one) for one in listed("solver", solver)]
    programs: list[Judged] = []
    versions: dict[str, str] = {}
    for known in known_programs(folder, sets):
        programs += _entries(known, wanted, versions, {**options, "time_limit": time_limit})
    # Those of solvers themselves, where others hand problems over to them.
    own = {one.name: one.version for one in backends()}
    versions = {name: own.get(name) or said for name, said in versions.items()}
    return ProgramReport(tuple(programs), versions, time_limit)


def _loaded(solver: str | Backend | None) -> str:
    """Import what a solver needs, which counts for no program, and return what it is called."""
    for kind in TOLERANCE:
        backend = find_backend(DEFAULTS[kind] if solver is None else solver)
        if kind in backend.routes:
            backend.solve_function(kind)
    return "default" if solver is None else backend.name


def _entries(
    known: Known,
    solvers: Iterable[tuple[str, str | Backend | None]],
    versions: dict[str, str],
    options: Mapping[str, Any],
) -> Iterator[Judged]:
    """Solve a program by each solver, and note the versions of those that answer."""
    try:
        program = known.program()
    except EdgeOptError as error:
        for name, _ in solvers:
            yield Judged(known.set, known.name, name, "none", text=describe(error))
        return
    for name, solver in solvers:
        began = time.process_time()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                solution = solve(program, solver, **{**options, "raises": False})
        # A backend of a stranger may raise anything.
        except Exception as error:
            seconds = time.process_time() - began
            verdict: Verdict = "none" if isinstance(error, EdgeOptError) else "error"
            yield Judged(
                known.set, known.name, name, verdict, seconds=seconds, text=describe(error)
            )
            continue
        seconds = time.process_time() - began
        versions[solution.solver] = solution.version
        yield _judged(known, name, program, solution, seconds)


def _judged(
    known: Known, solver: str, program: LinearProgram, solution: Solution, seconds: float
) -> Judged:
    verdict, error = judge(known, program, solution)
    pointless = solution.values is None
    return Judged(
        known.set, known.name, solver, verdict, solution.quality.value, solution.status.value,
        solution.objective, solution.bound, solution.gap, getattr(solution, "bound_by", ""), error,
        float("nan") if pointless else solution.primal_residual(), seconds,
    )  # fmt: skip


def judge(known: Known, program: LinearProgram, solution: Solution) -> tuple[Verdict, float]:
    """Return the verdict on a solution, and the relative error of its objective."""
    if known.infeasible:
        return _judge_infeasible(program, solution), float("nan")
    tolerance, size, error = TOLERANCE[kind_of(program)], 0.0, float("nan")
    worth = [solution.objective]
    if solution.values is not None:
        value, size = recomputed_objective(solution)
        worth.append(value)
    scale = max(abs(known.objective), EXACTNESS / tolerance * size, TINY)
    if solution.values is not None:
        # What is stated and what the point is worth must both be right.
        error = float(np.max(np.abs(np.array(worth) - known.objective))) / scale
    beyond = program.sign * (solution.bound - known.objective) / scale > tolerance
    right = solution.quality.usable and error <= tolerance
    claimed = solution.quality is Quality.OPTIMAL
    ended = solution.status in (Status.PROVEN_INFEASIBLE, Status.PROVEN_UNBOUNDED)
    if beyond or ended or (claimed and not right):
        return "false", error
    if not solution.quality.usable:
        return "none", error
    return ("proven" if claimed else "right") if right else "wrong point", error


def _judge_infeasible(program: LinearProgram, solution: Solution) -> Verdict:
    if solution.quality.usable or solution.status is Status.PROVEN_UNBOUNDED:
        return "false"
    if solution.status is not Status.PROVEN_INFEASIBLE:
        return "none"
    proof = solution.evidence
    shown = isinstance(proof, np.ndarray) and proves_no_point(program, proof)
    return "proven" if shown else "right"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command, and return its exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m edgeopt.testing.programs", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("folder", help="folder with optima.csv and a folder for each set")
    parser.add_argument("--solver", nargs="+", help="backends; edgeopt's choice by default")
    parser.add_argument("--set", nargs="+", dest="sets", help="sets; all by default")
    parser.add_argument("--time-limit", type=float, default=20.0, help="seconds for each program")
    parser.add_argument("--json", help="file for the whole report")
    given = parser.parse_args(arguments)
    try:
        report = check_programs(
            given.folder, given.solver, sets=given.sets, time_limit=given.time_limit
        )
        print(report)
        if given.json:
            write_file(given.json, text_of(report.to_dict()))
    except EdgeOptError as error:
        parser.error(str(error))
    return int(bool(report.failed))


def text_of(document: Mapping[str, Any]) -> str:
    """Return the JSON of a report, with one line for each row and program."""
    parts = []
    for name, value in document.items():
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        if isinstance(value, list):
            rows = (json.dumps(row, ensure_ascii=False, allow_nan=False) for row in value)
            text = "[\n  " + ",\n  ".join(rows) + "\n ]"
        parts.append(f" {json.dumps(name)}: {text}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


if __name__ == "__main__":
    sys.exit(main())
