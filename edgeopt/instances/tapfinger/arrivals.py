"""Which tasks arrive when, and on which clusters they may run: three independent streams."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from edgeopt.options import check_choice, check_real, check_room, check_whole

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["READINGS", "Eligibility", "draw_arrivals", "draw_eligibility", "draw_tasks"]

Eligibility = Literal["subset", "bandwidth"]

READINGS: Final[dict[Eligibility, str]] = {
    "subset": "a number from 1 to all, then as many of them, as in the authors' program",
    "bandwidth": "those that a link of U[0, 10] Mbit/s reaches with 5, as in the paper, drawn anew "
    "while there is none",
}
"""How it is drawn on which clusters a task may run."""

BANDWIDTH: Final = 10.0
"""Most bandwidth of a link between a device and a cluster, Mbit/s."""

ENOUGH: Final = 5.0
"""Bandwidth from which on a cluster can be reached, Mbit/s."""


def draw_tasks(
    streams: list[np.random.Generator],
    *,
    tasks: int,
    rate: float,
    kinds: int,
    clusters: int,
    eligibility: Eligibility,
) -> dict[str, Any]:
    """Draw arrivals, kinds and eligibility, each from its own stream."""
    for name, value, least in (("tasks", tasks, 0), ("clusters", clusters, 1)):
        check_whole(name, value, least)
    check_choice("eligibility", eligibility, READINGS)
    check_room("tasks * clusters", 1 + tasks, 1 + clusters)
    arriving, picking, reaching = streams
    return {
        "arrival": draw_arrivals(arriving, tasks, rate),
        "kind": np.floor(kinds * picking.random(tasks)).astype(np.int64),
        "eligible": draw_eligibility(reaching, tasks, clusters, eligibility),
    }


def draw_arrivals(generator: np.random.Generator, tasks: int, rate: float) -> NDArray[np.int64]:
    """Draw a Poisson number of arrivals per slot, from slot 0 until there are enough, shape [J]."""
    check_real("rate", rate, "(0, 1e9]")
    check_room("tasks / rate", int(tasks / float(rate)))
    counts = np.zeros(0, dtype=np.int64)
    while counts.sum() < tasks:
        counts = np.concatenate([counts, generator.poisson(rate, 1 + int(tasks / rate))])
    return np.repeat(np.arange(counts.size), counts)[:tasks]


def draw_eligibility(
    generator: np.random.Generator, tasks: int, clusters: int, eligibility: Eligibility
) -> NDArray[np.bool_]:
    """Draw on which clusters each task may run, one at least, shape [J, N].

    Li et al., section V-A, names a latency that must be met too, but no figure for it.
    """
    check_choice("eligibility", eligibility, READINGS)
    if eligibility == "subset":
        uniform = generator.random((tasks, clusters + 1))
        chosen = 1 + np.floor(clusters * uniform[:, 0])
        rank = uniform[:, 1:].argsort(axis=1).argsort(axis=1)
        return np.asarray(rank < chosen[:, None])
    eligible = np.zeros((0, clusters), dtype=bool)
    while eligible.shape[0] < tasks:
        reached = BANDWIDTH * generator.random((1 + tasks, clusters)) >= ENOUGH
        eligible = np.concatenate([eligible, reached[reached.any(axis=1)]])
    return eligible[:tasks]
