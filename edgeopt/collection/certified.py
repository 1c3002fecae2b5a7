"""Certificates of offline optima: what kind proves the bound, or why there is none."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from edgeopt.collection.entries import OPTIMAL
from edgeopt.errors import CertificateError
from edgeopt.solvers.tolerance import relative_gap

if TYPE_CHECKING:
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


def is_program_of(proof: Certificate, system: str, instance: Any) -> bool:
    """Tell whether the program of a certificate is that of the offline problem of an instance."""
    if system == "edr":
        from edgeopt.solvers.exact_duals import data_of

        return proof.kind == "linear-program" and data_of(_program_of_edr(instance)) == proof.data
    if not proof.kind.startswith(f"{system}."):
        return False
    module = import_module(f"edgeopt.models.{system}.certificates")
    return any(one == proof.data for one in module.programs_of(instance))


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
