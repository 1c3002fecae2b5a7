"""Certificates: bounds with their proofs in exact numbers, in files that others can check.

Every number of a file is the shortest decimal of a double and counts as the rational that it says,
so a certified bound may differ from that of doubles by rounding. `edgeopt.checker` proves it anew
before a certificate is handed out.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from itertools import islice
from math import isclose
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt import checker
from edgeopt.errors import CertificateError
from edgeopt.representation import compact_repr
from edgeopt.writing import write_file
from edgeopt.writing.results import in_html

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from numpy.typing import ArrayLike

FORMAT: Final = "edgeopt.certificate/1"

APART: Final = 1_000_000
"""Bytes of data from which on they are in a file of their own."""

DIGITS: Final = 17
"""Digits of the claimed bound."""

SHRUNK: Final = 1.0 - 2.0**-40
"""Part of a point that is left where rows that it fills must not overflow by rounding."""


@in_html
@compact_repr
@dataclass(frozen=True, eq=False)
class Certificate:
    """A proven bound with its program and proof, which `edgeopt.checker` checks by itself.

    Parameters
    ----------
    kind
        What is bounded: ``"linear-program"``, ``"rescue.p1-lp"``, ``"rescue.safe"``,
        ``"idn.cooperative"`` or ``"tapfinger.pooled"``; or what is proven to have no point or no
        best one: ``"infeasible-program"`` or ``"unbounded-program"``.
    sense
        Whether the program is minimised or maximised: ``"min"`` or ``"max"``.
    bound
        What no feasible point of the program is better than, to the nearest double; infinite if
        there is no point, or no limit.
    objective
        Value of the point in the certificate, infinite if a ray leads on from it; None without one.
    violation
        By how much the point violates a constraint at most; 0 if it is feasible in exact numbers.
    about
        System, fingerprint and name of the instance, and the version of edgeopt.
    data
        The program: numbers as texts.
    content
        The rest of the file: point, multipliers and claim.

    Examples
    --------
    >>> from edgeopt.solvers import Certificate, LinearProgram, solve
    >>> certificate = solve(LinearProgram([1, 2], [[1, 1]], 3, 3, 0)).certificate()
    >>> certificate.kind, certificate.bound
    ('linear-program', 3.0)
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
        _examined(self.content, self.data, PATIENCE)

    def text(self) -> str:
        """Return the whole certificate as one JSON document."""
        parts = ("format", "kind", "about", "primal", "dual", "claim")
        return _text_of({name: self.content[name] for name in parts} | {"data": self.data}).decode()

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


PATIENCE: Final = 16
"""Times the work of the checker that a certificate may take that is made here."""


def _examined(content: Any, data: Any, patience: int = 1) -> tuple[str, Fraction | float, Any]:
    """Return sense, bound and point as the checker finds them."""
    try:
        found: tuple[str, Fraction | float, Any] = checker.examine(content, data, patience)
    except checker.ProofError as error:
        raise CertificateError(f"no certificate: {error.args[1]}") from None
    return found


def read_certificate(path: str | os.PathLike[str]) -> Certificate:
    """Read what `Certificate.save` has written, and prove it."""
    if not os.path.isfile(path):  # a pipe may never say anything, a device never end
        raise CertificateError(f"{path}: no such file")
    try:
        content, data = checker.opened(str(path))
    except checker.ProofError as error:
        raise CertificateError(f"{path}: {error.args[1]}") from None
    return completed(content, data)


ROUNDED: Final = 1e-12
"""Relative difference of numbers that two processors may have rounded differently."""


def same_program(one: Any, other: Any) -> bool:
    """Tell whether two programs of certificates are the same, up to rounding."""
    if one == other:
        return True
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(
            same_program(part, other[name]) for name, part in one.items()
        )
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same_program, one, other))
    try:
        return isclose(Fraction(one), Fraction(other), rel_tol=ROUNDED)
    except (TypeError, ValueError, OverflowError):  # a side that is infinite, or no number
        return False


def completed(content: Mapping[str, Any], data: Mapping[str, Any]) -> Certificate:
    """Return the certificate of what was kept without its program, and prove it."""
    return _certificate(content, data, *_examined(content, data))


