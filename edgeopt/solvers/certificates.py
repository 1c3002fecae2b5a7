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
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from edgeopt import checker
from edgeopt.errors import CertificateError
from edgeopt.representation import brief
from edgeopt.solvers.program import LinearProgram
from edgeopt.solvers.residuals import linear
from edgeopt.solvers.tolerance import EPSILON
from edgeopt.writing import write_file
from edgeopt.writing.results import in_html

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping

    from numpy.typing import ArrayLike, NDArray

    from edgeopt.solvers.solution import Solution

    Vector = NDArray[np.float64]

FORMAT: Final = "edgeopt.certificate/1"

APART: Final = 1_000_000
"""Bytes of data from which on they are in a file of their own."""

DIGITS: Final = 17
"""Digits of the claimed bound."""

NEAR: Final = 1e4
"""Roundings below which a reduced cost may be 0."""

FEW: Final = 300
"""Reduced costs that are made 0 in exact numbers at most."""

SMALL: Final = 100_000
"""Nonzeros up to which sides of all columns are looked for where those of some need them."""

MISSING: Final = (-np.inf, np.inf)


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
    least = data.get("sense") == "1" or kind == "tapfinger.pooled"
    sense, weakest = ("min", "-1e999") if least else ("max", "1e999")
    claim = {"sense": sense, "objective": None, "bound": weakest}
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
        primal = entries(solution.values)
    signed = linear.projected(program, program.sign * np.asarray(solution.duals, dtype=float))
    why = "no certificate: the duals are not finite"
    for moved in linear.close_duals(program, signed):
        for make in (_rounded, _solved) if np.isfinite(moved).all() else ():
            try:
                dual = {"rows": _proof(program, make(program, moved))}
                return proven("linear-program", data, dual, primal, name=name, instance=instance)
            except CertificateError as error:
                why = str(error) if why.endswith("not finite") else why
    raise CertificateError(why)


def data_of(program: LinearProgram) -> dict[str, Any]:
    """Return the numbers of a linear program as texts."""
    matrix = program.matrix
    columns = []
    for first, last in zip(matrix.indptr[:-1].tolist(), matrix.indptr[1:].tolist(), strict=True):
        rows, values = matrix.indices[first:last].tolist(), matrix.data[first:last].tolist()
        columns.append({str(i): text(a) for i, a in zip(rows, values, strict=True) if a})
    return {
        "sense": text(program.sign),
        "offset": text(program.offset),
        "cost": texts(program.cost),
        "low": texts(program.lower),
        "high": texts(program.upper),
        "row_low": texts(program.row_lower),
        "row_high": texts(program.row_upper),
        "columns": columns,
    }


Exact: TypeAlias = dict[int, Fraction]


def _rounded(program: LinearProgram, signed: Vector) -> Exact:
    """Return multipliers of the minimisation as they are written, without zeros."""
    return {i: _rational(y) for i, y in enumerate(signed.tolist()) if y}


def _solved(program: LinearProgram, signed: Vector) -> Exact:
    """Return multipliers next to given ones at which reduced costs that seem to be 0 are so."""
    reduced, rounding = linear.reduced_costs(program, signed)
    near = (np.abs(reduced) <= NEAR * rounding) & (
        np.isinf(program.lower) | np.isinf(program.upper)
    )
    free = np.isinf(program.lower) & np.isinf(program.upper)
    columns = sorted(np.flatnonzero(near).tolist(), key=lambda j: not free[j])
    exact = _rounded(program, np.where(np.abs(signed) > NEAR * EPSILON * _most(signed), signed, 0))
    if len(columns) > FEW:
        return exact
    # Gauss-Jordan elimination: every equation is a column, its unknowns are rows.
    solved: dict[int, tuple[Exact, Fraction]] = {}
    for j in columns:
        part = slice(program.matrix.indptr[j], program.matrix.indptr[j + 1])
        pairs = zip(program.matrix.indices[part].tolist(), program.matrix.data[part], strict=True)
        line = {i: _rational(a) for i, a in pairs if i in exact and a}
        right = _reduced(program, j, exact)
        for i, (other, value) in solved.items():
            factor = line.pop(i, Fraction(0))
            if factor:
                right -= factor * value
                _add(line, other, -factor)
        if not line:
            continue
        pivot = max(line, key=lambda i: abs(line[i]))
        by = line.pop(pivot)
        line, right = {i: a / by for i, a in line.items()}, right / by
        for i, (other, value) in solved.items():
            factor = other.pop(pivot, Fraction(0))
            if factor:
                _add(other, line, -factor)
                solved[i] = other, value - factor * right
        solved[pivot] = line, right
    return {i: y + (solved[i][1] if i in solved else 0) for i, y in exact.items()}


def _most(values: Vector) -> float:
    return float(np.abs(values).max(initial=0.0))


def _add(line: Exact, other: Exact, factor: Fraction) -> None:
    for i, a in other.items():
        line[i] = line.get(i, Fraction(0)) + factor * a
        if not line[i]:
            del line[i]


