"""One run that counts for all, where nothing is random."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from edgeopt.online.playing import play

if TYPE_CHECKING:
    from edgeopt.online.simulate import Environment, Kernel, Policy

__all__ = ["Deterministic", "repeated"]


def repeated(
    environment: Environment[Any, Any, Any, Any, Any, Any],
    policy: Policy[Any, Any, Any, Any, Any],
    state: Any,
) -> Kernel:
    """Return a stand-in for the loop: one run of a policy without coins, counted as all runs."""

    def once(worlds: Any, rng: Any = None, *, record: bool = False) -> Any:
        episode = environment.episode(worlds[0], record=record)
        seconds = play(episode, policy, state, np.random.default_rng(0))
        runs = len(worlds)
        return environment.trajectory(
            policy.name, [episode] * runs, seconds=seconds * runs, record=record
        )

    return once


class Deterministic:
    """A policy without coins: where all worlds are alike, one run counts for all.

    An environment whose worlds are alike says so in an attribute ``alike``.
    """

    deterministic: ClassVar[bool] = True
    """Whether the policy, or the part of it that a subclass adds, draws no random numbers."""

    def compiled(self, environment: Any, state: Any) -> Kernel | None:
        """Return a stand-in for the loop that lives through one run where all are the same."""
        if self.deterministic and getattr(environment, "alike", False):
            # Whoever inherits this has the rest of a policy.
            return repeated(environment, self, state)  # type: ignore[arg-type]
        return None
