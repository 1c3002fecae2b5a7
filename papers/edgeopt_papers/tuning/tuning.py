"""What is tuned of a system's policies, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from edgeopt.errors import OptionError
from edgeopt.options import check_fields, check_real, check_whole
from edgeopt.representation import compact_repr
from edgeopt.writing.results import in_html
from edgeopt_papers.tuning.search import STEP, best_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


@compact_repr
@dataclass(frozen=True)
class Tuning:
    """How the policies of a system are tuned: with the same budget, on instances of their own.

    Parameters
    ----------
    make
        ``make(mode, seed)``, a function of a module, draws an instance.
    modes
        Kinds of instances; a policy is tuned for each by itself.
    seeds
        Of the instances on which policies are tuned. An evaluation is a mean over them.
    test_seeds
        Of the instances on which they are compared afterwards; tuning never draws them.
    parameters
        By the name of a policy, its parameters and the values around which they are sought: those
        that the policy has by default, without a unit and positive. A policy without parameters
        takes part in tests alone.
    settings
        Options that belong to no policy, the same for all.
    budget
        Evaluations of a policy in a mode.

    Raises
    ------
    OptionError
        If a seed is both for tuning and for tests, or another value is out of range.

    Examples
    --------
    >>> from edgeopt.instances.edr import small
    >>> from edgeopt_papers.tuning import Tuning
    >>> seeds = {"seeds": (0, 1, 2), "test_seeds": (2, 3)}
    >>> Tuning(lambda mode, seed: small(seed), ("usual",), parameters={"greedy": {}}, **seeds)
    Traceback (most recent call last):
    ...
    edgeopt.errors.OptionError: Tuning: the seeds [2] are both for tuning and for tests
    """

    make: Callable[[str, int], Any]
    modes: tuple[str, ...]
    seeds: tuple[int, ...]
    test_seeds: tuple[int, ...]
    parameters: Mapping[str, Mapping[str, float]]
    settings: Mapping[str, Any] = field(default_factory=dict)
    budget: int = 32

    def __post_init__(self) -> None:
        check_fields(self)
        check_whole("Tuning.budget", self.budget, 1)
        shared = sorted(set(self.seeds) & set(self.test_seeds))
        if shared:
            raise OptionError(f"Tuning: the seeds {shared} are both for tuning and for tests")
        for policy, values in self.parameters.items():
            for name, value in values.items():
                check_real(f"{policy}.{name}", value, "(0, inf)")


class Evaluation(NamedTuple):
    """A policy with some options, on the instances for tuning.

    Parameters
    ----------
    place
        Steps of each parameter from its default; a step is a factor of the square root of 10.
    value
        Mean over the instances of its cost in terms of the reference bound, or of that bound in
        terms of its profit: 1 is the bound, more is worse.
    """

    place: tuple[float, ...]
    value: float


@in_html
@compact_repr
@dataclass(frozen=True)
class Tuned:
    """A policy that was tuned for a mode.

    Parameters
    ----------
    policy, mode
        Their names.
    parameters
        Its parameters, and the values around which they were sought.
    seeds
        Of the instances.
    evaluations
        All of them, in the order of the search.
    test_seeds
        Of the instances on which the choice was tested; none if it was not.
    untouched, tested
        Such values on each of them, of the policy as it is by default and with the chosen options.
    settings
        Options that it had in common with all other policies throughout.

    Examples
    --------
    >>> from edgeopt_papers.tuning import Tuned
    >>> from edgeopt_papers.tuning.tuning import Evaluation
    >>> costs = {-1: 1.4, 0: 1.3, 2: 1.2}
    >>> tried = tuple(Evaluation((step,), cost) for step, cost in costs.items())
    >>> found = Tuned("mine", "usual", {"step": 0.1}, seeds=(0, 1), evaluations=tried)
    >>> found.best.value, found.best.place, found.edges
    (1.2, (2,), ('step',))
    """

    policy: str
    mode: str
    parameters: Mapping[str, float]
    seeds: tuple[int, ...]
    evaluations: tuple[Evaluation, ...]
    test_seeds: tuple[int, ...] = ()
    untouched: tuple[float, ...] = ()
    tested: tuple[float, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def best(self) -> Evaluation:
        """The evaluation of least cost; of equal ones, the nearest to the default."""
        values = dict(self.evaluations)
        place = best_of(values)
        return Evaluation(place, values[place])

    @property
    def options(self) -> dict[str, float]:
        """The parameters that differ from their defaults, with their values."""
        return options_at(self.parameters, self.best.place)

    @property
    def edges(self) -> tuple[str, ...]:
        """Parameters whose best value is the least or the largest that was tried."""
        tried = zip(*(one.place for one in self.evaluations), strict=True)
        limits = [(min(steps), max(steps)) for steps in tried]
        at = zip(self.parameters, self.best.place, limits, strict=True)
        return tuple(name for name, step, ends in at if step in ends)


def options_at(parameters: Mapping[str, float], place: tuple[float, ...]) -> dict[str, float]:
    """Return the parameters that a place moves from their defaults, with their values."""
    steps = zip(parameters.items(), place, strict=True)
    return {name: value * STEP**step for (name, value), step in steps if step}
