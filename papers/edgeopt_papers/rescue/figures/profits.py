"""Figures 5 to 9: utilisation and profit of RESCUE over time and over swept parameters."""

from __future__ import annotations

from functools import partial
from itertools import chain, product
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from edgeopt.instances.rescue import generate
from edgeopt.studies.pictures.canvas import INK, blank, styles
from edgeopt.studies.rescue.pictures import utilisation
from edgeopt.studies.rescue.policies import PLAIN
from edgeopt.studies.wording import interval, listed, percent
from edgeopt_papers.figures import (
    CLOSE,
    InstanceSpec,
    PaperFigure,
    Published,
    found,
    means,
    said,
    swept,
)
from edgeopt_papers.figures.aggregates import by, overall, span, unrolled, where
from edgeopt_papers.figures.drawing import curves, legend_below
from edgeopt_papers.figures.jobs import Sweep
from edgeopt_papers.texts import texts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pandas as pd
    from matplotlib.figure import Figure

    from edgeopt.studies.results import Case
    from edgeopt.studies.sweeps import Job

CAVEATS: Final = texts(__file__, "caveats")
"""Why computed values may differ from published ones."""

VARIANTS: Final = {"unguarded": "", "guarded": "+guard"}
"""Whether reserved tasks may fail, and the ending of the policy's name."""

FITTED: Final[Mapping[str, Any]] = {
    "servers": 6, "shortest": 8, "reserved": 30, "demand": 0.3,
}  # fmt: skip
"""Settings that the paper leaves open, fitted to its leads over the best baseline."""

FIT_SEEDS: Final = range(900, 906)
"""Of the instances of the fit."""


class Reading(NamedTuple):
    """What the paper may have compared: endings of policies, and whether settings are fitted."""

    own: str
    others: str
    fitted: bool = False

    @property
    def policy(self) -> str:
        """RESCUE's name in the rows."""
        return f"rescue{self.own}{_FIT * self.fitted}"


_FIT: Final = ", fitted"

READINGS: Final = {
    "unguarded": Reading("", ""),
    "guarded": Reading("+guard", "+guard"),
    "mixed": Reading("", "+guard"),
    "fitted": Reading("", "+guard", True),
}
"""By name. "Mixed" is what the text says: Algorithm 1 as printed, baselines that protect tasks."""

BASELINES: Final = ("pickconfigs", "srs", "sumita", "cvs", "random")
"""Those that the paper compares RESCUE with."""

_GROUPS: Final = {
    "rescue": "RESCUE",
    "rescueplus": "RESCUE+ (ours)",
    "pickconfigs": "PickConfigs",
    "srs": "SRS",
    "sumita": "Sumita",
    "cvs": "CVS",
    "random": "Random",
}
"""Methods and their names, in the order drawn."""

OWN: Final = {"offers": "Competing offers (ours)"}
"""Methods that exist guarded only."""

QUICK: Final[dict[str, Any]] = {
    "servers": 3, "devices": 6, "profiles": 3, "horizon": 40, "reserved": 8, "longest": 8,
}  # fmt: skip
"""Settings of the instances of a quick run."""

_QUICK_FITTED: Final = {"shortest": 5, "reserved": 10, "demand": 0.3}
"""The fitted settings at that size."""


_SWEEPS: Final = {
    sweep.name: sweep
    for sweep in (
        Sweep("reserved", "reserved tasks", (6, 12, 18, 24, 30, 36), each="{} reserved tasks"),
        Sweep("density", "density (%)", (0.1, 0.2, 0.3, 0.4, 0.5, 0.6), percent=True,
              each="a density of {}"),
        Sweep("demand", "demand (%)", (0.05, 0.1, 0.15, 0.2, 0.25, 0.3), percent=True,
              each="a demand of {}"),
        Sweep("arrival", "mean arrival probability (%)", (0.2, 0.3, 0.4, 0.5, 0.6, 0.7),
              percent=True, each="arrivals in {} of the slots"),
        Sweep("sla", "mean deadline (slots)", (18, 20, 22, 24, 26, 28),
              each="deadlines of {} slots"),
        Sweep("profiles", "profiles", (3, 4, 5, 6, 7, 8), each="{} profiles"),
        Sweep("distribution", "distribution of durations",
              ("normal", "bimodal", "uniform", "heavy"), each="{} durations",
              names={"normal": "normal", "bimodal": "bimodal", "uniform": "uniform",
                     "heavy": "heavy tail"}),
        Sweep("servers", "servers", (2, 3, 4, 5, 6, 7), few=(2, 6), each="{} servers"),
        Sweep("devices", "devices", (10, 12, 14, 16, 18), each="{} types of tasks"),
    )
}  # fmt: skip


