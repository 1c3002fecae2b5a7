"""Instances, scenarios and streams that checks of policies and environments run on."""

from __future__ import annotations

import contextlib
import dataclasses
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from edgeopt.content import alike, content
from edgeopt.errors import InstanceError, OptionError
from edgeopt.later import Computed
from edgeopt.options import listed
from edgeopt.studies.entries import Benchmark, PolicyEntry
from edgeopt.studies.registry import choose, find_system
from edgeopt.studies.system import System
from edgeopt.testing.report import describe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from edgeopt.online.protocols import Environment

TIMES: Final = ("frame", "slot", "round")
"""Names of axes and attributes that say when, the longest first."""

TRIES: Final = 40
"""Changed instances that are drawn at most until one is valid."""


def record_of(system: Any) -> System:
    """Return the record of a system, which may be given by its name."""
    if isinstance(system, str):
        return find_system(system)
    if not isinstance(system, System):
        raise OptionError(f"system: must be a name or a System, not a {type(system).__name__}")
    return system


def offered(record: System, instance: Any) -> Mapping[str, Benchmark]:
    """Return the benchmarks of an instance, each computed when a policy asks for it."""
    known = record.offline
    return Computed(known.offered(instance), lambda name: known.bounds[name].compute(instance))


@dataclasses.dataclass(frozen=True, eq=False)
class Setup:
    """An instance with its environment, the seed of what is random on it, and how to name it."""

    record: System
    truth: Any
    seed: int
    where: Mapping[str, Any]
    make: Callable[[Any], Any]

    @cached_property
    def environment(self) -> Environment[Any, Any, Any, Any, Any, Any]:
        """The environment, which knows the future."""
        made: Environment[Any, Any, Any, Any, Any, Any] = self.make(self.truth)
        return made

    @cached_property
    def known(self) -> frozenset[str]:
        """Names of the fields that a policy is shown beforehand."""
        shown = self.environment.instance
        names = [one.name for one in getattr(self.truth, "_fields", ()) if hasattr(shown, one.name)]
        return frozenset(
            name for name in names if alike(getattr(shown, name), getattr(self.truth, name))
        )

    @cached_property
    def benchmarks(self) -> Mapping[str, Benchmark]:
        """What policies may follow."""
        return offered(self.record, self.truth)

    @cached_property
    def horizon(self) -> int:
        """Number of slots, frames or rounds."""
        return horizon_of(self.truth)

    def policy(self, part: Any) -> Any:
        """Return the policy of an entry, of a maker like that of an entry, or as it is."""
        if isinstance(part, PolicyEntry):
            return part.make(self.truth, self.benchmarks)
        if callable(part) and not hasattr(part, "decide"):
            return part(self.truth, self.benchmarks)
        return part

    def scenario(self, number: int = 0) -> Any:
        """Draw the scenario of a number."""
        return self.environment.scenarios(np.random.default_rng((self.seed, number, 1)), 1)[0]

    def with_truth(self, truth: Any) -> Setup:
        """Return the same with another instance."""
        return dataclasses.replace(self, truth=truth)


def entry_of(record: System, part: Any) -> Any:
    """Return the entry of a name; any other part as it is."""
    return choose(record, part)[0] if isinstance(part, str) else part


def setups(
    record: System,
    seeds: Sequence[int],
    instances: Any = None,
    make: Callable[[Any], Any] | None = None,
) -> list[Setup]:
    """Return an instance for each seed, or each of those given with each seed."""
    make = make or record.policies.environment
    if instances is not None:
        given = listed("instances", instances)
        found = []
        for place, truth in enumerate(given):
            mine = {"instances": Text(f"instances[{place}:{place + 1}]")}
            found += [Setup(record, truth, seed, {"seeds": [seed], **mine}, make) for seed in seeds]
        return found
    draw = record.instances.random_small
    if draw is None:
        raise OptionError(f"instances: the system {record.name} draws none; pass some")
    return [Setup(record, draw(seed), seed, {"seeds": [seed]}, make) for seed in seeds]


class Text(str):
    """A text that is written into an example as it is."""

    __slots__ = ()
    __repr__ = str.__str__


class Step(NamedTuple):
    """One decision: what was seen, decided and observed, and the state before and after it."""

    seen: Any
    decided: Any
    outcome: Any
    before: Any
    after: Any


class HaltedError(Exception):
    """A policy or an environment failed in the middle of a run; the text says how."""


def steps(episode: Any, policy: Any, state: Any, rng: np.random.Generator) -> Iterator[Step]:
    """Simulate a policy by hand, decision by decision."""
    while (seen := episode.observe()) is not None:
        before = state
        try:
            decided, state = policy.decide(state, seen, rng)
            answer = episode.act(decided)
            state = policy.learn(state, seen, decided, answer)
        # Whatever a part of a stranger raises.
        except Exception as error:
            raise HaltedError(_at(seen) + describe(error)) from error
        yield Step(seen, decided, answer, before, state)


def _at(seen: Any) -> str:
    where = [f"{name} {getattr(seen, name)}" for name in TIMES if _number(seen, name) is not None]
    return f"{', '.join(where)}: " if where else ""


def _number(seen: Any, name: str) -> int | None:
    value = getattr(seen, name, None)
    return int(value) if isinstance(value, int | np.integer) else None


def time_of(seen: Any) -> int | None:
    """Return when an observation was made: its frame, slot or round."""
    for name in (*TIMES, "index"):
        if (found := _number(seen, name)) is not None:
            return found
    return None


def run(
    setup: Setup,
    policy: Any,
    number: int = 0,
    state: Any = None,
    rng: np.random.Generator | None = None,
) -> list[Step]:
    """Simulate a policy on a scenario of an instance; a run that breaks ends there."""
    done: list[Step] = []
    first = policy.start(setup.environment.instance) if state is None else state
    episode = setup.environment.episode(setup.scenario(number))
    with contextlib.suppress(HaltedError):
        done.extend(steps(episode, policy, first, rng or stream(setup, number)))
    return done


