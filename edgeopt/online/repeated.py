"""One run that counts for all, where nothing is random."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.online.simulate import play

if TYPE_CHECKING:
    from edgeopt.online.simulate import Environment, Kernel, Policy

__all__ = ["repeated"]


def repeated(
    environment: Environment[Any, Any, Any, Any, Any, Any],
    policy: Policy[Any, Any, Any, Any, Any],
    state: Any,
) -> Kernel:
    """Return a stand-in for the loop: one run of a policy without coins, counted as all runs.

    Parameters
    ----------
    environment
        The environment; its worlds are all alike.
    policy
        The policy; it draws no random numbers.
    state
        Its state before the first step.

    Returns
    -------
    Kernel
        Takes the worlds. The seconds of the one run count once per world as well, so that the
        time per decision is what was measured.
    """

    def once(worlds: Any, *, record: bool = False) -> Any:
        episode = environment.episode(worlds[0], record=record)
        seconds = play(episode, policy, state, np.random.default_rng(0))
        runs = len(worlds)
        return environment.trajectory(
            policy.name, [episode] * runs, seconds=seconds * runs, record=record
        )

    return once
