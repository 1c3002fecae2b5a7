"""The loop that simulates a policy on random scenarios, and its messages when a policy is wrong.

The checks cost no time while all goes well: signatures are inspected after a call has failed.
"""

from __future__ import annotations

import difflib
import inspect
import reprlib
import time
from dataclasses import fields
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

import numpy as np

from edgeopt.errors import EdgeOptError, PolicyError
from edgeopt.online.protocols import CompilablePolicy
from edgeopt.options import check_flag, check_whole, generator
from edgeopt.representation import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from edgeopt.online.protocols import (
        DecisionT,
        Environment,
        Episode,
        FeedbackT,
        InstanceT_co,
        Kernel,
        ObservationT,
        Policy,
        ScenarioT,
        StateT,
        TrajectoryT_co,
    )

MOST_RUNS: Final = 10**7
"""Most scenarios; more are taken for a typing error."""


def simulate(
    environment: Environment[
        InstanceT_co, ScenarioT, ObservationT, DecisionT, FeedbackT, TrajectoryT_co
    ],
    policy: Policy[InstanceT_co, ObservationT, DecisionT, FeedbackT, StateT],
    *,
    rng: int | np.random.Generator = 0,
    runs: int = 200,
    keep_trace: bool = False,
    compiled: bool = True,
) -> TrajectoryT_co:
    """Simulate a policy on random scenarios.

    Parameters
    ----------
    environment
        Draws the scenarios and simulates them.
    policy
        Decides. If it brings a compiled kernel for this environment, the kernel runs.
    rng
        Seed, or a generator. One child stream draws the scenarios and another, split further by
        run, is the policy's: the same seed gives every policy the same scenarios. A generator that
        is handed over twice gives new scenarios the second time.
    runs
        Number of scenarios.
    keep_trace
        Whether the trajectory keeps what every resource did in every slot.
    compiled
        False forces the plain loop, for a test or to time decisions alone.

    Returns
    -------
    Trajectory
        In the environment's own kind.

    Raises
    ------
    OptionError
        If an option is out of range.
    PolicyError
        If the policy lacks a part, a method takes or returns the wrong things, or a decision cannot
        be carried out. Other errors of a policy pass through, with a note on where they came up.

    Examples
    --------
    >>> from edgeopt.instances.rescue import generate
    >>> from edgeopt.online.rescue import PickConfigs, RescueEnvironment
    >>> trajectory = simulate(RescueEnvironment(generate(horizon=20)), PickConfigs(), runs=3)
    >>> trajectory.reward.shape
    (3, 20)
    """
    check_whole("runs", runs, 1, MOST_RUNS)
    check_flag("keep_trace", keep_trace)
    check_flag("compiled", compiled)
    require_parts(policy)
    scenario_stream, policy_stream = generator(rng).spawn(2)
    start = ask(policy, "start", environment.instance)
    scenarios = environment.scenarios(scenario_stream, runs)
    if compiled and isinstance(policy, CompilablePolicy):
        kernel = ask(policy, "compiled", environment, start)
        if kernel is not None:
            return kernel(scenarios, policy_stream, keep_trace=keep_trace)  # type: ignore[no-any-return]

    episodes = []
    seconds = 0.0
    for run, (scenario, stream) in enumerate(
        zip(scenarios, policy_stream.spawn(runs), strict=True)
    ):
        episode = environment.episode(scenario, keep_trace=keep_trace)
        try:
            seconds += run_policy(episode, policy, start, stream)
        except Exception as error:
            error.add_note(f"in run {run}, of the seed {rng}")
            raise
        episodes.append(episode)
    return environment.trajectory(policy.name, episodes, seconds=seconds, keep_trace=keep_trace)


class Step(NamedTuple):
    """A step of a run: what was observed, what was decided, and what that came to."""

    observation: Any
    decision: Any
    feedback: Any


class _Logged:
    """An episode that keeps a log."""

    def __init__(self, episode: Episode[Any, Any, Any]) -> None:
        self._episode = episode
        self.log: list[Step] = []
        self._seen: Any = None

    def observe(self) -> Any:
        self._seen = self._episode.observe()
        return self._seen

    def act(self, decision: Any) -> Any:
        feedback = self._episode.act(decision)
        self.log.append(Step(self._seen, decision, feedback))
        return feedback

    def __getattr__(self, name: str) -> Any:
        return getattr(self._episode, name)


def logs(
    environment: Environment[Any, Any, Any, Any, Any, Any],
    policy: Policy[Any, Any, Any, Any, Any],
    *,
    rng: int | np.random.Generator = 0,
    runs: int = 200,
) -> Iterator[list[Step]]:
    """Yield the log of every run, in the plain loop and on the scenarios of `simulate`."""
    require_parts(policy)
    scenario_stream, policy_stream = generator(rng).spawn(2)
    start = ask(policy, "start", environment.instance)
    scenarios = environment.scenarios(scenario_stream, runs)
    for scenario, stream in zip(scenarios, policy_stream.spawn(runs), strict=True):
        episode = _Logged(environment.episode(scenario))
        run_policy(episode, policy, start, stream)
        yield episode.log


