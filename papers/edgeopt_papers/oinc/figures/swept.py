"""Figures 4 to 10: weighted scaled sum and success rate over devices, edges, data and bands."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from edgeopt.studies.wording import listed, percent, uncapitalised
from edgeopt_papers.figures import CLOSE, PaperFigure, Published, said
from edgeopt_papers.figures.aggregates import ahead, by, largest, needed, says, span, trend
from edgeopt_papers.figures.drawing import curves
from edgeopt_papers.figures.jobs import Sweep
from edgeopt_papers.oinc.figures.setting import (
    ALWAYS,
    DEFAULT,
    FIT,
    JOINT,
    PANELS,
    SHARES,
    THREE,
    averages,
    behind,
    in_all,
    jobs,
    largest_entry,
    under,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from edgeopt_papers.figures.aggregates import Sense

_RIVALS: Final = {name: title for name, title in THREE.items() if name != "oinc"}

DEVICES: Final = Sweep("devices", "Devices", (20, 30, 40, 50), each="numbers of devices")
_EDGES: Final = Sweep(
    "edges", "Edges", tuple(range(10, 16)), (10, 12, 14), "numbers of edges", "sites"
)
_PICTURES: Final = Sweep(
    "pictures", "Pictures in a retraining set", (512, 1024, 1536, 2048), (),
    "sizes of the retraining set", "job_scale", lambda n: n / 1024,
)  # fmt: skip
_BAND: Final = Sweep(
    "band", "Change of all bands (%)", (-20, -10, 0, 10, 20), (-20, 0, 20), "bands", "band_scale",
    lambda n: 1 + n / 100,
)  # fmt: skip


class _Kind(NamedTuple):
    """A kind of figure over a sweep: metrics to draw, those of the published lines, words."""

    title: str
    sense: Sense
    metrics: Mapping[str, str]
    published: Mapping[str, str]
    gain: str
    best: str
    takeaway: str
    caveat: str


_SUMS: Final = {"value": "weighted scaled sum", "total": "total cost"}
_SUM: Final = _Kind(
    "the weighted scaled sum",
    "min",
    _SUMS,
    _SUMS,
    "saving",
    "the least",
    "OINC's weighted scaled sum is the least at {default[0]} of {default[1]} {places} in the "
    "default setting, at {fitted[0]} in the calibrated one and {joint[0]} in the joint one; its "
    "total cost at {more[0]}, {fitted_more[0]} and {joint_more[0]}",
    "The paper does not give the weights. The weighted scaled sum adds mean latency and mean "
    "completion time; a latency of a quarter of a second counts like a completion time of 100 s. "
    "The total cost, the objective of program (1), adds up all requests and jobs at the same "
    "scales, so thousands of requests outweigh the jobs.",
)
_RATE: Final = _Kind(
    "the success rate",
    "max",
    {"success": "requests and jobs in time (%)", "jobs_met": "jobs in time (%)"},
    {"success": "success rate"},
    "gain",
    "the largest",
    "OINC finishes the largest share of requests and jobs in time at {default[0]} of {default[1]} "
    "{places} in the default setting, at {fitted[0]} in the calibrated one and {joint[0]} in the "
    "joint one; of jobs alone, at {more[0]}, {fitted_more[0]} and {joint_more[0]}",
    "The success rate counts requests and jobs alike, and there are a hundred times as many "
    "requests; jobs are also shown separately.",
)


def _moves(way: str, sweep: Sweep, metric: str, titles: Mapping[str, str]) -> Any:
    """Return a predicate: a metric rises or falls over a sweep with all of some policies."""
    return says(trend(sweep.name, metric, titles), f"{way} with {listed(list(titles.values()))}")


def _course(
    what: str, way: str, sweep: Sweep, metric: str, *, rivals: bool = False
) -> list[Published]:
    """Return the lines on how a metric moves over a sweep, with all policies or all but OINC."""
    titles = _RIVALS if rivals else THREE
    whose = f" with {listed(list(titles.values()))}" if rivals else ""
    return in_all(
        f"{what} over the {uncapitalised(sweep.each)}", f"{way}{whose}",
        trend(sweep.name, metric, THREE), rule=_moves(way, sweep, metric, titles),
        met="from each place to the next",
        why="Where nearly all is in time, a few requests decide which way it goes."
        if metric in SHARES else "Steps are small beside the spread of the instances.",
        apart=_largest_step(way, sweep, metric, titles),
    )  # fmt: skip


def _largest_step(way: str, sweep: Sweep, metric: str, titles: Mapping[str, str]) -> Any:
    """Return a reader of the largest step of a metric the other way, and whose it is."""

    def read(rows: pd.DataFrame) -> str:
        table = rows.pivot(index=sweep.name, columns="policy", values=metric).sort_index()
        steps = table[[*titles]].pct_change(fill_method=None).iloc[1:]
        worst, place, policy = largest_entry(steps if way == "falls" else -steps)
        return (
            f"The largest step the other way is {percent(worst, 2)}, that of {titles[policy]} to "
            f"{sweep.name} {place:g}."
        )

    return read


def _best(kind: _Kind, sweep: Sweep, metric: str, words: str) -> list[Published]:
    """Return the lines on whether OINC is best at every place."""
    first = ahead(sweep.name, metric, kind.sense, "oinc")
    return in_all(
        f"{kind.best} {words}", f"OINC's, at all {sweep.each}",
        said("at {count[0]} of {count[1]}", count=first),
        rule=lambda rows: len(set(first(rows))) == 1,
        why=_BEHIND[metric],
        apart=behind(metric, _RIVALS, kind.sense, sweep.name, "OINC's"),
    )  # fmt: skip


_BEHIND: Final = {
    "value": "OINC keeps so much CPU for jobs that what they gain can be less than what requests "
    "lose.",
    "total": "OINC keeps CPU for jobs, which count little beside thousands of latencies.",
    "success": "What OINC keeps for jobs can cost more objectives than it saves deadlines.",
}


def _gain(kind: _Kind, sweep: Sweep, metric: str, words: str, gain: float) -> list[Published]:
    """Return the lines on OINC's largest gain."""
    return in_all(
        f"largest {kind.gain} of OINC in the {words}", gain,
        largest(sweep.name, metric, kind.sense, "oinc", THREE), rule=CLOSE, percent=True,
        why=_GAINS[metric],
    )  # fmt: skip


