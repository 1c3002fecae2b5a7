"""Figures 4f, 4g, 6 and 7: regret, fit and cost over the horizon and the noise."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.studies.edr.policies import FRAMEWISE, OFFLINE
from edgeopt.studies.wording import interval, number
from edgeopt_papers.edr.figures.growth import exponent
from edgeopt_papers.edr.figures.weeks import (
    BASELINES,
    CAVEATS,
    LEARNED,
    ONLINE,
    OPEN,
    OURS,
    OWN,
    PANELS,
    RIVALS,
    RL,
    SIDES,
    SMALLER,
    WEEKS,
    on_both_sides,
    sizes,
    weeks,
)
from edgeopt_papers.figures import CLOSE, PaperFigure, Published, found, means, said
from edgeopt_papers.figures.aggregates import by, overall, span, where
from edgeopt_papers.figures.comparing import against, compared, resolved, with_comparison
from edgeopt_papers.figures.drawing import curves

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from edgeopt.bounds import Growth
    from edgeopt.studies.sweeps import Job


def _horizons(quick: bool) -> list[Job]:
    shares = (1 / 8, 1 / 4, 1 / 2, 3 / 4, 1.0)
    return [job for share in shares for job in weeks(quick, (*ONLINE, FRAMEWISE), share=share)]


def _regrets(table: pd.DataFrame) -> pd.DataFrame:
    best = where(table, policy=FRAMEWISE)[["draw", "frames", "paid"]]
    own = table[table["policy"] != FRAMEWISE].merge(
        best.rename(columns={"paid": "best"}), on=["draw", "frames"]
    )
    own, both = on_both_sides(own.assign(regret=own["paid"] - own["best"])), ("regret", "fit")
    # The fit is a norm: it may be 0, but not negative.
    rows = means(own, both, ("parameters", "frames", "policy"))
    last = max(own.frames)
    for metric in both:
        ends, by = where(own, frames=last), ("parameters", "frames")
        found = compared(ends, metric, OWN, RIVALS, by, family="parameters")
        rows = with_comparison(rows, found)
    return rows


def _exponent(metric: str, rows: pd.DataFrame) -> Growth | None:
    """Fit a power of the horizon to a metric of PROPOSED, where that is possible."""
    own = where(rows, policy=OWN, parameters="tuned").sort_values("frames")
    values = own[metric].to_numpy(dtype=float)
    return exponent(own["frames"].to_numpy(dtype=np.int64), values, 0.95)


def _sublinear(metric: str, rows: pd.DataFrame) -> bool | None:
    """Tell whether a metric of PROPOSED grows sublinearly, as far as the horizons resolve it."""
    growth = _exponent(metric, rows)
    if growth is None or growth.low < 1.0 <= growth.high:
        return None
    return growth.high < 1.0


def _growth(metric: str) -> Callable[[pd.DataFrame], str]:
    """Say how a metric of PROPOSED grows, as far as a power of the horizon can be fitted."""

    def read(rows: pd.DataFrame) -> str:
        growth = _exponent(metric, rows)
        if growth is None:
            found = by(metric, "frames", policy=OWN, parameters="tuned")(rows)
            values = [found[frames] for frames in sorted(found)]
            return f"goes from {number(values[0], 3)} to {number(values[-1], 3)}"
        limits = interval(growth.low, growth.high, digits=2)
        return f"grows like T to the power of {number(growth.exponent, 2)} ({limits})"

    return read


_END: Final[dict[str, Any]] = {"parameters": "tuned", "frames": max}


def _growing(
    number: str, metric: str, unit: str, caption: str, why: str,
    further: tuple[Published, ...] = (),
) -> PaperFigure:  # fmt: skip
    return PaperFigure(
        number=number,
        title=f"dynamic {metric} over the length of the horizon",
        jobs=_horizons,
        rows=_regrets,
        columns={
            "parameters": "Parameters", "frames": "Frames T", "policy": "Policy",
            "regret": "Regret (points)", "fit": "Fit (rounds)",
        },
        draw=partial(
            curves, x="frames", metrics={metric: f"{metric} ({unit})"}, xlabel="frames T",
            titles=ONLINE, panels=PANELS,
        ),
        takeaway=said(
            f"PROPOSED's {metric} {{growth}}; after {{frames:.0f}} frames it is {{against}}. RL "
            f"then has {{rl:3}} {unit} and SCENARIO {{ours:3}}",
            growth=_growth(metric),
            frames=overall("max", "frames"),
            against=against(metric, BASELINES | RL, **_END),
            rl=found(metric, **_END, policy=LEARNED),
            ours=found(metric, **_END, policy=OURS),
        ),
        published=[
            Published(f"PROPOSED's {metric}", "grows sublinearly", _growth(metric),
                      rule=partial(_sublinear, metric), met="the exponent's interval is below 1",
                      why=why),
            *further,
        ],
        caveats=(WEEKS[0], CAVEATS["horizons"], *WEEKS[1:]),
        caption=f"{caption} Exponents are fitted to positive values over these horizons and hold "
        "for them alone.",
    )  # fmt: skip


_NOISE: Final = (-174.0, -169.0, -164.0, -159.0, -154.0)
_READINGS: Final = {
    "group": "one set of sites shares a band",
    "none": "nobody shares a band",
    "per_receiver": "each receiver hears sites of its own",
}
_SHORT: Final = {
    "group": "a set of sites shares", "none": "nobody shares", "per_receiver": "a set per receiver",
}  # fmt: skip
"""The same, above a panel."""


def _noisy(quick: bool) -> list[Job]:
    return [
        job
        for reuse in _READINGS
        for noise in (_NOISE[::4] if quick else _NOISE)
        for job in weeks(
            quick, (OWN, OFFLINE), reuse=reuse, noise=noise,
            **({} if quick else SMALLER),
        )
    ]  # fmt: skip


def _under_noise(table: pd.DataFrame) -> pd.DataFrame:
    table = table.assign(cost=[total[-1] for total in table["total"]])
    place = ["draw", "reuse", "noise"]
    bound = where(table, policy=OFFLINE)[[*place, "bound"]]
    own = table[table["policy"] != OFFLINE].drop(columns="bound").merge(bound, on=place)
    own = on_both_sides(own)
    quiet = where(own, noise=min)[["draw", "reuse", "parameters", "cost"]].rename(
        columns={"cost": "least"}
    )
    own = own.merge(quiet, on=["draw", "reuse", "parameters"])
    own = own.assign(ratio=own["cost"] / own["bound"], change=own["cost"] / own["least"] - 1.0)
    metrics = ("cost", "change", "ratio", "served_share")
    by = ("parameters", "reuse", "noise")
    return means(own, metrics, by, shares=("served_share",))


def _noise(
    number: str, title: str, axis: tuple[str, str, float], takeaway: Callable[[pd.DataFrame], str],
    published: list[Published],
) -> PaperFigure:  # fmt: skip
    metric, label, scale = axis
    return PaperFigure(
        number=number,
        title=f"{title} over the noise",
        jobs=_noisy,
        rows=_under_noise,
        columns={
            "parameters": "Parameters", "reuse": "Who hears whom", "noise": "Noise (dBm/Hz)",
            "cost": "Total cost", "change": "Against the least noise",
            "ratio": "In terms of OFFLINE", "served_share": "Requests served",
        },
        percent=("change", "served_share"),
        draw=partial(
            curves, x="noise", metrics={metric: label}, xlabel="noise (dBm/Hz)",
            titles=SIDES, series="parameters", panels=("reuse", _SHORT), scale=scale,
            ticks=_NOISE[::2],
        ),
        takeaway=takeaway,
        published=published,
        caveats=(OPEN[0], CAVEATS["noise"], partial(sizes, **SMALLER), *OPEN[1:]),
        caption="PROPOSED.",
    )  # fmt: skip


_CHANGES: Final = {
    reuse: found("change", reuse=reuse, noise=max, parameters="tuned") for reuse in _READINGS
}


_BELOW: Final = (
    "The regret falls below zero where training waits for better times than the comparator's even "
    "rate, and no power of the horizon can be fitted to such values."
)

_DROWNED: Final = {
    "group": "Noise is part of what limits most links, as few of them are disturbed.",
    "none": "Noise alone limits links, so that twenty decibels of it tell.",
    "per_receiver": "Other sites drown the noise.",
}
"""Why the cost follows the noise or does not, by who hears whom."""

_LUCK: Final = {
    "group": "A frame's band makes rounds dear or cheap, and OFFLINE knows the cheap frames.",
    "none": "Without others in the band frames are alike, and OFFLINE knows little more.",
    "per_receiver": "Links are so slow that both leave the same requests unserved, which is most "
    "of the cost.",
}
"""Why the ratio to OFFLINE is another one, by who hears whom."""


def _marginal(reuse: str, rows: pd.DataFrame) -> bool:
    """Tell whether the cost changes by 5 % at most."""
    return abs(_CHANGES[reuse](rows).value) <= 0.05


FIGURES: Final = (
    _growing(
        "4f", "regret", "points",
        "Cost, without late rounds, beyond that of the best plan of every frame for itself that "
        "trains at the even rate; below zero where a policy trains less, or at better times.",
        _BELOW,
        (
            Published("PROPOSED's regret at the longest horizon", "below GREEDY, OASDR, LYNO",
                      against("regret", BASELINES, **_END),
                      rule=resolved("regret", BASELINES, **_END),
                      why="Late rounds are no part of the regret: who trains less has less of it."),
            Published("PROPOSED's regret against RL's", "below", against("regret", RL, **_END),
                      rule=resolved("regret", RL, **_END),
                      why="Late rounds are no part of the regret."),
        ),
    ),
    _growing("4g", "fit", "rounds",
             "Norm of the rounds by which tasks lag behind their even rates at the end.",
             "With a guard on deadlines few rounds are left at any horizon; the fit is 0 or some "
             "rounds, by the draw."),
    _noise(
        "6", "total cost", ("change", "change of the total cost (%)", 100.0),
        said(
            "From the least to the most noise the cost changes by "
            + ", ".join(f"{{{reuse}:%}} where {title}" for reuse, title in _READINGS.items()),
            **_CHANGES,
        ),
        [
            Published(f"cost at the most noise against the least, where {title}",
                      "varies marginally", _CHANGES[reuse], percent=True,
                      rule=partial(_marginal, reuse), met="by at most 5 %", why=_DROWNED[reuse])
            for reuse, title in _READINGS.items()
        ],
    ),
    _noise(
        "7", "competitive ratio", ("ratio", "total cost in terms of OFFLINE", 1.0),
        said(
            "PROPOSED costs, in terms of OFFLINE, "
            + ", ".join(f"{{{reuse}}} where {title}" for reuse, title in _READINGS.items()),
            **{reuse: span("ratio", reuse=reuse, parameters="tuned") for reuse in _READINGS},
        ),
        [
            Published(f"{which} ratio, where {title}", value,
                      overall(how, "ratio", reuse=reuse, parameters="tuned"), rule=CLOSE,
                      why=_LUCK[reuse])
            for reuse, title in _READINGS.items()
            for which, value, how in (("least", 1.17, "min"), ("largest", 1.20, "max"))
        ],
    ),
)  # fmt: skip
