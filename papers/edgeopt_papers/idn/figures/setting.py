"""The setting of IDN's evaluation, its interpretations, and statements measured under each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, partial
from math import isnan, nan
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from edgeopt.instances.idn import generate
from edgeopt.studies.wording import number, percent
from edgeopt_papers.figures import InstanceSpec, PaperFigure, Published, swept
from edgeopt_papers.figures.aggregates import where
from edgeopt_papers.texts import texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import pandas as pd

    from edgeopt.studies.sweeps import Job

CAVEATS: Final = texts(__file__, "caveats")
"""Why computed values may differ from published ones."""

RUNS: Final = 3
"""Runs per instance, two in a quick run; they differ only in the coins of rounding."""

SLOTS: Final = 300
"""Five hours of a minute a slot, in a quick run too: shorter hours are a burden for who learns."""

PROFILES: Final = {"fixed": "fixed popularity", "sliding": "sliding popularity"}

DESCRIBED: Final = {
    "infida": "INFIDA",
    "infida-offline+mean": "INFIDA offline (hindsight)",
    "sg+published": "Static greedy (hindsight)",
    "olag+literal": "OLAG (as printed)",
}
"""The policies of the paper, as its text is read here."""

IMPROVED: Final = {"olag+forwarded": "OLAG, shared counters"}
"""OLAG that buys no copies for requests that a pick serves already."""

STRONG: Final = {
    "sg": "Static greedy, every slot (hindsight)",
    "olag": "OLAG, requests seen",
}
"""The baselines in their stronger interpretations."""

WEAKER: Final = {"sg": "sg+published", "olag": "olag+literal"}
"""Which of these baselines each stronger one stands beside."""

TITLES: Final = {**DESCRIBED, **IMPROVED, **STRONG}

ATTACHMENTS: Final = {
    "task": "two stations per task",
    "common": "two common stations",
    "all": "all stations",
}
"""Where requests enter: interpretations of one sentence of the paper."""

OPEN: Final = CAVEATS["open"]
"""Settings that the paper leaves open, and the values taken for them."""

FIRST: Final = 171
"""The first seed of all draws."""

_KIN: Final = {3: "siblings", 2: "cousins", 1: "apart"}
"""Pairs of stations by the deepest tier that their paths share."""


def kinship(seed: int) -> str:
    """Say how the two common stations of a draw are related."""
    drawn = generate(rng=seed, attachment="common", horizon=1, tasks=1, replicas=1)
    one, other = (set(path.tolist()) for path in drawn.path)
    assert drawn.tier is not None
    return _KIN[max(int(drawn.tier[node]) for node in one & other if node >= 0)]


@cache
def pairs(first: int = FIRST, each: int = 2) -> Mapping[int, str]:
    """Return the first few seeds of each kind of pair, with its kind."""
    found: dict[str, list[int]] = {kind: [] for kind in _KIN.values()}
    seed = first
    while any(len(seeds) < each for seeds in found.values()):
        own = found[kinship(seed)]
        if len(own) < each:
            own.append(seed)
        seed += 1
    return {seed: kind for kind, seeds in found.items() for seed in seeds}


def draws(quick: bool, attachment: str, topology: int) -> Sequence[int]:
    """Return the seeds of instances and scenarios under an interpretation."""
    if topology == 2 or attachment == "all":  # only coins and the order of arrivals differ
        return range(FIRST, FIRST + (1 if quick else 2 if topology == 2 else 4))
    if attachment == "common":
        return list(pairs())[:: 3 if quick else 1]
    return range(FIRST, FIRST + (1 if quick else 6))


def spec(seed: int, *, figure: str = "", draw: int = 0, **settings: Any) -> InstanceSpec:
    """Return an instance; the number of the figure and of the draw only name a job."""
    return InstanceSpec.of(generate, rng=seed, **settings, horizon=SLOTS)


def jobs(
    quick: bool,
    figure: str,
    attachment: str,
    policies: Iterable[str],
    over: Mapping[str, Sequence[Any]],
    *,
    topology: int = 1,
    few: slice = slice(1, None, 2),
    aggregate: Callable[..., Any] | None = None,
    **settings: Any,
) -> list[Job]:
    """List the jobs of a sweep; a quick run takes `few` values of the last parameter."""
    taken = {**over, **{name: over[name][few] for name in list(over)[-1:] if quick}}
    return [
        job
        for draw in draws(quick, attachment, topology)
        for job in swept(
            "idn",
            partial(spec, topology=topology, **settings),
            policies,
            {"figure": [figure], "attachment": [attachment], **taken, "draw": [draw]},
            [draw],
            runs=2 if quick else RUNS,
            seed=draw,
            aggregate=aggregate,
            bounded=False,
        )
    ]


class Check(NamedTuple):
    """In how many of the cases a statement holds, and the number that it is about."""

    held: int
    of: int = 1
    value: float = nan


@dataclass(frozen=True)
class Statement:
    """A statement of the paper: where it stands, when it counts as met, the number behind it.

    `unit` is that of the number: ``"%"`` for a share.
    """

    place: str
    what: str
    printed: float | str
    met: str
    check: Callable[[pd.DataFrame], Check]
    unit: str = "%"
    why: str = ""

    def amount(self, value: float) -> str:
        """Write a number in its unit."""
        return percent(value) if self.unit == "%" else f"{number(value, 3)} {self.unit}".strip()

    def said(self, check: Check) -> str:
        """Write whether it holds, and the number."""
        value = "" if isnan(check.value) else f": {self.amount(check.value)}"
        return f"{verdict(check.held, check.of)}{value}"

    def published(self) -> Published:
        """Return the line of the figure's own page."""
        numeric = not isinstance(self.printed, str)

        def computed(rows: pd.DataFrame) -> float | str:
            found = self.check(rows)
            return found.value if numeric else self.said(found)

        def met(rows: pd.DataFrame) -> bool:
            found = self.check(rows)
            return found.held == found.of

        share = numeric and self.unit == "%"
        return Published(self.what, self.printed, computed, share, self.why, rule=met, met=self.met)