_OPEN: Final = (
    *CAVEATS["open"],
    f"The fitted settings are {FITTED['reserved']} reserved tasks with a demand of "
    f"{100 * FITTED['demand']:.0f} % on {FITTED['servers']} servers, and profiles with a "
    f"mean length of {FITTED['shortest']} to 20 slots; the rest is as taken here. Of 81 "
    "settings of servers, arrivals, reserved tasks, demand and the shortest profile, narrowed down "
    f"on the seeds {FIT_SEEDS[0]} and {FIT_SEEDS[1]}, they come nearest to the six printed leads, "
    f"on average, on the seeds {FIT_SEEDS[0]} to {FIT_SEEDS[-1]}; instances shown have "
    "the seeds from 0 on, which the fit did not use. They are one explanation of "
    "the printed values; others may fit as well.",
)


def _spec(
    quick: bool, seed: int, sweep: str = "", place: Any = None, fitted: bool = False
) -> InstanceSpec:
    swept_to = _SWEEPS[sweep].settings(place) if sweep else {}
    fit = _QUICK_FITTED if quick else FITTED
    base = {**(QUICK if quick else {}), **(fit if fitted else {})}
    return InstanceSpec.of(generate, **{**base, **swept_to}, rng=seed)


def _jobs(
    quick: bool,
    policies: Sequence[str],
    draws: int,
    aggregate: Callable[[Case], Mapping[str, Any]],
    sweeps: Sequence[str] = (),
) -> list[Job]:
    """List a job per place and drawn instance, whose policies share their linear programs.

    In fitted settings it has only the policies of that reading.
    """
    over = [{"sweep": [name], "place": _SWEEPS[name].at(quick)} for name in sweeps]
    fit = READINGS["fitted"]
    few = ["rescue" + fit.own, *(name + fit.others for name in BASELINES)]
    sets: list[tuple[Sequence[str], dict[str, Any]]] = [
        (policies, {}), ([name for name in few if name in policies], {"fitted": [True]}),
    ]  # fmt: skip
    return [
        job
        for (chosen, more), one in product(sets, over or [{}])
        for job in swept(
            "rescue", partial(_spec, quick), chosen, one | more, range(3 if quick else draws),
            runs=20 if quick else 200, aggregate=aggregate, joint=True, bounds=(PLAIN,),
        )
    ]  # fmt: skip


def _named(long: pd.DataFrame) -> pd.DataFrame:
    """Tell whether settings are fitted, also in the names of policies."""
    fitted = long["fitted"].notna()
    return long.assign(fitted=fitted, policy=long["policy"] + np.where(fitted, _FIT, ""))


def _read(
    what: str, value: float | str, computed: Callable[..., Any], why: str,
    rule: Callable[..., Any] | None = None, **at: Any,
) -> list[Published]:  # fmt: skip
    """Compare a published value of RESCUE with the computed ones of all readings."""
    own = {
        name: at
        | ({"policy": one.policy} if "slot" in at else {"variant": name, "group": "rescue"})
        for name, one in READINGS.items()
    }
    reason = said(CAVEATS["why"][why], **_facts(**at))
    return [
        Published(what, value, computed(**one), True, reason,
                  rule=rule(**one) if rule else CLOSE, setting=name)
        for name, one in own.items()
    ]  # fmt: skip


def _facts(**at: Any) -> dict[str, Callable[..., Any]]:
    """Return readers of what policies come to at the places of a statement, for its reason."""
    facts: dict[str, Callable[..., Any]] = {
        name: partial(_averages, name, at) for name in ("ratio", "utilisation", "profit", "earned")
    }
    return facts | {"lead": partial(_averages, "lead", at | {"group": "rescue"}, key="variant")}


def _averages(
    metric: str, at: Mapping[str, Any], rows: pd.DataFrame, key: str = "policy"
) -> dict[str, float]:
    """Return the means of a metric over places by policy, or by reading."""
    return dict(where(rows, **at).groupby(key)[metric].mean()) if metric in rows else {}


def _inside(low: float, high: float, **at: Any) -> Callable[[pd.DataFrame], bool]:
    """Return a predicate: all shares of the LP bound are in a published range."""
    return lambda rows: bool(where(rows, **at)["ratio"].between(low, high).all())


