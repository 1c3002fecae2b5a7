"""Tune the policies of a system, and compare them on other instances."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt import processes
from edgeopt.options import check_choice, check_whole, check_workers, listed
from edgeopt.studies.progress import progress_bar
from edgeopt.studies.registry import choose, find_system
from edgeopt_papers import cases
from edgeopt_papers.tuning.search import search
from edgeopt_papers.tuning.tuning import Evaluation, Tuned, Tuning, options_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from edgeopt.studies.system import System


def tuning_of(system: str) -> tuple[System, Tuning]:
    """Return the record of a system and how its policies are tuned."""
    return find_system(system), cases.tuning(system)


def tune(
    system: str,
    policies: Iterable[str] | None = None,
    *,
    modes: Iterable[str] | None = None,
    budget: int | None = None,
    test: bool = False,
    workers: int = 1,
    progress: bool | None = None,
) -> list[Tuned]:
    """Tune policies, each with the same number of evaluations and for every mode.

    The search begins on a grid of four values of each parameter, a factor of the square root of 10
    apart, extends it where the best place lies on its edge, and refines it otherwise. It draws the
    instances for tuning alone.

    Parameters
    ----------
    system
        Name of the system.
    policies
        Names of policies, by default all that the system names.
    modes
        Kinds of instances, by default all.
    budget
        Evaluations of a policy in a mode, by default those of the system; an evaluation is the mean
        over the instances for tuning.
    test
        Whether to draw the instances for tests afterwards, and to find the values of each policy on
        them, as it is by default and with the options chosen.
    workers
        Processes on this machine; -1 takes all cores.
    progress
        Whether to show a progress bar; by default only when standard error is a terminal.

    Returns
    -------
    list of Tuned
        By mode, then by policy.

    Raises
    ------
    OptionError
        If the system has nothing to tune, a policy or mode is unknown, or a number out of range.

    Examples
    --------
    >>> from edgeopt_papers.tuning import tune
    >>> tune("edr", ["greedy"], budget=0)
    Traceback (most recent call last):
    ...
    edgeopt.errors.OptionError: budget = 0: must be at least 1
    """
    _, tuning = tuning_of(system)
    budget = tuning.budget if budget is None else budget
    check_whole("budget", budget, 1)
    check_workers(workers)
    chosen = list(tuning.parameters) if policies is None else listed("policies", policies)
    places = list(tuning.modes) if modes is None else listed("modes", modes)
    for known, given in ((tuning.parameters, chosen), (tuning.modes, places)):
        for name in given:
            check_choice("mode" if known is tuning.modes else "policy", name, known)
    work = [(system, policy, mode, budget, test) for mode in places for policy in chosen]
    found = []
    with progress_bar(len(work), show=progress) as step, processes.pool(workers) as pool:
        for one in pool((_tuned, arguments) for arguments in work):
            found.append(one)
            step(f"{one.policy}, {one.mode}")
    return found


def _tuned(system: str, policy: str, mode: str, budget: int, test: bool) -> Tuned:
    """Tune a policy for a mode, and test the choice."""
    _, tuning = tuning_of(system)
    parameters = tuning.parameters[policy]

    def value(place: tuple[float, ...]) -> float:
        options = options_at(parameters, place)
        return float(ratios(system, policy, mode, tuning.seeds, options).mean())

    found = search(value, budget if parameters else 1, len(parameters))
    rows = tuple(Evaluation(place, one) for place, one in found.items())
    chosen = Tuned(policy, mode, parameters, tuning.seeds, rows, settings=tuning.settings)
    if not test:
        return chosen
    seeds = tuning.test_seeds
    untouched, tested = (
        tuple(ratios(system, policy, mode, seeds, options).tolist())
        for options in ({}, chosen.options)
    )
    return replace(chosen, test_seeds=seeds, untouched=untouched, tested=tested)


def ratios(
    system: str, policy: str, mode: str, seeds: Sequence[int], options: Mapping[str, float]
) -> NDArray[np.float64]:
    """Return the value of a policy against the reference bound on each instance.

    A cost in terms of the bound, or the bound in terms of a profit: 1 is the bound, more is worse.
    """
    from edgeopt.online import simulate

    record, tuning = tuning_of(system)
    found = []
    for seed in seeds:
        instance, bound = _bounded(system, mode, seed)
        one = _policy(record, tuning, policy, instance, options)
        run = simulate(record.policies.environment(instance), one, rng=seed, runs=1)
        value = float(record.objective.values(run)[0])
        found.append(value / bound if record.objective.sense == "min" else bound / value)
    return np.array(found)


@lru_cache(maxsize=32)
def _bounded(system: str, mode: str, seed: int) -> tuple[Any, float]:
    """Return an instance and its reference bound."""
    record, tuning = tuning_of(system)
    instance = tuning.make(mode, seed)
    return instance, record.offline.bounds[record.offline.reference].compute(instance).bound


def _policy(
    record: System, tuning: Tuning, policy: str, instance: Any, options: Mapping[str, float]
) -> Any:
    """Return a policy with the settings that all have, and options of its own."""
    [entry] = choose(record, [policy])
    made: Any = entry.make(instance, {})
    return replace(made, **tuning.settings, **options)
