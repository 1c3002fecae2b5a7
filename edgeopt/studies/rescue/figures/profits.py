"""Figures 5 to 9: utilisation and profit of RESCUE over time and over swept parameters."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.instances.rescue import generate
from edgeopt.studies.figures import InstanceSpec, PaperFigure, Published, found, means, said
from edgeopt.studies.figures.cells import Sweep
from edgeopt.studies.figures.drawing import curves
from edgeopt.studies.figures.reading import by, overall, where
from edgeopt.studies.over_instances import mean_columns
from edgeopt.studies.pictures.canvas import INK, blank, colours
from edgeopt.studies.rescue.figures.setting import OPEN, QUICK, VARIANTS, compared
from edgeopt.studies.rescue.pictures import utilisation
from edgeopt.studies.wording import percent

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from edgeopt.studies.result import Case
    from edgeopt.studies.sweeps import Cell

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

_TITLES: Final = {
    f"{group}{ending}": f"{_GROUPS[group]}, {variant}"
    for group in ("rescue", "rescueplus")
    for variant, ending in VARIANTS.items()
}
_SO_FAR: Final = ("utilisation", "earned")


def read_over_time(case: Case, policy: str) -> Mapping[str, Any]:
    """Return utilisation and profit so far, after each slot, the latter as a share of OPT(LP)."""
    run: Any = case.trajectories[policy]
    earned = np.cumsum(run.reward, axis=1).mean(axis=0) / case.benchmark.bound
    return {
        "slot": list(range(1, case.instance.horizon + 1)),
        "utilisation": utilisation(case.instance, run).mean(axis=0).tolist(),
        "earned": earned.tolist(),
    }


def _over_time(quick: bool) -> list[Cell]:
    return [
        compared(
            InstanceSpec.of(generate, rng=draw, **(QUICK if quick else {})), list(_TITLES),
            runs=20 if quick else 200, at={"draw": draw}, reading=read_over_time,
        )
        for draw in range(3 if quick else 20)
    ]  # fmt: skip


def _slots(table: pd.DataFrame) -> pd.DataFrame:
    columns = ["slot", *_SO_FAR]
    series = table.explode(["policy", *columns], ignore_index=True).explode(columns)
    return means(series, _SO_FAR, ("policy", "slot"), shares=("utilisation",))


_FIGURE_5 = PaperFigure(
    number="5",
    title="utilisation and profit over time",
    cells=_over_time,
    rows=_slots,
    columns={
        "policy": "Policy", "slot": "Slot", "utilisation": "Utilisation so far",
        "earned": "Share of OPT(LP) so far",
    },
    draw=partial(
        curves, x="slot", xlabel="slot", titles=_TITLES, scale=100.0, zero=True,
        metrics={"utilisation": "utilisation so far (%)",
                  "earned": "profit so far (% of OPT(LP))"},
    ),
    takeaway=said(
        "In the end RESCUE has come, unguarded to {use[rescue]:0%} of what is left and "
        "{earned[rescue]:0%} of OPT(LP); guarded to {use[rescue+guard]:0%} of what is left and "
        "{earned[rescue+guard]:0%} of OPT(LP)",
        use=by("utilisation", slot=max), earned=by("earned", slot=max),
    ),
    published=[
        Published(f"{what} of RESCUE in the end, {variant}", value,
                found(name, policy=f"rescue{ending}", slot=max), percent=True)
        for what, value, name in (
            ("utilisation", 0.53, "utilisation"), ("share of OPT(LP)", 0.64, "earned"),
        )
        for variant, ending in VARIANTS.items()
    ],
    caveats=[
        *OPEN,
        "In full size means over 20 drawn instances, 200 runs each; the paper shows one setting.",
    ],
    percent=_SO_FAR,
    caption="Left: retraining work so far as a share of the capacity that reserved work has left. "
    "Mean over drawn instances with interval.",
)  # fmt: skip

_RESERVED: Final = Sweep("reserved", "reserved tasks", (6, 12, 18, 24, 30, 36))
_DENSITY: Final = Sweep("density", "density (%)", (0.1, 0.2, 0.3, 0.4, 0.5, 0.6), percent=True)
_DEMAND: Final = Sweep("demand", "demand (%)", (0.05, 0.1, 0.15, 0.2, 0.25, 0.3), percent=True)
_ARRIVAL: Final = Sweep(
    "arrival", "mean probability of an arrival (%)", (0.2, 0.3, 0.4, 0.5, 0.6, 0.7), percent=True
)
_SLA: Final = Sweep("sla", "mean deadline (slots)", (18, 20, 22, 24, 26, 28))
_PROFILES: Final = Sweep("profiles", "profiles", (3, 4, 5, 6, 7, 8))
_DISTRIBUTION: Final = Sweep(
    "distribution", "distribution of durations", ("normal", "bimodal", "uniform", "heavy"),
    names={"normal": "normal", "bimodal": "bimodal", "uniform": "uniform", "heavy": "heavy tail"},
)  # fmt: skip
_SERVERS: Final = Sweep("servers", "servers", (2, 3, 4, 5, 6, 7), few=(2, 6))
_DEVICES: Final = Sweep("devices", "devices", (10, 12, 14, 16, 18))

_METRICS: Final = ("profit", "bound", "ratio", "own_ratio", "failed", "utilisation")


def read_profits(case: Case, policy: str) -> Mapping[str, float]:
    """Return the figures of a policy of a case."""
    [row] = case.table[case.table["policy"] == policy].to_dict("records")
    return {
        "profit": row["value"],
        "bound": case.benchmark.bound,
        "ratio": row["ratio"],
        "own_ratio": row["bound_ratio"],
        "failed": row["violated_share"],
        "utilisation": row["utilisation"],
    }


def _cells(sweeps: Sequence[Sweep], quick: bool) -> list[Cell]:
    """List one cell per place and drawn instance, with all policies."""
    policies = [name + ending for ending in VARIANTS.values() for name in _GROUPS]
    small = QUICK if quick else {}
    return [
        compared(
            InstanceSpec.of(generate, **(small | sweep.settings(place)), rng=draw), policies,
            runs=20 if quick else 200, at={"sweep": sweep.name, "place": place, "draw": draw},
            reading=read_profits,
        )
        for sweep in sweeps
        for place in sweep.at(quick)
        for draw in range(3 if quick else 10)
    ]  # fmt: skip


def _rows(table: pd.DataFrame) -> pd.DataFrame:
    """Average over the instances, and set RESCUE against the best baseline of its variant."""
    by = ["sweep", "place", "policy"]
    table = table.explode(["policy", *_METRICS], ignore_index=True)
    rows = means(table, _METRICS, by, shares=("failed", "utilisation"))
    guarded = rows["policy"].str.endswith(VARIANTS["guarded"])
    rows.insert(3, "variant", np.where(guarded, "guarded", "unguarded"))
    rows.insert(4, "group", rows["policy"].str.removesuffix(VARIANTS["guarded"]))
    profits = {key: own.set_index("draw")["profit"].astype(float)
               for key, own in table.groupby(by, sort=False)}  # fmt: skip
    leads = [_lead(profits, *key) for key in rows[by].itertuples(index=False, name=None)]
    return rows.join(type(rows)(leads))


def _lead(profits: Mapping[Any, pd.Series], sweep: str, place: Any, policy: str) -> dict[str, Any]:
    """Return by how much a policy exceeds the best baseline of its variant, with interval."""
    name, guard, _ = policy.partition(VARIANTS["guarded"])
    rivals = [profits[sweep, place, rival + guard] for rival in BASELINES]
    best = max(rivals, key=lambda earned: float(earned.mean()))
    if name in BASELINES or not (best > 0).all():
        return {"lead": np.nan, "lead_low": np.nan, "lead_high": np.nan}
    return mean_columns("lead", (profits[sweep, place, policy] / best - 1.0).to_numpy())


def _draw(rows: pd.DataFrame, *, sweeps: Sequence[Sweep]) -> Figure:
    """Draw the profits over what is swept, unguarded above, guarded below."""
    from matplotlib.lines import Line2D

    figure = blank(height=5.6)
    panels = figure.subplots(len(VARIANTS), len(sweeps), squeeze=False, sharex="col", sharey="row")
    for variant, line in zip(VARIANTS, panels, strict=True):
        for sweep, axes in zip(sweeps, line, strict=True):
            _panel(axes, where(rows, sweep=sweep.name, variant=variant), sweep)
        tallest = where(rows, variant=variant)[["profit", "bound"]].max().max()
        line[0].set_ylim(0, 1.06 * float(tallest) or None)
        line[0].set_ylabel(f"expected profit,\n{variant}")
    for sweep, axes in zip(sweeps, panels[-1], strict=True):
        axes.set_xlabel(sweep.title)
    handles = [Line2D([], [], label=_GROUPS[name], **_look(name)) for name in _GROUPS]
    handles.append(Line2D([], [], color=INK, linestyle=(0, (4, 2)), linewidth=1.1, label="OPT(LP)"))
    figure.legend(handles=handles, loc="outside lower center", ncols=4)
    return figure


def _look(name: str) -> dict[str, Any]:
    mark = dict(zip(_GROUPS, "oPsD^vX", strict=True))[name]
    return {"color": colours(_GROUPS)[name], "marker": mark, "markersize": 4, "linewidth": 1.3}


def _panel(axes: Axes, rows: pd.DataFrame, sweep: Sweep) -> None:
    places = [place for place in sweep.places if (rows["place"] == place).any()]
    scale = 100.0 if sweep.percent else 1.0
    x = list(range(len(places))) if sweep.names else [scale * place for place in places]
    style: dict[str, Any] = {"linestyle": "none"} if sweep.names else {}
    for name in _GROUPS:
        own = where(rows, group=name).set_index("place").loc[places]
        axes.plot(x, own["profit"], **_look(name), **style)
    ceiling: Any = {"linestyle": (0, (4, 2)), "linewidth": 1.1}
    if sweep.names:
        ceiling = {"linestyle": "none", "marker": "_", "markersize": 20}
        axes.set_xlim(-0.5, len(places) - 0.5)
    axes.plot(x, own["bound"], color=INK, **ceiling)
    if sweep.names:
        axes.set_xticks(x, [sweep.names[place] for place in places])
    elif len(places) < 7:
        axes.set_xticks(x)


def _takeaway(rows: pd.DataFrame) -> str:
    words = []
    for variant in VARIANTS:
        lead = where(rows, variant=variant, group="rescue")["lead"]
        if lead.notna().any():
            words.append(f"by {percent(lead.min(), 0)} to {percent(lead.max(), 0)} {variant}")
    if not words:
        return "Some baseline earns nothing: no lead can be told"
    failed = where(rows, variant="unguarded", group="rescue")["failed"]
    return (
        f"RESCUE's profit differs from that of the best baseline {', '.join(words)}; unguarded it "
        f"lets {percent(failed.min(), 0)} to {percent(failed.max(), 0)} of the reserved tasks fail"
    )


def _span(low: float, high: float) -> str:
    return f"{percent(low)} to {percent(high)}"


def _each(
    what: str,
    value: float | str,
    computed: Callable[..., Callable[[pd.DataFrame], Any]],
    why: str = "",
) -> list[Published]:
    """Set a printed figure of RESCUE beside ours in both variants."""
    return [
        Published(f"{what}, {variant}", value, computed(policy=f"rescue{ending}"), True, why)
        for variant, ending in VARIANTS.items()
    ]


def _ratios(**at: Any) -> Callable[[pd.DataFrame], str]:
    """Return what tells the least and the largest share of OPT(LP)."""
    return lambda rows: _span(*(overall(end, "ratio", **at)(rows) for end in ("min", "max")))


def _leads(what: str, value: float, sweep: Sweep, place: Any) -> list[Published]:
    """Set a printed lead over the best baseline beside ours."""
    computed = partial(found, "lead", sweep=sweep.name, place=place)
    return _each(f"RESCUE above the best baseline, {what}", value, computed)


def _figure(
    number: str,
    title: str,
    sweeps: Sequence[Sweep],
    published: Sequence[Published],
    more: Sequence[str] = (),
) -> PaperFigure:
    about = "The paper speaks of all its figures together, this line of one."
    return PaperFigure(
        number=number,
        title=f"expected profit {title}",
        cells=partial(_cells, sweeps),
        rows=_rows,
        columns={
            "sweep": "Swept", "place": "Value", "policy": "Policy", "profit": "Expected profit",
            "bound": "OPT(LP)", "ratio": "Share of OPT(LP)", "own_ratio": "Share of own bound",
            "lead": "Above the best baseline", "failed": "Reserved tasks failed",
            "utilisation": "Utilisation",
        },
        draw=partial(_draw, sweeps=sweeps),
        takeaway=_takeaway,
        published=[
            *published,
            *_each("share of OPT(LP), all figures", _span(0.51, 0.87), _ratios, about),
            *_each("RESCUE above the best baseline on average, all figures", 0.60,
                   partial(overall, "mean", "lead"), about),
        ],
        caveats=[
            *OPEN,
            *more,
            "In full size means over 10 drawn instances, 200 runs each; the paper gives no number "
            "of runs.",
        ],
        percent=("ratio", "own_ratio", "lead", "failed", "utilisation"),
        caption="Mean over drawn instances, the same for all policies. Above, reserved tasks may "
        "fail, so that OPT(LP), which meets them all, is no bound there; below, "
        "none fails. What profits differ by from instance to instance stands with the rows.",
    )  # fmt: skip


FIGURES: Final = (
    _FIGURE_5,
    _figure(
        "6",
        "under different number, density and demand of reserved tasks",
        (_RESERVED, _DENSITY, _DEMAND),
        _leads("36 reserved tasks", 0.84, _RESERVED, 36),
        [
            "Where density is below demand, windows hold no more than they offer: 10 % of the "
            "capacity at a density of 10 %."
        ],
    ),
    _figure(
        "7",
        "under different arrival probabilities and deadlines",
        (_ARRIVAL, _SLA),
        [
            *_leads("arrivals in 70 % of the slots", 0.99, _ARRIVAL, 0.7),
            *_each(
                "share of OPT(LP), all deadlines", _span(0.74, 0.87), partial(_ratios, sweep="sla")
            ),
        ],
    ),
    _figure(
        "8",
        "under different numbers of profiles and distributions of durations",
        (_PROFILES, _DISTRIBUTION),
        [
            *_leads("8 profiles", 0.73, _PROFILES, 8),
            *_each(
                "share of OPT(LP), all numbers of profiles",
                _span(0.61, 0.87),
                partial(_ratios, sweep="profiles"),
            ),
            *_each(
                "share of OPT(LP), 8 profiles",
                0.875,
                partial(found, "ratio", sweep="profiles", place=8),
            ),
            *_each(
                "RESCUE above the baselines, mean over distributions",
                0.70,
                partial(overall, "mean", "lead", sweep="distribution"),
                "Ours is over the best of them, at each distribution.",
            ),
        ],
    ),
    _figure(
        "9",
        "with more servers and more types of tasks",
        (_SERVERS, _DEVICES),
        [
            *_leads("6 servers", 0.83, _SERVERS, 6),
            *_leads("18 types of tasks", 0.98, _DEVICES, 18),
        ],
        ["A type of tasks is a device here."],
    ),
)
"""In the order of the paper."""
