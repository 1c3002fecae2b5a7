"""Figures 6 to 10: latency, inaccuracy and gain over weights, loads and refresh periods."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.studies.figures import PaperFigure, Published, found, lead, means, said, swept
from edgeopt.studies.figures.drawing import curves, logarithmic
from edgeopt.studies.figures.reading import Named, by, extreme, monotone, unrolled, where
from edgeopt.studies.idn.figures.inputs import OPEN, PROFILES, RUNS, spec
from edgeopt.studies.wording import number, percent

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    import pandas as pd
    from matplotlib.figure import Figure

    from edgeopt.studies.result import Case
    from edgeopt.studies.sweeps import Cell

_TITLES: Final = {
    "infida": "INFIDA",
    "infida-offline": "INFIDA offline",
    "sg": "Static greedy",
    "olag": "OLAG",
}
"""The policies of the paper."""

_ALPHAS: Final = (0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
_WEIGHT: Final = "alpha, weight of inaccuracy (ms per percent)"
_MEANS: Final = "Means over drawn instances; bands are their 95 % intervals."


def _cells(
    quick: bool,
    over: dict[str, Sequence[Any]],
    policies: Collection[str] = _TITLES,
    few: slice = slice(1, None, 2),
    topology: int = 1,
    reading: Any = None,
    **settings: Any,
) -> list[Cell]:
    """List the cells of a sweep; a quick run takes `few` values of the last parameter."""
    taken = {**over, **{name: over[name][few] for name in list(over)[-1:] if quick}}
    seeds = range(1 if topology == 2 else 2 if quick else 5)
    at = partial(spec, quick, topology=topology, **settings)
    return swept("idn", at, policies, taken, seeds, runs=RUNS, reading=reading)


FIGURE_6 = PaperFigure(
    number="6",
    title="latency and inaccuracy of INFIDA over the weight of accuracy, topology I",
    cells=partial(
        _cells, over={"rate": (7500.0,), "alpha": (0.1, *_ALPHAS)}, policies=["infida"]
    ),
    rows=partial(means, metrics=("latency", "inaccuracy"), by=("rate", "policy", "alpha")),
    columns={"alpha": "alpha", "latency": "Latency (ms)", "inaccuracy": "Inaccuracy (%)"},
    draw=partial(
        curves, x="alpha", xlabel="alpha (ms per percent)", titles={"infida": "INFIDA"},
        metrics={"latency": "latency of a request (ms)", "inaccuracy": "inaccuracy (%)"},
    ),
    takeaway=said(
        "INFIDA serves requests in {fast:3} ms with {rough:3} % inaccuracy at the smallest alpha, "
        "in {slow:3} ms with {fine:3} % at the largest",
        fast=found("latency", alpha=min), rough=found("inaccuracy", alpha=min),
        slow=found("latency", alpha=max), fine=found("inaccuracy", alpha=max),
    ),
    published=[
        Published("latency (ms) rises with alpha", "yes", monotone("rises", "alpha", "latency")),
        Published("inaccuracy (%) falls as alpha grows", "yes",
                monotone("falls", "alpha", "inaccuracy")),
        Published(
            "latency (ms) at the smallest alpha", "a few",
            lambda rows: found("latency", alpha=min)(rows).value,
            why="The paper says so of alpha near 0; the smallest here is 0.1, in a quick run 0.5.",
        ),
    ],
    caveats=OPEN[:2],
    caption=_MEANS,
)  # fmt: skip


def _offline_ahead(rows: pd.DataFrame) -> str:
    wide = rows.pivot_table(index="alpha", columns="policy", values="value")
    worst = float((wide["infida-offline"] / wide["sg"] - 1.0).min())
    return f"{'yes' if worst >= 0 else 'no'}: at least {percent(worst, 2)}"


def _figure_7(part: str, topology: int, name: str) -> PaperFigure:
    return PaperFigure(
        number=f"7{part}",
        title=f"gain over the weight of accuracy, {name}, sliding popularity",
        cells=partial(
            _cells, over={"alpha": _ALPHAS}, topology=topology, popularity="sliding"
        ),
        rows=partial(means, metrics=("value",), by=("policy", "alpha")),
        columns={"policy": "Policy", "alpha": "alpha", "value": "NTAG (ms)"},
        draw=partial(
            curves, x="alpha", metrics={"value": "gain per request, NTAG (ms)"}, xlabel=_WEIGHT,
            titles=_TITLES,
        ),
        takeaway=said(
            "At the smallest alpha {first.title} gains most, {first:3} ms per request; at the "
            "largest {last.title} gains most, {last:3} ms, and {least.title} least, {least:3} ms",
            first=extreme("max", "value", _TITLES, alpha=min),
            last=extreme("max", "value", _TITLES, alpha=max),
            least=extreme("min", "value", _TITLES, alpha=max),
        ),
        published=[
            *(
                Published(f"{title}: NTAG (ms) falls as alpha grows", "yes",
                        monotone("falls", "alpha", "value", policy=policy))
                for policy, title in _TITLES.items()
            ),
            Published(
                "INFIDA offline ahead of static greedy at every alpha", "yes", _offline_ahead,
                why="INFIDA offline rounds a fractional placement once, static greedy chooses a "
                "whole one; which is better depends on the step and the number of iterations, "
                "which the paper does not give.",
            ),
        ],
        caveats=OPEN,
        caption=_MEANS,
    )  # fmt: skip


_EVERY: Final = {f"infida+every{slots}": f"INFIDA, every {slots} slots" for slots in (4, 8, 16, 32)}
_REFRESHED: Final = {**_EVERY, "infida+stretching": "INFIDA, growing period", "olag": "OLAG"}
_SO_FAR: Final = {"updates": "models fetched per slot, MU (MB)", "gain": "NTAG (ms)"}


def so_far(case: Case) -> dict[str, list[float]]:
    """Return the means over the runs of updates and gain up to each slot."""
    runs: Any
    [runs] = case.trajectories.values()
    series = {"updates": np.asarray(runs.fetched), "gain": np.asarray(runs.reward)}
    return {
        name: (np.cumsum(one.mean(axis=0)) / np.arange(1, one.shape[1] + 1)).tolist()
        for name, one in series.items()
    }


def _slots(table: pd.DataFrame) -> pd.DataFrame:
    long = unrolled(table, list(_SO_FAR), "slot", ["policy"], first=1)
    return (
        long.astype(dict.fromkeys(_SO_FAR, float))
        .groupby(["policy", "slot"], sort=False, as_index=False)
        .mean()
    )


def _draw_8(rows: pd.DataFrame) -> Figure:
    figure = curves(rows, "slot", _SO_FAR, xlabel="slot (minutes)", titles=_REFRESHED)
    logarithmic(figure.axes[0].yaxis, linear_below=10.0)
    figure.axes[0].set_ylim(bottom=0.0)
    return figure


def _fewer(rows: pd.DataFrame) -> str:
    updates = [by("updates", slot=max)(rows)[name] for name in _EVERY]
    figures = ", ".join(number(value, 3) for value in updates)
    return f"{'yes' if updates == sorted(updates, reverse=True) else 'no'}: {figures}"


def _above_olag(rows: pd.DataFrame) -> str:
    gain = by("gain", slot=max)(rows)
    above = [name for name in _EVERY if gain[name] >= gain["olag"]]
    figures = ", ".join(number(gain[name], 4) for name in _EVERY)
    return f"{len(above)} of {len(_EVERY)}: {figures}; OLAG {number(gain['olag'], 4)}"


_LAST: Final = {"updates": by("updates", slot=max), "gain": by("gain", slot=max)}

FIGURE_8 = PaperFigure(
    number="8",
    title="model updates and gain over time by refresh period, topology I, alpha 1",
    cells=partial(_cells, over={}, policies=_REFRESHED, reading=so_far, popularity="sliding"),
    rows=_slots,
    columns={
        "policy": "Policy", "slot": "Slot", "updates": "MU so far (MB per slot)",
        "gain": "NTAG so far (ms)",
    },
    draw=_draw_8,
    takeaway=said(
        "With a refresh every 32 instead of every 4 slots INFIDA fetches "
        "{updates[infida+every32]:3} instead of {updates[infida+every4]:3} MB per slot and gains "
        "{gain[infida+every32]:3} instead of {gain[infida+every4]:3} ms per request",
        **_LAST,
    ),
    published=[
        Published("updates (MB per slot) fall as the period grows from 4 to 32", "yes", _fewer),
        Published(
            "INFIDA above OLAG after the last slot (gain, ms)", "for every period", _above_olag,
            why="With a longer period an old deployment serves for longer after each change of "
            "popularity; the paper does not give its horizon.",
        ),
        Published(
            "a period that grows from 1 to 32 against a fixed one of 32",
            "the same updates in the end, faster and closer",
            said(
                "{updates[infida+stretching]:3} against {updates[infida+every32]:3} MB per slot, "
                "gain {gain[infida+stretching]:4} against {gain[infida+every32]:4} ms",
                **_LAST,
            ),
            why="Updates are averaged from the first slot on and include the many early ones.",
        ),
    ],
    caveats=(
        *OPEN,
        "The caption has periods 4, 8 and 16, the text 4, 8 and 32; all of them are shown here.",
    ),
    caption="Means up to each slot, over drawn instances and runs. Left: size of the fetched "
    "models per slot, logarithmic above 10 MB. Right: gain per request.",
)  # fmt: skip


def _loss(policy: str, rows: pd.DataFrame) -> float:
    """Return which share of the gain a policy loses because popularity slides."""
    own = where(rows, policy=policy).groupby("popularity")["value"].mean()
    return float(1.0 - own["sliding"] / own["fixed"])


def _most_lost(rows: pd.DataFrame) -> Named:
    losses = {name: _loss(name, rows) for name in _TITLES}
    most = max(losses, key=losses.__getitem__)
    return Named.of(losses[most], _TITLES[most])


_LIGHT: Final[dict[str, Any]] = {"popularity": "fixed", "rate": 7083.0}

FIGURE_9 = PaperFigure(
    number="9",
    title="gain under growing load, topology I, alpha 1",
    cells=partial(
        _cells, few=slice(None, None, 4),
        over={"popularity": list(PROFILES), "rate": (7083.0, 7500.0, 8333.0, 9167.0, 10000.0)},
    ),
    rows=partial(means, metrics=("value",), by=("popularity", "policy", "rate")),
    columns={
        "popularity": "Popularity", "policy": "Policy", "rate": "Requests per second",
        "value": "NTAG (ms)",
    },
    draw=partial(
        curves, x="rate", metrics={"value": "gain per request, NTAG (ms)"},
        xlabel="requests per second", titles=_TITLES, panels=("popularity", PROFILES),
    ),
    takeaway=said(
        "At fixed popularity and the lightest load {best.title} gains most, {best:4} ms per "
        "request; sliding popularity costs {lost.title} most, {lost:%} of its gain",
        best=extreme("max", "value", _TITLES, **_LIGHT), lost=_most_lost,
    ),
    published=[
        Published(
            "INFIDA above OLAG at 7,083 requests per second, fixed popularity", 0.10,
            lead("value", "infida", "olag", **_LIGHT), percent=True,
            why="OLAG as read here comes close to INFIDA.",
        ),
        Published(
            "INFIDA against INFIDA offline at 7,083 requests per second, fixed popularity",
            "the same", lead("value", "infida", "infida-offline", **_LIGHT), percent=True,
        ),
        Published("loss of INFIDA offline when popularity slides", 0.08,
                partial(_loss, "infida-offline"), percent=True),
        Published(
            "loss of static greedy when popularity slides", 0.30, partial(_loss, "sg"),
            percent=True,
            why="Static greedy plans here for the demand of all slots, as in equation (14).",
        ),
    ],
    caveats=(
        *OPEN,
        "The text gives 7,500 requests per second as the default; the figure begins at 7,083.",
    ),
    caption=_MEANS,
)  # fmt: skip

_RATES: Final = {rate: f"{rate:,.0f} requests per second" for rate in (7500.0, 10000.0)}


def _costs(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.assign(cost=rows["latency"] + rows["alpha"] * rows["inaccuracy"])


def _cheapest(rate: float, rows: pd.DataFrame) -> str:
    own = _costs(where(rows, rate=rate))
    wide = own.pivot_table(index="alpha", columns="policy", values="cost")
    first = wide[["infida", "infida-offline"]].min(axis=1)
    others = wide[["sg", "olag"]].min(axis=1)
    worst, count = float((first / others - 1.0).max()), int((first <= others).sum())
    return f"at {count} of {len(wide)} values of alpha; at worst {100 * worst:+.1f} %"


def _mean_costs(rows: pd.DataFrame) -> str:
    total = means(_costs(rows), ("cost",), ("policy",))
    return said(
        "The mean cost, latency plus alpha times inaccuracy, is lowest with {best.title}, {best:4} "
        "ms, and highest with {worst.title}, {worst:4} ms",
        best=extreme("min", "cost", _TITLES),
        worst=extreme("max", "cost", _TITLES),
    )(total)


FIGURE_10 = PaperFigure(
    number="10",
    title="latency against inaccuracy under two loads, topology II, fixed popularity",
    cells=partial(_cells, over={"rate": list(_RATES), "alpha": _ALPHAS}, topology=2),
    rows=FIGURE_6.rows,
    columns={
        "rate": "Requests per second", "policy": "Policy", "alpha": "alpha",
        "latency": "Latency (ms)", "inaccuracy": "Inaccuracy (%)",
    },
    draw=partial(
        curves, x="latency", metrics={"inaccuracy": "inaccuracy (%)"},
        xlabel="latency of a request (ms)", titles=_TITLES, panels=("rate", _RATES), along="alpha",
    ),
    takeaway=_mean_costs,
    published=[
        Published(
            f"INFIDA, online or offline, is the cheapest at {name}", "at every alpha",
            partial(_cheapest, rate),
            why="The paper says lowest latency and inaccuracy; at one alpha only their weighted "
            "sum is comparable.",
        )
        for rate, name in _RATES.items()
    ],
    caveats=OPEN,
    caption="One mark per weight alpha, which grows along a curve to the right. Means over drawn "
    "instances.",
)  # fmt: skip

FIGURES: Final = (
    FIGURE_6,
    _figure_7("a", 1, "topology I"),
    _figure_7("b", 2, "topology II"),
    FIGURE_8,
    FIGURE_9,
    FIGURE_10,
)
"""In the order of the paper."""
