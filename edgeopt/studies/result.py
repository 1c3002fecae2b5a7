"""Results of a study: cases, each an instance with everything computed on it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.errors import OptionError
from edgeopt.representation import brief
from edgeopt.studies import document
from edgeopt.studies.case import Case
from edgeopt.studies.over_instances import general
from edgeopt.studies.pages.standings import of_study
from edgeopt.studies.pairs import Pairs
from edgeopt.studies.wording import sizes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import pandas as pd

    from edgeopt.bounds import Verdict
    from edgeopt.online.protocols import Trajectory
    from edgeopt.studies.entries import Benchmark, Comparison
    from edgeopt.studies.pages.standings import Standings
    from edgeopt.studies.settings import Settings
    from edgeopt.studies.system import System


__all__ = ["Case", "Study"]


@brief
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
    """

    system: System
    cases: tuple[Case, ...]
    settings: Settings

    def _brief(self) -> list[str]:
        return [*sizes(self.cases)]

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row per instance and policy, see :func:`edgeopt.studies.table.tidy`."""
        import pandas as pd

        return pd.concat([case.table for case in self.cases], ignore_index=True)

    @cached_property
    def pairs(self) -> Pairs:
        """Every policy compared with every other by their values on the same instances."""
        values = {
            name: np.array([case.values(name).mean() for case in self.cases])
            for name in self.cases[0].trajectories
        }
        return Pairs(values, self.system.objective.sense, self.settings.confidence)

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

    def comparison(self, name: str) -> pd.DataFrame:
        """Return one of the tables over all instances.

        Raises
        ------
        OptionError
            If there is no such table.
        """
        for comparison in self.comparisons:
            if comparison.name == name:
                return comparison.rows(self)
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
            An object with keys system, instance, benchmark, intervals, policies, claims; for a
            study of several instances a list of them.
        """
        return document.dumps(self, indent)

    def _repr_html_(self) -> str:
        """Show the first instance as the page of the study does."""
        from edgeopt.studies.view import view_of

        return view_of(self.cases[0])._repr_html_()

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
        from edgeopt.studies.pages.study import write

        return write(self, out_dir, force=force)
