"""Figures 6 to 10: latency, inaccuracy and gain over weights, loads and refresh periods."""

from __future__ import annotations

from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.studies.figures import PaperFigure, Published, found, lead, means, said, swept
from edgeopt.studies.figures.drawing import curves, logarithmic
from edgeopt.studies.figures.reading import Named, by, extreme, monotone, unrolled, where
from edgeopt.studies.idn.figures.inputs import OPEN, PROFILES, RUNS, spec
from edgeopt.studies.wording import percent

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

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
_AXES: Final = {"alpha": "alpha (ms per percent)", "rate": "requests per second"}
_GAIN: Final = {"value": "gain per request, NTAG (ms)"}
_COSTS: Final = {"latency": "latency of a request (ms)", "inaccuracy": "inaccuracy (%)"}
_HEADINGS: Final = {
    "popularity": "Popularity", "rate": "Requests per second", "policy": "Policy",
    "alpha": "alpha", "latency": "Latency (ms)", "inaccuracy": "Inaccuracy (%)",
    "value": "NTAG (ms)",
}  # fmt: skip


def _cells(
    quick: bool,
    over: Mapping[str, Sequence[Any]],
    policies: Collection[str],
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


def _figure(
    number: str,
    title: str,
    over: Mapping[str, Sequence[Any]],
    metrics: Mapping[str, str],
    takeaway: Callable[[pd.DataFrame], str],
    published: Sequence[Published],
    *,
    policies: Mapping[str, str] = _TITLES,
    look: Mapping[str, Any] = MappingProxyType({}),
    caveats: Sequence[str] = OPEN,
    caption: str = "Means over drawn instances; bands are their 95 % intervals.",
    **settings: Any,
) -> PaperFigure:
    """Return the figure of a sweep: curves over its last parameter."""
    *others, last = over
    by = (*others, "policy", last)
    axes = {"x": last, "xlabel": _AXES[last], "metrics": metrics, "titles": policies}
    return PaperFigure(
        number=number,
        title=title,
        cells=partial(_cells, over=over, policies=policies, **settings),
        rows=partial(means, metrics=tuple(metrics), by=by),
        columns={name: one for name, one in _HEADINGS.items() if name in (*by, *metrics)},
        draw=partial(curves, **{**axes, **look}),
        takeaway=takeaway,
        published=published,
        caveats=caveats,
        caption=caption,
    )


_FIGURE_6: Final = _figure(
    "6",
    "latency and inaccuracy of INFIDA over the weight of accuracy, topology I",
    {"rate": (7500.0,), "alpha": (0.1, *_ALPHAS)},
    _COSTS,
    said(
        "INFIDA serves requests in {fast:3} ms with {rough:3} % inaccuracy at the smallest alpha, "
        "in {slow:3} ms with {fine:3} % at the largest",
        fast=found("latency", alpha=min), rough=found("inaccuracy", alpha=min),
        slow=found("latency", alpha=max), fine=found("inaccuracy", alpha=max),
    ),
    [
        Published("latency (ms) rises with alpha", "yes", monotone("rises", "alpha", "latency")),
        Published("inaccuracy (%) falls as alpha grows", "yes",
                  monotone("falls", "alpha", "inaccuracy")),
        Published(
            "latency (ms) at the smallest alpha", "a few",
            lambda rows: found("latency", alpha=min)(rows).value,
            why="The paper says so of alpha near 0; the smallest here is 0.1, in a quick run 0.5.",
        ),
    ],
    policies={"infida": "INFIDA"},
    caveats=OPEN[:2],
)  # fmt: skip


def _offline_ahead(rows: pd.DataFrame) -> str:
    wide = rows.pivot_table(index="alpha", columns="policy", values="value")
    worst = float((wide["infida-offline"] / wide["sg"] - 1.0).min())
    return f"{'yes' if worst >= 0 else 'no'}: at least {percent(worst, 2)}"


def _figure_7(part: str, topology: int, name: str) -> PaperFigure:
    falling = {
        title: monotone("falls", "alpha", "value", policy=policy)
        for policy, title in _TITLES.items()
    }
    return _figure(
        f"7{part}",
        f"gain over the weight of accuracy, {name}, sliding popularity",
        {"alpha": _ALPHAS},
        _GAIN,
        said(
            "At the smallest alpha {first.title} gains most, {first:3} ms per request; at the "
            "largest {last.title} gains most, {last:3} ms, and {least.title} least, {least:3} ms",
            first=extreme("max", "value", _TITLES, alpha=min),
            last=extreme("max", "value", _TITLES, alpha=max),
            least=extreme("min", "value", _TITLES, alpha=max),
        ),
        [
            *(Published(f"{title}: NTAG (ms) falls as alpha grows", "yes", reader)
              for title, reader in falling.items()),
            Published(
                "INFIDA offline ahead of static greedy at every alpha", "yes", _offline_ahead,
                why="INFIDA offline rounds a fractional placement once, static greedy chooses a "
                "whole one; which is better depends on the step and the number of iterations, "
                "which the paper does not give.",
            ),
        ],
        topology=topology,
        popularity="sliding",
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
    return long.groupby(["policy", "slot"], sort=False, as_index=False).mean()


def _draw_8(rows: pd.DataFrame) -> Figure:
    figure = curves(rows, "slot", _SO_FAR, xlabel="slot (minutes)", titles=_REFRESHED)
    logarithmic(figure.axes[0].yaxis, linear_below=10.0)
    figure.axes[0].set_ylim(bottom=0.0)
    return figure


_LAST: Final = {"updates": by("updates", slot=max), "gain": by("gain", slot=max)}

_FIGURE_8: Final = PaperFigure(
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
        Published("updates (MB per slot) with periods 4, 8, 16 and 32", "fall as the period grows",
                  said(", ".join(f"{{updates[{name}]:3}}" for name in _EVERY), **_LAST)),
        Published(
            "gain (ms) with these periods", "above OLAG with every period",
            said(
                ", ".join(f"{{gain[{name}]:4}}" for name in _EVERY) + "; OLAG {gain[olag]:4}",
                **_LAST,
            ),
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
        "The caption has periods 4, 8 and 16, the text 4, 8 and 32; all of them are shown here. A "
        "quick run has 40 slots: a period of 32 then draws two deployments, and the stretching "
        "period ends at 21.",
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
    return Named(losses[most], _TITLES[most])


_LIGHT: Final[dict[str, Any]] = {"popularity": "fixed", "rate": 7083.0}

_FIGURE_9: Final = _figure(
    "9",
    "gain under growing load, topology I, alpha 1",
    {"popularity": list(PROFILES), "rate": (7083.0, 7500.0, 8333.0, 9167.0, 10000.0)},
    _GAIN,
    said(
        "At fixed popularity and the lightest load {best.title} gains most, {best:4} ms per "
        "request; sliding popularity costs {lost.title} most, {lost:%} of its gain",
        best=extreme("max", "value", _TITLES, **_LIGHT), lost=_most_lost,
    ),
    [
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
    few=slice(None, None, 4),
    look={"panels": ("popularity", PROFILES)},
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


_FIGURE_10: Final = _figure(
    "10",
    "latency against inaccuracy under two loads, topology II, fixed popularity",
    {"rate": list(_RATES), "alpha": _ALPHAS},
    _COSTS,
    _mean_costs,
    [
        Published(
            f"INFIDA, online or offline, is the cheapest at {name}", "at every alpha",
            partial(_cheapest, rate),
            why="The paper says lowest latency and inaccuracy; at one alpha only their weighted "
            "sum is comparable.",
        )
        for rate, name in _RATES.items()
    ],
    look={
        "x": "latency", "xlabel": _COSTS["latency"], "along": "alpha", "panels": ("rate", _RATES),
        "metrics": {"inaccuracy": _COSTS["inaccuracy"]},
    },
    caption="One mark per weight alpha, which grows along a curve to the right. Means over drawn "
    "instances.",
    topology=2,
)  # fmt: skip

FIGURES: Final = (
    _FIGURE_6,
    _figure_7("a", 1, "topology I"),
    _figure_7("b", 2, "topology II"),
    _FIGURE_8,
    _FIGURE_9,
    _FIGURE_10,
)
"""In the order of the paper."""
