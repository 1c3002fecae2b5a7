"""Which policies a picture that has no room for all of them shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from edgeopt.studies.result import Case

__all__ = ["lead", "lead_and_best"]


def lead(case: Case) -> str:
    """Name the policy to show in detail: the reference if it takes part, else the best one."""
    best = case.best()
    if case.system.reference in case.entries or best is None:
        return case.system.reference
    return str(best["policy"])


def lead_and_best(case: Case) -> list[str]:
    """Name the policy to show in detail and, if that is another one, the best."""
    best = case.best()
    names = [lead(case)] + ([] if best is None else [str(best["policy"])])
    return list(dict.fromkeys(names))