def verdict(held: int, of: int) -> str:
    """Say in how many cases something holds."""
    return "yes" if held == of else "no" if held == 0 else f"{held} of {of}"


def near(value: Callable[[pd.DataFrame], float], printed: float) -> Callable[..., Check]:
    """Return a check whether a number is within a third of the printed one."""
    third = abs(printed) / 3.0
    return within(value, printed - third, printed + third)


def within(
    value: Callable[[pd.DataFrame], float], low: float, high: float
) -> Callable[[pd.DataFrame], Check]:
    """Return a check whether a number is in a range."""

    def check(rows: pd.DataFrame) -> Check:
        found = value(rows)
        return Check(int(low <= found <= high), value=found)

    return check


def along(
    column: str, metric: str, policies: Iterable[str], sign: int
) -> Callable[[pd.DataFrame], Check]:
    """Return a check of the steps along which a metric rises (1) or falls (-1)."""
    chosen = list(policies)

    def check(rows: pd.DataFrame) -> Check:
        wide = rows.pivot_table(index=column, columns="policy", values=metric)[chosen]
        steps = sign * wide.diff().iloc[1:].to_numpy()
        return Check(int((steps > 0).sum()), steps.size)

    return check


def ahead(
    column: str, metric: str, policies: Sequence[str], others: Sequence[str], **at: Any
) -> Callable[[pd.DataFrame], Check]:
    """Return a check of the places at which the worst of some policies beats all others.

    The number is its lead where that is least, as a share.
    """

    def check(rows: pd.DataFrame) -> Check:
        wide = where(rows, **at).pivot_table(index=column, columns="policy", values=metric)
        leads = wide[list(policies)].min(axis=1) / wide[list(others)].max(axis=1) - 1.0
        return Check(int((leads >= 0).sum()), len(leads), float(leads.min()))

    return check


@dataclass(frozen=True, eq=False)
class Evaluation:
    """A figure, how to compute its jobs in any interpretation, and statements about it."""

    paper_figure: PaperFigure
    jobs: Callable[[bool, str], list[Job]]
    statements: Sequence[Statement]
    topology: int

    @classmethod
    def of(
        cls,
        number: str,
        title: str,
        *,
        attachment: str,
        jobs: Callable[..., list[Job]],
        statements: Sequence[Statement],
        topology: int = 1,
        **about: Any,
    ) -> Evaluation:
        """Return the figure under the interpretation that fits it best."""
        under = partial(jobs, figure=number, topology=topology)
        paper_figure = PaperFigure(
            number=number,
            title=f"{title}, {ATTACHMENTS[attachment]}" if topology == 1 else title,
            jobs=partial(under, attachment=attachment),
            published=[one.published() for one in statements],
            **about,
        )
        return cls(paper_figure, lambda quick, a: under(quick, attachment=a), statements, topology)