_TITLES: Final = {
    f"{group}{ending}": f"{_GROUPS[group]}, {variant}"
    for group in ("rescue", "rescueplus")
    for variant, ending in VARIANTS.items()
} | {READINGS["fitted"].policy: "RESCUE, unguarded, fitted settings"}
_SO_FAR: Final = ("utilisation", "earned")


def so_far(case: Case) -> dict[str, list[Any]]:
    """Return utilisation and profit up to each slot, the latter as a share of the LP bound."""
    runs: list[Any] = list(case.trajectories.values())
    bound = case.benchmarks[PLAIN].bound
    earned = [np.cumsum(run.reward, axis=1).mean(axis=0) / bound for run in runs]
    return {
        "utilisation": [utilisation(case.instance, run).mean(axis=0).tolist() for run in runs],
        "earned": [one.tolist() for one in earned],
    }


_FIGURE_5: Final = PaperFigure(
    number="5",
    title="utilisation and profit over time",
    jobs=partial(_jobs, policies=list(_TITLES)[:-1], draws=20, aggregate=so_far),
    rows=lambda table: means(
        _named(unrolled(table, ["policy", *_SO_FAR], ["", "slot"], ["fitted"], first=1)),
        _SO_FAR, ("policy", "slot"), shares=("utilisation",),
    ),
    columns={
        "policy": "Policy", "slot": "Slot", "utilisation": "Utilisation so far",
        "earned": "Share of the LP bound so far",
    },
    percent=_SO_FAR,
    draw=partial(
        curves, x="slot", xlabel="slot", titles=_TITLES, scale=100.0, zero=True,
        metrics={"utilisation": "utilisation so far (%)",
                 "earned": "profit so far (% of the LP bound)"},
    ),
    takeaway=said(
        "By the last slot RESCUE has used {use[rescue]:0%} of the free capacity and earned "
        "{earned[rescue]:0%} of the LP bound unguarded, {use[rescue+guard]:0%} and "
        "{earned[rescue+guard]:0%} guarded, {use[rescue, fitted]:0%} and "
        "{earned[rescue, fitted]:0%} unguarded in the fitted settings",
        use=by("utilisation", slot=max), earned=by("earned", slot=max),
    ),
    published=[
        *_read("utilisation of RESCUE in the last slot", 0.53, partial(found, "utilisation"),
               "use", slot=max),
        *_read("share of the LP bound that RESCUE earns", 0.64, partial(found, "earned"),
               "earned", slot=max),
    ],
    caveats=[
        *_OPEN,
        "A full run averages over 20 drawn instances with 200 runs each; the paper shows one "
        "setting.",
    ],
    caption="Left: retraining work so far as a share of the capacity that reserved work has left.",
)  # fmt: skip

_METRICS: Final = {
    "profit": "value", "bound": "bound", "safe": "safe", "ratio": "ratio",
    "own_ratio": "bound_ratio",
    "failed": "violated_share", "utilisation": "utilisation",
}  # fmt: skip
"""Metrics and their columns in the table of a study."""

_COLUMNS: Final = {
    "sweep": "Swept", "place": "Value", "policy": "Policy", "profit": "Expected profit",
    "bound": "LP bound", "safe": "safe bound", "ratio": "Share of the LP bound",
    "own_ratio": "Share of own bound",
    "lead": "Above the best baseline", "failed": "Reserved tasks failed",
    "utilisation": "Utilisation",
}  # fmt: skip


def profits(case: Case) -> dict[str, list[float]]:
    """Return the metrics of each policy of a case."""
    plain = case.benchmarks[PLAIN].bound
    ratio = case.table["value"] / plain if plain > 0 else np.nan
    table = case.table.assign(bound=plain, safe=case.benchmark.bound, ratio=ratio)
    return {name: table[column].tolist() for name, column in _METRICS.items()}


def _rows(table: pd.DataFrame) -> pd.DataFrame:
    """Average over the instances, with the lead over the best baseline of each reading."""
    import pandas as pd

    places = ["sweep", "place"]
    long = unrolled(table, ["policy", *_METRICS], keep=[*places, "fitted", "instance"])
    guarded = long["policy"].str.endswith(VARIANTS["guarded"]) | long["policy"].isin(OWN)
    long["group"] = long["policy"].str.removesuffix(VARIANTS["guarded"])
    baseline, long = long["group"].isin(BASELINES), _named(long)
    parts = []
    for name, reading in READINGS.items():
        wanted = np.where(baseline, bool(reading.others), bool(reading.own))
        read = long[(guarded == wanted) & (long["fitted"] == reading.fitted)]
        for _, own in read.groupby(places, sort=False):
            profit = own.pivot(index="instance", columns="group", values="profit")
            best = profit[profit[list(BASELINES)].mean().idxmax()]
            lead = own["profit"] / best.where(best > 0).loc[own["instance"]].array - 1.0
            parts.append(own.assign(variant=name, lead=lead.mask(own["group"].isin(BASELINES))))
    metrics = (*_METRICS, "lead")
    keys = (*places, "policy", "variant", "group")
    return means(pd.concat(parts), metrics, keys, shares=("failed", "utilisation"))


