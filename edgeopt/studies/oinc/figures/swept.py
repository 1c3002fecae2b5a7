"""Figures 4 to 10: weighted sum and success rate over devices, edges, retraining sets and bands."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal

from edgeopt.instances.oinc import generate
from edgeopt.studies.figures import InstanceSpec, PaperFigure, Published, means, said, swept
from edgeopt.studies.figures.cells import Sweep
from edgeopt.studies.figures.drawing import curves
from edgeopt.studies.figures.reading import ahead, largest, needed, span, trend
from edgeopt.studies.wording import uncapitalised

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pandas as pd

    from edgeopt.studies.sweeps import Cell

_THREE: Final = {"oinc": "OINC", "ekya": "Ekya", "kalmia": "Kalmia"}
"""The policies of the paper's figures."""

ALL: Final = _THREE | {
    "greedy+density": "Greedy & A_ret",
    "liu+density": "Liu & A_ret",
    "near+dedas": "A_inf & Dedas",
    "near+zhang": "A_inf & Zhang",
}
"""Those of its table and its run times."""

OPEN: Final = (
    "The trace of activity is not given; here each device switches on and off at random and asks "
    "in 45 % of the slots.",
    "Objectives and the number, arrival, deadlines and weights of jobs are not given; here they "
    "are 0.3 to 0.9 s, 24 jobs over the first 60 % of the slots, 1.5 to 3 times what a job takes "
    "alone on half of an average site, and 1.",
    "The radio is read so that rates lie near 66 Mbit/s, with the path loss in decibels taken as "
    "a gain; with the powers as they are printed no request would end within its slot.",
    "A_inf is a search in every slot in place of the learned policy, and each baseline is one "
    "reading of the line that the paper gives it.",
)
"""Why figures of all figures may differ."""

DEVICES: Final = Sweep("devices", "Devices", (20, 30, 40, 50), each="numbers of devices")
_EDGES: Final = Sweep(
    "edges", "Edges", tuple(range(10, 16)), (10, 12, 14), "numbers of edges", "sites"
)
_PICTURES: Final = Sweep(
    "pictures", "Pictures in a retraining set", (512, 1024, 1536, 2048),
    each="sizes of the retraining set", keyword="job_scale", value=lambda n: n / 1024,
)  # fmt: skip
_BAND: Final = Sweep(
    "band", "Change of all bands (%)", (-20, -10, 0, 10, 20), (-20, 0, 20), "bands", "band_scale",
    lambda n: 1 + n / 100,
)  # fmt: skip

_SUMS: Final = {"scaled": "sum of scaled means", "value": "weighted sum"}
"""Both readings of the weighted sum, the one of even kinds first."""

_SUCCESS: Final = {"success": "requests and jobs in time (%)", "jobs_met": "jobs in time (%)"}

_COLUMNS: Final = {
    "policy": "Policy",
    "scaled": "Sum of scaled means",
    "value": "Weighted sum",
    "success": "Requests and jobs in time",
    "requests_met": "Requests in time",
    "jobs_met": "Jobs in time",
    "latency": "Latency (s)",
    "completion": "Completion (s)",
}
"""Of every sweep, after what is swept."""


def spec(quick: bool, seed: int, **settings: Any) -> InstanceSpec:
    """Return how to draw an instance in the paper's setting."""
    small = {"slots": 30, "jobs": 6} if quick else {}
    return InstanceSpec.of(generate, rng=seed, duty=0.45, **small, **settings)


def draws(quick: bool) -> range:
    """Return the seeds of the instances at each place of a sweep."""
    return range(4 if quick else 10)


