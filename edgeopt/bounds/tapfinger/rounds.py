"""Timesteps and slots: when Algorithm 1 lets time pass, and what timesteps can count."""

from __future__ import annotations

from dataclasses import dataclass

from edgeopt.bounds.claim import Measurement
from edgeopt.bounds.tapfinger.families import drawn_instance
from edgeopt.bounds.tapfinger.statement import claim
from edgeopt.bounds.verdict import Relation
from edgeopt.online.simulate import simulate
from edgeopt.online.tapfinger import Min, TapFingerEnvironment

__all__ = ["CLAIMS", "Agents", "Timesteps", "short_and_long", "two_at_once"]

PATIENCE = 1000
"""Rounds after which a loop counts as endless."""


@dataclass(frozen=True)
class Agents:
    """Clusters with room for all of their tasks, each of which names one per round.

    Parameters
    ----------
    tasks
        Tasks that wait for each cluster and for no other one.
    """

    tasks: tuple[int, ...]

    def rounds(self, *, printed: bool) -> tuple[int, int]:
        """Run the loop of Algorithm 1."""
        left = list(self.tasks)
        for count in range(1, PATIENCE + 1):
            started = [tasks > 0 for tasks in left]
            left = [tasks - begun for tasks, begun in zip(left, started, strict=True)]
            more = not all(started) if printed else any(started)
            if not more:
                return count, sum(left)
        return PATIENCE, sum(left)

    @property
    def enough(self) -> int:
        """Rounds in which all tasks have been started, and one in which there is none left."""
        return max(self.tasks) + 1


@dataclass(frozen=True)
class Timesteps:
    """Tasks in the system and rounds of decisions, slot by slot.

    Parameters
    ----------
    alive
        Tasks in the system during each slot.
    rounds
        Rounds of decisions of each slot: the timesteps of section III-B.
    """

    alive: tuple[int, ...]
    rounds: tuple[int, ...]


def two_at_once() -> Timesteps:
    """Let two tasks of a slot be started one after the other, in one slot.

    They flow for 2. A third round ends the slot: over three timesteps there are 6 tasks.
    """
    return Timesteps((2,), (3,))


def short_and_long() -> Timesteps:
    """Let two tasks of one and two slots start in one slot, in which there are three rounds.

    There is one in the next: the longer task runs for four timesteps, alone it would for three.
    """
    return Timesteps((2, 1), (3, 1))


def lived(seed: int) -> Timesteps:
    """Read them off a run of `Min`."""
    instance = drawn_instance(seed)
    run = simulate(TapFingerEnvironment(instance), Min(), runs=1)
    return Timesteps(
        tuple(int(tasks) for tasks in run.accumulation[0]),
        tuple(int(rounds) for rounds in run.decisions[0]),
    )


def _by_rounds(steps: Timesteps) -> Measurement:
    over = sum(a * r for a, r in zip(steps.alive, steps.rounds, strict=True))
    return Measurement(float(over), float(sum(steps.alive)))


def _when_time_passes(steps: Timesteps) -> Measurement:
    """Count tasks at the last round of a slot, and nothing at the rounds before it."""
    counted = 0
    for alive, rounds in zip(steps.alive, steps.rounds, strict=True):
        counted += sum([0] * max(rounds - 1, 0) + [alive])
    return Measurement(float(counted), float(sum(steps.alive)))


def _alike(steps: Timesteps) -> Measurement:
    """Compare the slot of most timesteps with the one of fewest."""
    return Measurement(float(max(steps.rounds)), float(min(steps.rounds)))


_AGENTS = {"instance_type": Agents, "view": lambda agents: agents}
_STEPS = {"instance_type": Timesteps, "view": lambda steps: steps}
_LOOPS = {f"Agents({tasks})": lambda tasks=tasks: Agents(tasks)
          for tasks in ((2,), (0,), (1, 3), (2, 2, 1), (0, 4), (3, 0, 1))}  # fmt: skip
_LIVED = {f"lived({seed})": lambda seed=seed: lived(seed) for seed in range(4)}

CLAIMS = (
    claim(
        "algorithm1",
        "If the loop goes on as long as some agent starts a task, time passes when no agent wants "
        "to start any more.",
        "Algorithm 1, line 10, corrected",
        lambda agents: Measurement(float(agents.rounds(printed=False)[1]), 0.0),
        Relation.EQUAL,
        _LOOPS,
        **_AGENTS,
    ),
    claim(
        "algorithm1.printed",
        "If it goes on as long as some agent does nothing, as printed, time passes when no agent "
        "wants to start any more. It passes when all of them have just started one.",
        "Algorithm 1, line 10",
        lambda agents: Measurement(float(agents.rounds(printed=True)[1]), 0.0),
        Relation.EQUAL,
        {"Agents((2,))": _LOOPS["Agents((2,))"]},
        counterexample="Agents((2,))",
        corrected_by=("tapfinger.algorithm1",),
        **_AGENTS,
    ),
    claim(
        "algorithm1.ends",
        "If the loop goes on as long as some agent starts a task, it ends a round after the last "
        "task is started.",
        "Algorithm 1, line 10, corrected",
        lambda agents: Measurement(float(agents.rounds(printed=False)[0]), float(agents.enough)),
        Relation.EQUAL,
        _LOOPS,
        **_AGENTS,
    ),
    claim(
        "algorithm1.endless",
        "If it goes on as long as some agent does nothing, as printed, it ends. With an agent for "
        "whom no task waits it never does; a thousand rounds are measured.",
        "Algorithm 1, line 10",
        lambda agents: Measurement(float(agents.rounds(printed=True)[0]), float(agents.enough)),
        Relation.AT_MOST,
        {"Agents((0,))": _LOOPS["Agents((0,))"]},
        counterexample="Agents((0,))",
        corrected_by=("tapfinger.algorithm1.ends",),
        **_AGENTS,
    ),
    claim(
        "timesteps",
        "Tasks in the system sum to the flow times if they are counted once a slot, at its last "
        "round.",
        "Sections III-B and IV-D",
        _when_time_passes,
        Relation.EQUAL,
        {"two_at_once()": two_at_once, **_LIVED},
        **_STEPS,
    ),
    claim(
        "timesteps.printed",
        r"$\sum_{t \in [T]} R_t = \sum_j \phi_j$ over the timesteps of section III-B, of which a "
        "slot has as many as rounds of decisions.",
        "Sections III-B and IV-A",
        _by_rounds,
        Relation.EQUAL,
        {"two_at_once()": two_at_once},
        counterexample="two_at_once()",
        corrected_by=("tapfinger.timesteps", "tapfinger.accumulation"),
        **_STEPS,
    ),
    claim(
        "timesteps.uniform",
        "A slot has as many timesteps as any other, so that (5) can count durations in timesteps. "
        "How many it has depends on what is started.",
        "Equation (5) and section III-B",
        _alike,
        Relation.EQUAL,
        {"short_and_long()": short_and_long},
        counterexample="short_and_long()",
        corrected_by=("tapfinger.timesteps", "tapfinger.equation5"),
        **_STEPS,
    ),
)
