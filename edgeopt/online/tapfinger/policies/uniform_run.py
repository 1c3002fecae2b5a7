"""Whole runs of policies that toss coins, compiled: the rounds of the plain loop, none shown."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.kernels import compiled
from edgeopt.online.playing import play
from edgeopt.online.tapfinger.conflicts import carry_out
from edgeopt.online.tapfinger.kernels import missing, over, pass_slot
from edgeopt.online.tapfinger.orders import Orders
from edgeopt.online.tapfinger.policies.uniform_choice import name_tasks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.online.simulate import Kernel
    from edgeopt.online.tapfinger.environment import TapFingerEnvironment
    from edgeopt.online.tapfinger.episode import TapFingerEpisode
    from edgeopt.online.tapfinger.policies.uniform import Uniform
    from edgeopt.online.tapfinger.state import Log, Rules, State, Truth

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

__all__ = ["compiled_run"]

_ROUNDS: Final = 1024
"""Rounds for which coins are tossed at a time."""


def compiled_run(environment: TapFingerEnvironment, policy: Uniform) -> Kernel:
    """Return a stand-in for the plain loop, with the same trajectories."""

    def run(worlds: Any, rng: np.random.Generator, *, record: bool = False) -> Any:
        seconds, episodes = 0.0, []
        for world, stream in zip(worlds, rng.spawn(len(worlds)), strict=True):
            episode = environment.episode(world, record=record)
            if record:  # what is held is kept by the plain loop alone
                seconds += play(episode, policy, policy.start(environment.instance), stream)
            else:
                began = time.perf_counter()
                _live(episode, policy, environment.truth.largest, stream)
                seconds += time.perf_counter() - began
            episodes.append(episode)
        found = environment.trajectory(policy.name, episodes, seconds=seconds, record=record)
        return replace(found, compiled=not record)

    return run


def _live(
    episode: TapFingerEpisode,
    policy: Uniform,
    largest: tuple[int, int],
    stream: np.random.Generator,
) -> None:
    while not episode.over:
        coins = stream.random((_ROUNDS, episode.state.waiting.size, 2))
        tossed = np.zeros(1, dtype=np.int64)

        def live(
            rules: Rules, truth: Truth, state: State, log: Log,
            coins: Floats = coins, tossed: Ints = tossed,
        ) -> int:  # fmt: skip
            return int(_rounds(rules, truth, state, log, coins, tossed, largest, policy.smallest))

        episode.drive(live)


@compiled(writes="tossed")
def _rounds(
    rules: Rules, truth: Truth, state: State, log: Log, coins: Floats, tossed: Ints,
    largest: tuple[int, int], smallest: bool,
) -> int:  # fmt: skip
    """Live on until the run is over, coins run out, or something is missing, which is returned."""
    clusters = state.waiting.size
    score, place = np.ones(clusters), np.zeros(clusters, np.bool_)
    changed, other = np.zeros(0, np.int64), np.zeros((0, 2), np.int64)
    started = np.empty(clusters, np.int64)
    while tossed[0] < coins.shape[0] and not over(rules, truth, state):
        lacking = missing(rules, truth, state, log)
        if lacking != 0:
            return lacking
        task, bundle = name_tasks(
            coins[tossed[0]], state.pending, state.free, truth.kind, rules.minimum, largest,
            smallest,
        )  # fmt: skip
        tossed[0] += 1
        orders = Orders(task, bundle, score, place, changed, other)
        goes_on = carry_out(rules, truth, state, orders, started)[3]
        if not goes_on:
            pass_slot(rules, truth, state, log)
    return 0
