"""Figures 5 to 9: utilisation and profit of RESCUE over time and over swept parameters."""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.instances.rescue import generate
from edgeopt.studies.pictures.canvas import INK, blank, styles
from edgeopt.studies.rescue.pictures import utilisation
from edgeopt.studies.rescue.policies import PLAIN
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
from edgeopt_papers.figures.drawing import curves
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


_SWEEPS: Final = {
    sweep.name: sweep
    for sweep in (
        Sweep("reserved", "reserved tasks", (6, 12, 18, 24, 30, 36)),
        Sweep("density", "density (%)", (0.1, 0.2, 0.3, 0.4, 0.5, 0.6), percent=True),
        Sweep("demand", "demand (%)", (0.05, 0.1, 0.15, 0.2, 0.25, 0.3), percent=True),
        Sweep("arrival", "mean arrival probability (%)", (0.2, 0.3, 0.4, 0.5, 0.6, 0.7),
              percent=True),
        Sweep("sla", "mean deadline (slots)", (18, 20, 22, 24, 26, 28)),
        Sweep("profiles", "profiles", (3, 4, 5, 6, 7, 8)),
        Sweep("distribution", "distribution of durations",
              ("normal", "bimodal", "uniform", "heavy"),
              names={"normal": "normal", "bimodal": "bimodal", "uniform": "uniform",
                     "heavy": "heavy tail"}),
        Sweep("servers", "servers", (2, 3, 4, 5, 6, 7), few=(2, 6)),
        Sweep("devices", "devices", (10, 12, 14, 16, 18)),
    )
}  # fmt: skip


def _spec(quick: bool, seed: int, sweep: str = "", place: Any = None) -> InstanceSpec:
    swept_to = _SWEEPS[sweep].settings(place) if sweep else {}
    return InstanceSpec.of(generate, **{**(QUICK if quick else {}), **swept_to}, rng=seed)


def _jobs(
    quick: bool,
    policies: Sequence[str],
    draws: int,
    aggregate: Callable[[Case], Mapping[str, Any]],
    sweeps: Sequence[str] = (),
) -> list[Job]:
    """List a job per place and drawn instance, whose policies share their linear programs."""
    over = [{"sweep": [name], "place": _SWEEPS[name].at(quick)} for name in sweeps]
    return [
        job
        for one in over or [{}]
        for job in swept(
            "rescue", partial(_spec, quick), policies, one, range(3 if quick else draws),
            runs=20 if quick else 200, aggregate=aggregate, joint=True, bounds=(PLAIN,),
        )
    ]  # fmt: skip


def _both(
    what: str, value: float | str, computed: Callable[..., Any], why: str = "",
    rule: Callable[..., Any] | None = None, **at: Any,
) -> list[Published]:  # fmt: skip
    """Compare a published value of RESCUE with the computed ones of both variants."""
    own = [{"policy": f"rescue{ending}", **at} for ending in VARIANTS.values()]
    return [
        Published(what, value, computed(**one), True, why,
                  rule=rule(**one) if rule else CLOSE, setting=variant)
        for variant, one in zip(VARIANTS, own, strict=True)
    ]  # fmt: skip


def _inside(low: float, high: float, **at: Any) -> Callable[[pd.DataFrame], bool]:
    """Return a predicate: all shares of the LP bound are in a published range."""
    return lambda rows: bool(where(rows, **at)["ratio"].between(low, high).all())


