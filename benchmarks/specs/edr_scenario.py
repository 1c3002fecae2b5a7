"""How long does scenario control take for a frame, next to one general linear program?

The subject does all of a frame: replay, forecasts, prices of room, values of waiting, the rounds of
most worth, and repair. The first peer solves nothing but the linear program of the prices of room
in the same frame by HiGHS, built beforehand; the variant solves the same by the network simplex.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from benchmarks.record import Benchmark, Candidate, Goal, Reading

if TYPE_CHECKING:
    from collections.abc import Mapping

    from edgeopt.models.edr.training import Coming
    from edgeopt.solvers import LinearProgram

FRAME = 20
"""Most of the tasks of 48 frames are there by then."""


def room_program(coming: Coming, cost_now: Any) -> LinearProgram:
    """State the transportation problem of the prices of room as a linear program."""
    from edgeopt.solvers import LinearProgram

    tasks, frames, samples = coming.cost.shape
    task, sink = np.nonzero(np.repeat(coming.usable, samples, axis=1))
    task = np.concatenate([np.arange(tasks), task, np.arange(tasks)])
    room = np.concatenate([np.zeros(tasks, dtype=int), sink + 1])
    share = np.concatenate([np.ones(tasks), np.full(sink.size, 1 / samples), np.ones(tasks)])
    cost = np.concatenate(
        [cost_now, coming.cost.reshape(tasks, -1)[task[tasks:-tasks], sink], coming.late]
    )
    columns = np.arange(task.size)
    done = sparse.coo_array((share, (task, columns)), (tasks, task.size))
    used = sparse.coo_array(
        (coming.weight[task[: room.size]], (room, columns[: room.size])),
        (1 + frames * samples, task.size),
    )
    most = np.concatenate([[1.0], np.repeat(coming.cap, samples)])
    return LinearProgram(
        cost * share,
        sparse.vstack([done, used]),
        np.concatenate([coming.remaining, np.full(most.size, -np.inf)]),
        np.concatenate([coming.remaining, most]),
    )


def build(size: Mapping[str, Any], candidate: str) -> Candidate:
    """Step scenario control to the frame that is timed."""
    from edgeopt.instances.edr import generate
    from edgeopt.models.edr.training import room_prices
    from edgeopt.online.edr import EdrEnvironment, Flows, Frame, Scenario
    from edgeopt.solvers import solve

    environment = EdrEnvironment(generate(frames=48, slots=1, history=True, **size))
    policy, rng = Scenario(), np.random.default_rng(0)
    episode, state = environment.episode(0), policy.start(environment.instance)
    nothing = Flows(*np.zeros((3, 0), dtype=np.int64), np.zeros(0))
    asked: list[tuple[Coming, Any]] = []
    while not (isinstance(seen := episode.observe(), Frame) and seen.frame == FRAME):
        assert seen is not None
        decision: Any = nothing
        if isinstance(seen, Frame):
            decision, state = policy.decide(state, seen, rng)
        state = policy.learn(state, seen, decision, episode.act(decision))
    frame = seen

    class Watched(Scenario):
        """Keep what the prices of room are asked of."""

        def _coming(self, *given: Any) -> Coming:
            coming = super()._coming(*given)
            asked.append((coming, given))
            return coming

    Watched().requested_rounds(state.memory, frame, frame.cap, rng)
    coming, (memory, _, tasks, _, prices, _) = asked[0]
    instance = environment.instance
    dollars = instance.energy_weight * prices[0] * memory.replay.energy[-1, tasks]
    now = dollars + instance.delay_weight * memory.replay.seconds[-1, tasks]
    program = room_program(coming, now)

    def run(_: float | None) -> Reading:
        if candidate == BENCHMARK.subject:
            policy.requested_rounds(state.memory, frame, frame.cap, rng)
            return Reading()
        if candidate in BENCHMARK.variants:
            return Reading(objective=room_prices(coming, now, 1.0).value)
        return Reading(objective=solve(program, "highs").objective)

    return run


BENCHMARK = Benchmark(
    name="edr-scenario",
    question="A frame of scenario control, 20 sites and 40 tasks, next to one linear program",
    build=build,
    sizes={"full": {"sites": 20, "tasks": 40}, "smoke": {"sites": 4, "tasks": 8}},
    subject="scenario control, a frame",
    peers=("HiGHS, prices of room alone", "network simplex, prices of room alone"),
    variants=("network simplex, prices of room alone",),
    goals=(Goal("ratio", at_least=1.0), Goal("seconds", at_most=0.01)),
    repeats=21,
    peer_repeats=3,
)
LARGE = Benchmark(
    name="edr-scenario-large",
    question="A frame of scenario control, 50 sites and 100 tasks, next to one linear program",
    build=build,
    sizes={"full": {"sites": 50, "tasks": 100}, "smoke": {"sites": 5, "tasks": 10}},
    subject=BENCHMARK.subject,
    peers=BENCHMARK.peers,
    variants=BENCHMARK.variants,
    goals=(Goal("ratio", at_least=1.0), Goal("seconds", at_most=0.06)),
    repeats=11,
    peer_repeats=3,
)
