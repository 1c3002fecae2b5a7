"""Figures 6 to 10: latency, inaccuracy and gain over weights, loads and refresh periods."""

from __future__ import annotations

from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt_papers.figures import found, lead, means, said
from edgeopt_papers.figures.aggregates import Named, by, unrolled, where
from edgeopt_papers.figures.drawing import curves, logarithmic
from edgeopt_papers.idn.figures.setting import (
    DESCRIBED,
    OPEN,
    PROFILES,
    TITLES,
    Check,
    Evaluation,
    Statement,
    ahead,
    along,
    jobs,
    near,
    within,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pandas as pd
    from matplotlib.figure import Figure

    from edgeopt.studies.results import Case

_ALPHAS: Final = (0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
_AXES: Final = {"alpha": "alpha (ms per percent)", "rate": "requests per second"}
_GAIN: Final = {"value": "gain per request, NTAG (ms)"}
_COSTS: Final = {"latency": "latency of a request (ms)", "inaccuracy": "inaccuracy (%)"}
_HEADINGS: Final = {
    "popularity": "Popularity", "rate": "Requests per second", "policy": "Policy",
    "alpha": "alpha", "latency": "Latency (ms)", "inaccuracy": "Inaccuracy (%)",
    "value": "NTAG (ms)",
}  # fmt: skip

_OFFLINE: Final = "infida-offline+mean"
_GREEDY: Final = "sg+published"
_OLAG: Final = "olag+literal"
_SHARED: Final = "olag+forwarded"


def _figure(
    number: str,
    title: str,
    over: Mapping[str, Sequence[Any]],
    metrics: Mapping[str, str],
    takeaway: Callable[[pd.DataFrame], str],
    statements: Sequence[Statement],
    *,
    attachment: str = "common",
    topology: int = 1,
    policies: Mapping[str, str] = TITLES,
    style: Mapping[str, Any] = MappingProxyType({}),
    caveats: Sequence[str] = OPEN,
    caption: str = "",
    **settings: Any,
) -> Evaluation:
    """Return the figure of a sweep: curves over its last parameter."""
    *others, last = over
    by = (*others, "policy", last)
    axes = {"x": last, "xlabel": _AXES[last], "metrics": metrics, "titles": policies}
    return Evaluation.of(
        number,
        title,
        attachment=attachment,
        jobs=partial(jobs, over=over, policies=policies, **settings),
        statements=statements,
        topology=topology,
        rows=partial(means, metrics=tuple(metrics), by=by),
        columns={name: one for name, one in _HEADINGS.items() if name in (*by, *metrics)},
        draw=partial(curves, **{**axes, **style}),
        takeaway=takeaway,
        caveats=caveats,
        caption=caption,
    )


def _sudden(rows: pd.DataFrame) -> Check:
    """Check that latency grows mostly from one alpha to the next: by 40 % of its range."""
    latency = rows.sort_values("alpha")["latency"].to_numpy(dtype=float)
    jump = float(np.diff(latency).max() / np.ptp(latency))
    return Check(int(jump >= 0.4), value=jump)


_FIGURE_6: Final = _figure(
    "6",
    "latency and inaccuracy of INFIDA over the weight of accuracy, topology I",
    {"alpha": (0.1, *_ALPHAS)},
    _COSTS,
    said(
        "INFIDA serves requests in {fast:3} ms with {rough:3} % inaccuracy at the smallest alpha, "
        "in {slow:3} ms with {fine:3} % at the largest",
        fast=found("latency", alpha=min), rough=found("inaccuracy", alpha=min),
        slow=found("latency", alpha=max), fine=found("inaccuracy", alpha=max),
    ),
    [
        Statement(
            "6", "latency at alpha near 0", "a few milliseconds", "at most 5 ms",
            within(lambda rows: found("latency", alpha=min)(rows).value, 0.0, 5.0), "ms",
        ),
        Statement("6", "latency over alpha", "rises", "at every step",
                  along("alpha", "latency", ["infida"], 1),
                  why="Where it does not, it falls by less than the draws differ."),
        Statement("6", "inaccuracy over alpha", "falls", "at every step",
                  along("alpha", "inaccuracy", ["infida"], -1)),
        Statement("6", "largest step of latency", "a sudden change",
                  "at least 40 % of its range", _sudden,
                  why="Alpha is 1 apart, or 2 in a quick run, whose steps are twice as large."),
    ],
    attachment="all",
    policies={"infida": "INFIDA"},
    caveats=OPEN[:3],
    few=slice(None, None, 2),
)  # fmt: skip


def _figure_7(part: str, topology: int, name: str) -> Evaluation:
    return _figure(
        f"7{part}",
        f"gain over the weight of accuracy, sliding popularity, {name}",
        {"alpha": _ALPHAS},
        _GAIN,
        said(
            "INFIDA gains {low[infida]:3} ms per request at the smallest alpha and "
            "{high[infida]:3} ms at the largest, OLAG as printed "
            "{low[olag+literal]:3} and {high[olag+literal]:3} ms; with hindsight, static "
            "greedy for the mean demand gains {low[sg+published]:3} and "
            "{high[sg+published]:3} ms",
            low=by("value", alpha=min), high=by("value", alpha=max),
        ),
        [
            Statement(f"7{part}", "gain over alpha", "falls", "with every policy, at every step",
                      along("alpha", "value", DESCRIBED, -1)),
            Statement(f"7{part}", "INFIDA offline over static greedy", "ahead", "at every alpha",
                      ahead("alpha", "value", [_OFFLINE], [_GREEDY]),
                      why="Behind at alpha 5 alone, by a tenth of a millisecond or 2 %: static "
                      "greedy fills its memory there before it stops."),
            Statement(f"7{part}", "INFIDA over both offline policies", "ahead", "at every alpha",
                      ahead("alpha", "value", ["infida"], [_OFFLINE, _GREEDY])),
        ],
        topology=topology,
        popularity="sliding",
    )  # fmt: skip


_EVERY: Final = {f"infida+every{slots}": f"INFIDA, every {slots} slots" for slots in (4, 8, 16, 32)}
_REFRESHED: Final = {
    **_EVERY,
    "infida+stretching": "INFIDA, growing period",
    **{name: TITLES[name] for name in (_OLAG, _SHARED, "olag")},
}
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


def _fewer_updates(rows: pd.DataFrame) -> Check:
    """Check that updates fall from each period to the next; the number is the fall in all."""
    last = _LAST["updates"](rows)
    updates = np.array([last[name] for name in _EVERY])
    return Check(int((np.diff(updates) < 0).sum()), len(_EVERY) - 1, 1.0 - updates[-1] / updates[0])


def _late_updates(rows: pd.DataFrame) -> float:
    """Return what OLAG fetches per slot in the last third of the slots, MB."""
    own = where(rows, policy=_OLAG).sort_values("slot")["updates"].to_numpy(dtype=float)
    before = 2 * own.size // 3
    return float((own.size * own[-1] - before * own[before - 1]) / (own.size - before))


def _stretched(metric: str, rows: pd.DataFrame) -> float:
    last = _LAST[metric](rows)
    return last["infida+stretching"] / last["infida+every32"] - 1.0


_FIGURE_8: Final = Evaluation.of(
    "8",
    "model updates and gain over time by refresh period, topology I, alpha 1",
    attachment="common",
    jobs=partial(jobs, over={}, policies=_REFRESHED, aggregate=so_far, popularity="sliding"),
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
    statements=[
        Statement("8a", "fall of updates from period 4 to 32", "falls",
                  "from each of 4, 8, 16, 32 to the next", _fewer_updates),
        Statement("8a", "updates of OLAG, last third of the slots", "rarely",
                  "at most 100 MB per slot", within(_late_updates, 0.0, 100.0), "MB"),
        Statement(
            "8b", "INFIDA over OLAG in the end", "above", "with every period",
            ahead("slot", "gain", list(_EVERY), [_OLAG], slot=max),
            why="With the longest period an old deployment serves for up to 31 slots of an hour "
            "after each change of popularity, which takes half of the lead that a period of 4 has.",
        ),
        Statement(
            "8a", "updates, growing period against 32", "the same in the end", "within 10 %",
            within(partial(_stretched, "updates"), -0.1, 0.1),
            why="A third more: the mean is taken from the first slot on, and the 60 slots in which "
            "the period grows draw more deployments than a period of 32 does; over the slots "
            "after them both fetch the same.",
        ),
        Statement("8b", "gain, growing period against 32", "more", "",
                  within(partial(_stretched, "gain"), 0.0, np.inf)),
    ],
    caveats=(
        *OPEN,
        "The caption has periods 4, 8 and 16, the text 4, 8 and 32; all are shown.",
    ),
    caption="Means up to each slot, over drawn instances and runs. Left: size of the fetched "
    "models per slot, logarithmic above 10 MB. Right: gain per request.",
)  # fmt: skip


def _loss(policy: str, rows: pd.DataFrame, **at: Any) -> float:
    """Return which share of the gain a policy loses because popularity slides."""
    own = where(rows, policy=policy, **at).groupby("popularity")["value"].mean()
    return float(1.0 - own["sliding"] / own["fixed"])


def _most_lost(rows: pd.DataFrame) -> Named:
    losses = {name: _loss(name, rows) for name in DESCRIBED}
    most = max(losses, key=losses.__getitem__)
    return Named(losses[most], DESCRIBED[most].removesuffix(" (hindsight)"))


_LIGHT: Final[dict[str, Any]] = {"popularity": "fixed", "rate": 7083.0}


def _heavier(rows: pd.DataFrame) -> Check:
    light, heavy = (_loss(_GREEDY, rows, rate=rate) for rate in (7083.0, 10000.0))
    return Check(int(heavy > light), value=heavy)


def _olag_by_load(rows: pd.DataFrame) -> float:
    gain = by("value", "rate", policy=_OLAG, popularity="fixed")(rows)
    return 1.0 - gain[10000.0] / gain[7083.0]


def _most_changed(rows: pd.DataFrame) -> float:
    """Return how far the gain of INFIDA falls over all loads and profiles."""
    own = where(rows, policy="infida")["value"]
    return float(1.0 - own.min() / found("value", policy="infida", **_LIGHT)(rows).value)


_FIGURE_9: Final = _figure(
    "9",
    "gain under growing load, topology I, alpha 1",
    {"popularity": list(PROFILES), "rate": (7083.0, 7500.0, 8333.0, 9167.0, 10000.0)},
    _GAIN,
    said(
        "At fixed popularity and 7,083 requests per second INFIDA gains {ahead:%} more than OLAG "
        "as printed, {less:%} more where copies share a counter, and {close:%} more than OLAG of "
        "requests seen; sliding popularity costs {lost.title} most, {lost:%} of its gain",
        ahead=lead("value", "infida", _OLAG, **_LIGHT),
        less=lead("value", "infida", _SHARED, **_LIGHT),
        close=lead("value", "infida", "olag", **_LIGHT), lost=_most_lost,
    ),
    [
        Statement("9a", "INFIDA over INFIDA offline", "the same",
                  "within 1 % at 7,083 requests/s",
                  within(lead("value", "infida", _OFFLINE, **_LIGHT), -0.01, 0.01)),
        Statement("9a", "INFIDA over OLAG, fixed popularity", 0.10,
                  "within a third, at 7,083 requests/s",
                  near(lead("value", "infida", _OLAG, **_LIGHT), 0.10)),
        Statement("9a", "INFIDA over OLAG with shared counters, fixed popularity", 0.10,
                  "within a third, at 7,083 requests/s",
                  near(lead("value", "infida", _SHARED, **_LIGHT), 0.10)),
        Statement("9a", "loss of OLAG by load, fixed popularity", "deteriorates",
                  "at least 1 % from 7,083 to 10,000 requests/s",
                  within(_olag_by_load, 0.01, 1.0),
                  why="It falls by 0.7 to 0.9 %, short of the 1 % that counts as met here."),
        Statement("9b", "loss of OLAG by sliding popularity", "suffers visibly", "at least 1 %",
                  within(partial(_loss, _OLAG), 0.01, 1.0)),
        Statement("9b", "loss of INFIDA offline by sliding popularity", 0.08,
                  "within a third, at 7,083 requests/s",
                  near(partial(_loss, _OFFLINE, rate=7083.0), 0.08),
                  why="Between 3 and 8 % by the stations that are drawn, and up to 21 % with other "
                  "steps of the offline run, which are not printed."),
        Statement("9b", "loss of static greedy by sliding popularity", 0.30,
                  "within a third, at 7,083 requests/s",
                  near(partial(_loss, _GREEDY, rate=7083.0), 0.30),
                  why="The farther apart two common stations are, the less memory the plan has "
                  "filled when it stops, and the more it loses."),
        Statement("9b", "the same loss at 10,000 requests/s", "gets worse",
                  "above that at 7,083 requests/s", _heavier),
        Statement("9", "loss of INFIDA by load and popularity", "preserves its gain",
                  "at most 3 % over all loads and profiles", within(_most_changed, -1.0, 0.03)),
    ],
    caveats=(
        *OPEN,
        "The text gives 7,500 requests per second as the default; the figure begins at 7,083.",
    ),
    few=slice(None, None, 4),
    style={"panels": ("popularity", PROFILES)},
)  # fmt: skip

_RATES: Final = {rate: f"{rate:,.0f} requests per second" for rate in (7500.0, 10000.0)}


def _costs(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.assign(cost=rows["latency"] + rows["alpha"] * rows["inaccuracy"])


def _cheapest(
    policies: Sequence[str], others: Sequence[str], rows: pd.DataFrame, **at: Any
) -> Check:
    """Check at which loads and alphas the best of some policies costs no more than all others."""
    wide = _costs(where(rows, **at)).pivot_table(
        index=["rate", "alpha"], columns="policy", values="cost"
    )
    more = wide[list(policies)].min(axis=1) / wide[list(others)].min(axis=1) - 1.0
    return Check(int((more <= 0).sum()), len(more), float(more.max()))


def _mean_costs(rows: pd.DataFrame) -> str:
    total = means(_costs(rows), ("cost",), ("policy",))
    return said(
        "The mean cost, latency plus alpha times inaccuracy, is {cost[infida]:4} ms with INFIDA "
        "and {cost[olag+literal]:4} ms with OLAG as printed; with hindsight, "
        "{cost[infida-offline+mean]:4} ms with INFIDA offline and {cost[sg+published]:4} ms with "
        "static greedy",
        cost=by("cost"),
    )(total)


_FIGURE_10: Final = _figure(
    "10",
    "latency against inaccuracy under two loads, topology II, fixed popularity",
    {"rate": list(_RATES), "alpha": _ALPHAS},
    _COSTS,
    _mean_costs,
    [
        *(
            Statement(
                "10", f"cost of INFIDA or offline over others, {short}", "cheapest",
                f"at every alpha, {name}",
                partial(_cheapest, ["infida", _OFFLINE], [_GREEDY, _OLAG], rate=rate),
                why="A tenth of a percent dearer, at alpha 5 alone, where static greedy fills its "
                "memory before it stops. The paper says lowest latency and inaccuracy; at one "
                "alpha only their weighted sum is comparable.",
            )
            for short, (rate, name) in zip(("7,500/s", "10,000/s"), _RATES.items(), strict=True)
        ),
        Statement("10", "cost of INFIDA offline over INFIDA", "at most 0", "at all of these",
                  partial(_cheapest, [_OFFLINE], ["infida"])),
    ],
    style={
        "x": "latency", "xlabel": _COSTS["latency"], "along": "alpha", "panels": ("rate", _RATES),
        "metrics": {"inaccuracy": _COSTS["inaccuracy"]},
    },
    caption="One mark per weight alpha, which grows along a curve to the right.",
    topology=2,
)  # fmt: skip

EVALUATIONS: Final = (
    _FIGURE_6,
    _figure_7("a", 1, "topology I"),
    _figure_7("b", 2, "topology II"),
    _FIGURE_8,
    _FIGURE_9,
    _FIGURE_10,
)
"""In the order of the paper."""