def _draw(rows: pd.DataFrame, *, sweeps: Sequence[str]) -> Figure:
    """Draw profits over the swept parameters, unguarded above, guarded below, and RESCUE's lead."""
    figure = blank(height=7.6)
    panels = figure.subplots(len(VARIANTS) + 1, len(sweeps), squeeze=False, sharex="col")
    groups = _GROUPS | OWN
    for (line, variant), (column, name) in product(enumerate(VARIANTS), enumerate(sweeps)):
        axes, sweep = panels[line, column], _SWEEPS[name]
        own = where(rows, sweep=name, variant=variant)
        x = [sweep.shown(place) for place in own["place"].unique()]
        joined: dict[str, Any] = {"linestyle": "none"} if sweep.names else {}
        for group, drawn in styles(groups).items():
            if group in _GROUPS or variant == "guarded":
                axes.plot(x, where(own, group=group)["profit"], marker=drawn.mark, markersize=4,
                          linewidth=1.3, color=drawn.colour, label=groups[group],
                          **{"linestyle": drawn.dashes} | joined)  # fmt: skip
        bounds = {"bound": "LP bound"} | ({"safe": "safe bound"} if variant == "guarded" else {})
        for (column_of, label), dashes in zip(bounds.items(), ((4, 2), (1, 1)), strict=False):
            style: dict[str, Any] = {"linestyle": (0, dashes), "linewidth": 1.1}
            if joined:
                style = joined | {"marker": "_" if column_of == "bound" else "x", "markersize": 20}
            y = where(own, group="rescue")[column_of]
            axes.plot(x, y, color=INK, label=label, **style)
        axes.set_xticks(x)
        axes.margins(x=0.25 if joined else 0.05)
        panels[line, 0].set_ylabel(f"expected profit,\n{variant}")
    for axes, name in zip(panels[-1], sweeps, strict=True):
        sweep, ours = _SWEEPS[name], where(rows, sweep=name, group="rescue")
        for reading, drawn in styles(READINGS).items():
            own = where(ours, variant=reading)
            x = [sweep.shown(place) for place in own["place"]]
            joined = {"linestyle": "none" if sweep.names else drawn.dashes}
            axes.plot(x, 100 * own["lead"], marker=drawn.mark, markersize=4, linewidth=1.3,
                      color=drawn.colour, label=f"lead, {reading}", **joined)  # fmt: skip
        axes.axhline(0, color=INK, linewidth=0.8)
        axes.set_xlabel(sweep.title)
    panels[-1, 0].set_ylabel("RESCUE above the\nbest baseline (%)")
    for line in panels[:-1]:
        top = max(axes.get_ylim()[1] for axes in line)
        for axes in line:
            axes.set_ylim(0, top)
            axes.tick_params(labelleft=axes is line[0])
    sides = (axes.get_legend_handles_labels()[0] for axes in panels[1:, 0])
    legend_below(figure, chain.from_iterable(sides), most=4)
    return figure


def _signs(sweeps: Sequence[str], rows: pd.DataFrame) -> str:
    """Say where RESCUE as printed leads baselines that protect reserved tasks, and where not."""
    words: dict[bool, list[str]] = {True: [], False: []}
    for name in sweeps:
        sweep, own = _SWEEPS[name], where(rows, sweep=name, variant="mixed", group="rescue")
        shown = [
            sweep.names.get(one) or (percent(one, 0) if sweep.percent else f"{one:g}")
            for one in own["place"]
        ]
        for side, those in words.items():
            at = np.flatnonzero((own["lead"] > 0) == side)
            if at.size:
                leads = own["lead"].iloc[at]
                in_a_row = at.size > 2 and at[-1] - at[0] < at.size and not sweep.names
                places = (
                    f"{shown[at[0]]} to {shown[at[-1]]}"
                    if in_a_row
                    else listed([shown[one] for one in at])
                )
                by_how_much = interval(leads.min(), leads.max(), share=True)
                those.append(f"{sweep.each.format(places)} ({by_how_much})")
    sides = {True: "leads with", False: f"does not{'' if words[True] else ' lead'} with"}
    return ", and ".join(f"{sides[side]} {listed(those)}" for side, those in words.items() if those)