def stream(setup: Setup, number: int = 0) -> np.random.Generator:
    """Return the stream of a policy in a scenario."""
    return np.random.default_rng((setup.seed, number, 2))


def decisions(run_steps: Sequence[Step]) -> list[bytes]:
    """Return the decisions of a run, by their content."""
    return [content(step.decided) for step in run_steps]


# --- other futures -------------------------------------------------------------------------------


def fields_by_axis(instance: Any, axis: str) -> dict[str, Any]:
    """Return the arrays of an instance whose first axis has this name."""
    found = {}
    for one in getattr(instance, "_fields", ()):
        value = getattr(instance, one.name)
        along = one.axes[:1] == (axis,) and isinstance(value, np.ndarray)
        # An entry that stands for all slots is no row of one.
        if along and value.ndim == len(one.axes) and not (one.singleton and len(value) == 1):
            found[one.name] = value
    return found


def time_axis(instance: Any) -> str:
    """Return the name of the axis of time, empty where there is none."""
    axes = {one.axes[0] for one in getattr(instance, "_fields", ()) if one.axes}
    return next((name for name in TIMES if name in axes), "")


def horizon_of(instance: Any) -> int:
    """Return the number of slots, or one more than that of the last arrival."""
    axis = time_axis(instance)
    for value in fields_by_axis(instance, axis).values():
        return len(value)
    arrival = getattr(instance, "arrival", None)
    last = np.asarray(arrival).max(initial=0) if arrival is not None else 0
    return int(last) + 1


def other_future(
    setup: Setup, last: int, rng: np.random.Generator, *, now: bool = False
) -> Any | None:
    """Return the instance with another future after a slot, None where none is found.

    Later slots take the rows of other slots, entities that arrive later take those of others. What
    is known beforehand stays.
    With `now`, single rows of the slot itself change too, which come to light in the course of it.
    """
    truth, known = setup.truth, setup.known
    for _ in range(TRIES):
        changes = {**_other_rows(truth, last, rng, now), **_other_entities(truth, last, rng)}
        changes = {name: value for name, value in changes.items() if name not in known}
        if not changes:
            return None
        try:
            changed = truth.replace(**changes)
        except InstanceError:
            continue
        if changed.fingerprint() != truth.fingerprint():
            return changed
    return None


def _other_rows(truth: Any, last: int, rng: np.random.Generator, now: bool) -> dict[str, Any]:
    rows = fields_by_axis(truth, time_axis(truth))
    if not rows:
        return {}
    length = len(next(iter(rows.values())))
    source = rng.integers(length, size=length)
    changes = {}
    for name, value in rows.items():
        first = last if now and rng.random() < 0.5 else last + 1
        changed = value.copy()
        changed[first:] = _varied(value[source[first:]], rng)
        if not np.array_equal(changed, value):
            changes[name] = changed
    return changes


def _other_entities(truth: Any, last: int, rng: np.random.Generator) -> dict[str, Any]:
    """Give those that arrive later the data of others, at times of their own."""
    declared = {one.name: one for one in getattr(truth, "_fields", ())}
    if "arrival" not in declared or len(declared["arrival"].axes) != 1:
        return {}
    arrival = np.asarray(truth.arrival)
    later = np.flatnonzero(arrival > last)
    if not later.size or rng.random() < 0.2:
        return {}
    source = rng.integers(arrival.size, size=later.size)
    changes = {}
    for name, value in fields_by_axis(truth, declared["arrival"].axes[0]).items():
        if name == "arrival":
            continue
        changed = value.copy()
        if name == "deadline":
            moved = value[source] - arrival[source] + arrival[later]
            changed[later] = np.minimum(moved, value.max())
        else:
            changed[later] = _varied(value[source], rng)
        changes[name] = changed
    return changes


def _varied(rows: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
    """Return rows as they are, with entries in another order, or with larger or smaller numbers."""
    way = rng.integers(3)
    if way == 1 and rows.ndim > 1:
        return np.asarray(rng.permuted(rows, axis=-1))
    if way == 2 and rows.dtype.kind in "fi":
        factor = rng.choice([0.0, 0.5, 2.0], size=(len(rows),) + (1,) * (rows.ndim - 1))
        with np.errstate(invalid="ignore"):
            return np.asarray(rows * factor).astype(rows.dtype)
    return rows


def other_scenario(scenario: Any, other: Any, last: int) -> Any | None:
    """Return a scenario that is another one after a slot, None where it is no table by slot."""
    if not isinstance(scenario, np.ndarray) or scenario.ndim == 0 or last + 1 >= len(scenario):
        return None
    joined = scenario.copy()
    joined[last + 1 :] = other[last + 1 :]
    return None if np.array_equal(joined, scenario) else joined


def counterpart_of(
    setup: Setup, last: int, rng: np.random.Generator, *, unseen: bool = False
) -> tuple[Setup, Any] | None:
    """Draw an instance and a scenario that are others after a slot, None where there are none.

    With `unseen`, slot `last` itself may be another one, where no policy is shown that beforehand.
    """
    counterpart, scenario = setup, setup.scenario()
    if not alike(setup.environment.instance, setup.truth):
        changed = other_future(setup, last, rng, now=unseen)
        varied = setup if changed is None else setup.with_truth(changed)
        if not unseen or alike(varied.environment.instance, setup.environment.instance):
            counterpart = varied
    other = other_scenario(scenario, setup.scenario(int(rng.integers(3, 1000))), last)
    if counterpart is setup and other is None:
        return None
    return counterpart, scenario if other is None else other
