"""Checks of an environment: it shows nothing of the future, and books what was done."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.content import alike, difference
from edgeopt.errors import EdgeOptError
from edgeopt.online.simulate import simulate
from edgeopt.representation import shown
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
    counterpart_of,
    entry_of,
    record_of,
    run,
    setups,
    stream,
    time_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from edgeopt.studies.system import System
    from edgeopt.testing.report import Report
    from edgeopt.testing.scenarios import Setup, Step

PAIRS: Final = 10
"""Pairs of scenarios per seed that are the same up to a slot."""

RUNS: Final = 3
"""Scenarios that are simulated on every instance."""

WRONG: Final = (object(), "a decision", (1, 2, 3, 4, 5), np.full(3, np.nan), 1j)
"""What is a decision in no system."""


def check_environment(
    environment: Callable[[Any], Any],
    system: str | System,
    *,
    policy: Any = None,
    instances: Sequence[Any] | None = None,
    seeds: int | Sequence[int] = 5,
    expected: Mapping[str, str] | None = None,
    raises: bool = True,
    checks: Sequence[str] | None = None,
) -> Report:
    """Check that an environment keeps the future to itself, and books what was done.

    Parameters
    ----------
    environment
        Maps an instance to the environment: its class, or what
        :class:`edgeopt.studies.Policies` has.
    system
        Name or record of its system, which draws instances.
    policy
        Who decides: a policy, or the name of one of the system; by default the first without
        hindsight.
    instances
        Instances to check it on, instead of small ones that the system draws.
    seeds
        How many instances and seeds, or which ones; ten pairs of scenarios that are the same up to
        a slot are drawn for each.
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

    Notes
    -----
    What ``environment.instance`` shows of an instance unchanged is known beforehand, by definition;
    everything else must not be seen before its slot.

    Examples
    --------
    >>> from edgeopt.online.idn import IdnEnvironment
    >>> from edgeopt.testing import check_environment
    >>> check_environment(IdnEnvironment, "idn", policy="olag", seeds=2)
    Report(environment IdnEnvironment, 8 passed)
    """
    record = record_of(system)
    if policy is None:
        policy = next(one.name for one in record.policies.entries if one.causal and one.default)
    options = {"policy": policy} if isinstance(policy, str) else {}
    drawn = setups(record, seeds_of(seeds), instances, environment)
    checked = Checked(entry_of(record, policy), drawn)
    recipe = Recipe("environment", environment, (record.name,), options)
    return run_checks(recipe, CHECKS, checked, checks=checks, expected=expected, raises=raises)


@dataclass(frozen=True, eq=False)
class Checked:
    """An environment on its instances, with the runs that its checks share."""

    part: Any
    setups: list[Setup]

    @cached_property
    def made(self) -> list[tuple[Setup, Any]]:
        """Every instance with the policy that decides."""
        return [(setup, setup.policy(self.part)) for setup in self.setups]

    @cached_property
    def runs(self) -> list[tuple[Setup, Any, list[Step]]]:
        """A run by hand on the first scenario of every instance."""
        return [(setup, policy, run(setup, policy)) for setup, policy in self.made]


@on_each("runs")
def _ends(_checked: Checked, setup: Setup, _policy: Any, done: Sequence[Step]) -> None:
    episode = setup.environment.episode(setup.scenario())
    for step in done:
        require(episode.observe() is not None, "it ends before its time")
        episode.act(step.decided)
    for _ in range(2):
        require(episode.observe() is None, "it does not end twice")
    if not done:
        return
    try:
        episode.act(done[-1].decided)
    except EdgeOptError:
        return
    raise BrokenError("a decision after the end is not refused")


def _hides_future(checked: Checked) -> str:
    wanted, found = PAIRS * len(checked.setups), 0
    rng = np.random.default_rng((*(one.seed for one in checked.setups), 7))
    for place in range(4 * wanted):
        if found == wanted:
            break
        setup, _, done = checked.runs[place % len(checked.runs)]
        with found_again(setup.where):
            found += _is_hidden(setup, done, int(rng.integers(setup.horizon)), rng)
    if not found:
        raise SkippedError("no two scenarios are the same up to a slot and differ later")
    return f"{found} pairs of scenarios"


def _is_hidden(setup: Setup, done: Sequence[Step], last: int, rng: np.random.Generator) -> bool:
    """Compare what is shown up to a slot with another future; tell whether there was any."""
    found = counterpart_of(setup, last, rng)
    if found is None:
        return False
    counterpart, scenario = found
    before = setup.environment.instance, counterpart.environment.instance
    if not alike(*before):
        text = f"what a policy sees first depends on the future: {difference(*before)}"
        raise BrokenError(text)
    episode = counterpart.environment.episode(scenario)
    for step in done:
        when = time_of(step.seen)
        if when is None or when > last:
            break
        seen = episode.observe()
        if not alike(seen, step.seen):
            text = f"an observation of slot {when} depends on slots after {last}"
            raise BrokenError(f"{text}: {difference(step.seen, seen)}")
        outcome = episode.act(step.decided)
        # What follows a decision may be seen once the next one is due.
        if len(done) > 1 and not alike(outcome, step.outcome) and _inside(done, step, last):
            text = f"what is seen in slot {when} depends on slots after {last}"
            raise BrokenError(f"{text}: {difference(step.outcome, outcome)}")
    return True


def _inside(done: Sequence[Step], step: Step, last: int) -> bool:
    """Tell whether the next decision is due by a slot as well."""
    place = next(n for n, one in enumerate(done) if one is step)
    after = time_of(done[place + 1].seen) if place + 1 < len(done) else None
    return after is not None and after <= last


@on_each("setups")
def _prefix(_checked: Checked, setup: Setup) -> None:
    few, many = (
        setup.environment.scenarios(np.random.default_rng(setup.seed), runs) for runs in (2, 5)
    )
    same = len(few) == 2 and len(many) == 5 and alike(list(few), list(many[:2]))
    require(same, "the first scenarios of more runs are others")


@on_each("runs")
def _refuses(_checked: Checked, setup: Setup, _policy: Any, done: Sequence[Step]) -> None:
    episode = setup.environment.episode(setup.scenario())
    for step in done[:8]:
        episode.observe()
        for wrong in WRONG:
            _require_refusal(episode, wrong)
        same = alike(episode.act(step.decided), step.outcome)
        require(same, "a refused decision changes what follows")


def _require_refusal(episode: Any, wrong: Any) -> None:
    what = shown(wrong)
    try:
        episode.act(wrong)
    except EdgeOptError as error:
        require(str(error).strip(), f"{what} is refused without a word")
    # Anything else is no refusal by name.
    except Exception as error:
        raise BrokenError(f"{what} is not refused by name: {describe(error)}") from None
    else:
        raise BrokenError(f"{what} is taken as a decision")


def _simulated(setup: Setup, policy: Any, *, runs: int = RUNS, keep_trace: bool = False) -> Any:
    return simulate(
        setup.environment, policy, rng=setup.seed, runs=runs, keep_trace=keep_trace, compiled=False
    )


def _measured(trajectory: Any) -> Iterator[tuple[str, Any]]:
    for one in fields(trajectory):
        value = getattr(trajectory, one.name)
        if isinstance(value, np.ndarray):
            yield one.name, value


@on_each("made")
def _shapes(_checked: Checked, setup: Setup, policy: Any) -> None:
    found = _simulated(setup, policy)
    require(found.name == policy.name, "it has not the name of the policy")
    shape = found.reward.shape
    right = len(shape) == 2 and shape[0] == found.runs == RUNS
    require(right, f"reward has shape {shape}, not [{RUNS}, T]")
    for name, kinds in (("reward", "f"), ("violations", "iu"), ("decisions", "iu")):
        array = getattr(found, name)
        same = array.shape == shape or name == "decisions"
        require(same, f"{name} has shape {array.shape}, reward has {shape}")
        require(array.dtype.kind in kinds, f"{name} is of {array.dtype}")
        finite = bool(np.isfinite(array).all()) and (name == "reward" or array.min() >= 0)
        require(finite, f"{name} is not finite, or negative")


@on_each("made")
def _accounts(_checked: Checked, setup: Setup, policy: Any) -> None:
    environment = setup.environment
    state = policy.start(environment.instance)
    episodes = []
    for number in range(2):
        episode, memory, count = environment.episode(setup.scenario(number)), state, 0
        rng = stream(setup, number)
        while (seen := episode.observe()) is not None:
            decided, memory = policy.decide(memory, seen, rng)
            memory = policy.learn(memory, seen, decided, episode.act(decided))
            count += 1
        episodes.append((episode, count))
    both = environment.trajectory("both", [one for one, _ in episodes], seconds=0.0)
    for number, (episode, count) in enumerate(episodes):
        alone = environment.trajectory("alone", [episode], seconds=0.0)
        total = int(alone.decisions.sum())
        require(total == count, f"{count} decisions are booked as {total}")
        for name in ("reward", "violations"):
            one, two = getattr(alone, name)[0], getattr(both, name)[number]
            longer = two[: len(one)]
            same = np.array_equal(one, longer) and not two[len(one) :].any()
            require(same, f"{name} of a run depends on the others: {difference(one, longer)}")
    sums = np.allclose(both.total, both.reward.sum(axis=1), rtol=1e-12)
    require(sums, "total is not the sum of rewards")


@on_each("made")
def _record(_checked: Checked, setup: Setup, policy: Any) -> None:
    plain, kept = (
        dict(_measured(_simulated(setup, policy, keep_trace=kept))) for kept in (False, True)
    )
    for name, value in plain.items():
        text = f"with keep_trace, {name} is another: {difference(value, kept.get(name))}"
        require(alike(value, kept.get(name)), text)


@on_each("made")
def _equal_seeds(_checked: Checked, setup: Setup, policy: Any) -> None:
    one, two = (dict(_measured(_simulated(setup, policy))) for _ in range(2))
    for name, value in one.items():
        text = f"the same seed gives another {name}: {difference(value, two[name])}"
        require(alike(value, two[name]), text)


CHECKS: Final[Mapping[str, Callable[[Checked], str | None]]] = by_name(
    _ends, _hides_future, _prefix, _refuses, _shapes, _accounts, _record, _equal_seeds
)
