"""Runs of policies for a study: once where nothing is random, and of exactly known ones beside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from edgeopt.bounds.estimate import MOST_CONTROLS, Control, independent
from edgeopt.online.simulate import simulate

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from edgeopt.online.protocols import Trajectory
    from edgeopt.studies.entries import PolicyEntry
    from edgeopt.studies.system import Objective, System

_OTHER: Final = 2**40 + 1
"""Added to a seed, gives another one."""


class Watched(np.random.Generator):
    """A generator that knows whether it, or one that was spawned from it, has drawn a number."""

    def __init__(self, bits: np.random.BitGenerator) -> None:
        super().__init__(bits)
        self._before = repr(bits.state)
        self.children: list[Watched] = []

    def spawn(self, n_children: int) -> list[np.random.Generator]:
        """Return independent generators, which are watched, too."""
        found = super().spawn(n_children)
        self.children += found  # type: ignore[arg-type]
        return found

    @property
    def drawn(self) -> bool:
        """Whether the state has changed."""
        changed = repr(self.bit_generator.state) != self._before
        return changed or any(one.drawn for one in self.children)


class Ran(NamedTuple):
    """The runs of a policy, and its value where that is known without sampling."""

    trajectory: Trajectory
    exact: float | None


def run(
    environment: Any, policy: Any, objective: Objective, exact: Any, seed: int, runs: int
) -> Ran:
    """Simulate a policy, once where scenarios are alike and it draws no random number.

    `exact` computes its expectation on the instance without sampling, or is None.
    """
    if getattr(environment, "alike", False):
        once = _without_coins(environment, policy, objective, seed)
        if once is not None:
            return once
    trajectory = simulate(environment, policy, rng=seed, runs=runs)
    return Ran(trajectory, None if exact is None else exact())


def _without_coins(environment: Any, policy: Any, objective: Objective, seed: int) -> Ran | None:
    """Simulate one run; None if it drew a random number, or another seed gives another value."""
    stream = Watched(np.random.default_rng(seed).bit_generator)
    trajectory = simulate(environment, policy, rng=stream, runs=1)
    # The first child draws the scenarios, the second is the policy's.
    if stream.children[1].drawn:
        return None
    [value] = objective.values(trajectory)
    if not getattr(policy, "deterministic", False):  # it may have coins of its own
        again = simulate(environment, policy, rng=seed + _OTHER, runs=1)
        if not np.array_equal(trajectory.reward, again.reward):
            return None
    return Ran(trajectory, float(value)) if np.isfinite(value) else None


def control_entries(record: System) -> list[PolicyEntry]:
    """Return the policies of a system whose value may be known without sampling, in its order."""
    known = [*record.policies.controls, *record.policies.entries]
    return [entry for entry in known if entry.exact is not None]


def controls(
    environment: Any,
    objective: Objective,
    candidates: Iterable[tuple[str, str, Any, Any]],
    ran: Mapping[str, Ran],
    seed: int,
    runs: int,
) -> tuple[Control, ...]:
    """Return policies whose expectation is known, with their runs of the same scenarios.

    They are taken in the order of the candidates, whether or not they are compared, until as many
    are independent as are ever used; those that are compared are all among them. A candidate is
    a name, a title, a policy, and what computes its value.
    """
    found: list[Control] = []
    full = False
    for name, title, policy, exact in candidates:
        known: NDArray[np.float64] | None = None
        if name in ran:
            value = ran[name].exact
            known = None if value is None else objective.values(ran[name].trajectory)
        elif not full:
            value = exact()
            if value is not None:
                known = objective.values(simulate(environment, policy, rng=seed, runs=runs))
        if known is None or value is None:
            continue
        found.append(Control(title, known, value))
        full = full or len(independent(found, MOST_CONTROLS)) == MOST_CONTROLS
    return tuple(found)