def _proof(program: LinearProgram, exact: Exact) -> dict[str, str]:
    """Return multipliers of rows whose reduced costs rest on no side that is missing.

    A multiplier of a floating-point solver leaves about 1e-17 on columns that have no such side.
    It is moved into a row where all other columns have the side that they then rest on: the same as
    resting it on the side that the row implies, in exact numbers.
    """
    signed = np.zeros(program.shape[0])
    for i, y in exact.items():
        signed[i] = float(y)
    resting = _resting(program, _suspects(program, signed), exact)
    for j, i, a in reversed(_implied(program, resting) if resting else []):
        found = _resting(program, [j], exact)
        if found:
            exact[i] = exact.get(i, Fraction(0)) + found[j] / a
    return {str(i): _said(int(program.sign) * y) for i, y in sorted(exact.items()) if y}


def _said(value: Fraction) -> str:
    """Return a rational as a text: a decimal if it is one of few digits."""
    denominator, twos, fives = value.denominator, 0, 0
    while denominator % 2 == 0:
        denominator, twos = denominator // 2, twos + 1
    while denominator % 5 == 0:
        denominator, fives = denominator // 5, fives + 1
    if denominator > 1:
        return f"{value.numerator}/{value.denominator}"
    places = max(twos, fives)
    return f"{value.numerator * 10**places // value.denominator}e-{places}"


def _suspects(program: LinearProgram, signed: Vector) -> list[int]:
    """Return the columns whose reduced costs may rest on a side that is missing."""
    reduced, rounding = linear.reduced_costs(program, signed)
    above = np.isneginf(program.lower) & (reduced >= -rounding)
    below = np.isposinf(program.upper) & (reduced <= rounding)
    return np.flatnonzero(above | below).tolist()


def _resting(
    program: LinearProgram, columns: Iterable[int], exact: Mapping[int, Fraction]
) -> dict[int, Fraction]:
    """Return those of some columns that rest on a side that is missing, and their reduced costs."""
    found = {}
    for j in columns:
        reduced = _reduced(program, j, exact)
        side = program.lower[j] if reduced > 0 else program.upper[j]
        if reduced and np.isinf(side):
            found[j] = reduced
    return found


def _reduced(program: LinearProgram, j: int, exact: Exact) -> Fraction:
    """Return the reduced cost of a column of the minimisation."""
    part = slice(program.matrix.indptr[j], program.matrix.indptr[j + 1])
    rows, values = program.matrix.indices[part].tolist(), program.matrix.data[part].tolist()
    used = (_rational(a) * exact[i] for i, a in zip(rows, values, strict=True) if i in exact)
    return _rational(program.sign * program.cost[j]) - sum(used)


def _rational(value: float) -> Fraction:
    return Fraction(text(value))


def _implied(
    program: LinearProgram, resting: Mapping[int, Fraction]
) -> list[tuple[int, int, Fraction]]:
    """Return rows that give columns the sides that they lack, each after those that it needs."""
    low, high = program.lower.copy(), program.upper.copy()
    signs = program.matrix.maximum(0), program.matrix.minimum(0)
    wanted = {j: "lower" if reduced > 0 else "upper" for j, reduced in resting.items()}
    todo, order = {(j, side) for j, side in wanted.items()}, list[tuple[int, int, Fraction]]()
    wide = False
    while any((low if side == "lower" else high)[j] in MISSING for j, side in wanted.items()):
        least, most = linear.activity_range(*signs, low, high)
        new = [(j, side, _best_row(program, j, side, least, most, (low, high))) for j, side in todo]
        new = [one for one in new if one[2] is not None]
        if not new and not wide and program.matrix.nnz <= SMALL:
            wide = True
            todo |= {(j, "lower") for j in np.flatnonzero(np.isneginf(low)).tolist()}
            todo |= {(j, "upper") for j in np.flatnonzero(np.isposinf(high)).tolist()}
        elif not new:
            j, side = next(one for one in sorted(wanted.items()) if one in todo)
            raise CertificateError(
                f"no certificate: column {program.column_label(j)} has no finite {side} bound, "
                "and none follows from the rows; give it one"
            )
        for j, side, best in new:
            assert best is not None
            row, end, coefficient = best
            (low if side == "lower" else high)[j] = end
            order.append((j, row, _rational(coefficient)))
            todo.discard((j, side))
    return order


def _best_row(
    program: LinearProgram, j: int, side: str, least: Any, most: Any, ends: tuple[Vector, Vector]
) -> tuple[int, float, float] | None:
    """Return the row that gives a column the tightest side, that side, and the coefficient."""
    part = slice(program.matrix.indptr[j], program.matrix.indptr[j + 1])
    rows, values = program.matrix.indices[part].tolist(), program.matrix.data[part].tolist()
    best: tuple[int, float, float] | None = None
    for i, a in zip(rows, values, strict=True):
        above = (side == "upper") == (a > 0)
        room = (program.row_upper if above else program.row_lower)[i]
        own = ends[0 if (a > 0) == above else 1][j]
        finite, infinite = (part[i] for part in (least if above else most))
        if not a or np.isinf(room) or infinite > np.isinf(own):
            continue
        end = (room - finite + (0.0 if np.isinf(own) else a * own)) / a
        if best is None or (end < best[1] if side == "upper" else end > best[1]):
            best = i, float(end), a
    return best