class Titled:
    """A dataclass of options that tables and pictures call by its title."""

    title: ClassVar[str]
    """Its name where no option is changed."""

    @property
    def name(self) -> str:
        """Title, and the options that are not default."""
        changed = [
            f"{field.name}={getattr(self, field.name)}"
            for field in fields(self)  # type: ignore[arg-type]
            if getattr(self, field.name) != field.default
        ]
        return ", ".join([self.title, *changed])


CALLED_WITH: Final = {
    "start": ("instance",),
    "decide": ("state", "observation", "rng"),
    "learn": ("state", "observation", "decision", "feedback"),
    "carry": ("state", "instance"),
    "compiled": ("environment", "state"),
}
"""What the methods of a policy are called with."""

_WHEN: Final = (("frame", "frame"), ("slot", "slot"), ("index", "slot"), ("number", "round"))
"""Attributes of an observation that say when it was made, and their names in messages."""


_PARTS: Final = ("name", "start", "decide", "learn")


def require_parts(policy: Any) -> None:
    """Check that a policy has a name and its methods."""
    if isinstance(policy, type):
        name = policy.__name__
        raise PolicyError(f"policy {name} is a class; pass an object: {name}()")
    kind = type(policy).__name__
    lacks = [part for part in _PARTS[1:] if not callable(getattr(policy, part, None))]
    if not isinstance(getattr(policy, "name", None), str):
        lacks.insert(0, "name")
    if lacks:
        said = " and ".join(f"{kind}.{part}" for part in lacks)
        said += f" {'is' if len(lacks) == 1 else 'are'} missing"
        if lacks == ["name"] and hasattr(policy, "name"):
            said = f"{kind}.name is no text"
        near = "".join(_misspelt(policy, part) for part in lacks)
        raise PolicyError(
            f"{said}; a policy has {', '.join(_PARTS)}, see edgeopt.online.Policy{near}"
        )


def _misspelt(policy: Any, part: str) -> str:
    """Ask about an attribute whose name is like that of the part that is missing."""
    others = {name.lower(): name for name in dir(policy) if name not in _PARTS}
    near = difflib.get_close_matches(part, others, n=1, cutoff=0.7)
    return f"; it has {others[near[0]]!r}: did you mean {part!r}?" if near else ""


def run_policy(
    episode: Episode[Any, Any, Any],
    policy: Policy[Any, Any, Any, Any, Any],
    state: Any,
    rng: np.random.Generator,
) -> float:
    """Simulate a policy on one scenario, to its end."""
    seconds = 0.0
    first = handed = state
    learnt = None
    while (observation := episode.observe()) is not None:
        began = time.perf_counter()
        if (network := getattr(observation, "network", None)) is not None:
            state = carried(policy, state, network)
        try:
            answer = policy.decide(state, observation, rng)
        except Exception as error:
            _annotate(error, policy, "decide", observation)
            _name_origin(error, policy, learnt, first, handed, state)
            raise
        seconds += time.perf_counter() - began
        # A decision may be a tuple of two itself: only a plain one is taken apart.
        if type(answer) is not tuple or len(answer) != 2:
            raise wrong_answer(policy, answer, episode, observation)
        decision, state = answer
        try:
            feedback = episode.act(decision)
        except EdgeOptError as error:
            raise refused_decision(policy, observation, decision, error) from error
        answered = time.perf_counter()
        try:
            handed, state = state, policy.learn(state, observation, decision, feedback)
        except Exception as error:
            _annotate(error, policy, "learn", observation)
            raise
        seconds += time.perf_counter() - answered
        if state is None and first is not None:
            raise lost_state(policy, observation, handed)
        learnt = observation
    return seconds


def carried(policy: Any, state: Any, network: Any) -> Any:
    """Return the state with which a policy answers once it is on another network.

    It starts anew, or carries its state over where it has a method ``carry(state, instance)``.
    """
    if callable(getattr(policy, "carry", None)):
        return ask(policy, "carry", state, network)
    return ask(policy, "start", network)


def ask(policy: Any, part: str, *given: Any) -> Any:
    """Call a method of a policy; an error of its own gets a note, see `run_policy`."""
    try:
        return getattr(policy, part)(*given)
    except Exception as error:
        _annotate(error, policy, part, given[1] if part in ("decide", "learn") else None)
        raise


def _annotate(error: Exception, policy: Any, part: str, observation: Any = None) -> None:
    """Note on an error where it came up, or say how the method is called that has failed."""
    trace = error.__traceback__
    # Raised by the call itself, not by what the method does.
    if isinstance(error, TypeError) and trace is not None and trace.tb_next is None:
        _require_signature(policy, part)
    error.add_note(f"in {_where(policy, part, observation)}, of the policy {policy.name!r}")


