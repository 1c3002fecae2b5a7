"""Certificates of offline optima: what kind proves the bound, or why there is none."""

from __future__ import annotations

import gzip
import json
from fractions import Fraction
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from edgeopt.collection import entries
from edgeopt.collection.entries import OPTIMAL, row_of
from edgeopt.errors import CertificateError
from edgeopt.solvers.certificates import (
    ROUNDED,
    completed,
    outward,
    read_certificate,
    same_program,
)
from edgeopt.solvers.tolerance import relative_gap

if TYPE_CHECKING:
    from collections.abc import Iterator

    from edgeopt.solvers.certificates import Certificate
    from edgeopt.solvers.program import LinearProgram
    from edgeopt.studies.entries import Benchmark

_COLUMNS: Final = 60_000
"""Most columns of a program of EDR that is written out."""


def certificate_of(system: str, instance: Any, found: Benchmark, name: str) -> Certificate:
    """Return what proves the bound of an offline problem to a relative gap of 1e-6, or raise."""
    if system in ("rescue", "idn"):
        made: Certificate = found.plan.certificate(name=name)
    elif system == "edr":
        made = _of_edr(instance, name)
    elif system == "tapfinger":
        made = _of_tapfinger(instance, name)
    else:
        raise CertificateError(
            "no certificate: bounds of slots are of cones, and exact numbers have no square roots"
        )
    if relative_gap(made.bound, found.bound) > OPTIMAL:
        raise CertificateError(
            f"no certificate: what proves {found.bound:.9g} is no file, and prices prove "
            f"{made.bound:.9g}"
        )
    return made


def certificate(name: str) -> Certificate:
    """Return the certificate of the bound of a named instance, proven anew.

    Large ones are kept without their program, which is made of the instance, and without a point.

    Parameters
    ----------
    name
        One of `edgeopt.collection.names`.

    Returns
    -------
    Certificate
        To be saved, with the checker, for others.

    Raises
    ------
    OptionError
        If there is no instance of that name.
    CertificateError
        If the package has none, or what it has proves nothing.

    Examples
    --------
    >>> from edgeopt.collection import certificate
    >>> certificate("tapfinger-tight-c2-n8").kind
    'tapfinger.pooled'
    """
    row = row_of(name)
    file = entries.certificate_of(row)
    if not file.exists():
        why = row["offline"]["certificate"].get("none", "it is too large to be kept")
        raise CertificateError(f"{name}: the package has no certificate: {why}")
    content = json.loads(gzip.decompress(file.read_bytes()))
    if "data" in content:
        return read_certificate(file)
    for program in programs_of(content["kind"], row["system"], entries.load(name)):
        try:
            return completed(content, program)
        except CertificateError:
            continue
    raise CertificateError(f"{name}: the prices of the package prove nothing of the instance")


def without_program(made: Certificate) -> bytes:
    """Return what is kept of a large certificate: prices, and the bound that they prove.

    The claim leaves room for a program that another processor has rounded differently.
    """
    away = ROUNDED if made.sense == "max" else -ROUNDED
    bound = Fraction(made.content["claim"]["bound"])
    claim = made.content["claim"] | {
        "objective": None,
        "bound": outward(bound + Fraction(away) * abs(bound), made.sense == "max"),
    }
    kept = dict(made.content) | {"primal": None, "claim": claim}
    return gzip.compress(json.dumps(kept, separators=(",", ":")).encode(), mtime=0)


def is_program_of(kind: str, data: Any, system: str, instance: Any) -> bool:
    """Tell whether the program of a certificate is that of the offline problem of an instance."""
    return any(same_program(one, data) for one in programs_of(kind, system, instance))


def programs_of(kind: str, system: str, instance: Any) -> Iterator[Any]:
    """Yield the programs of the offline problem of an instance in certificates of a kind."""
    if system == "edr":
        from edgeopt.solvers.exact_proofs import data_of

        if kind == "linear-program":
            yield data_of(_program_of_edr(instance))
    elif kind.startswith(f"{system}."):
        yield from import_module(f"edgeopt.models.{system}.certificates").programs_of(instance)


def _program_of_edr(instance: Any) -> LinearProgram:
    from edgeopt.models.edr import colocation_matrix, served_cap

    return colocation_matrix(instance, cap=served_cap(instance), relax=True)


def _of_edr(instance: Any, name: str) -> Certificate:
    """Certify the linear program of all frames at once."""
    from edgeopt.solvers import solve

    program = _program_of_edr(instance)
    if program.shape[1] > _COLUMNS:
        raise CertificateError(
            f"no certificate: the program of all frames has {program.shape[1]} columns, more than "
            f"{_COLUMNS}"
        )
    return solve(program).certificate(name=name, instance=instance)


def _of_tapfinger(instance: Any, name: str) -> Certificate:
    """Certify a bound by prices."""
    from edgeopt.models.tapfinger import flow_bound

    return flow_bound(instance, method="pooled", time_limit=15.0).certificate(name=name)
