"""Named instances on which the claims are checked when the caller brings none."""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING

from edgeopt.bounds.rescue import counterexamples
from edgeopt.instances.rescue import generate, small, tight

if TYPE_CHECKING:
    from collections.abc import Callable

    from edgeopt.instances.rescue import RescueInstance

__all__ = ["DRAWN", "INDEPENDENT", "PAPER_SETTING", "RESERVED", "TIGHT", "TINY", "one"]

Family = dict[str, "Callable[[], RescueInstance]"]


def one(build: Callable[..., RescueInstance], *args: float | str) -> Family:
    """Return the family of a single named instance."""
    text = ", ".join(map(str, args))
    return {f"{build.__name__}({text})": _kept(build, *args)}


def _kept(
    build: Callable[..., RescueInstance], *args: float | str, **options: object
) -> Callable[[], RescueInstance]:
    # Claims recognise a shared instance by the identity of its builder.
    return _builder(build, args, tuple(options.items()))


@cache
def _builder(
    build: Callable[..., RescueInstance],
    args: tuple[float | str, ...],
    options: tuple[tuple[str, object], ...],
) -> Callable[[], RescueInstance]:
    return cache(partial(build, *args, **dict(options)))


TIGHT: Family = {name: build for e in (0.5, 0.1, 0.01) for name, build in one(tight, e).items()}
"""The instances of Theorem 2."""

DRAWN: Family = {f"small({seed})": _kept(small, seed) for seed in range(10)}
"""Random instances that can be enumerated."""

TINY: Family = {**one(tight, 0.1), **one(counterexamples.half_routed), **DRAWN}
"""Enumerable instances with exclusive arrivals."""

INDEPENDENT: Family = {
    **one(counterexamples.independent_arrivals, 0.01, 0.01),
    **one(counterexamples.contested_slot),
    **{
        f"small({seed}, arrivals=independent)": _kept(small, seed, arrivals="independent")
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
    "generate(servers=2, devices=4, profiles=3, horizon=24, reserved=4)": _kept(
        generate, servers=2, devices=4, profiles=3, horizon=24, reserved=4
    )
}
"""One instance in the setting of the paper's evaluation, small enough to solve at once."""
