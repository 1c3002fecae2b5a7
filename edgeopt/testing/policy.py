"""Checks of a policy: that it never looks ahead, keeps its state, and follows the protocol."""

from __future__ import annotations

import copy
import inspect
import pickle
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.content import alike, content, difference
from edgeopt.errors import PolicyError
from edgeopt.online.protocols import CompilablePolicy
from edgeopt.online.simulate import CALLED_WITH, require_parts, simulate
from edgeopt.studies.entries import PolicyEntry
from edgeopt.testing.extremes import crowded, extreme
from edgeopt.testing.report import (
    BrokenError,
    Recipe,
    SkippedError,
    by_name,
    describe,
    found_again,
    on_each,
    require,
    run_checks,
    seeds_of,
)
from edgeopt.testing.scenarios import (
    HaltedError,
    Setup,
    counterpart_of,
    decisions,
    entry_of,
    record_of,
    run,
    setups,
    steps,
    stream,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from edgeopt.online.protocols import Trajectory
    from edgeopt.studies.system import System
    from edgeopt.testing.report import Report
    from edgeopt.testing.scenarios import Step


PAIRS: Final = 10
"""Pairs of scenarios per seed that agree up to a slot."""

LOOKS: Final = 30
"""Decisions of a run whose states are looked at before and after."""


@on_each("runs")
def state(_checked: Checked, setup: Setup, policy: Any, done: Sequence[Step]) -> None:
    """Step two scenarios in turn, and look whether states change in place."""
    first = policy.start(setup.environment.instance)
    before = content(first, private=False)
    turns = [_Turn(setup, policy, first, number) for number in range(2)]
    while any([turn.step() for turn in turns]):
        pass
    kept = content(first, private=False) == before
    require(kept, "the state that start returned is changed by a run")
    same = decisions(turns[0].done) == decisions(done)
    require(same, "scenarios that are stepped in turn disturb each other")


class _Turn:
    """A run that is stepped by others' leave, and looks whether states change in place."""

    def __init__(self, setup: Setup, policy: Any, state: Any, number: int) -> None:
        episode = setup.environment.episode(setup.scenario(number))
        self._steps = steps(episode, policy, state, stream(setup, number))
        self._state = state
        self.done: list[Step] = []

    def step(self) -> bool:
        """Decide once; tell whether there was anything to decide."""
        looks = len(self.done) < LOOKS
        before = content(self._state, private=False) if looks else b""
        try:
            step = next(self._steps)
        except (StopIteration, HaltedError):
            return False
        kept = not looks or content(step.before, private=False) == before
        require(kept, f"decision {len(self.done)} changes its state in place")
        self._state = step.after
        self.done.append(step)
        return True


def causal(checked: Checked) -> str:
    """Compare decisions in scenarios that agree up to a slot."""
    part = checked.part
    hidden = not isinstance(part, PolicyEntry) or part.causal
    if not hidden or any(getattr(policy, "hindsight", False) is True for _, policy in checked.made):
        raise SkippedError("it knows the future, and says so")
    known = [
        (setup, done, [(content(step.seen), content(step.outcome)) for step in done])
        for setup, _, done in checked.runs
    ]
    rng, found = np.random.default_rng((*checked.seeds, 3)), 0
    for place in range(3 * PAIRS * len(checked.seeds)):
        if found == PAIRS * len(checked.seeds):
            break
        setup, done, past = known[place % len(known)]
        counterpart = counterpart_of(setup, int(rng.integers(setup.horizon)), rng, unseen=True)
        with found_again(setup.where):
            found += counterpart is not None and _agrees(checked.part, *counterpart, done, past)
    if not found:
        raise SkippedError("no two scenarios agree up to a slot and differ later")
    return f"{found} pairs of scenarios"


def _agrees(
    part: Any, counterpart: Setup, scenario: Any, done: Sequence[Step],
    past: Sequence[tuple[bytes, bytes]],
) -> bool:  # fmt: skip
    """Compare decisions as long as all that was seen is the same; tell whether there were any."""
    policy = counterpart.policy(part)
    state = policy.start(counterpart.environment.instance)
    rng, compared = stream(counterpart), 0
    episode = counterpart.environment.episode(scenario)
    for step, (seen, answer) in zip(done, past, strict=True):
        found = episode.observe()
        if found is None or content(found) != seen:
            break
        try:
            decided, state = policy.decide(state, found, rng)
            if not alike(decided, step.decided):
                raise BrokenError(
                    f"decision {compared} depends on what comes later: with another future, "
                    f"{difference(step.decided, decided)}"
                )
            reply = episode.act(decided)
            state = policy.learn(state, found, decided, reply)
        except BrokenError:
            raise
        # Reported by the check of valid decisions.
        except Exception:
            break
        compared += 1
        if content(reply) != answer:
            break
    return compared > 0


RUNS: Final = 2
"""Scenarios that are simulated on every instance."""


def check_policy(
    policy: Any,
    system: str | System,
    *,
    instances: Sequence[Any] | None = None,
    seeds: int | Sequence[int] = 5,
    expected: Mapping[str, str] | None = None,
    raises: bool = True,
    checks: Sequence[str] | None = None,
) -> Report:
    """Check that a policy does what simulations and comparisons rely on.

    Parameters
    ----------
    policy
        The policy; or the name of one of the system, a :class:`edgeopt.studies.PolicyEntry`, or a
        function of an instance and its benchmarks that returns the policy, as an entry has it. A
        function is called on every instance, so that a policy that was made with knowledge of the
        future is found out.
    system
        Name or record of its system.
    instances
        Instances to check it on, instead of small ones that the system draws.
    seeds
        How many instances and seeds, or which ones; ten pairs of scenarios that agree up to a slot
        are drawn for each.
    expected
        Checks that are known to fail, each with the reason. One that passes is an error.
    raises
        Whether failures raise an error; otherwise the report tells.
    checks
        Names of the checks to run, by default all.

    Returns
    -------
    Report
        Outcome of every check.

    Raises
    ------
    CheckError
        If a check fails, with all that failed and lines of Python that reproduce it.
    OptionError
        If there is no such check or system.

    Examples
    --------
    >>> from edgeopt.testing import check_policy
    >>> check_policy("olag", "idn", seeds=1)
    Report(policy olag, 12 passed, 2 skipped)
    """
    record = record_of(system)
    recipe = Recipe("policy", policy, (record.name,))
    checked = Checked(entry_of(record, policy), record, tuple(seeds_of(seeds)), instances)
    return run_checks(recipe, CHECKS, checked, checks=checks, expected=expected, raises=raises)


@dataclass(frozen=True, eq=False)
class Checked:
    """A policy with the instances and runs that its checks share."""

    part: Any
    record: System
    seeds: tuple[int, ...]
    instances: Sequence[Any] | None

    @cached_property
    def setups(self) -> list[Setup]:
        """The instances."""
        return setups(self.record, self.seeds, self.instances)

    @cached_property
    def made(self) -> list[tuple[Setup, Any]]:
        """Every instance with the policy made for it; of one that lacks parts, none."""
        pairs = [(setup, setup.policy(self.part)) for setup in self.setups]
        if any(_lacks(policy) for _, policy in pairs):
            raise SkippedError("it lacks a part")
        return pairs

    @cached_property
    def simulated(self) -> list[tuple[Setup, Any, Trajectory | Exception]]:
        """What `simulate` says of every instance, or raises."""
        return [(*pair, _simulated(*pair)) for pair in self.made]

    @cached_property
    def whole(self) -> list[tuple[Setup, Any, Trajectory]]:
        """The simulations that came to their end; the others are reported once, as not valid."""
        found = [one for one in self.simulated if not isinstance(one[2], Exception)]
        if not found:
            raise SkippedError("no run comes to its end")
        return found  # type: ignore[return-value]

    @cached_property
    def runs(self) -> list[tuple[Setup, Any, list[Step]]]:
        """A run by hand on the first scenario of every instance."""
        return [(setup, policy, run(setup, policy)) for setup, policy, _ in self.whole]


def _simulated(setup: Setup, policy: Any, runs: int = RUNS) -> Trajectory | Exception:
    """Simulate in the plain loop; an error of the policy is returned."""
    rng, environment = setup.seed, setup.environment
    try:
        ended: Trajectory = simulate(environment, policy, rng=rng, runs=runs, compiled=False)
        return ended
    # Whatever a policy of a stranger raises.
    except Exception as error:
        return error


def _lacks(policy: Any) -> str:
    """Say what a policy lacks, or what its methods do not take."""
    try:
        require_parts(policy)
    except PolicyError as error:
        return str(error)
    for name in ("start", "decide", "learn"):
        takes, given = inspect.signature(getattr(policy, name)), CALLED_WITH[name]
        try:
            takes.bind(*given)
        except TypeError:
            names = ", ".join(takes.parameters)
            return f"{name} takes ({names}) but is called with ({', '.join(given)})"
    return ""


@on_each("setups")
def _members(checked: Checked, setup: Setup) -> None:
    lacking = _lacks(setup.policy(checked.part))
    require(not lacking, lacking)


@on_each("runs")
def _name(checked: Checked, setup: Setup, policy: Any, _done: Sequence[Step]) -> None:
    names = [policy.name, policy.name, setup.policy(checked.part).name]
    require(len(set(names)) == 1, f"its name changes: {', '.join(names)}")
    known = bool(names[0].strip()) and names[0].isprintable()
    require(known, f"its name cannot be printed: {names[0]!r}")


@on_each("runs")
def _start(_checked: Checked, setup: Setup, policy: Any, _done: Sequence[Step]) -> None:
    shown = setup.environment.instance
    before, kept = content(shown), copy.deepcopy(shown)
    states = [content(policy.start(shown)) for _ in range(2)]
    if content(shown) != before:
        raise BrokenError(f"start changes the instance: {difference(kept, shown)}")
    require(states[0] == states[1], "start returns another state the second time")


@on_each("runs")
def _equal_seeds(_checked: Checked, setup: Setup, policy: Any, done: Sequence[Step]) -> None:
    _require_same(done, run(setup, policy), "the same seed leads to other decisions")


@on_each("runs")
def _own_stream(_checked: Checked, setup: Setup, policy: Any, done: Sequence[Step]) -> None:
    state = policy.start(setup.environment.instance)
    run(setup, policy, 1, state)
    again = run(setup, policy, 0, state)
    _require_same(done, again, "decisions in a scenario depend on which scenarios ran before")


def _require_same(one: Sequence[Step], two: Sequence[Step], text: str) -> None:
    first, second = decisions(one), decisions(two)
    require(len(first) == len(second), f"{text}: {len(first)} of them, then {len(second)}")
    for place, (a, b) in enumerate(zip(first, second, strict=True)):
        if a != b:
            found = difference(one[place].decided, two[place].decided)
            raise BrokenError(f"{text}: decision {place}: {found}")


@on_each("simulated")
def _valid(_checked: Checked, _setup: Setup, _policy: Any, found: Trajectory | Exception) -> None:
    if isinstance(found, Exception):
        raise BrokenError(describe(found))


def _on(checked: Checked, found: Mapping[str, Any]) -> None:
    """Simulate the policy on instances by name."""
    if not found:
        raise SkippedError(f"no such instances are known of the system {checked.record.name}")
    for name, instance in found.items():
        environment = checked.record.policies.environment
        setup = Setup(checked.record, instance, 0, {}, environment)
        ended = _simulated(setup, setup.policy(checked.part), 1)
        if isinstance(ended, Exception):
            raise BrokenError(f"{name}: {describe(ended)}")


def _declines(checked: Checked) -> None:
    checked.made  # noqa: B018
    _on(checked, crowded(checked.record.name))


def _extremes(checked: Checked) -> None:
    checked.made  # noqa: B018
    _on(checked, extreme(checked.record.name))


def _promises(checked: Checked) -> None:
    promises = 0
    for setup, policy, found in checked.whole:
        with found_again(setup.where):
            promises += _promised(checked, setup, policy, found)
    if not promises:
        raise SkippedError("it promises nothing that can be checked")


def _promised(checked: Checked, setup: Setup, policy: Any, found: Trajectory) -> int:
    """Require what a policy promises; return how much that is."""
    guarded = _guarded(checked.part, policy)
    if steady := getattr(policy, "deterministic", False) is True:
        rng = stream(setup)
        before = content(rng)
        run(setup, policy, rng=rng)
        require(content(rng) == before, "it says it tosses no coins, and does")
    if guarded:
        count, what = int(found.violations.sum()), checked.record.constraint.name
        require(not count, f"it is guarded, and violates {count} x {what}")
    return steady + guarded + _keeps_ratio(checked, setup, policy)


def _guarded(part: Any, policy: Any) -> bool:
    """Tell whether a policy says that it violates no service constraint."""
    said = isinstance(part, PolicyEntry) and part.variant == "guarded"
    return said or getattr(policy, "guarded", False) is True


def _keeps_ratio(checked: Checked, setup: Setup, policy: Any) -> bool:
    """Compare an exact value with the share of a bound that the entry guarantees."""
    entry, record = checked.part, checked.record
    if not isinstance(entry, PolicyEntry) or entry.guarantee is None or entry.exact is None:
        return False
    name = entry.guarantee_of or record.offline.reference
    if name not in setup.benchmarks:
        return False
    value, bound = entry.exact(setup.truth, policy), setup.benchmarks[name].bound
    if value is None:
        return False
    least = entry.guarantee * bound
    kept = value >= least - 1e-6 * abs(bound) if record.objective.sense == "max" else value <= least
    require(kept, f"its value {value:.6g} breaks its guarantee of {least:.6g}")
    return True


def _kernel(checked: Checked) -> None:
    compiled = 0
    for setup, policy, plain in checked.whole:
        start = policy.start(setup.environment.instance)
        has_kernel = isinstance(policy, CompilablePolicy)
        if not has_kernel or policy.compiled(setup.environment, start) is None:
            continue
        compiled += 1
        found = simulate(setup.environment, policy, rng=setup.seed, runs=RUNS)
        with found_again(setup.where):
            for name in _measured(plain):
                one, two = getattr(plain, name), getattr(found, name)
                # The order of sums may differ.
                same = np.allclose(one, two, rtol=1e-9, atol=1e-12, equal_nan=True)
                require(same, f"kernel and plain loop differ in {name}: {difference(one, two)}")
    if not compiled:
        raise SkippedError("it has no compiled kernel for this system")


def _measured(trajectory: Any) -> list[str]:
    """Return the names of the arrays of a trajectory that a policy has a part in."""
    names = [one.name for one in fields(trajectory) if one.name != "scenarios"]
    return [
        name
        for name in names
        if isinstance(value := getattr(trajectory, name), np.ndarray) and value.dtype.kind in "fiub"
    ]


@on_each("whole")
def _by_hand(_checked: Checked, setup: Setup, policy: Any, found: Trajectory) -> None:
    environment = setup.environment
    scenario_stream, policy_stream = np.random.default_rng(setup.seed).spawn(2)
    scenarios = environment.scenarios(scenario_stream, RUNS)
    state, episodes = policy.start(environment.instance), []
    for scenario, rng in zip(scenarios, policy_stream.spawn(RUNS), strict=True):
        episode, memory = environment.episode(scenario), state
        while (seen := copy.deepcopy(episode.observe())) is not None:
            decided, memory = policy.decide(memory, seen, rng)
            outcome = episode.act(decided)
            memory = policy.learn(memory, copy.deepcopy(seen), decided, outcome)
        episodes.append(episode)
    mine = environment.trajectory(policy.name, episodes, seconds=0.0)
    for name in _measured(found):
        one, two = getattr(found, name), getattr(mine, name)
        text = f"stepped by hand it is another run: {name}: {difference(one, two)}"
        require(alike(one, two), text)


@on_each("runs")
def _pickles(_checked: Checked, setup: Setup, policy: Any, done: Sequence[Step]) -> None:
    try:
        kept = pickle.loads(pickle.dumps(policy))
        pickle.dumps(policy.start(setup.environment.instance))
    # Whatever cannot be pickled.
    except Exception as error:
        raise BrokenError(f"it or its state cannot be pickled: {describe(error)}") from None
    _require_same(done, run(setup, kept), "once pickled it decides otherwise")


CHECKS: Final[Mapping[str, Callable[[Checked], str | None]]] = by_name(
    _members, _name, _start, _equal_seeds, _own_stream, state, causal, _valid, _declines,
    _promises, _extremes, _kernel, _by_hand, _pickles,
)  # fmt: skip
