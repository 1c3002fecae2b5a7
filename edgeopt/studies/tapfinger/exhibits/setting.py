"""Settings of the paper: who takes part, what was recorded, and what the paper says of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from edgeopt.studies.exhibits import Printed, Recipe, found
from edgeopt.studies.tapfinger.exhibits.lived import lived
from edgeopt.studies.tapfinger.exhibits.recorded import LEARNED, RECORDED, Recorded

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pandas as pd

    from edgeopt.studies.sweeps import Cell

__all__ = ["FOUR", "INSTEAD", "STAND_IN", "STATISTICS", "Claim", "Setting", "claimed"]

STAND_IN: Final = "reservation"
"""The scheduler without learning that stands beside TapFinger; it knows durations."""

INSTEAD: Final = (
    "The printed figure is TapFinger's. Reservation learns nothing, but is told how long tasks "
    "take."
)
"""Why a line of the stand-in differs."""

STATISTICS: Final = {
    "mean": "mean completion time (slots)",
    "median": "median completion time (slots)",
    "p95": "95th percentile of completion times (slots)",
    "waiting": "mean number of tasks in the system",
    "cpu": "mean CPU cores in use per cluster",
    "gpu": "mean GPUs in use per cluster",
}
FOUR: Final = ("mean", "median", "p95", "waiting")
_USE_WHY: Final = (
    "The recorded figure counts what is held after tasks that end have released theirs, ours "
    "before."
)


@dataclass(frozen=True, kw_only=True)
class Setting:
    """A setting of the paper, and who takes part.

    Parameters
    ----------
    recorded
        Its name among the recorded runs.
    make
        Function of a module that draws an instance, given ``rng`` and `options`.
    options
        Its keywords.
    quick
        Further keywords of a first look.
    policies
        Names of the schedulers and what they are called, in the order shown.
    baselines
        Which of them stands for which recorded one.
    learned
        Recorded policies that have to be learned.
    draws, runs
        Instances, and simulated runs on each.
    """

    recorded: str
    make: Callable[..., Any]
    options: Mapping[str, Any]
    quick: Mapping[str, Any]
    policies: Mapping[str, str]
    baselines: Mapping[str, str]
    learned: tuple[str, ...] = ("tapfinger",)
    draws: int = 20
    runs: int = 5

    def cells(self, quick: bool, series: Sequence[str] = (), **at: Any) -> list[Cell]:
        """List the cells, one per drawn instance."""
        options = {**self.options, **(self.quick if quick else {})}
        return [
            lived(
                Recipe.of(self.make, rng=draw, **options),
                list(self.policies),
                runs=1 if quick else self.runs,
                at={**at, "draw": draw},
                series=series,
            )
            for draw in range(3 if quick else self.draws)
        ]

    def record_of(self, policy: str) -> Recorded | None:
        """Return what was recorded of a learned policy, or of the one that ours stands for."""
        name = policy if policy in self.learned else self.baselines.get(policy)
        return None if name is None else RECORDED[self.recorded][name]

    def lines(self, parts: Sequence[str] = FOUR, place: str = "", **at: Any) -> list[Printed]:
        """Set recorded figures beside ours; `at` singles out a place of the rows, named `place`."""
        recorded = RECORDED[self.recorded]
        said = {part: STATISTICS[part] + place for part in parts}
        lines = []
        for name in (*self.learned, *self.baselines.values()):
            ours = next((own for own, stands in self.baselines.items() if stands == name), None)
            title = LEARNED[name] if ours is None else self.policies[ours]
            for part, what in said.items():
                lines.append(
                    Printed(
                        what=f"{title}, {what}",
                        value=getattr(recorded[name], part),
                        ours=None if ours is None else found("value", policy=ours, part=part, **at),
                        why=_USE_WHY if part not in FOUR else "",
                    )
                )
        return lines


@dataclass(frozen=True)
class Claim:
    """By how much the paper says that TapFinger is below a baseline.

    Parameters
    ----------
    value
        The share.
    baseline
        Name of our scheduler that stands for it.
    title
        What the paper calls it.
    part
        Which figure.
    at
        Singles out a place of the rows.
    """

    value: float
    baseline: str
    title: str
    part: str = "mean"
    at: Mapping[str, Any] = field(default_factory=dict)


def claimed(claims: Sequence[Claim]) -> list[Printed]:
    """Write claims as lines: TapFinger's, and beside it what needs no learning in its place."""
    lines = []
    for claim in claims:
        what = f"below {claim.title}, {claim.part} completion time"
        lines.append(Printed(what=f"TapFinger {what}", value=claim.value, ours=None, percent=True))
        lines.append(
            Printed(
                what=f"Reservation in its place {what}",
                value=claim.value,
                ours=partial(_below, claim=claim),
                percent=True,
                why=INSTEAD,
            )
        )
    return lines


def _below(rows: pd.DataFrame, claim: Claim) -> float:
    mine, theirs = (
        found("value", policy=name, part=claim.part, **claim.at)(rows).value
        for name in (STAND_IN, claim.baseline)
    )
    return 1.0 - mine / theirs
