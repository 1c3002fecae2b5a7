"""Results of a study: tables, trajectories, bounds and verdicts, of which every view is made.

Its faces `page`, `plot` and `to_json` import the pages when called: those read what stands here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from edgeopt.bounds.estimate import Estimate, estimates
from edgeopt.bounds.pairs import Look, Pairs
from edgeopt.bounds.validity import weakest, why
from edgeopt.errors import OptionError
from edgeopt.representation import compact_repr
from edgeopt.studies import arrays
from edgeopt.studies.checks import judged, offered, tightest
from edgeopt.studies.comparison import brief, gaps_of, general, pairs_of, shares_of, tidy
from edgeopt.studies.learners import origins
from edgeopt.studies.standings import Rank, of_case, of_study, places, ranking
from edgeopt.studies.wording import with_article

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import pandas as pd
    import xarray as xr
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from edgeopt.bounds import Verdict
    from edgeopt.bounds.estimate import Control, Gap
    from edgeopt.bounds.validity import Bound, Check, Judged
    from edgeopt.online.protocols import Trajectory
    from edgeopt.studies.entries import Benchmark, Comparison, PolicyEntry, Settings
    from edgeopt.studies.standings import Standings
    from edgeopt.studies.system import Constraint, Objective, System


@compact_repr
@dataclass(frozen=True)
class Case:
    """One instance of a study.

    Parameters
    ----------
    system
        The record the instance belongs to.
    name
        Name that the caller gave the instance.
    instance
        The instance itself.
    benchmarks
        Offline optima by name.
    entries, policies, trajectories
        By policy: its entry, the policy itself, and its runs.
    exact
        Value that is known without sampling, of the policies that have one.
    controls
        Policies whose expectations are known, with their runs of the same scenarios, whether or not
        they are compared.
    references
        Name of the policy with which each policy is compared.
    verdicts
        Of the claims, checked on this instance.
    settings
        Of the study.
    own
        Bounds of the user by name; their benchmarks are among the others.
    checks
        Checks of the user by name, those of his bounds included.
    watched
        What was found of these for every policy by the logs of its runs.

    Examples
    --------
    >>> import edgeopt
    >>> from edgeopt.instances.rescue import generate
    >>> from edgeopt.studies import Case
    >>> study = edgeopt.study(generate(horizon=20), ["offers", "srs"], runs=20, claims=False)
    >>> [case] = study.cases
    >>> list(case.trajectories)
    ['offers', 'srs']
    """

    system: System
    name: str
    instance: Any
    benchmarks: Mapping[str, Benchmark]
    entries: Mapping[str, PolicyEntry]
    policies: Mapping[str, Any]
    trajectories: Mapping[str, Trajectory]
    exact: Mapping[str, float]
    controls: Sequence[Control]
    references: Mapping[str, str]
    verdicts: tuple[Verdict, ...]
    settings: Settings
    own: Mapping[str, Bound] = field(default_factory=dict)
    checks: Mapping[str, Check] = field(default_factory=dict)
    watched: Mapping[str, Mapping[str, Judged]] = field(default_factory=dict)

    def __reduce__(self) -> tuple[Any, ...]:
        from edgeopt.studies import stored

        return stored.put_together, (type(self), stored.pickled(self))

    def _brief(self) -> list[str]:
        return [self.name, *brief([self])]

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row per policy, see :func:`edgeopt.studies.comparison.tidy`."""
        import pandas as pd

        return pd.DataFrame(self._rows)

    @cached_property
    def estimates(self) -> dict[str, Estimate]:
        """The value of every policy, see :mod:`edgeopt.bounds.estimate`."""
        return self._estimates(None)

    def _estimates(self, runs: int | None) -> dict[str, Estimate]:
        """Estimate the values from the first runs."""
        values = {name: self.values(name)[:runs] for name in self.trajectories}
        controls = [one._replace(runs=one.runs[:runs]) for one in self.controls]
        return estimates(values, self.exact, controls)

    @cached_property
    def gaps(self) -> dict[str, Gap]:
        """How far every policy is from the tightest bound that is valid for it."""
        return gaps_of(self)

    @cached_property
    def pairs(self) -> Pairs:
        """Every policy compared with every other on the same scenarios."""
        return pairs_of(self, self._estimates)

    @cached_property
    def standings(self) -> Standings:
        """The policies beside their bounds."""
        return of_case(self)

    @property
    def ranked(self) -> pd.DataFrame:
        """The table as it is shown: the best value first, those with hindsight last."""
        import pandas as pd

        return pd.DataFrame(list(self.rows.values()), columns=self.table.columns)

    @cached_property
    def rows(self) -> dict[str, dict[str, Any]]:
        """The rows of `ranked` by policy."""
        rows = {row["policy"]: row for row in self._rows}
        return {name: rows[name] for name in self.order}

    @cached_property
    def order(self) -> list[str]:
        """The policies, the best value first, as :func:`edgeopt.studies.standings.ranking`."""
        return ranking({name: self._rank(name) for name in self.trajectories}, self.objective.sense)

    @cached_property
    def places(self) -> dict[str, str]:
        """The place of every policy that has one; those that are not told apart share it."""
        return places({name: self._rank(name) for name in self.order}, self.pairs)

    def _rank(self, name: str) -> Rank:
        return Rank(
            self.estimates[name].mean,
            self.entries[name].causal,
            self.constraint.soft or not np.asarray(self.trajectories[name].violations).any(),
            self.gaps[name].contradicted,
        )

    @cached_property
    def _rows(self) -> list[dict[str, Any]]:
        return tidy(self)

    @property
    def runs(self) -> int:
        """Runs of the policies that have most; one where nothing is random."""
        return max(trajectory.runs for trajectory in self.trajectories.values())

    @property
    def sampled(self) -> bool:
        """Whether a value is not exact."""
        return any(not one.exact for one in self.estimates.values())

    @property
    def benchmark(self) -> Benchmark:
        """The reference bound, by which the column ``ratio`` divides."""
        return self.benchmarks[self.system.offline.reference]

    @property
    def objective(self) -> Objective:
        """What a policy is to make large or small."""
        return self.system.objective

    @property
    def constraint(self) -> Constraint:
        """The service constraint, which a run can violate."""
        return self.system.constraint

    @property
    def constraints(self) -> int:
        """How many service constraints a run on this instance can violate."""
        return self.system.constraint.count(self.instance)

    @property
    def label(self) -> str:
        """Label of the reference bound."""
        return self.system.offline.bounds[self.system.offline.reference].label

    @property
    def reference(self) -> str:
        """The same within a sentence: ``"the safe bound"``."""
        return with_article(self.label)

    @cached_property
    def bounds(self) -> dict[str, Bound]:
        """All bounds by name, those of the system first."""
        return {**offered(self.system.offline, self.benchmarks), **self.own}

    @cached_property
    def judged(self) -> dict[str, dict[str, Judged]]:
        """What was found of every check that a bound depends on, and of others, by policy."""
        return {
            name: {**judged(self, name), **self.watched.get(name, {})} for name in self.trajectories
        }

    def why(self, policy: str, bound: str) -> str:
        """Say why a bound is not known to be valid for a policy, "" where it is."""
        return why(self.bounds[bound], self.judged[policy])

    def bound_of(self, policy: str) -> str:
        """Name the tightest bound that is valid for a policy in its runs, "" where none is."""
        return self._own_bounds[policy]

    @cached_property
    def _own_bounds(self) -> dict[str, str]:
        return {name: tightest(self, name) for name in self.trajectories}

    def bound_how(self, policy: str) -> str:
        """Say how it is known that this bound is valid: ``"in N runs"`` where it is not proven."""
        own = self.bound_of(policy)
        return weakest(self.bounds[own].checks, self.judged[policy]) if own else ""

    def title(self, row: Mapping[Any, Any] | pd.Series) -> str:
        """Name the policy of a row of the table."""
        return self.entries[str(row["policy"])].title

    def values(self, policy: str) -> NDArray[np.float64]:
        """Return the value of every run of a policy, shape [runs]."""
        return self.objective.values(self.trajectories[policy])

    def replay(self, policy: str, instance: Any = None) -> Any:
        """Simulate the first run of the study again, and record what every resource did.

        Parameters
        ----------
        policy
            Name of a policy of the study.
        instance
            Another instance to use, such as one with a changed parameter.
        """
        from edgeopt.online import simulate

        given = self.instance if instance is None else instance
        key = policy, str(given.fingerprint())
        if key not in self._replays:
            environment, chosen = self.system.policies.environment(given), self.policies[policy]
            self._replays[key] = simulate(
                environment, chosen, rng=self.settings.seed, runs=1, keep_trace=True
            )
        return self._replays[key]

    @cached_property
    def _replays(self) -> dict[tuple[str, str], Any]:
        return {}

    def plot(self, kind: str = "policies") -> Figure:
        """Draw one picture of the page with matplotlib, with its title.

        Parameters
        ----------
        kind
            ``"policies"``, the policies beside their bounds, or a picture of the system.

        Returns
        -------
        matplotlib.figure.Figure
            The picture; ``savefig`` writes it.

        Raises
        ------
        OptionError
            If there is no such picture.

        Examples
        --------
        >>> case.plot("value_over_time").savefig("value.pdf")  # doctest: +SKIP
        """
        from edgeopt.studies.pages import study

        return study.plot(self, kind)

    def to_xarray(self) -> xr.Dataset:
        """Return the runs of all policies as arrays with named axes.

        Returns
        -------
        xarray.Dataset
            ``reward``, ``violations`` and ``decisions`` by ``policy``, ``run`` and `period`,
            NaN behind the end of shorter runs; ``value`` of every run; ``bound``, the tightest that
            is valid for the policy, NaN if none is. A run that all others are like is repeated.

        Examples
        --------
        >>> case.to_xarray()["reward"].mean("run").plot(hue="policy")  # doctest: +SKIP
        """
        return arrays.of_case(self)

    def regret(self, policy: str, against: str = "") -> xr.Dataset:
        r"""Return how far a policy is behind after every slot, with its interval.

        .. math:: R(t) = \sum_{s \le t} \bigl(c_s - \mathbb{E}\, r_s\bigr)

        Parameters
        ----------
        policy
            Name of a policy of the study.
        against
            What :math:`c_s` is of: a policy, such as the best static one, on the same scenarios; or
            a bound, the same share in every slot, by default the tightest that is valid.

        Returns
        -------
        xarray.Dataset
            By slots so far: ``regret``, its limits ``low`` and ``high``, and ``mean_regret`` of a
            slot, with ``units``; of costs what is too much.

        Raises
        ------
        OptionError
            If a name is unknown, no bound is valid, or the value is not a sum over the slots.

        Examples
        --------
        >>> case.regret("random", against="rescue")["regret"].plot()  # doctest: +SKIP
        """
        return arrays.regret(self, policy, against)

    @cached_property
    def information(self) -> dict[str, str]:
        """What each policy knows beforehand, its attribute `information`, or ""."""
        return {name: getattr(policy, "information", "") for name, policy in self.policies.items()}

    @cached_property
    def trained(self) -> dict[str, list[str]]:
        """Where the weights of each policy that was trained come from, by its name."""
        found = {name: origins(self.system, policy) for name, policy in self.policies.items()}
        return {name: said for name, said in found.items() if said}

    @property
    def causal(self) -> list[str]:
        """Names of the policies that do not know the future; only these can be called best."""
        return [name for name, entry in self.entries.items() if entry.causal]

    def best(
        self, *, kept: bool = False, kind: Literal["causal", "hindsight"] = "causal"
    ) -> pd.Series | None:
        """Return the row of the policy with the best mean value.

        Parameters
        ----------
        kept
            Only among policies without violations in any run.
        kind
            Among policies that decide by what has happened so far, or among those that know the
            future.

        Returns
        -------
        pandas.Series or None
            None when no policy is left.
        """
        shown = self.ranked
        rows = shown[(shown["kind"] == kind) & (shown["beyond"] != "contradiction")]
        if kept:
            rows = rows[rows["violated"] == 0]
        if rows.empty:
            return None
        values = rows["value"].to_numpy()
        place = values.argmax() if self.objective.sense == "max" else values.argmin()
        return rows.iloc[int(place)]

    @property
    def winner(self) -> pd.Series | None:
        """Row of the best policy, without violations unless the service constraint is soft."""
        return self.best(kept=not self.constraint.soft)


