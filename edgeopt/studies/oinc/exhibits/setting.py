"""The setting of OINC's evaluation: policies, instances, and what figures vary."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from edgeopt.instances.oinc import generate
from edgeopt.studies.exhibits import Recipe, means, plays

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from edgeopt.studies.sweeps import Cell

__all__ = [
    "ALL",
    "BAND",
    "DEVICES",
    "EDGES",
    "OPEN",
    "PICTURES",
    "THREE",
    "Sweep",
    "averages",
    "draws",
    "recipe",
]

THREE: Final = {"oinc": "OINC", "ekya": "Ekya", "kalmia": "Kalmia"}
"""The policies of the paper's figures."""

ALL: Final = THREE | {
    "greedy+density": "Greedy & A_ret",
    "liu+density": "Liu & A_ret",
    "near+dedas": "A_inf & Dedas",
    "near+zhang": "A_inf & Zhang",
}
"""Those of its table and its run times."""

_SEEDS: Final = (4, 10)
_DUTY: Final = 0.45
_QUICK: Final = {"slots": 30, "jobs": 6}

OPEN: Final = (
    "The trace of activity is not given; here each device switches on and off at random and asks "
    "in 45 % of the slots.",
    "Objectives and the number, arrival, deadlines and weights of jobs are not given; here they "
    "are 0.3 to 0.9 s, 24 jobs over the first 60 % of the slots, 1.5 to 3 times what a job takes "
    "alone on half of an average site, and 1.",
    "The radio is read so that rates lie near 66 Mbit/s, with the path loss in decibels taken as "
    "a gain; with the powers as they are printed no request would end within its slot.",
    "A_inf is a search in every slot in place of the learned policy, and each baseline is one "
    "reading of the line that the paper gives it.",
)
"""Why figures of all exhibits may differ."""


def recipe(quick: bool, seed: int, **settings: Any) -> Recipe:
    """Return how to draw an instance in the paper's setting."""
    return Recipe.of(generate, rng=seed, duty=_DUTY, **(_QUICK if quick else {}), **settings)


def draws(quick: bool) -> range:
    """Return the seeds of the instances at each place of a sweep."""
    return range(_SEEDS[0] if quick else _SEEDS[1])


class Sweep(NamedTuple):
    """A parameter of the instances that a figure varies.

    Attributes
    ----------
    column, heading
        What it is called in the table, and in words with its unit.
    each
        What a place of it is called, in the plural.
    keyword
        What `generate` calls it.
    places
        Values by column and by keyword.
    few
        Those by column that a first look takes.
    """

    column: str
    heading: str
    each: str
    keyword: str
    places: Mapping[int, float]
    few: tuple[int, ...]

    def cells(self, quick: bool) -> list[Cell]:
        """List the cells of the three policies."""
        return [
            cell
            for shown in (self.few if quick else self.places)
            for seed in draws(quick)
            for cell in plays(
                "oinc", recipe(quick, seed, **{self.keyword: self.places[shown]}), THREE, runs=2,
                at={self.column: shown}, bounded=False,
            )
        ]  # fmt: skip

    def rows(self, table: pd.DataFrame) -> pd.DataFrame:
        """Average over the draws."""
        return averages(table, (self.column, "policy"))


DEVICES: Final = Sweep(
    "devices",
    "Devices",
    "numbers of devices",
    "devices",
    {n: n for n in (20, 30, 40, 50)},
    (20, 50),
)
EDGES: Final = Sweep(
    "edges", "Edges", "numbers of edges", "sites", {n: n for n in range(10, 16)}, (10, 12, 14)
)
PICTURES: Final = Sweep(
    "pictures", "Pictures in a retraining set", "sizes of the retraining set", "job_scale",
    {n: n / 1024 for n in (512, 1024, 1536, 2048)}, (512, 2048),
)  # fmt: skip
BAND: Final = Sweep(
    "band", "Change of all bands (%)", "bands", "band_scale",
    {n: 1 + n / 100 for n in (-20, -10, 0, 10, 20)}, (-20, 0, 20),
)  # fmt: skip


def averages(table: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Average over the draws what the figures show."""
    shares = ("success", "requests_met", "jobs_met")
    table = table.assign(both_times=table["latency"] + table["completion"])
    measures = ("value", "scaled", "latency", "completion", "both_times", *shares)
    return means(table, measures, by, shares=shares)
