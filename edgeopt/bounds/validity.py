"""Bounds that hold under checks: what runs have to do for a number to be a bound for a policy.

A check is kept in every run or on average. It is known to be kept *by design* or *exactly*, or only
seen to be kept in some runs: what rests on such a sample is never called proven.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, runtime_checkable

import numpy as np

from edgeopt.errors import EdgeOptError, OptionError
from edgeopt.models.rows import Rows, rows_of
from edgeopt.options import check_choice, check_kind, check_text
from edgeopt.representation import compact_repr, counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from edgeopt.arrays import Floats

TIE: Final = 1e-6
"""Relative excess over a limit that counts as rounding."""

KEPT: Final = "kept"
BY_DESIGN: Final = "by design"
EXACT: Final = "exact"


@dataclass(frozen=True)
class Judged:
    """What was found of a check for one policy.

    Parameters
    ----------
    kept
        ``"kept"``, ``"broken"``, or ``"not resolved"`` where neither is known.
    how
        ``"by design"``, ``"exact"``, ``"in N runs"``, or ``""`` where nothing could be measured.
    broken
        Share of runs in which an item is beyond its limits; NaN where no run was seen.
    worst
        The item that has least room.
    room
        Distance of that item to its nearer limit, below 0 beyond it, in the unit of the measure.
    halfwidth
        Of the interval of its mean; 0 where it is exact, NaN for a check of every run.

    Examples
    --------
    >>> import numpy as np
    >>> from edgeopt.bounds import Check
    >>> few = Check("few", lambda instance, log: len(log), high=4)
    >>> found = few.judge(np.array([[3.0], [5.0]]))
    >>> found.kept, found.broken, found.room, found.proven
    ('broken', 0.5, -1.0, False)
    """

    kept: Literal["kept", "broken", "not resolved"]
    how: str = ""
    broken: float = math.nan
    worst: str = ""
    room: float = math.nan
    halfwidth: float = math.nan

    @property
    def proven(self) -> bool:
        """Whether it is kept, and not only in a sample of runs."""
        return self.kept == KEPT and self.how in (BY_DESIGN, EXACT)

    @property
    def said(self) -> str:
        """What was found in few words: ``"broken in 92 % of 200 runs"``."""
        if self.kept == "broken" and self.broken > 0 and self.how != EXACT:
            return f"broken in {100 * self.broken:.3g} % of {self.how.removeprefix('in ')}"
        return " ".join(word for word in (self.kept, self.how) if word)


@compact_repr
@dataclass(frozen=True, eq=False)
class Check:
    """A constraint on what runs do, of which a bound may depend.

    Parameters
    ----------
    name
        Short and unique in a study, where it heads a column.
    measure
        ``measure(instance, log)`` returns a number, or one for each of several items, of a run;
        `log` is a list of what was observed, decided and fed back, step by step, see
        :class:`edgeopt.online.simulate.Step`. None where nothing can be measured.
    low, high
        Limits of the numbers, in their unit; one for all items, or one for each.
    per
        Whether each run has to keep them, or the expectation; None for what the programs of the
        system are about, which is the expectation in RESCUE and each run elsewhere.
    sentence
        What a policy does that keeps it, as the end of "every policy that ...".
    source
        What `measure` reads: the log of a run, or the trajectory of all of them, of which it
        returns an array [runs] or [runs, items].
    declared
        ``declared(policy)`` tells whether the policy keeps it by design; None where the policy
        does not say, and the check is measured.

    Raises
    ------
    OptionError
        If an option is of the wrong type. A measure that fails is reported by name when it runs.

    Examples
    --------
    >>> import numpy as np
    >>> check = Check("few", lambda instance, log: len(log), high=4)
    >>> check.judge(np.array([[3.0], [5.0]])).said
    'broken in 50 % of 2 runs'
    """

    name: str
    measure: Callable[[Any, Any], ArrayLike] | Rows | None
    low: Any = -math.inf
    high: Any = math.inf
    per: Literal["run", "mean"] | None = "run"
    sentence: str = ""
    source: Literal["log", "trajectory"] = "log"
    declared: Callable[[Any], bool | None] | None = None

    def __post_init__(self) -> None:
        check_text("Check.name", self.name)
        if not self.name:
            raise OptionError("Check.name: must not be empty")
        if not (self.measure is None or isinstance(self.measure, Rows) or callable(self.measure)):
            raise OptionError(f"check {self.name!r}: measure must be a function")
        check_kind("Check.sentence", self.sentence, str)
        check_choice("Check.source", self.source, ("log", "trajectory"))
        if self.per is not None:
            check_choice("Check.per", self.per, ("run", "mean"))
        object.__setattr__(self, "sentence", self.sentence or f"keeps {self.name!r}")

    @classmethod
    def of(cls, constraint: Any, *, per: Literal["run", "mean"] | None = None) -> Check:
        """Return the check that what a run did keeps a constraint of a program.

        Parameters
        ----------
        constraint
            Constraint component of a Pyomo model, or constraint of CVXPY, in the variables of the
            program that edgeopt builds for the system.
        per
            As of a check.

        Returns
        -------
        Check
            With an item for each row.

        Raises
        ------
        ProblemTypeError
            If it is no constraint, or not linear.
        """
        rows = rows_of(constraint)
        rows.at({})  # raises where rows are not linear
        return cls(rows.name, rows, rows.lower, rows.upper, per)

    def numbers(self, instance: Any, given: Any) -> Floats:
        """Return what `measure` says of a log, shape [items], or of a trajectory, [runs, items].

        For a constraint, `given` are values of the variables by name.
        """
        if isinstance(self.measure, Rows):
            return self.measure.at(given)
        assert self.measure is not None
        try:
            found = np.asarray(self.measure(instance, given), dtype=float)
        except EdgeOptError:
            raise
        except Exception as error:
            raise OptionError(
                f"check {self.name!r}: its measure raised {type(error).__name__}: {error}"
            ) from error
        most = 1 if self.source == "log" else 2
        if found.ndim > most or np.isnan(found).any():
            what = "NaN" if found.ndim <= most else f"an array of shape {found.shape}"
            raise OptionError(
                f"check {self.name!r}: its measure returned {what}; it must return one number, or "
                "a row of them"
            )
        if self.source == "log":
            return np.atleast_1d(found)
        return found if found.ndim == 2 else found.reshape(-1, 1)

    def judge(
        self, numbers: NDArray[np.float64], *, confidence: float = 0.95, exact: bool = False
    ) -> Judged:
        """Judge the numbers of runs.

        Parameters
        ----------
        numbers
            Of every run and item, shape [runs, items].
        confidence
            Of the intervals of means of all items together (Student, Bonferroni), in (0, 1).
        exact
            Whether the numbers are those of every run, or the expectation itself.

        Returns
        -------
        Judged
            An excess below a millionth of the size of an item counts as rounding.

        Raises
        ------
        OptionError
            If there is not one limit for each item, or no run.
        """
        runs, items = numbers.shape
        if not runs:
            raise OptionError(f"check {self.name!r}: no run to judge")
        try:
            low, high = (
                np.broadcast_to(np.asarray(end, dtype=float), (items,))
                for end in (self.low, self.high)
            )
        except ValueError:
            raise OptionError(
                f"check {self.name!r}: its measure returns {counted(items, 'item')}, but its "
                f"limits are of shapes {np.shape(self.low)} and {np.shape(self.high)}"
            ) from None
        how = EXACT if exact else f"in {counted(runs, 'run')}"
        if not items:
            return Judged("kept", EXACT)
        allowed = TIE * np.maximum(1.0, np.abs(numbers).max(axis=0))
        room = np.minimum(numbers - low, high - numbers)
        broken = float((room < -allowed).any(axis=1).mean())
        if self.per != "mean":
            room, reach = room.min(axis=0), np.full(items, math.nan)
            kept: Literal["kept", "broken", "not resolved"] = "broken" if broken else "kept"
        else:
            mean = numbers.mean(axis=0)
            room, reach = np.minimum(mean - low, high - mean), _reach(numbers, confidence, exact)
            kept = "not resolved"
            if (room < -reach - allowed).any():
                kept = "broken"
            elif (room >= reach - allowed).all():
                kept = "kept"
        worst = int(np.argmin(room))
        return Judged(kept, how, broken, self._item(worst), float(room[worst]), float(reach[worst]))

    def found(
        self,
        policy: Any,
        numbers: NDArray[np.float64] | None = None,
        *,
        confidence: float = 0.95,
        exact: bool = False,
    ) -> Judged:
        """Judge what a policy declares, else the numbers of its runs; see `judge`.

        A policy that says that it does not keep the check is not taken for one that does because
        no run broke it.
        """
        declared = None if self.declared is None else self.declared(policy)
        if declared:
            return Judged("kept", BY_DESIGN)
        if numbers is None:
            return Judged("not resolved")
        judged = self.judge(numbers, confidence=confidence, exact=exact)
        if declared is False and judged.kept == KEPT:
            return replace(judged, kept="not resolved")
        return judged

    def may_hold(self, policy: Any) -> bool:
        """Tell whether it can be found to be kept by a policy before any run."""
        declared = None if self.declared is None else self.declared(policy)
        return self.measure is not None if declared is None else declared

    def _item(self, place: int) -> str:
        return self.measure.rows[place].name if isinstance(self.measure, Rows) else str(place)


def _reach(numbers: NDArray[np.float64], confidence: float, exact: bool) -> Floats:
    """Return half the width of the intervals of means, which hold for all items together."""
    from scipy.stats import t

    runs, items = numbers.shape
    if exact:
        return np.zeros(items)
    if runs < 2:
        return np.full(items, math.inf)
    error = numbers.std(axis=0, ddof=1) / math.sqrt(runs)
    return np.asarray(t.ppf(1 - (1 - confidence) / (2 * items), runs - 1) * error)


@runtime_checkable
class Plan(Protocol):
    """A solved program of one's own: a bound, and what a policy can follow.

    What the class methods ``of`` of :mod:`edgeopt.models` return.

    Examples
    --------
    >>> from edgeopt.bounds import Plan
    >>> from edgeopt.instances.rescue import small
    >>> from edgeopt.models.rescue import P1Solution, p1_lp
    >>> plan = P1Solution.of(p1_lp(small(1)), small(1))
    >>> isinstance(plan, Plan), plan.objective <= plan.bound * (1 + 1e-9)
    (True, True)
    """

    objective: float
    bound: float
    gap: float
    program: str
    added: Sequence[str]
    changed: Sequence[str]

    @property
    def checks(self) -> Sequence[Check]:
        """What runs have to do beside what the program of edgeopt asks for."""

    def duals_of(self, name: str) -> Mapping[str, float]:
        """Return the duals of a constraint by the name of the row."""

    def policy(self, **options: Any) -> Any:
        """Return a policy that follows the plan."""


@compact_repr
@dataclass(frozen=True, eq=False)
class Bound:
    """A bound on the value of every policy that keeps some checks.

    Parameters
    ----------
    value
        In the unit of the system's value: from above where that is to be large, else from below.
    checks
        What a policy has to keep; nothing by default.
    label
        Name in tables and pictures, by default that under which a study has it.
    note
        Why it bounds nobody, where that is so.

    Raises
    ------
    OptionError
        If the value is no number.

    Examples
    --------
    >>> Bound(1.5, [Check("few", lambda instance, log: len(log), 0, 4)]).scope
    "every policy that keeps 'few'"
    """

    value: float
    checks: Sequence[Check] = ()
    label: str = ""
    note: str = ""

    def __post_init__(self) -> None:
        if isinstance(self.value, bool) or not isinstance(self.value, int | float | np.number):
            raise OptionError(f"Bound.value: must be a number, not a {type(self.value).__name__}")
        for one in self.checks:
            check_kind("Bound.checks", one, Check)

    @property
    def scope(self) -> str:
        """Policies whose value it bounds, as the end of "it bounds ..."."""
        return scope(self.checks)


def scope(checks: Iterable[Check]) -> str:
    """Say for which policies a bound with these checks is valid."""
    said = [one.sentence for one in checks]
    if not said:
        return "every policy"
    last = f"{', '.join(said[:-1])} and {said[-1]}" if len(said) > 1 else said[0]
    return f"every policy that {last}"


def why(bound: Bound, judged: Mapping[str, Judged]) -> str:
    """Say why a bound is not known to be valid for a policy, nothing where it is."""
    if math.isnan(bound.value):
        return bound.note or "nothing is proven"
    return "; ".join(
        f"{one.name}: {judged[one.name].said}"
        for one in bound.checks
        if judged[one.name].kept != KEPT
    )


def candidates(bounds: Mapping[str, Any], policy: Any) -> list[str]:
    """Name the bounds with `checks` that may be valid for a policy, as far as it says beforehand.

    Where a tighter one is as surely valid, the looser one is left out: what fewer checks ask for is
    no tighter.
    """
    found = {
        name: {one.name: one for one in bound.checks}
        for name, bound in bounds.items()
        if all(one.may_hold(policy) for one in bound.checks)
    }

    def implied(looser: str, tighter: str) -> bool:
        more = found[tighter].keys() - found[looser].keys()
        sure = all(found[tighter][one].found(policy).proven for one in more)
        return found[looser].keys() < found[tighter].keys() and sure

    return [name for name in found if not any(implied(name, other) for other in found)]


def weakest(checks: Iterable[Check], judged: Mapping[str, Judged]) -> str:
    """Say how it is known that checks are kept: ``"in N runs"`` where one was only seen there."""
    found = [judged[one.name].how for one in checks]
    sampled = [how for how in found if how not in (BY_DESIGN, EXACT)]
    return next(iter(sampled + found), "")
