"""Figures 6 to 9: profits over reserved work, load, deadlines, profiles, servers and devices."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal

from edgeopt.studies.exhibits import Exhibit, Printed, found
from edgeopt.studies.rescue.exhibits.sweeps import (
    OPEN,
    VARIANTS,
    Sweep,
    cells,
    draw,
    rows,
)
from edgeopt.studies.wording import percent

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pandas as pd

__all__ = ["SWEPT"]

_INSTANCES: Final = 10

_RESERVED = Sweep("reserved", "reserved tasks", (6, 12, 18, 24, 30, 36))
_DENSITY = Sweep("density", "density (%)", (0.1, 0.2, 0.3, 0.4, 0.5, 0.6), percent=True)
_DEMAND = Sweep("demand", "demand (%)", (0.05, 0.1, 0.15, 0.2, 0.25, 0.3), percent=True)
_ARRIVAL = Sweep(
    "arrival", "mean probability of an arrival (%)", (0.2, 0.3, 0.4, 0.5, 0.6, 0.7), percent=True
)
_SLA = Sweep("sla", "mean deadline (slots)", (18, 20, 22, 24, 26, 28))
_PROFILES = Sweep("profiles", "profiles", (3, 4, 5, 6, 7, 8))
_DISTRIBUTION = Sweep(
    "distribution", "distribution of durations", ("normal", "bimodal", "uniform", "heavy"),
    names={"normal": "normal", "bimodal": "bimodal", "uniform": "uniform", "heavy": "heavy tail"},
)  # fmt: skip
_SERVERS = Sweep("servers", "servers", (2, 3, 4, 5, 6, 7), few=(2, 6))
_DEVICES = Sweep("devices", "devices", (10, 12, 14, 16, 18))

_COLUMNS: Final = {
    "sweep": "Swept",
    "place": "Value",
    "policy": "Policy",
    "profit": "Expected profit",
    "bound": "OPT(LP)",
    "ratio": "Share of OPT(LP)",
    "own_ratio": "Share of own bound",
    "lead": "Above the best baseline",
    "failed": "Reserved tasks failed",
    "utilisation": "Utilisation",
}

_CAPTION: Final = (
    "Mean over drawn instances, the same for all policies. Above, reserved tasks may fail, so that "
    "OPT(LP), which meets them all, is a yardstick there and no bound; below, none fails. What "
    "profits differ by from instance to instance stands with the rows."
)


def _own(rows: pd.DataFrame, variant: str, family: str = "rescue") -> pd.DataFrame:
    return rows[(rows["variant"] == variant) & (rows["family"] == family)]


def _span(low: float, high: float) -> str:
    return f"{percent(low)} to {percent(high)}"


def _ratios(variant: str, sweep: str = "") -> Callable[[pd.DataFrame], str]:
    """Return what tells the least and the largest share of OPT(LP) that RESCUE has."""

    def read(rows: pd.DataFrame) -> str:
        own = _own(rows, variant)
        own = own[own["sweep"] == sweep] if sweep else own
        return _span(own["ratio"].min(), own["ratio"].max())

    return read


def _mean_lead(variant: str, sweep: str = "") -> Callable[[pd.DataFrame], float]:
    def read(rows: pd.DataFrame) -> float:
        own = _own(rows, variant)
        return float((own[own["sweep"] == sweep] if sweep else own)["lead"].mean())

    return read


def _notice(rows: pd.DataFrame) -> str:
    said = []
    for variant in VARIANTS:
        lead = _own(rows, variant)["lead"]
        if lead.notna().any():
            said.append(f"by {percent(lead.min(), 0)} to {percent(lead.max(), 0)} {variant}")
    if not said:
        return "Some baseline earns nothing: no lead can be told"
    failed = _own(rows, "unguarded")["failed"]
    return (
        f"RESCUE's profit differs from that of the best baseline {', '.join(said)}; unguarded it "
        f"lets {percent(failed.min(), 0)} to {percent(failed.max(), 0)} of the reserved tasks fail"
    )


def _leads(what: str, value: float, sweep: Sweep, place: Any) -> list[Printed]:
    """Set a printed lead over the best baseline beside ours, in both variants."""
    return [
        Printed(
            what=f"RESCUE above the best baseline, {what}, {variant}",
            value=value,
            ours=found("lead", sweep=sweep.name, place=place, policy=f"rescue{ending}"),
            percent=True,
        )
        for variant, ending in VARIANTS.items()
    ]


def _each(
    what: str,
    value: float | str,
    ours: Callable[[str], Callable[[pd.DataFrame], Any]],
    why: str = "",
) -> list[Printed]:
    return [
        Printed(what=f"{what}, {variant}", value=value, ours=ours(variant), percent=True, why=why)
        for variant in VARIANTS
    ]


def _everywhere() -> list[Printed]:
    """Set what the paper says of all its figures beside what ours in this one are."""
    about = "The paper speaks of all its figures together, this line of one."
    above = "RESCUE above the best baseline on average, all figures"
    return [
        *_each("share of OPT(LP), all figures", _span(0.51, 0.87), _ratios, about),
        *_each(above, 0.60, _mean_lead, about),
    ]


def _exhibit(
    number: Literal["6", "7", "8", "9"],
    title: str,
    sweeps: Sequence[Sweep],
    printed: Sequence[Printed],
    more: Sequence[str] = (),
) -> Exhibit:
    drawn = (
        f"In full size means over {_INSTANCES} drawn instances, 200 runs each; the paper gives no "
        "number of runs."
    )
    return Exhibit(
        kind="figure",
        number=number,
        title=title,
        cells=partial(cells, sweeps, _INSTANCES),
        rows=rows,
        columns=_COLUMNS,
        draw=partial(draw, sweeps=sweeps),
        notice=_notice,
        printed=[*printed, *_everywhere()],
        differs=[*OPEN, *more, drawn],
        percent=("ratio", "own_ratio", "lead", "failed", "utilisation"),
        caption=_CAPTION,
    )


def _at_eight(variant: str) -> Callable[[pd.DataFrame], Any]:
    return found("ratio", sweep="profiles", place=8, policy=f"rescue{VARIANTS[variant]}")


SWEPT = (
    _exhibit(
        "6",
        "expected profit under different number, density and demand of reserved tasks",
        (_RESERVED, _DENSITY, _DEMAND),
        _leads("36 reserved tasks", 0.84, _RESERVED, 36),
        [
            "Where density is below demand, windows hold no more than they offer: 10 % of the "
            "capacity at a density of 10 %."
        ],
    ),
    _exhibit(
        "7",
        "expected profit under different arrival probabilities and deadlines",
        (_ARRIVAL, _SLA),
        [
            *_leads("arrivals in 70 % of the slots", 0.99, _ARRIVAL, 0.7),
            *_each(
                "share of OPT(LP), all deadlines", _span(0.74, 0.87), partial(_ratios, sweep="sla")
            ),
        ],
    ),
    _exhibit(
        "8",
        "expected profit under different numbers of profiles and distributions of durations",
        (_PROFILES, _DISTRIBUTION),
        [
            *_leads("8 profiles", 0.73, _PROFILES, 8),
            *_each(
                "share of OPT(LP), all numbers of profiles",
                _span(0.61, 0.87),
                partial(_ratios, sweep="profiles"),
            ),
            *_each("share of OPT(LP), 8 profiles", 0.875, _at_eight),
            *_each(
                "RESCUE above the baselines, mean over distributions",
                0.70,
                partial(_mean_lead, sweep="distribution"),
                "Ours is over the best of them, at each distribution.",
            ),
        ],
    ),
    _exhibit(
        "9",
        "expected profit with more servers and more types of tasks",
        (_SERVERS, _DEVICES),
        [
            *_leads("6 servers", 0.83, _SERVERS, 6),
            *_leads("18 types of tasks", 0.98, _DEVICES, 18),
        ],
        ["A type of tasks is a device here."],
    ),
)
"""In the order of the paper."""