def averages(table: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Average over the draws what the figures show."""
    shares = ("success", "requests_met", "jobs_met")
    table = table.assign(both_times=table["latency"] + table["completion"])
    metrics = ("value", "scaled", "latency", "completion", "both_times", *shares)
    return means(table, metrics, by, shares=shares)


def _cells(sweep: Sweep, quick: bool) -> list[Cell]:
    def at(seed: int, **place: Any) -> InstanceSpec:
        return spec(quick, seed, **sweep.settings(place[sweep.name]))

    over = {sweep.name: sweep.at(quick)}
    return swept("oinc", at, _THREE, over, draws(quick), runs=2, bounded=False)


def _figure(
    number: str,
    what: str,
    sweep: Sweep,
    metrics: Mapping[str, str],
    takeaway: Callable[[pd.DataFrame], str],
    published: Sequence[Published],
    caveats: Sequence[str],
) -> PaperFigure:
    """Return the figure of a sweep: measures side by side, a curve for each of three policies."""
    share = "success" in metrics
    return PaperFigure(
        number=number,
        title=f"{what} at different {sweep.each}",
        cells=partial(_cells, sweep),
        rows=partial(averages, by=(sweep.name, "policy")),
        columns={sweep.name: sweep.title, **_COLUMNS},
        percent=("success", "requests_met", "jobs_met"),
        draw=partial(
            curves, x=sweep.name, metrics=metrics, xlabel=uncapitalised(sweep.title),
            titles=_THREE, scale=100.0 if share else 1.0, top=100.0 if share else None,
        ),
        takeaway=takeaway,
        published=published,
        caveats=(*caveats, *OPEN),
        caption="Bands: 95 % intervals over the drawn instances.",
    )  # fmt: skip


def _at_best(sweep: Sweep, metric: str, sense: Literal["min", "max"]) -> dict[str, Any]:
    """Return readers of OINC's range, and of the places at which it is best."""
    own = span(metric, share=sense == "max", policy="oinc")
    return {"own": own, "first": ahead(sweep.name, metric, sense, "oinc")}


def _sum(
    number: str, sweep: Sweep, published: Sequence[Published], caveats: Sequence[str] = ()
) -> PaperFigure:
    takeaway = said(
        "OINC's sum of scaled means, {own}, is the least at {first[0]} of {first[1]} "
        f"{sweep.each}; its weighted sum is the least at {{second[0]}} of {{second[1]}}",
        **_at_best(sweep, "scaled", "min"),
        second=ahead(sweep.name, "value", "min", "oinc"),
    )
    weights = (
        "The weights are not given. The weighted sum adds up all requests and jobs, a latency of a "
        "quarter of a second counting like a completion time of 100 s, so that thousands of "
        "requests outweigh the jobs; the sum of scaled means adds mean latency and mean completion "
        "time at the same scales."
    )
    return _figure(
        number, "the weighted sum", sweep, _SUMS, takeaway, published, (*caveats, weights)
    )


def _rate(number: str, sweep: Sweep, published: Sequence[Published]) -> PaperFigure:
    takeaway = said(
        "OINC is in time with {own} of requests and jobs, no other with more at "
        f"{{first[0]}} of {{first[1]}} {sweep.each}; of jobs alone at {{second[0]}} of "
        "{second[1]}",
        **_at_best(sweep, "success", "max"),
        second=ahead(sweep.name, "jobs_met", "max", "oinc"),
    )
    together = (
        "The success rate counts requests and jobs alike, and there are a hundred times as many "
        "requests; jobs are shown apart as well."
    )
    return _figure(number, "the success rate", sweep, _SUCCESS, takeaway, published, (together,))


def _savings(sweep: Sweep, value: float) -> list[Published]:
    return [
        Published(f"largest saving of OINC in the {words}", value,
                largest(sweep.name, metric, "min", "oinc"), percent=True)
        for metric, words in _SUMS.items()
    ]  # fmt: skip


def _trends(sweep: Sweep, statement: str) -> list[Published]:
    return [
        Published(f"the {words}", statement, trend(sweep.name, metric, _THREE))
        for metric, words in _SUMS.items()
    ]


def _gain(sweep: Sweep, value: float) -> Published:
    why = "Read as a share of the success rate of the other policy."
    reader = largest(sweep.name, "success", "max", "oinc")
    return Published("largest gain of OINC in the success rate", value, reader, True, why)


def _success(sweep: Sweep, statement: str) -> Published:
    return Published("the success rate", statement, trend(sweep.name, "success", _THREE))


FIGURES: Final = (
    _sum("4", DEVICES, [*_savings(DEVICES, 0.237), *_trends(DEVICES, "rises with the devices")]),
    _rate("5", DEVICES, [_gain(DEVICES, 0.332), _success(DEVICES, "falls with the devices")]),
    _sum(
        "6",
        _EDGES,
        [
            *(
                Published(
                    f"edges needed for the {words}",
                    "as OINC with 10: Ekya with 14 and Kalmia with 12",
                    needed("edges", metric, "min", "oinc", _THREE),
                )
                for metric, words in _SUMS.items()
            ),
            *_trends(_EDGES, "falls with the edges"),
        ],
    ),
    _rate(
        "7",
        _EDGES,
        [
            Published(
                "edges needed for the success rate",
                "Ekya and Kalmia need more than OINC",
                needed("edges", "success", "max", "oinc", _THREE),
            ),
            _success(_EDGES, "rises with the edges"),
        ],
    ),
    _sum(
        "8",
        _PICTURES,
        [*_savings(_PICTURES, 0.21), *_trends(_PICTURES, "rises with the retraining set")],
        [
            "The sizes of the retraining set are not given, but for the default of 1024; here they "
            "are 512 to 2048.",
        ],
    ),
    _rate(
        "9",
        _PICTURES,
        [
            _gain(_PICTURES, 0.356),
            _success(_PICTURES, "stays high with OINC, falls with Ekya and Kalmia"),
        ],
    ),
    _sum(
        "10",
        _BAND,
        [
            Published(
                "the least sum",
                "OINC at every band",
                said(
                    "sum of scaled means: OINC least at {scaled[0]} of {scaled[1]}; "
                    "weighted sum: OINC least at {value[0]} of {value[1]}",
                    **{name: ahead("band", name, "min", "oinc") for name in _SUMS},
                ),
            )
        ],
        ["Of the changes of the band only one is given, 20 % less; here they are -20 to 20 %."],
    ),
)
"""In the order of the paper."""