def _certificate(
    content: Mapping[str, Any],
    data: Mapping[str, Any],
    sense: str,
    bound: Fraction | float,
    point: Any,
) -> Certificate:
    try:
        objective, violation = (None, None) if point is None else map(float, point[:2])
        nearest = float(bound)
    except OverflowError:
        raise CertificateError("no certificate: its numbers are beyond those of doubles") from None
    return Certificate(
        content["kind"], sense, nearest, objective, violation, content["about"], data, content
    )


def proven(
    kind: str,
    data: Mapping[str, Any],
    dual: Mapping[str, Any],
    primal: Mapping[str, Any] | None = None,
    repaired: Mapping[str, Any] | None = None,
    *,
    instance: Any = None,
    name: str = "",
) -> Certificate:
    """Return a certificate whose bound the checker has found.

    The second point takes the place of the first if it violates less.
    """
    from edgeopt import __version__

    about = {
        "system": kind.partition(".")[0] if "." in kind else "",
        "instance": "" if instance is None else instance.fingerprint(),
        "name": name,
        "edgeopt": __version__,
    }
    least = data.get("sense") == "1" or kind == "tapfinger.pooled"
    sense, weakest = ("min", "-inf") if least else ("max", "inf")
    claim = {"sense": sense, "objective": None, "bound": weakest}
    content = {
        "format": FORMAT,
        "kind": kind,
        "about": about,
        "primal": primal,
        "dual": dual,
        "claim": claim,
    }
    found, bound, point = _examined(content, data, PATIENCE)
    if repaired is not None and point is not None and point[1] > 0:
        other = content | {"primal": repaired}
        _, _, moved = _examined(other, data, PATIENCE)
        if moved[1] < point[1]:
            content, point = other, moved
    content["claim"] = claim | {
        "bound": outward(bound, sense == "max"),
        # A point that misses a row by more than rounding reaches no value.
        "objective": None if point is None or point[2] else outward(point[0], sense == "min"),
    }
    return _certificate(content, data, found, bound, point)


def proven_of(
    program: Any,
    kind: str,
    data: Mapping[str, Any],
    dual: Mapping[str, Any],
    points: Iterator[Mapping[str, Any]],
    *,
    name: str,
    instance: Any,
    point: bool,
    repair: bool,
) -> Certificate:
    """Return the certificate of a program of an instance.

    `points` yields a point, and then one that is moved until it should violate nothing.
    """
    if instance is not None and instance != program.instance:
        raise CertificateError("no certificate: the instance is another one")
    wanted = islice(points, (1 + repair) * point)
    return proven(kind, data, dual, *wanted, instance=program.instance, name=name)


def outward(value: Fraction | float, up: bool) -> str:
    """Return the decimal of `DIGITS` digits next to a number, from above or from below."""
    if isinstance(value, float):  # an infinite one
        return text(value)
    rounding = ROUND_CEILING if up else ROUND_FLOOR
    context = Context(prec=DIGITS, rounding=rounding)
    return str(context.divide(Decimal(value.numerator), Decimal(value.denominator)))


def text(value: float) -> str:
    """Return the shortest decimal of a double."""
    return repr(float(value) + 0.0).removesuffix(".0")


def texts(values: ArrayLike, said: Callable[[Any], str] = text) -> Any:
    """Return the entries of an array as texts, in lists; by default their shortest decimals."""

    def of(part: Any) -> Any:
        return [of(one) for one in part] if isinstance(part, list) else said(part)

    return of(np.asarray(values).tolist())


def indices(values: ArrayLike) -> Any:
    """Return whole numbers of an array as texts, in lists."""
    return texts(values, lambda part: str(int(part)))


def entries(values: ArrayLike) -> dict[str, str]:
    """Return the decimals of the entries of an array that are not 0, by index."""
    array = np.asarray(values, dtype=float)
    at = np.nonzero(array)
    keys = zip(*(one.tolist() for one in at), strict=True)
    return {
        ",".join(map(str, key)): text(one)
        for key, one in zip(keys, array[at].tolist(), strict=True)
    }