def _name_origin(
    error: Exception, policy: Any, learnt: Any, first: Any, handed: Any, state: Any
) -> None:
    """Note on an error of ``decide`` where its state is from, if that is of an unexpected kind."""
    if learnt is None and state is None:
        error.add_note(f"its state is None, which {type(policy).__name__}.start returned")
    elif learnt is not None and type(state) is not type(first):
        part = "learn" if type(handed) is type(first) else "decide"
        error.add_note(
            f"its state is of type {type(state).__name__} since {_where(policy, part, learnt)}; "
            f"that of {type(policy).__name__}.start is of type {type(first).__name__}"
        )


def _require_signature(policy: Any, part: str) -> None:
    method, given = getattr(policy, part), CALLED_WITH[part]
    try:
        takes = inspect.signature(method)
    except (TypeError, ValueError):  # not written in Python
        return
    try:
        takes.bind(*given)
    except TypeError:
        names = ", ".join(takes.parameters)
        raise PolicyError(
            f"{type(policy).__name__}.{part} takes ({names}) but is called with "
            f"({', '.join(given)})"
        ) from None


def wrong_answer(policy: Any, answer: Any, asked: Any, observation: Any) -> PolicyError:
    """Say what ``decide`` has to return; who asked may have an attribute ``may_decline``."""
    declines = answer is None and getattr(asked, "may_decline", False)
    found = " ".join(reprlib.repr(answer).split())
    return PolicyError(
        f"{_where(policy, 'decide', observation)}: returned {found}; "
        "it must return (decision, state)" + ": 'return None, state' declines" * declines
    )


def lost_state(policy: Any, observation: Any, handed: Any) -> PolicyError:
    """Say which method has returned None instead of a state."""
    if handed is None:
        return PolicyError(
            f"{_where(policy, 'decide', observation)}: returned None as its state; "
            "it must return (decision, state)"
        )
    return PolicyError(
        f"{_where(policy, 'learn', observation)}: returned None; it must return the state: "
        "'return state' leaves it as it was"
    )


def refused_decision(
    policy: Any, observation: Any, decision: Any, error: EdgeOptError
) -> PolicyError:
    """Say whose decision it is that an episode refuses, and why; each once."""
    when, what = list(_when(observation)), shown(decision)
    why = str(error).removeprefix(f"{', '.join(when)}: ").removeprefix(f"{what}: ")
    return PolicyError(f"{_where(policy, 'decide', observation)}: {what}: {why}")


def _where(policy: Any, part: str, observation: Any) -> str:
    """Name a method and when it was called: ``Mine.decide, slot 7``."""
    return ", ".join([f"{type(policy).__name__}.{part}", *_when(observation)])


def _when(observation: Any) -> Iterator[str]:
    for name, title in _WHEN:
        value = getattr(observation, name, None)
        if isinstance(value, Integral):
            yield f"{title} {value}"


def repeated(
    environment: Environment[Any, Any, Any, Any, Any, Any],
    policy: Policy[Any, Any, Any, Any, Any],
    state: Any,
) -> Kernel:
    """Return a kernel that simulates a policy without coins once and counts it as all runs."""

    def counted(scenarios: Any, rng: Any = None, *, keep_trace: bool = False) -> Any:
        episode = environment.episode(scenarios[0], keep_trace=keep_trace)
        seconds = run_policy(episode, policy, state, np.random.default_rng(0))
        runs = len(scenarios)
        return environment.trajectory(
            policy.name, [episode] * runs, seconds=seconds * runs, keep_trace=keep_trace
        )

    return counted


class IgnoresFeedback:
    """A policy that learns nothing from what its decisions come to."""

    def learn(self, state: Any, observation: Any, decision: Any, feedback: Any) -> Any:
        """Return the state as it was."""
        return state


class Deterministic:
    """A policy without coins: where all scenarios are alike, one run counts for all.

    An environment whose scenarios are alike says so in an attribute ``alike``.
    """

    deterministic: ClassVar[bool] = True
    """Whether the policy, or the part of it that a subclass adds, draws no random numbers."""

    def compiled(self, environment: Any, state: Any) -> Kernel | None:
        """Return a kernel that simulates one run for all where scenarios are alike."""
        if self.deterministic and getattr(environment, "alike", False):
            # Whoever inherits this has the rest of a policy.
            return repeated(environment, self, state)  # type: ignore[arg-type]
        return None


def stacked(runs: Sequence[Any], fields: Iterable[str]) -> dict[str, Any]:
    """Stack what finished runs have booked, field by field."""
    return {field: np.stack([getattr(run, field) for run in runs]) for field in fields}


def padded(runs: Sequence[Any]) -> NDArray[Any]:
    """Stack what each run has in every slot, with zeros after its end."""
    rows = [np.asarray(run) for run in runs]
    longest = max(len(row) for row in rows)
    table = np.zeros((len(rows), longest, *rows[0].shape[1:]), dtype=rows[0].dtype)
    for place, row in zip(table, rows, strict=True):
        place[: len(row)] = row
    return table
