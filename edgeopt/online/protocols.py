"""Environments and policies: what one shows and the other decides.

A *scenario* is one realisation of everything random. An environment draws scenarios, and opens an
*episode* on one of them: the episode shows an observation, takes a decision, returns feedback, and
so on until it is over. It owns the future and shows nothing of it. What a step is, the environment
decides: a slot, a request within a slot, a batch of them, a round; several steps may share a slot.

A policy is an immutable value with ``start / decide / learn``. All that it remembers is in a state
that it is handed and hands back, so the same policy object can run on many scenarios, and can
be stepped by hand on live events, without an environment; `edgeopt.online.session` does that:

>>> state = policy.start(instance)  # doctest: +SKIP
>>> for observation in live_events:  # doctest: +SKIP
...     decision, state = policy.decide(state, observation, rng)
...     feedback = carry_out(decision)
...     state = policy.learn(state, observation, decision, feedback)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

import numpy as np

from edgeopt.representation import compact_repr, counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

InstanceT_co = TypeVar("InstanceT_co", covariant=True)
InstanceT_contra = TypeVar("InstanceT_contra", contravariant=True)
ScenarioT = TypeVar("ScenarioT")
ObservationT = TypeVar("ObservationT")
ObservationT_co = TypeVar("ObservationT_co", covariant=True)
ObservationT_contra = TypeVar("ObservationT_contra", contravariant=True)
DecisionT = TypeVar("DecisionT")
DecisionT_contra = TypeVar("DecisionT_contra", contravariant=True)
FeedbackT = TypeVar("FeedbackT")
FeedbackT_co = TypeVar("FeedbackT_co", covariant=True)
FeedbackT_contra = TypeVar("FeedbackT_contra", contravariant=True)
StateT = TypeVar("StateT")
TrajectoryT_co = TypeVar("TrajectoryT_co", covariant=True, bound="Trajectory")


@compact_repr
@dataclass(frozen=True, eq=False)
class Trajectory:
    """What happened to one policy in a number of scenarios, slot by slot.

    Attributes
    ----------
    name
        Name of the policy.
    reward
        Reward of every slot, shape [runs, T]. The system says what is booked and when.
    violations
        Violations of the service constraint in every slot, shape [runs, T].
    decisions
        Number of decisions of the policy in every slot, shape [runs, T].
    seconds
        Time spent on all decisions together, in seconds. In the plain loop it covers ``decide``
        and ``learn`` alone; of a compiled run it covers the whole kernel, environment included,
        and is therefore an upper bound.
    compiled
        Whether a compiled kernel ran; see `seconds`.

    Examples
    --------
    >>> from edgeopt.instances.rescue import generate
    >>> from edgeopt.online import Trajectory, simulate
    >>> from edgeopt.online.rescue import RescueEnvironment, Srs
    >>> environment = RescueEnvironment(generate(servers=2, devices=4, horizon=20, rng=7))
    >>> runs = simulate(environment, Srs(), runs=5)
    >>> runs.reward.shape, runs.total.shape
    ((5, 20), (5,))
    """

    name: str
    reward: NDArray[np.float64]
    violations: NDArray[np.int64]
    decisions: NDArray[np.int64]
    seconds: float
    compiled: bool

    @property
    def runs(self) -> int:
        """Number of scenarios simulated."""
        return int(self.reward.shape[0])

    def _brief(self) -> Iterator[str]:
        yield self.name
        yield counted(self.runs, "scenario")
        yield counted(self.horizon, "slot")
        yield f"mean reward {self.total.mean():.6g}"

    @property
    def horizon(self) -> int:
        """Number of slots T."""
        return int(self.reward.shape[1])

    @property
    def total(self) -> NDArray[np.float64]:
        """Reward of every run, shape [runs]."""
        return np.asarray(self.reward.sum(axis=1))

    def _repr_html_(self) -> str:
        """Show rewards, violations and decisions of all runs together, as a table."""
        from edgeopt.writing.results import html_table

        rows = [
            ["runs", f"{self.runs}"],
            ["slots", f"{self.horizon}"],
            ["reward of a run", f"{self.total.mean():.6g}"],
            ["least and largest", f"{self.total.min():.6g} to {self.total.max():.6g}"],
            ["violations of a run", f"{self.violations.sum(axis=1).mean():.6g}"],
            ["decisions", f"{self.decisions.sum()}"],
        ]
        return html_table(self.name, [], rows)

    @property
    def seconds_per_decision(self) -> float:
        """Mean time of a decision in seconds, NaN if there was none; see `seconds`."""
        decisions = int(self.decisions.sum())
        return self.seconds / decisions if decisions else float("nan")


class Episode(Protocol[ObservationT_co, DecisionT_contra, FeedbackT_co]):
    """One scenario being simulated; the only party that changes in place.

    Examples
    --------
    >>> import numpy as np
    >>> from edgeopt.instances.rescue import generate
    >>> from edgeopt.online.rescue import RescueEnvironment
    >>> environment = RescueEnvironment(generate(horizon=20, rng=7))
    >>> [scenario] = environment.scenarios(np.random.default_rng(0), 1)
    >>> episode, turned_down = environment.episode(scenario), 0
    >>> while episode.observe() is not None:
    ...     finished = episode.act(None)
    ...     turned_down += 1
    >>> turned_down, finished
    (8, ())
    """

    def observe(self) -> ObservationT_co | None:
        """Show what may be known before the next decision, or None when the scenario is over."""
        ...

    def act(self, decision: DecisionT_contra) -> FeedbackT_co:
        """Carry a decision out and return what was revealed until the next observation."""
        ...


class Environment(
    Protocol[InstanceT_co, ScenarioT, ObservationT, DecisionT, FeedbackT, TrajectoryT_co]
):
    """A system with a future that it keeps to itself.

    Examples
    --------
    >>> import numpy as np
    >>> from edgeopt.instances.rescue import generate
    >>> from edgeopt.online.rescue import RescueEnvironment
    >>> environment = RescueEnvironment(generate(horizon=20, rng=7))
    >>> [scenario] = environment.scenarios(np.random.default_rng(0), 1)
    >>> environment.episode(scenario).observe().slot
    1
    """

    @property
    def instance(self) -> InstanceT_co:
        """What a policy may know before the first step; never the realised future."""
        ...

    def scenarios(self, rng: np.random.Generator, runs: int) -> Sequence[ScenarioT] | NDArray[Any]:
        """Draw scenarios; the first n of more runs are the same as n runs of the same stream."""
        ...

    def episode(
        self, scenario: ScenarioT, *, keep_trace: bool = False
    ) -> Episode[ObservationT, DecisionT, FeedbackT]:
        """Open a scenario at its first step; with `keep_trace`, keep details that pictures need."""
        ...

    def trajectory(
        self,
        name: str,
        episodes: Sequence[Episode[ObservationT, DecisionT, FeedbackT]],
        *,
        seconds: float,
        keep_trace: bool = False,
    ) -> TrajectoryT_co:
        """Gather finished episodes, all of which came from `episode`."""
        ...


class Policy(Protocol[InstanceT_contra, ObservationT_contra, DecisionT, FeedbackT_contra, StateT]):
    """A rule for decisions, with all memory in an explicit state.

    Examples
    --------
    >>> from edgeopt.instances.rescue import generate
    >>> from edgeopt.online import simulate
    >>> from edgeopt.online.rescue import Placement, RescueEnvironment
    >>> class FirstServer:
    ...     name = "First server"
    ...     def start(self, instance):
    ...         return None
    ...     def decide(self, state, arrival, rng):
    ...         return (Placement(0, 0) if arrival.idle[0] else None), state
    ...     def learn(self, state, arrival, decision, feedback):
    ...         return state
    ...
    >>> simulate(RescueEnvironment(generate(horizon=20, rng=7)), FirstServer(), runs=5)
    RescueTrajectory(First server, 5 scenarios, 20 slots, mean reward 0.692972)
    """

    @property
    def name(self) -> str:
        """Short name for tables and pictures."""
        ...

    def start(self, instance: InstanceT_contra) -> StateT:
        """Return the state before the first decision.

        Called once however many scenarios follow; every scenario begins with the returned state,
        which is therefore never to be changed in place.
        """
        ...

    def decide(
        self, state: StateT, observation: ObservationT_contra, rng: np.random.Generator
    ) -> tuple[DecisionT, StateT]:
        """Answer an observation with a decision and the state after it.

        `rng` is the policy's own stream of random numbers in this scenario.
        """
        ...

    def learn(
        self,
        state: StateT,
        observation: ObservationT_contra,
        decision: DecisionT,
        feedback: FeedbackT_contra,
    ) -> StateT:
        """Return the state after the feedback on a decision; None only where `start` did."""
        ...


class Kernel(Protocol):
    """A compiled form of the plain loop: all scenarios in one call, the same trajectory.

    Examples
    --------
    >>> import numpy as np
    >>> from edgeopt.instances.rescue import generate
    >>> from edgeopt.online.rescue import PickConfigs, RescueEnvironment
    >>> environment, policy = RescueEnvironment(generate(horizon=20)), PickConfigs()
    >>> scenarios = environment.scenarios(np.random.default_rng(0), 4)
    >>> kernel = policy.compiled(environment, policy.start(environment.instance))
    >>> kernel(scenarios, np.random.default_rng(1)).reward.shape
    (4, 20)
    """

    def __call__(
        self, scenarios: Any, rng: np.random.Generator, *, keep_trace: bool = False
    ) -> Trajectory:
        """Simulate all scenarios.

        `rng` is the policy's stream; a kernel that tosses coins splits it by scenario.
        """
        ...


@runtime_checkable
class CompilablePolicy(Protocol):
    """A policy that may bring a kernel.

    Examples
    --------
    >>> from edgeopt.online import CompilablePolicy
    >>> from edgeopt.online.rescue import PickConfigs
    >>> from edgeopt.online.oinc import Oinc
    >>> isinstance(PickConfigs(), CompilablePolicy), isinstance(Oinc(), CompilablePolicy)
    (True, True)
    """

    def compiled(self, environment: Any, state: Any) -> Kernel | None:
        """Return a kernel that is ready to run from `state`, or None if there is none for it."""
        ...
