"""How long does a decision take in a session, log included, and how much of that is the policy?

The subject takes the events of a simulated run: in RESCUE arrivals and ends of runs, in the others
requests for a decision. The peer is the same policy in the simulator's plain loop, which keeps the
same books, but reads no events and writes no log. What a policy prepares beforehand is not timed.
"""

from __future__ import annotations

import statistics
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.record import Benchmark, Candidate, Goal, Reading

if TYPE_CHECKING:
    from collections.abc import Mapping

SUBJECT, PEER = "session", "plain loop"


class Started:
    """A policy whose preparation is done; notes what it sees, and the feedback."""

    def __init__(self, policy: Any, instance: Any) -> None:
        self.name, self.decide, self._learn = policy.name, policy.decide, policy.learn
        self._state = policy.start(instance)
        self.steps: list[tuple[Any, Any]] = []

    def start(self, instance: Any) -> Any:
        return self._state

    def learn(self, state: Any, seen: Any, decision: Any, feedback: Any) -> Any:
        self.steps.append((seen, feedback))
        return self._learn(state, seen, decision, feedback)


def drawn(system: str, size: Mapping[str, Any]) -> tuple[Any, Any]:
    """Draw an instance; return its environment and the policy."""
    from edgeopt.instances import edr, idn, oinc, rescue, tapfinger
    from edgeopt.online.edr import EdrEnvironment, SaddlePoint
    from edgeopt.online.idn import IdnEnvironment, Infida
    from edgeopt.online.oinc import Oinc, OincEnvironment
    from edgeopt.online.rescue import RescueEnvironment, SafeRescue
    from edgeopt.online.tapfinger import TapFingerEnvironment
    from edgeopt.studies.registry import find_system

    if system == "tapfinger":
        instance = tapfinger.generate(**size)
        entries = {entry.name: entry for entry in find_system(system).policies.entries}
        return TapFingerEnvironment(instance), entries["reservation"].make(instance, {})
    environment, policy, generate = {
        "rescue": (RescueEnvironment, SafeRescue, rescue.generate),
        "idn": (IdnEnvironment, Infida, idn.generate),
        "oinc": (OincEnvironment, Oinc, oinc.generate),
        "edr": (EdrEnvironment, SaddlePoint, edr.generate),
    }[system]
    return environment(generate(**size)), policy()


def build(size: Mapping[str, Any], candidate: str, *, system: str) -> Candidate:
    """Simulate a run once; the timed call repeats it, or takes its events."""
    from edgeopt.online.session import EpisodeDesk, RescueDesk, Session
    from edgeopt.online.simulate import run_policy

    environment, policy = drawn(system, size)
    scenario = environment.scenarios(np.random.default_rng(0), 1)[0]
    started = Started(policy, environment.instance)

    def simulated() -> int:
        started.steps.clear()
        rng = np.random.default_rng(1)
        run_policy(environment.episode(scenario), started, started.start(None), rng)
        return len(started.steps)

    steps = simulated()
    events: list[dict[str, Any]] = [{"event": "decide"}] * steps
    if system == "rescue":
        events = [event for step in started.steps for event in told(*step)]
    if candidate == PEER:
        return lambda _: Reading(objective=float(simulated()), work=len(events))

    def live(_: float | None) -> Reading:
        if system == "rescue":
            session = Session(started, RescueDesk(environment.instance), seed=1)
        else:
            session = Session(started, EpisodeDesk(environment, scenario=scenario), seed=1)
        took = []
        for event in events:
            session.take(event)
            if "decision" in session.last:
                took.append(1e-3 * session.last["ms"])
        phases = {"median decision": statistics.median(took)}
        return Reading(objective=float(len(took)), work=len(events), phases=phases)

    return live


def told(arrival: Any, finished: Any) -> list[dict[str, Any]]:
    """Return the events of an arrival and of the runs that end before the next one."""
    task = {"event": "task", "slot": arrival.slot, "device": arrival.device, "coin": arrival.coin}
    ends = [(run.slot + run.duration, run.server) for run in finished]
    return [task, *({"event": "finished", "slot": slot, "server": k} for slot, k in ends)]


def benchmark(system: str, name: str, per_second: float, full: Any, smoke: Any) -> Benchmark:
    """Return the benchmark of a system: so many events a second at least."""
    return Benchmark(
        name=f"live-{system}",
        question=f"Live decisions in {name}, with the log",
        build=partial(build, system=system),
        sizes={"full": full, "smoke": smoke},
        subject=SUBJECT,
        peers=(PEER,),
        goals=(Goal("rate", at_least=per_second),),
        unit="events",
        phases=("median decision",),
        processor=True,
    )


BENCHMARKS = (
    benchmark("rescue", "RESCUE", 1e4, {"horizon": 200, "rng": 7}, {"horizon": 20, "rng": 7}),
    benchmark("tapfinger", "TapFinger", 1e4, {"tasks": 100, "rng": 1}, {"tasks": 5, "rng": 1}),
    benchmark(
        "edr", "EDR", 1e3,
        {"sites": 5, "tasks": 6, "frames": 24, "slots": 6, "rng": 1},
        {"sites": 3, "tasks": 2, "frames": 2, "slots": 2, "rng": 1},
    ),
    benchmark("idn", "IDN", 200, {"horizon": 50, "rng": 0}, {"horizon": 2, "rng": 0}),
    benchmark(
        "oinc", "OINC", 200,
        {"slots": 50, "devices": 20, "sites": 6, "jobs": 8, "rng": 2},
        {"slots": 4, "devices": 4, "sites": 2, "jobs": 2, "rng": 2},
    ),
)  # fmt: skip