_GAINS: Final = {
    "latency": {
        DEFAULT: "Larger jobs take CPU from requests under OINC, too.",
        FIT: "Jobs are so small that they hardly touch latencies.",
        JOINT: "Only many jobs lengthen latencies of others, and these jobs are small.",
    },
    "value": {
        DEFAULT: "Half of the sum is completion time, most of it the time before a job arrives, "
        "which no policy changes.",
        FIT: "At a light load policies are near what can be had, and nearly all of a completion "
        "time passes before the job arrives.",
        JOINT: "Where times begin to count decides the share, and one beginning serves two "
        "figures.",
    },
    "total": {
        DEFAULT: "Requests outweigh jobs, and the latencies of the policies lie close together.",
        FIT: "Requests outweigh jobs, and at a light load latencies lie close together.",
        JOINT: "Requests outweigh jobs, and only a beginning near the least latency would make "
        "more of the same distance.",
    },
    "success": {
        DEFAULT: "Objectives are looser than in the joint setting, and of what is counted one in a "
        "hundred is a job.",
        FIT: "Objectives are so loose that the baselines meet nearly all of them.",
        JOINT: "Only 6 % of what is counted are jobs, and larger ones cost few objectives.",
    },
}
"""Why the largest gain is another than the printed one, by metric and setting."""


def _beside(metric: str) -> Any:
    """Return a reader of how far the others' sums with the printed numbers of edges lie apart."""

    def read(rows: pd.DataFrame) -> str:
        sums = rows.set_index(["edges", "policy"])[metric]
        apart = []
        for name, edges in (("ekya", 14), ("kalmia", 12)):
            away = sums[edges, name] / sums[10, "oinc"] - 1.0
            way = "above" if away > 0 else "below"
            apart.append(f"{THREE[name]}'s with {edges} is {percent(abs(away))} {way}")
        return f"{listed(apart)} OINC's with 10."

    return read


def _enough(kind: _Kind, metric: str, words: str) -> list[Published]:
    """Return the lines on how many edges the others need to do as well as OINC with the fewest."""
    reader = needed(_EDGES.name, metric, kind.sense, "oinc", THREE)
    if kind is _SUM:
        printed = "as OINC with 10: Ekya with 14 and Kalmia with 12"
        return in_all(
            f"edges needed for the {words}", printed, reader, rule=says(reader, printed),
            why="An edge more lowers a sum by more than the policies lie apart.",
            apart=_beside(metric),
        )  # fmt: skip

    def more(rows: pd.DataFrame) -> bool:
        rates = by(metric, edges=min)(rows)
        return all(rates[name] < rates["oinc"] for name in _RIVALS)

    printed = "Ekya and Kalmia need more than OINC"
    return in_all(
        f"edges needed for the {words}", printed, reader, rule=more,
        why="With few edges OINC keeps what requests would need.",
        apart=behind(metric, _RIVALS, kind.sense, _EDGES.name, "OINC's"),
    )  # fmt: skip


