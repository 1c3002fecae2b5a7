"""What the exhibits have in common: instances, policies, and what the paper leaves open."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from edgeopt.instances.idn import generate
from edgeopt.studies.exhibits import Recipe

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["OPEN", "RUNS", "TITLES", "holds", "recipe", "seeds"]

RUNS: Final = 3
"""Runs per instance: they differ in the coins of rounding only."""

TITLES: Final = {
    "infida": "INFIDA",
    "infida-offline": "INFIDA offline",
    "sg": "Static greedy",
    "olag": "OLAG",
}
"""The policies of the paper, by our names."""

OPEN: Final = (
    "The learning rate, the number of slots, the random attachment of request types to base "
    "stations and the seeds are not given: here the step adapts to the gradients seen, there are "
    "300 slots, and figures are means over drawn attachments with intervals over their draw. "
    "Topology II has two base stations and hence one attachment.",
    "How the 36 nodes split into tiers is not given: 1, 1, 2, 8 and 24 is the one split with a "
    "single cloud and whole fan-outs. Five nodes cannot form five tiers; topology II leaves tier "
    "2 out and adds its latencies up.",
    "OLAG counts all requests that a node sees in a slot, and replicas share their counter: read "
    "literally, it buys all copies of one model.",
)
"""Settings that the paper leaves open, and what is taken for them."""

_HOUR: Final = 60
_QUICK_HOUR: Final = 8


def seeds(quick: bool, topology: int = 1) -> range:
    """Return the seeds of the instances."""
    return range(1 if topology == 2 else 2 if quick else 5)


def recipe(quick: bool, seed: int, **settings: Any) -> Recipe:
    """Return an instance of five hours; a quick one has hours of few slots."""
    if quick:
        per_slot = round(60.0 * settings.get("rate", 7500.0))
        settings |= {"horizon": 5 * _QUICK_HOUR, "shift_every": _QUICK_HOUR * per_slot}
    else:
        settings |= {"horizon": 5 * _HOUR}
    return Recipe.of(generate, rng=seed, **settings)


def holds(fine: bool, rows: pd.DataFrame, measure: str) -> str:
    """Say whether a statement holds here, with the range of the figures that it is about."""
    from edgeopt.studies.wording import interval

    span = interval(float(rows[measure].min()), float(rows[measure].max()), digits=3)
    return f"{'yes' if fine else 'no'}: {span}"
