"""Solvers and policies that were compared on named instances: tables and rankings.

`Bench.save` imports the page when called: that reads what stands here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from edgeopt.bounds.pairs import Look, Pairs
from edgeopt.collection import measures
from edgeopt.errors import OptionError
from edgeopt.representation import compact_repr

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping
    from pathlib import Path

    import pandas as pd

    from edgeopt.arrays import Floats


OFFLINE: Final = "offline"
"""How the names of groups of solvers begin; groups of policies have that of their system."""

_SHIFT: Final = {"s": 1.0}
_OTHER_SHIFT: Final = 10.0


class Group(NamedTuple):
    """What is compared with each other: figures, smaller ones better, infinite for failures."""

    competitors: list[str]
    instances: list[str]
    systems: list[str]
    seconds: Floats  # shape [competitors, instances]
    gap: Floats  # that of a policy may be below 0 by chance
    violated: Floats

    @property
    def weight(self) -> Floats:
        """Weights of instances."""
        return measures.weights(self.systems)


@compact_repr
@dataclass(frozen=True, eq=False)
class Bench:
    """Solvers and policies on named instances, with what is proven of each result.

    Solvers are compared on the instances that all of them take, policies within their system.

    Parameters
    ----------
    results
        A row per instance and competitor, of solvers per gap too: ``part``, ``instance``,
        ``system``, ``size``, ``competitor``, ``target``, ``value``, ``bound``,
        ``bounds`` (its label), ``gap``, ``seconds``, ``se``, ``violated`` and ``failed``, a text
        that is empty where nothing is wrong; of policies also ``how``, how the value is known, and
        ``gap_raw``, the gap that may be below 0 by chance.
    time_limit
        Seconds of an offline problem.
    targets
        Relative gaps to which offline problems are solved, ascending.
    runs
        Scenarios on which policies are compared.
    certificates
        JSON documents that prove what is better than all known results, by instance and solver.
    folder
        Folder whose programs were solved, see `bench_programs`; empty for named instances.

    Examples
    --------
    >>> import edgeopt
    >>> from edgeopt.collection import Bench
    >>> found = edgeopt.bench(["rescue-paper-k2-t30"], online=["srs"], runs=5, progress=False)
    >>> list(found.results["competitor"])
    ['srs']
    """

    results: pd.DataFrame = field(repr=False)
    time_limit: float
    targets: tuple[float, ...]
    runs: int = 0
    certificates: Mapping[tuple[str, str], str] = field(default_factory=dict, repr=False)
    folder: str = ""

    @property
    def groups(self) -> tuple[str, ...]:
        """What was compared: ``"offline"`` for solvers, with several gaps one each, and systems."""
        return tuple(self._groups)

    @cached_property
    def _groups(self) -> dict[str, Group]:
        import pandas as pd

        several: dict[str, Group] = {}
        policies = self.results[self.results["part"] != OFFLINE]
        offline = self.results[self.results["part"] == OFFLINE]
        count = offline.groupby("instance")["competitor"].transform("nunique")
        offline = offline[count == offline["competitor"].nunique()]
        for gap in self.targets if len(offline) else ():
            rows = offline[pd.to_numeric(offline["target"]) == gap]
            several[self.solvers(gap)] = _group(rows)
        for system, rows in policies.groupby("system", sort=False):
            several[str(system)] = _group(rows)
        return several

    def solvers(self, gap: float | None = None) -> str:
        """Return the name of the group of solvers at a gap, by default at the smallest one."""
        chosen = self.targets[0] if gap is None else gap
        if chosen not in self.targets:
            raise OptionError(f"gap {chosen:g}: solved was to {', '.join(map(repr, self.targets))}")
        return OFFLINE if len(self.targets) == 1 else f"{OFFLINE} {chosen:g}"

    def group(self, name: str) -> Group:
        """Return the figures of a group."""
        if name not in self._groups:
            raise OptionError(f"group {name!r}: compared were {', '.join(self._groups)}")
        return self._groups[name]

    def profile(self, gap: float | None = None) -> dict[str, measures.Profile]:
        """Return the profile of Dolan and More of each solver, by default at the smallest gap."""
        group = self.group(self.solvers(gap))
        found = measures.profile(group.seconds, group.weight)
        return dict(zip(group.competitors, found, strict=True))

    def wins(self, name: str) -> pd.DataFrame:
        """Return the share of instances on which a row is better than a column."""
        import pandas as pd

        group = self.group(name)
        figure = np.maximum(group.seconds, measures.FLOOR) if of_solvers(name) else group.gap
        won = measures.wins(figure, group.weight)
        return pd.DataFrame(won, group.competitors, group.competitors)

    def gaps(self, name: str) -> pd.DataFrame:
        """Return quartiles and shares of the gaps of each competitor."""
        import pandas as pd

        group = self.group(name)
        rows = [measures.gap_row(row, group.weight) for row in np.maximum(group.gap, 0.0)]
        return pd.DataFrame(rows, group.competitors)

    def ranking(self, name: str) -> pd.DataFrame:
        """Return competitors, the best first: mean, ends and what they are, place, failures.

        The mean of solvers is the shifted geometric mean of seconds, in which failures count with
        the time limit; that of policies the mean gap, in which they count with the largest of the
        instance, at least 1. Policies that violate a constraint come after all that violate none.
        Instances are the independent units; competitors that are not told apart share a place.
        """
        import pandas as pd

        group, names = self.group(name), self.group(name).competitors
        figure = group.seconds if of_solvers(name) else group.gap
        if of_solvers(name):
            counted = measures.log_times(figure, self.time_limit, self.shift)
        else:
            worst = np.where(np.isfinite(figure), figure, 1.0).max(axis=0, initial=1.0)
            counted = np.where(np.isfinite(figure), figure, worst)
        found = measures.over_instances(counted, group.systems)
        spreads = [measures.ends(row, one) for row, one in zip(counted, found, strict=True)]
        rows = [
            [one.mean, spread.low, spread.high] for one, spread in zip(found, spreads, strict=True)
        ]
        if of_solvers(name):
            rows = [measures.shifted_mean(row, self.shift) for row in rows]
        # Neither the mean of a gap nor that of times is below 0.
        made = pd.DataFrame(rows, names, columns=["mean", "low", "high"]).clip(lower=0.0)
        made["spread"] = [spread.kind for spread in spreads]
        made["violated"] = group.violated.mean(axis=1)
        made["failures"] = (~np.isfinite(figure)).sum(axis=1)
        made["raw"] = [one.mean for one in found]
        made["clean"] = made["violated"] > 0.0
        made = made.sort_values(["clean", "raw"], kind="stable")
        look = Look(dict(zip(names, found, strict=True)))
        pairs = Pairs([look], names, "min", measures.CONFIDENCE)
        kept = [str(one) for one in made.index[~made["clean"]]]
        place = pairs.places(kept)
        place |= pairs.places([str(one) for one in made.index[made["clean"]]], len(kept))
        made.insert(4, "place", [place[str(one)] for one in made.index])
        return made.drop(columns=["clean", "raw"])

    @property
    def shift(self) -> float:
        """Seconds added to times in their geometric mean: 1 for small instances, 10 otherwise."""
        sizes = set(self.results["size"])
        return _SHIFT.get(sizes.pop(), _OTHER_SHIFT) if len(sizes) == 1 else _OTHER_SHIFT

    def save(self, out: str | os.PathLike[str], *, force: bool = False) -> Path:
        """Write tables, the profile, a page, and a submission per competitor to a folder.

        They are ``results.csv``, ``gaps.csv``, ``profile.svg``, ``index.html`` and, of named
        instances, ``submissions/NAME.json``.

        Parameters
        ----------
        out
            The folder.
        force
            Whether to write to a folder that edgeopt has not made.

        Returns
        -------
        Path
            The page.

        Raises
        ------
        OutputError
            If the folder is another's, or cannot be written to.
        """
        from edgeopt.collection.comparison_page import write

        return write(self, out, force=force)


def of_solvers(group: str) -> bool:
    """Tell whether a group is one of solvers."""
    return group.startswith(OFFLINE)


def _group(rows: pd.DataFrame) -> Group:
    every, instances = (list(dict.fromkeys(rows[name])) for name in ("competitor", "instance"))
    systems = rows.drop_duplicates("instance").set_index("instance")["system"]
    seconds, gap = (np.full((len(every), len(instances)), np.inf) for _ in range(2))
    violated = np.zeros(gap.shape)
    for row in rows.to_dict("records"):
        place = every.index(row["competitor"]), instances.index(row["instance"])
        seconds[place] = np.inf if row["failed"] else _number(row["seconds"])
        wrong = row["failed"].startswith("wrong")
        gap[place] = np.inf if wrong else _number(row.get("gap_raw", row["gap"]))
        violated[place] = row["violated"] or 0.0
    homes = [str(systems[name]) for name in instances]
    return Group(every, instances, homes, seconds, gap, violated)


def _number(value: Any) -> float:
    return np.inf if value is None or np.isnan(value) else float(value)