_HIGH: Final = 0.9


def _high(rows: pd.DataFrame) -> bool:
    """Tell whether OINC's success rate stays high over the retraining sets, and others' fall."""
    own = rows.loc[rows["policy"] == "oinc", "success"].min()
    return bool(own >= _HIGH and _moves("falls", _PICTURES, "success", _RIVALS)(rows))


def _over(
    number: str, kind: _Kind, sweep: Sweep, published: Sequence[list[Published]],
    caveats: Sequence[str] = (),
) -> PaperFigure:  # fmt: skip
    """Return a figure over a sweep; where OINC is best is asked of every one."""
    share = kind.sense == "max"
    first, second = (ahead(sweep.name, metric, kind.sense, "oinc") for metric in kind.metrics)
    return PaperFigure(
        number=number,
        title=f"{kind.title} at different {sweep.each}",
        jobs=partial(jobs, policies=THREE, draws=10, sweep=sweep),
        rows=partial(averages, by=(sweep.name, "policy")),
        columns={
            "setting": "Setting", sweep.name: sweep.title, "policy": "Policy",
            "value": "Weighted scaled sum", "total": "Total cost",
            "success": "Requests and jobs in time", "requests_met": "Requests in time",
            "jobs_met": "Jobs in time", "latency": "Latency (s)", "completion": "Completion (s)",
        },
        percent=SHARES,
        draw=partial(
            curves, x=sweep.name, metrics=kind.metrics, xlabel=uncapitalised(sweep.title),
            titles=THREE, scale=100.0 if share else 1.0, top=100.0 if share else None,
            panels=PANELS,
        ),
        takeaway=said(
            kind.takeaway,
            default=under(DEFAULT, first), fitted=under(FIT, first), joint=under(JOINT, first),
            more=under(DEFAULT, second), fitted_more=under(FIT, second),
            joint_more=under(JOINT, second),
            places=sweep.each,
        ),
        published=[
            line
            for lines in (
                *published,
                *(_best(kind, sweep, metric, words) for metric, words in kind.published.items()),
            )
            for line in lines
        ],
        caveats=(*caveats, kind.caveat, *ALWAYS),
    )  # fmt: skip


_SIZES: Final = (
    "The paper gives only the default size of the retraining set, 1024; here sizes are 512 to 2048."
)

SWEPT: Final = (
    _over("4", _SUM, DEVICES, [
        *(_gain(_SUM, DEVICES, *one, 0.237) for one in _SUMS.items()),
        *(_course(words, "rises", DEVICES, metric) for metric, words in _SUMS.items()),
    ]),
    _over("5", _RATE, DEVICES, [
        _gain(_RATE, DEVICES, "success", "success rate", 0.332),
        _course("success rate", "falls", DEVICES, "success"),
    ]),
    _over("6", _SUM, _EDGES, [
        *(_enough(_SUM, *one) for one in _SUMS.items()),
        *(_course(words, "falls", _EDGES, metric) for metric, words in _SUMS.items()),
    ]),
    _over("7", _RATE, _EDGES, [
        _enough(_RATE, "success", "success rate"),
        _course("success rate", "rises", _EDGES, "success"),
    ]),
    _over("8", _SUM, _PICTURES, [
        *(_gain(_SUM, _PICTURES, *one, 0.21) for one in {"latency": "latency", **_SUMS}.items()),
        *(_course(words, "rises", _PICTURES, metric, rivals=True)
          for metric, words in {"latency": "latency", **_SUMS}.items()),
    ], [_SIZES]),
    _over("9", _RATE, _PICTURES, [
        _gain(_RATE, _PICTURES, "success", "success rate", 0.356),
        in_all(
            "success rate over the sizes of the retraining set",
            "stays high with OINC, falls with Ekya and Kalmia",
            said("{trend}; OINC has {own}", trend=trend(_PICTURES.name, "success", THREE),
                 own=span("success", share=True, policy="oinc")),
            rule=_high, met=f"OINC's at least {_HIGH:.0%}, the others' lower at each larger size",
            why={
                DEFAULT: "Deadlines grow with the work of a job, so that more work need not mean "
                "more late jobs.",
                FIT: "Deadlines grow with the work of a job, and jobs are one in a hundred of what "
                "is counted.",
                JOINT: "Kalmia serves jobs by deadline, and a larger one costs no objective.",
            },
            apart=_largest_step("falls", _PICTURES, "success", _RIVALS),
        ),
    ], [_SIZES]),
    _over("10", _SUM, _BAND, [], [
        "The paper gives only one change of the bands, 20 % less; here changes go from 20 % less "
        "to 20 % more.",
    ]),
)  # fmt: skip
"""In the order of the paper."""