@compact_repr
@dataclass(frozen=True)
class Study:
    """Policies compared on instances.

    Parameters
    ----------
    system
        The record of the system.
    cases
        One per instance.
    settings
        Settings of the study.

    Examples
    --------
    >>> import edgeopt
    >>> from edgeopt.instances.rescue import generate
    >>> from edgeopt.studies import Study
    >>> study = edgeopt.study(generate(horizon=20), ["offers", "srs"], runs=20, claims=False)
    >>> list(study.table["policy"]), list(study.table["violated"] > 0)
    (['offers', 'srs'], [False, True])
    """

    system: System
    cases: tuple[Case, ...]
    settings: Settings

    def _brief(self) -> list[str]:
        return [*brief(self.cases)]

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row per instance and policy, see :func:`edgeopt.studies.comparison.tidy`."""
        import pandas as pd

        return pd.concat([case.table for case in self.cases], ignore_index=True)

    @cached_property
    def pairs(self) -> Pairs:
        """Every policy compared with every other by `shares`, on the same instances."""
        sense, entrants = self.system.objective.sense, self.cases[0].causal
        return Pairs([Look(self.shares)], entrants, sense, self.settings.confidence)

    @cached_property
    def shares(self) -> dict[str, Estimate]:
        """The value of every policy over the instances, in terms of their reference bounds."""
        return shares_of(self)

    @cached_property
    def sizes(self) -> list[float]:
        """What a value is divided by on each instance: the reference bound, without its sign.

        It is 1 on all of them if that bound is not finite, 0, or of mixed sign.
        """
        bounds = np.array([case.benchmark.bound for case in self.cases], dtype=float)
        usable = np.isfinite(bounds).all() and ((bounds > 0).all() or (bounds < 0).all())
        return np.abs(bounds).tolist() if usable else [1.0] * len(bounds)

    @property
    def drawn(self) -> bool:
        """Whether there are several instances that stand for others like them."""
        return self.settings.drawn and len(self.cases) > 1

    @property
    def unit(self) -> bool:
        """Whether `shares` are in units of the value, as no bound can be divided by."""
        return all(size == 1.0 for size in self.sizes)

    @cached_property
    def standings(self) -> Standings:
        """The policies beside their bounds, over all instances."""
        return of_study(self)

    @property
    def instances(self) -> dict[str, Any]:
        """Instances by name."""
        return {case.name: case.instance for case in self.cases}

    @property
    def benchmarks(self) -> dict[str, Mapping[str, Benchmark]]:
        """Benchmarks by the name of the instance."""
        return {case.name: case.benchmarks for case in self.cases}

    @property
    def trajectories(self) -> dict[str, Mapping[str, Trajectory]]:
        """Trajectories by the name of the instance, then of the policy."""
        return {case.name: case.trajectories for case in self.cases}

    @property
    def verdicts(self) -> dict[str, tuple[Verdict, ...]]:
        """Verdicts of the claims by the name of the instance."""
        return {case.name: case.verdicts for case in self.cases}

    @property
    def detailed(self) -> tuple[Case, ...]:
        """The cases that are shown in detail, and on which claims were checked."""
        return self.cases[: self.settings.detailed]

    def case(self, name: str) -> Case:
        """Return the case of an instance.

        Raises
        ------
        OptionError
            If the study has no instance of that name.
        """
        for case in self.cases:
            if case.name == name:
                return case
        known = ", ".join(case.name for case in self.cases)
        raise OptionError(f"instance {name!r} is not in this study; choose from {known}")

    @property
    def comparisons(self) -> Sequence[Comparison]:
        """Tables over all instances: those of the system, or a general one if there are several."""
        own = self.system.reporting.comparisons
        return own if own or len(self.cases) == 1 else (general(self.system.objective),)

    @cached_property
    def _compared(self) -> dict[str, pd.DataFrame]:
        """Tables over all instances that were asked for, by name."""
        return {}

    def comparison(self, name: str) -> pd.DataFrame:
        """Return one of the tables over all instances.

        Raises
        ------
        OptionError
            If there is no such table.
        """
        for comparison in self.comparisons:
            if comparison.name == name:
                if name not in self._compared:
                    self._compared[name] = comparison.rows(self)
                return self._compared[name].copy()
        known = ", ".join(one.name for one in self.comparisons) or "none"
        raise OptionError(f"comparison {name!r} is unknown to {self.system.name}; it has {known}")

    def to_json(self, *, indent: int | None = 2) -> str:
        """Write the study as one JSON document; missing numbers are null.

        Parameters
        ----------
        indent
            Spaces per level; None writes one line.

        Returns
        -------
        str
            An object with keys system, instance, benchmark, intervals, policies, bounds, checks,
            claims; for a study of several instances a list of them.
        """
        from edgeopt.studies.pages import study

        return study.to_json(self, indent)

    def _repr_html_(self) -> str:
        """Show the first instance as the page of the study does."""
        from edgeopt.studies.pages import study

        return study.notebook(self)

    def plot(self, kind: str = "policies", instance: str = "") -> Figure:
        """Draw one picture of the page with matplotlib, with its title.

        Parameters
        ----------
        kind
            As of `Case.plot`; of several instances also ``"overall"``, all of them together.
        instance
            Name of the instance, by default the first one.

        Returns
        -------
        matplotlib.figure.Figure
            The picture.

        Raises
        ------
        OptionError
            If there is no such picture, or no such instance.

        Examples
        --------
        >>> found.plot("policies").savefig("policies.pdf")  # doctest: +SKIP
        """
        from edgeopt.studies.pages import study

        if kind == study.OVERALL and len(self.cases) > 1 and not instance:
            return study.overall(self)
        return study.plot(self.case(instance) if instance else self.cases[0], kind)

    def to_xarray(self) -> xr.Dataset:
        """Return the runs of all policies on all instances.

        Returns
        -------
        xarray.Dataset
            As of `Case.to_xarray`, by ``instance``, with NaN behind shorter horizons.

        Examples
        --------
        >>> found.to_xarray()["value"].mean("run").to_pandas()  # doctest: +SKIP
        """
        return arrays.of_study(self)

    def save(self, folder: str | Path, *, force: bool = False) -> Path:
        """Store the study in a folder, from which `load` reads it.

        Parameters
        ----------
        folder
            It is made if it does not exist; it may be that of the page.
        force
            As of `page`.

        Returns
        -------
        Path
            The folder, with data alone: programs of solvers and functions of yours are left behind.

        Raises
        ------
        OutputError
            As of `page`.

        Examples
        --------
        >>> found.save("stored")  # doctest: +SKIP
        """
        from edgeopt.studies import stored

        return stored.save(self, folder, force=force)

    @classmethod
    def load(cls, folder: str | Path, *, system: System | None = None) -> Study:
        """Read a study that `save` has stored.

        Parameters
        ----------
        folder
            Where it is.
        system
            The record, where it is one of your own or was changed.

        Returns
        -------
        Study
            With the same tables, bounds, verdicts and pictures; your own policies cannot run anew.

        Raises
        ------
        OptionError
            If no study is stored there, or it is of another system.

        Examples
        --------
        >>> from edgeopt.studies import Study
        >>> Study.load("stored").plot("value_over_time")  # doctest: +SKIP
        """
        from edgeopt.studies import stored

        return stored.load(folder, system, Case, cls)

    def page(self, out_dir: str | Path, *, force: bool = False) -> Path:
        """Write one self-contained HTML page, its pictures, the table and the JSON document.

        Parameters
        ----------
        out_dir
            Directory to write to; it is made if it does not exist. The page of another study in it
            is replaced.
        force
            Whether to write to a directory that is not empty and that no study has made; files of
            the same names are replaced, others kept.

        Returns
        -------
        Path
            The page, ``index.html``. The directory also gets ``table.csv``, ``study.json``, the
            logs and comparisons of the system, and ``pictures/NAME.svg``; the page needs none of
            them.

        Raises
        ------
        OutputError
            If the directory was made by another command, or cannot be written to.
        """
        from edgeopt.studies.pages import study

        return study.write(self, out_dir, force=force)
