"""Families of the few numbers that single formulas of TapFinger speak about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.bounds.search.family import Family, Parameter
from edgeopt.bounds.search.rows import row, values
from edgeopt.bounds.tapfinger.accumulation import TwoRuns
from edgeopt.bounds.tapfinger.baselines import InTurn
from edgeopt.bounds.tapfinger.conflicts import Rivals
from edgeopt.bounds.tapfinger.noise import Gain
from edgeopt.bounds.tapfinger.placements import Placement
from edgeopt.bounds.tapfinger.progress import Curve
from edgeopt.bounds.tapfinger.rounds import Agents, Timesteps
from edgeopt.bounds.tapfinger.worlds import Streams

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["FORMULAS"]


def _placement(point: Mapping[str, Any]) -> Placement:
    """Let one or two clusters schedule a task in one timestep."""
    clusters = point["clusters"]
    scheduled = np.array(values(point, "scheduled")[:clusters]).reshape(1, clusters, 1)
    bundle = np.array(values(point, "bundle")).reshape(1, 2, 2)[:, :, :clusters]
    return Placement(
        scheduled, bundle, np.ones((1, 2), dtype=int), np.full((2, clusters), 2, dtype=int)
    )


def _timesteps(point: Mapping[str, Any]) -> Timesteps:
    return Timesteps(tuple(values(point, "alive")), tuple(values(point, "rounds")))


def _rivals(point: Mapping[str, Any]) -> Rivals:
    gives = tuple(gives == 1 for gives in values(point, "gives"))
    return Rivals(tuple(values(point, "score")), tuple(values(point, "room")), gives)


def _two_runs(point: Mapping[str, Any]) -> TwoRuns:
    first, second = (tuple(values(point, name)) for name in ("first", "second"))
    return TwoRuns(first, second, point["discount"])


def _streams(point: Mapping[str, Any]) -> Streams:
    running, others = (tuple(values(point, name)) for name in ("running", "others"))
    return Streams(running, others, seed=point["seed"])


FORMULAS = (
    Family(
        "placements",
        (
            Parameter("clusters", 1, 2, whole=True),
            *row("scheduled", 2, 0, 1, whole=True),
            *row("bundle", 4, 0, 2, whole=True),
        ),
        _placement,
        Placement,
    ),
    Family(
        "agents",
        row("tasks", 2, 0, 3, whole=True),
        lambda point: Agents(tuple(values(point, "tasks"))),
        Agents,
    ),
    Family(
        "timesteps",
        (*row("alive", 2, 0, 3, whole=True), *row("rounds", 2, 1, 4, whole=True)),
        _timesteps,
        Timesteps,
    ),
    Family(
        "rivals",
        (
            *row("score", 2, 0.0, 1.0),
            *row("room", 2, 1, 8, whole=True),
            *row("gives", 2, 0, 1, whole=True, simple=1),
        ),
        _rivals,
        Rivals,
    ),
    Family(
        "two_runs",
        (
            *row("first", 2, 1, 200, whole=True),
            *row("second", 2, 1, 200, whole=True),
            Parameter("discount", 0.9, 1.0, simple=0.99),
        ),
        _two_runs,
        TwoRuns,
    ),
    Family(
        "in_turn",
        row("slots", 2, 1, 20, whole=True),
        lambda point: InTurn(tuple(values(point, "slots"))),
        InTurn,
    ),
    Family(
        "curves",
        (Parameter("slots", 1, 20, whole=True),),
        lambda point: Curve(**point),
        Curve,
    ),
    Family(
        "gains",
        (Parameter("law", 0.0, 0.5), Parameter("noise", 0.0, 0.5)),
        lambda point: Gain(**point),
        Gain,
    ),
    Family(
        "streams",
        (
            *row("running", 2, 0, 3, whole=True),
            *row("others", 2, 0, 3, whole=True),
            Parameter("seed", 0, 99, whole=True),
        ),
        _streams,
        Streams,
    ),
)
"""Each of a type of its own."""
