"""Certificates: bounds with their proofs in exact numbers, in files that others can check.

Every number of a file is the shortest decimal of a double and counts as the rational that it says,
so a certified bound may differ from that of doubles by rounding. `edgeopt.checker` proves it anew
before a certificate is handed out.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt import checker
from edgeopt.errors import CertificateError
from edgeopt.representation import brief
from edgeopt.solvers.program import LinearProgram
from edgeopt.solvers.residuals import linear
from edgeopt.writing import write_file
from edgeopt.writing.results import in_html

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

    from edgeopt.solvers.solution import Solution

    Vector = NDArray[np.float64]

FORMAT: Final = "edgeopt.certificate/1"

APART: Final = 1_000_000
"""Bytes of data from which on they are in a file of their own."""

DIGITS: Final = 17
"""Digits of the claimed bound."""


@in_html
@brief
@dataclass(frozen=True, eq=False)
class Certificate:
    """A proven bound with its program and proof, which `edgeopt.checker` checks by itself.

    Parameters
    ----------
    kind
        What is bounded: ``"linear-program"``, ``"rescue.p1-lp"``, ``"idn.cooperative"`` or
        ``"tapfinger.pooled"``.
    sense
        Whether the program is minimised or maximised: ``"min"`` or ``"max"``.
    bound
        What no feasible point of the program is better than, to the nearest double.
    objective
        Value of the point in the certificate; None without one.
    violation
        By how much the point violates a constraint at most; 0 if it is feasible in exact numbers.
    about
        System, fingerprint and name of the instance, and the version of edgeopt.
    data
        The program: numbers as texts.
    content
        The rest of the file: point, multipliers and claim.
    """

    kind: str
    sense: str
    bound: float
    objective: float | None
    violation: float | None
    about: Mapping[str, str]
    data: Mapping[str, Any] = field(repr=False)
    content: Mapping[str, Any] = field(repr=False)

    def check(self) -> None:
        """Prove the bound anew.

        Raises
        ------
        CertificateError
            If it is not proven, which an unchanged certificate never does.
        """
        _examined(self.content, self.data)

    def save(self, path: str | os.PathLike[str], *, checker: bool = False) -> Path:
        """Write the certificate, compressed if the name ends in ``.gz``.

        Data of more than a megabyte go to a second file beside it, ``NAME.data.json.gz``.

        Parameters
        ----------
        path
            Where.
        checker
            Whether to put a copy of ``checker.py`` beside it.

        Returns
        -------
        Path
            The file.

        Raises
        ------
        OutputError
            If a file cannot be written.
        """
        target = Path(path)
        content = {name: self.content[name] for name in ("format", "kind", "about")}
        data = _text_of(self.data)
        if len(data) > APART:
            beside = target.with_name(f"{target.name.partition('.')[0]}.data.json.gz")
            packed = gzip.compress(data, mtime=0)
            write_file(beside, packed)
            content |= {"data_file": beside.name, "data_sha256": hashlib.sha256(packed).hexdigest()}
        else:
            content["data"] = self.data
        content |= {name: self.content[name] for name in ("primal", "dual", "claim")}
        text = _text_of(content)
        write_file(target, gzip.compress(text, mtime=0) if target.suffix == ".gz" else text)
        if checker:
            source = Path(_checker_file()).read_bytes()
            write_file(target.with_name("checker.py"), source)
        return target


def _checker_file() -> str:
    return checker.__file__


def _text_of(content: Any) -> bytes:
    return json.dumps(content, separators=(",", ":")).encode()


def _examined(content: Any, data: Any) -> tuple[str, Fraction, Any]:
    """Return sense, bound and point as the checker finds them."""
    try:
        found: tuple[str, Fraction, Any] = checker.examine(content, data)
    except checker.ProofError as error:
        raise CertificateError(f"no certificate: {error.args[1]}") from None
    return found


def read_certificate(path: str | os.PathLike[str]) -> Certificate:
    """Read what `Certificate.save` has written, and prove it."""
    try:
        content, data = checker.opened(str(path))
    except checker.ProofError as error:
        raise CertificateError(f"{path}: {error.args[1]}") from None
    return _certificate(content, data, *_examined(content, data))


def _certificate(
    content: Mapping[str, Any], data: Mapping[str, Any], sense: str, bound: Fraction, point: Any
) -> Certificate:
    objective, violation = (None, None) if point is None else map(float, point)
    return Certificate(
        content["kind"], sense, float(bound), objective, violation, content["about"], data, content
    )


def proven(
    kind: str,
    data: Mapping[str, Any],
    dual: Mapping[str, Any],
    primal: Mapping[str, Any] | None = None,
    *,
    sense: str,
    system: str = "",
    instance: Any = None,
    name: str = "",
) -> Certificate:
    """Return a certificate whose bound the checker has found."""
    from edgeopt import __version__

    about = {
        "system": system,
        "instance": "" if instance is None else instance.fingerprint(),
        "name": name,
        "edgeopt": __version__,
    }
    claim = {"sense": sense, "objective": None, "bound": "1e999" if sense == "max" else "-1e999"}
    content = {
        "format": FORMAT,
        "kind": kind,
        "about": about,
        "primal": primal,
        "dual": dual,
        "claim": claim,
    }
    found, bound, point = _examined(content, data)
    content["claim"] = claim | {
        "bound": outward(bound, sense == "max"),
        "objective": None if point is None else outward(point[0], sense == "min"),
    }
    return _certificate(content, data, found, bound, point)


def outward(value: Fraction, up: bool) -> str:
    """Return the decimal of `DIGITS` digits next to a rational, from above or from below."""
    rounding = ROUND_CEILING if up else ROUND_FLOOR
    context = Context(prec=DIGITS, rounding=rounding)
    return str(context.divide(Decimal(value.numerator), Decimal(value.denominator)))


def text(value: float) -> str:
    """Return the shortest decimal of a double."""
    return repr(float(value) + 0.0).removesuffix(".0")


def texts(values: ArrayLike) -> Any:
    """Return the shortest decimals of an array, in lists."""

    def of(part: Any) -> Any:
        return [of(one) for one in part] if isinstance(part, list) else text(part)

    return of(np.asarray(values, dtype=float).tolist())


def indices(values: ArrayLike) -> Any:
    """Return whole numbers of an array as texts, in lists."""

    def of(part: Any) -> Any:
        return [of(one) for one in part] if isinstance(part, list) else str(int(part))

    return of(np.asarray(values).tolist())


def entries(values: ArrayLike) -> dict[str, str]:
    """Return the decimals of the entries of an array that are not 0, by index."""
    array = np.asarray(values, dtype=float)
    at = np.nonzero(array)
    keys = zip(*(one.tolist() for one in at), strict=True)
    return {
        ",".join(map(str, key)): text(one)
        for key, one in zip(keys, array[at].tolist(), strict=True)
    }


def certificate_of(
    solution: Solution, *, name: str, instance: Any, point: bool, repair: bool
) -> Certificate:
    """Return the certificate of a solution; its problem may know how to write one."""
    program = solution.problem
    own = getattr(program, "certificate", None)
    how = {"name": name, "instance": instance, "point": point, "repair": repair}
    if own is not None:
        found: Certificate = own(solution, **how)
        return found
    if not isinstance(program, LinearProgram) or program.quadratic is not None:
        raise CertificateError(
            "no certificate: exact numbers prove bounds of linear programs, and this is a "
            f"{type(program).__name__} that is none"
        )
    if program.is_mixed_integer:
        raise CertificateError(
            "no certificate: the proof of a mixed-integer optimum is a search tree, which no file "
            "holds; solve(program.relaxed()).certificate() proves the bound of its root"
        )
    if solution.duals is None:
        raise CertificateError(
            f"no certificate: {solution.solver} left no duals ({solution.status.value})"
        )
    return _linear(program, solution, point=point, name=name, instance=instance)


def _linear(
    program: LinearProgram, solution: Solution, *, point: bool, name: str, instance: Any
) -> Certificate:
    """Return the first certificate that duals, or others close to them, prove."""
    data = data_of(program)
    primal = None
    if point and solution.values is not None:
        primal = {"columns": entries(solution.values)}
    signed = linear.projected(program, program.sign * np.asarray(solution.duals, dtype=float))
    why = "no certificate: the duals are not finite"
    for moved in linear.close_duals(program, signed):
        if not np.isfinite(moved).all():
            continue
        try:
            dual = _proof(program, moved)
        except CertificateError as error:
            why = str(error) if why.startswith("no certificate: the") else why
            continue
        return proven(
            "linear-program", data, dual, primal,
            sense=program.sense, name=name, instance=instance,
        )  # fmt: skip
    raise CertificateError(why)


def data_of(program: LinearProgram) -> dict[str, Any]:
    """Return the numbers of a linear program as texts."""
    matrix = program.matrix
    columns = []
    for first, last in zip(matrix.indptr[:-1].tolist(), matrix.indptr[1:].tolist(), strict=True):
        rows, values = matrix.indices[first:last].tolist(), matrix.data[first:last].tolist()
        columns.append({str(i): text(a) for i, a in zip(rows, values, strict=True) if a})
    return {
        "sense": program.sense,
        "offset": text(program.offset),
        "cost": texts(program.cost),
        "low": texts(program.lower),
        "high": texts(program.upper),
        "row_low": texts(program.row_lower),
        "row_high": texts(program.row_upper),
        "columns": columns,
    }


def _proof(program: LinearProgram, signed: Vector) -> dict[str, Any]:
    """Return multipliers of the minimisation as a proof, with the sides that they rest on."""
    rows = entries(program.sign * signed)
    wanted = _without_side(program, signed)
    implied = _implied(program, wanted) if wanted else []
    return {
        "rows": rows,
        "side": [side for side, _, _ in implied],
        "column": [str(j) for _, j, _ in implied],
        "row": [str(i) for _, _, i in implied],
    }


def _without_side(program: LinearProgram, signed: Vector) -> dict[int, str]:
    """Return the columns whose exact reduced costs rest on sides that are missing, and which."""
    reduced, rounding = linear.reduced_costs(program, signed)
    above = np.isneginf(program.lower) & (reduced >= -rounding)
    below = np.isposinf(program.upper) & (reduced <= rounding)
    matrix, found = program.matrix, {}
    for j in np.flatnonzero(above | below).tolist():
        part = slice(matrix.indptr[j], matrix.indptr[j + 1])
        pairs = zip(matrix.indices[part].tolist(), matrix.data[part].tolist(), strict=True)
        exact = _rational(program.sign * program.cost[j]) - sum(
            _rational(a) * _rational(signed[i]) for i, a in pairs if signed[i]
        )
        if exact > 0 and np.isneginf(program.lower[j]):
            found[j] = "lower"
        if exact < 0 and np.isposinf(program.upper[j]):
            found[j] = "upper"
    return found


def _rational(value: float) -> Fraction:
    return Fraction(text(value))


def _implied(program: LinearProgram, wanted: Mapping[int, str]) -> list[tuple[str, int, int]]:
    """Return rows that give columns the sides that they lack, in an order that works."""
    low, high = program.lower.copy(), program.upper.copy()
    signs = program.matrix.maximum(0), program.matrix.minimum(0)
    todo, found = dict(wanted), list[tuple[str, int, int]]()
    while todo:
        least, most = linear.activity_range(*signs, low, high)
        new = []
        for j, side in todo.items():
            best = _best_row(program, j, side, least, most, (low, high))
            if best is not None:
                new.append((side, j, *best))
        if not new:
            j, side = next(iter(todo.items()))
            raise CertificateError(
                f"no certificate: column {program.column_label(j)} has no finite {side} bound, "
                "and none follows from the rows; give it one"
            )
        for side, j, i, end in new:
            (low if side == "lower" else high)[j] = end
            found.append((side, j, i))
            del todo[j]
    return found


def _best_row(
    program: LinearProgram, j: int, side: str, least: Any, most: Any, ends: tuple[Vector, Vector]
) -> tuple[int, float] | None:
    """Return the row that gives a column the tightest side, and that side; None if none does."""
    part = slice(program.matrix.indptr[j], program.matrix.indptr[j + 1])
    best: tuple[int, float] | None = None
    for i, a in zip(program.matrix.indices[part], program.matrix.data[part], strict=True):
        above = (side == "upper") == (a > 0)
        room = (program.row_upper if above else program.row_lower)[i]
        own = ends[0 if (a > 0) == above else 1][j]
        finite, infinite = (part[i] for part in (least if above else most))
        if not a or np.isinf(room) or infinite > np.isinf(own):
            continue
        end = (room - finite + (0.0 if np.isinf(own) else a * own)) / a
        if best is None or (end < best[1] if side == "upper" else end > best[1]):
            best = int(i), float(end)
    return best