_LEAD: Final = partial(found, "lead")
_RATIOS: Final = partial(span, "ratio", share=True)
_OWN: Final = partial(span, share=True, group="rescue")


def _figure(
    number: str,
    title: str,
    sweeps: Sequence[str],
    published: Sequence[Published],
    more: Sequence[str] = (),
) -> PaperFigure:
    every = [f"{name}{ending}" for ending in VARIANTS.values() for name in _GROUPS] + [*OWN]
    return PaperFigure(
        number=number,
        title=f"expected profit {title}",
        jobs=partial(_jobs, policies=every, draws=10, aggregate=profits, sweeps=sweeps),
        rows=_rows,
        columns=_COLUMNS,
        percent=("ratio", "own_ratio", "lead", "failed", "utilisation"),
        draw=partial(_draw, sweeps=sweeps),
        takeaway=said(
            "As printed, against baselines that protect reserved tasks, RESCUE {signs}; for it "
            "{failed} of these tasks fail. The lead is {unguarded} if none protects them, "
            "{guarded} if all do, and as printed {fitted} in fitted settings, where {failed_there} "
            "fail",
            signs=partial(_signs, sweeps),
            failed=_OWN("failed", variant="mixed"),
            failed_there=_OWN("failed", variant="fitted"),
            **{name: _OWN("lead", variant=name) for name in READINGS if name != "mixed"},
        ),
        leads=True,
        published=[
            *published,
            *_read("share of the LP bound (published over all figures)", "51 to 87 %", _RATIOS,
                   f"ratio {number}", partial(_inside, 0.51, 0.87)),
            *_read("RESCUE above the best baseline, mean (published over all figures)", 0.60,
                   partial(overall, "mean", "lead"), f"mean {number}"),
        ],
        caveats=[
            *_OPEN,
            *more,
            "A full run averages over 10 drawn instances with 200 runs each; the paper gives no "
            "number of runs.",
        ],
        caption="All policies have the same drawn instances. Above, reserved tasks may fail, and "
        "the LP bound, which serves them all, is none. In the middle none fails, and the safe "
        "bound is valid for all policies. Below, RESCUE's lead in the four readings.",
    )  # fmt: skip


FIGURES: Final = (
    _FIGURE_5,
    _figure(
        "6", "over number, density and demand of reserved tasks", ("reserved", "density", "demand"),
        _read("RESCUE above the best baseline, 36 reserved tasks", 0.84, _LEAD, "36 reserved",
              sweep="reserved", place=36),
        ["Where density is below demand, a window holds only what its slots offer: 10 % of the "
         "capacity at a density of 10 %."],
    ),
    _figure(
        "7", "over arrival probabilities and deadlines", ("arrival", "sla"),
        [
            *_read("RESCUE above the best baseline, arrivals in 70 % of the slots", 0.99, _LEAD,
                   "70 % arrivals", sweep="arrival", place=0.7),
            *_read("share of the LP bound, all deadlines", "74 to 87 %", _RATIOS, "deadlines",
                   partial(_inside, 0.74, 0.87), sweep="sla"),
        ],
    ),
    _figure(
        "8", "over numbers of profiles and distributions of durations",
        ("profiles", "distribution"),
        [
            *_read("RESCUE above the best baseline, 8 profiles", 0.73, _LEAD, "8 profiles",
                   sweep="profiles", place=8),
            *_read("share of the LP bound, all numbers of profiles", "61 to 87 %", _RATIOS,
                   "profiles", partial(_inside, 0.61, 0.87), sweep="profiles"),
            *_read("share of the LP bound, 8 profiles", 0.875, partial(found, "ratio"),
                   "ratio 8 profiles", sweep="profiles", place=8),
            *_read("RESCUE above the baselines, mean over distributions", 0.70,
                   partial(overall, "mean", "lead"), "distributions", sweep="distribution"),
        ],
    ),
    _figure(
        "9", "over servers and types of tasks", ("servers", "devices"),
        [
            *_read("RESCUE above the best baseline, 6 servers", 0.83, _LEAD, "6 servers",
                   sweep="servers", place=6),
            *_read("RESCUE above the best baseline, 18 types of tasks", 0.98, _LEAD, "18 types",
                   sweep="devices", place=18),
        ],
        ["A type of tasks is a device here."],
    ),
)  # fmt: skip
"""In the order of the paper."""