_TITLES: Final = {
    f"{group}{ending}": f"{_GROUPS[group]}, {variant}"
    for group in ("rescue", "rescueplus")
    for variant, ending in VARIANTS.items()
}
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
    jobs=partial(_jobs, policies=list(_TITLES), draws=20, aggregate=so_far),
    rows=lambda table: means(
        unrolled(table, ["policy", *_SO_FAR], ["", "slot"], first=1), _SO_FAR, ("policy", "slot"),
        shares=("utilisation",),
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
        "{earned[rescue+guard]:0%} guarded",
        use=by("utilisation", slot=max), earned=by("earned", slot=max),
    ),
    published=[
        *_both("utilisation of RESCUE in the last slot", 0.53, partial(found, "utilisation"),
               slot=max),
        *_both("share of the LP bound that RESCUE earns", 0.64, partial(found, "earned"), slot=max),
    ],
    caveats=[
        *CAVEATS["open"],
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
    """Average over the instances, with the lead over the best baseline of each variant."""
    import pandas as pd

    places = ["sweep", "place"]
    long = unrolled(table, ["policy", *_METRICS], keep=[*places, "instance"])
    guarded = long["policy"].str.endswith(VARIANTS["guarded"]) | long["policy"].isin(OWN)
    long["variant"] = np.where(guarded, "guarded", "unguarded")
    long["group"] = long["policy"].str.removesuffix(VARIANTS["guarded"])
    parts = []
    for _, own in long.groupby([*places, "variant"], sort=False):
        profit = own.pivot(index="instance", columns="group", values="profit")
        best = profit[profit[list(BASELINES)].mean().idxmax()]
        lead = own["profit"] / best.where(best > 0).loc[own["instance"]].array - 1.0
        parts.append(own.assign(lead=lead.mask(own["group"].isin(BASELINES))))
    metrics = (*_METRICS, "lead")
    keys = (*places, "policy", "variant", "group")
    return means(pd.concat(parts), metrics, keys, shares=("failed", "utilisation"))


def _draw(rows: pd.DataFrame, *, sweeps: Sequence[str]) -> Figure:
    """Draw profits over the swept parameters, unguarded above, guarded below."""
    figure = blank(height=5.6)
    panels = figure.subplots(len(VARIANTS), len(sweeps), squeeze=False, sharex="col", sharey="row")
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
        panels[-1, column].set_xlabel(sweep.title)
        panels[line, 0].set_ylabel(f"expected profit,\n{variant}")
    for axes in panels[:, 0]:
        axes.set_ylim(bottom=0)
    handles, labels = panels[-1, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4)
    return figure


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
            "RESCUE's profit differs from that of the best baseline by {unguarded} unguarded and "
            "by {guarded} guarded; unguarded, {failed} of the reserved tasks fail",
            failed=_OWN("failed", variant="unguarded"),
            **{variant: _OWN("lead", variant=variant) for variant in VARIANTS},
        ),
        published=[
            *published,
            *_both("share of the LP bound (published over all figures)", "51 to 87 %", _RATIOS,
                   rule=partial(_inside, 0.51, 0.87)),
            *_both("RESCUE above the best baseline, mean (published over all figures)", 0.60,
                   partial(overall, "mean", "lead")),
        ],
        caveats=[
            *CAVEATS["open"],
            *more,
            "A full run averages over 10 drawn instances with 200 runs each; the paper gives no "
            "number of runs.",
        ],
        caption="All policies have the same drawn instances. Above, reserved tasks may fail, and "
        "the LP bound, which serves them all, is none. Below, none fails, and the safe bound is "
        "valid for all policies.",
    )  # fmt: skip


FIGURES: Final = (
    _FIGURE_5,
    _figure(
        "6", "over number, density and demand of reserved tasks", ("reserved", "density", "demand"),
        _both("RESCUE above the best baseline, 36 reserved tasks", 0.84, _LEAD, sweep="reserved",
              place=36),
        ["Where density is below demand, a window holds only what its slots offer: 10 % of the "
         "capacity at a density of 10 %."],
    ),
    _figure(
        "7", "over arrival probabilities and deadlines", ("arrival", "sla"),
        [
            *_both("RESCUE above the best baseline, arrivals in 70 % of the slots", 0.99, _LEAD,
                   sweep="arrival", place=0.7),
            *_both("share of the LP bound, all deadlines", "74 to 87 %", _RATIOS,
                   rule=partial(_inside, 0.74, 0.87), sweep="sla"),
        ],
    ),
    _figure(
        "8", "over numbers of profiles and distributions of durations",
        ("profiles", "distribution"),
        [
            *_both("RESCUE above the best baseline, 8 profiles", 0.73, _LEAD, sweep="profiles",
                   place=8),
            *_both("share of the LP bound, all numbers of profiles", "61 to 87 %", _RATIOS,
                   rule=partial(_inside, 0.61, 0.87), sweep="profiles"),
            *_both("share of the LP bound, 8 profiles", 0.875, partial(found, "ratio"),
                   sweep="profiles", place=8),
            *_both("RESCUE above the baselines, mean over distributions", 0.70,
                   partial(overall, "mean", "lead"),
                   "Computed is the lead over the best baseline of each distribution.",
                   sweep="distribution"),
        ],
    ),
    _figure(
        "9", "over servers and types of tasks", ("servers", "devices"),
        [
            *_both("RESCUE above the best baseline, 6 servers", 0.83, _LEAD, sweep="servers",
                   place=6),
            *_both("RESCUE above the best baseline, 18 types of tasks", 0.98, _LEAD,
                   sweep="devices", place=18),
        ],
        ["A type of tasks is a device here."],
    ),
)  # fmt: skip
"""In the order of the paper."""
