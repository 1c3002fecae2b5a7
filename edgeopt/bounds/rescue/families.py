"""Named instances on which the claims are checked when the caller brings none."""

from __future__ import annotations

from edgeopt.bounds.named import Family, kept, one
from edgeopt.bounds.rescue import counterexamples
from edgeopt.instances.rescue import generate, small, tight

__all__ = ["DRAWN", "INDEPENDENT", "PAPER_SETTING", "RESERVED", "TIGHT", "TINY"]

TIGHT: Family = {name: build for e in (0.5, 0.1, 0.01) for name, build in one(tight, e).items()}
"""The instances of Theorem 2."""

DRAWN: Family = {f"small({seed})": kept(small, seed) for seed in range(10)}
"""Random instances that can be enumerated."""

TINY: Family = {**one(tight, 0.1), **one(counterexamples.half_routed), **DRAWN}
"""Enumerable instances with exclusive arrivals."""

INDEPENDENT: Family = {
    **one(counterexamples.independent_arrivals, 0.01, 0.01),
    **one(counterexamples.contested_slot),
    **{
        f"small({seed}, arrivals=independent)": kept(small, seed, arrivals="independent")
        for seed in range(10)
    },
}
"""Enumerable instances with independent arrivals."""

RESERVED: Family = {
    **one(counterexamples.risky_run, 0.1),
    **one(counterexamples.reserved_budget, 0.01, 0.01),
    **DRAWN,
}
"""Enumerable instances, most of them with reserved tasks."""

PAPER_SETTING: Family = {
    "generate(servers=2, devices=4, profiles=3, horizon=24, reserved=4)": kept(
        generate, servers=2, devices=4, profiles=3, horizon=24, reserved=4
    )
}
"""One instance in the setting of the paper's evaluation, small enough to solve at once."""
