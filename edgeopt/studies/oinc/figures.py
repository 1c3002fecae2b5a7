"""The figures and tables of OINC's evaluation."""

from __future__ import annotations

from functools import partial
from operator import gt, lt
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from edgeopt.instances.oinc import generate
from edgeopt.studies.figures import InstanceSpec, PaperFigure, Published, found, means, said, swept
from edgeopt.studies.figures.cells import Sweep
from edgeopt.studies.figures.drawing import bars, curves
from edgeopt.studies.figures.reading import ahead, extreme, largest, needed, ordered, span, trend
from edgeopt.studies.oinc.calibrated import TABLE_S1
from edgeopt.studies.oinc.learning import FIGURE_2, FIGURE_3
from edgeopt.studies.oinc.table_one import PUBLISHED
from edgeopt.studies.wording import uncapitalised

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pandas as pd

    from edgeopt.studies.figures.reading import Sense
    from edgeopt.studies.result import Case
    from edgeopt.studies.sweeps import Cell

_THREE: Final = {"oinc": "OINC", "ekya": "Ekya", "kalmia": "Kalmia"}
"""The policies of the paper's figures."""

_ALL: Final = _THREE | {
    "greedy+density": "Greedy & A_ret",
    "liu+density": "Liu & A_ret",
    "near+dedas": "A_inf & Dedas",
    "near+zhang": "A_inf & Zhang",
}
"""Those of its table and its run times."""

_OPEN: Final = (
    "The paper does not give its trace of activity. Here each device switches on and off at random "
    "and sends requests in 45 % of the slots.",
    "The paper does not give objectives, nor the number, arrivals, deadlines and weights of jobs. "
    "Here objectives are 0.3 to 0.9 s; 24 jobs arrive over the first 60 % of the slots, have "
    "deadlines of 1.5 to 3 times what they take alone on half of an average site, and weigh 1.",
    "The radio is read so that rates lie near 66 Mbit/s, with the path loss in decibels taken as "
    "a gain. With the powers as printed no request would end within its slot.",
    "A_inf is a search in every slot instead of the learned policy, and each baseline is one "
    "reading of the line that the paper gives it.",
)
"""What the paper leaves open in every figure."""

_SHARES: Final = ("success", "requests_met", "jobs_met")


def _cells(
    quick: bool, policies: Mapping[str, str], draws: tuple[int, int], sweep: Sweep | None = None,
    reading: Callable[[Case], Mapping[str, Any]] | None = None,
) -> list[Cell]:  # fmt: skip
    """List the cells of policies on drawn instances in the paper's setting, at every place.

    There are as many `draws` as the first number says if `quick`, else the second.
    """
    few: dict[str, Any] = {"slots": 30, "jobs": 6} if quick else {}

    def at(seed: int, **place: Any) -> InstanceSpec:
        settings = sweep.settings(place[sweep.name]) if sweep else {}
        return InstanceSpec.of(generate, rng=seed, duty=0.45, **few, **settings)

    over = {sweep.name: sweep.at(quick)} if sweep else {}
    seeds = range(draws[not quick])
    return swept("oinc", at, policies, over, seeds, runs=2, reading=reading, bounded=False)


def _averages(table: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    table = table.assign(both_times=table["latency"] + table["completion"])
    metrics = ("value", "scaled", "latency", "completion", "both_times", *_SHARES)
    return means(table, metrics, by, shares=_SHARES)


_TIMES: Final = {"latency": "latency", "completion": "completion", "both_times": "sum"}
_PUBLISHED: Final = {
    metric: {policy: times[place] for policy, times in PUBLISHED.items()}
    for place, metric in enumerate(_TIMES)
}

_TABLE_I = PaperFigure(
    kind="table",
    number="I",
    title="average latency of requests, completion time of jobs, and their sum",
    cells=partial(_cells, policies=_ALL, draws=(4, 20)),
    rows=partial(_averages, by=("policy",)),
    columns={
        "policy": "Policy", "latency": "Latency (s)", "completion": "Completion (s)",
        "both_times": "Their sum (s)", "requests_met": "Requests in time",
        "jobs_met": "Jobs in time",
    },
    percent=("requests_met", "jobs_met"),
    draw=partial(
        bars, titles=_ALL, published=_PUBLISHED,
        metrics={"latency": "mean latency (s)", "completion": "mean completion time (s)"},
    ),
    takeaway=said(
        "The shortest mean latency is {fast:3} s ({fast.title}), the earliest mean completion of "
        "jobs {early:3} s ({early.title})",
        fast=extreme("min", "latency", _ALL),
        early=extreme("min", "completion", _ALL),
    ),
    published=[
        Published(f"{title}, {word} (s)", _PUBLISHED[metric][policy], found(metric, policy=policy))
        for policy, title in _ALL.items()
        for metric, word in _TIMES.items()
    ],
    caveats=_OPEN,
    caption="Completion times count from the start of the run.",
)  # fmt: skip

_DEVICES: Final = Sweep("devices", "Devices", (20, 30, 40, 50), each="numbers of devices")
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
    """A kind of figure over a sweep: two metrics to draw, and those of the published lines."""

    title: str
    sense: Sense
    metrics: Mapping[str, str]
    published: Mapping[str, str]
    gain: str
    takeaway: str
    caveat: str


_SUMS: Final = {"scaled": "sum of scaled means", "value": "weighted sum"}
_SUM: Final = _Kind(
    "the weighted sum",
    "min",
    _SUMS,
    _SUMS,
    "saving",
    "OINC's sum of scaled means, {own}, is the least at {first[0]} of {first[1]} {places}; its "
    "weighted sum is the least at {second[0]} of {second[1]}",
    "The paper does not give the weights. The weighted sum adds up all requests and jobs; a "
    "latency of a quarter of a second counts like a completion time of 100 s, so thousands of "
    "requests outweigh the jobs. The sum of scaled means adds mean latency and mean completion "
    "time at the same scales.",
)
_RATE: Final = _Kind(
    "the success rate",
    "max",
    {"success": "requests and jobs in time (%)", "jobs_met": "jobs in time (%)"},
    {"success": "success rate"},
    "gain",
    "OINC finishes {own} of requests and jobs in time, the largest share at {first[0]} of "
    "{first[1]} {places}; of jobs alone, at {second[0]} of {second[1]}",
    "The success rate counts requests and jobs alike, and there are a hundred times as many "
    "requests; jobs are also shown separately.",
)


def _over(
    number: str, kind: _Kind, sweep: Sweep, *, gain: float | None = None, enough: str = "",
    course: str = "", least: str = "", caveats: Sequence[str] = (),
) -> PaperFigure:  # fmt: skip
    """Return a figure over a sweep.

    The paper prints OINC's largest `gain`, how many places are `enough` for the others, the
    `course` of the curves, or where the `least` sum is.
    """
    share = kind.sense == "max"
    first, second = kind.metrics
    takeaway = said(
        kind.takeaway,
        own=span(first, share=share, policy="oinc"),
        first=ahead(sweep.name, first, kind.sense, "oinc"),
        second=ahead(sweep.name, second, kind.sense, "oinc"),
        places=sweep.each,
    )
    lines = [Published("the least sum", least, takeaway)] if least else []
    for metric, words in kind.published.items():
        most = largest(sweep.name, metric, kind.sense, "oinc")
        as_many = needed(sweep.name, metric, kind.sense, "oinc", _THREE)
        if gain is not None:
            what = f"largest {kind.gain} of OINC in the {words}"
            lines.append(Published(what, gain, most, True, "As a share of the other's value."))
        if enough:
            lines.append(Published(f"{sweep.name} needed for the {words}", enough, as_many))
    for metric, words in kind.published.items() if course else ():
        lines.append(Published(f"the {words}", course, trend(sweep.name, metric, _THREE)))
    return PaperFigure(
        number=number,
        title=f"{kind.title} at different {sweep.each}",
        cells=partial(_cells, policies=_THREE, draws=(4, 10), sweep=sweep),
        rows=partial(_averages, by=(sweep.name, "policy")),
        columns={
            sweep.name: sweep.title, "policy": "Policy", "scaled": "Sum of scaled means",
            "value": "Weighted sum", "success": "Requests and jobs in time",
            "requests_met": "Requests in time", "jobs_met": "Jobs in time",
            "latency": "Latency (s)", "completion": "Completion (s)",
        },
        percent=_SHARES,
        draw=partial(
            curves, x=sweep.name, metrics=kind.metrics, xlabel=uncapitalised(sweep.title),
            titles=_THREE, scale=100.0 if share else 1.0, top=100.0 if share else None,
        ),
        takeaway=takeaway,
        published=lines,
        caveats=(*caveats, kind.caveat, *_OPEN),
    )  # fmt: skip


def run_time(case: Case) -> dict[str, Any]:
    """Return the time that the one policy of a case takes for the decisions of 200 slots, s.

    It is simulated once more, after everything has been compiled.
    """
    from edgeopt.online import simulate

    [policy] = case.policies.values()
    environment = case.system.policies.environment(case.instance)
    again = simulate(environment, policy, rng=case.settings.seed, runs=1)
    return {"seconds": 200 * again.seconds / case.instance.slots}


_FIGURE_11 = PaperFigure(
    number="11",
    title="run time of the policies over the number of devices",
    cells=partial(_cells, policies=_ALL, draws=(1, 5), sweep=_DEVICES, reading=run_time),
    rows=partial(means, metrics=("seconds",), by=("devices", "policy")),
    columns={"devices": "Devices", "policy": "Policy", "seconds": "Decisions of 200 slots (s)"},
    draw=partial(
        curves, x="devices", metrics={"seconds": "decisions of 200 slots (s)"}, xlabel="devices",
        titles=_ALL, logy=True,
    ),
    takeaway=said(
        "With {devices:g} devices OINC decides 200 slots in {own:2} s; {longest.title} takes "
        "longest, {longest:2} s",
        devices=lambda rows: rows["devices"].max(),
        own=found("seconds", policy="oinc", devices=max),
        longest=extreme("max", "seconds", _ALL, devices=max),
    ),
    published=[
        Published("OINC, decisions of 200 slots at most (s)", "less than 5",
                found("seconds", policy="oinc", seconds=max)),
        Published(
            "OINC", "slightly slower than Kalmia; faster than all others",
            ordered("seconds", "oinc", _ALL, {"slower than": lt, "faster than": gt}, devices=max),
            why="Computed at the largest number of devices.",
        ),
    ],
    caveats=(
        "The paper does not name its machine. Here it is the one that ran this; other work on it "
        "lengthens the times.",
        *_OPEN,
    ),
    caption="Decisions only, without the rest of the simulation.",
)  # fmt: skip

_MORE: Final = "as OINC with 10: Ekya with 14 and Kalmia with 12"

PAPER_FIGURES: Final = (
    FIGURE_2,
    FIGURE_3,
    _TABLE_I,
    _over("4", _SUM, _DEVICES, gain=0.237, course="rises with the devices"),
    _over("5", _RATE, _DEVICES, gain=0.332, course="falls with the devices"),
    _over("6", _SUM, _EDGES, enough=_MORE, course="falls with the edges"),
    _over("7", _RATE, _EDGES, enough="Ekya and Kalmia need more than OINC",
          course="rises with the edges"),
    _over("8", _SUM, _PICTURES, gain=0.21, course="rises with the retraining set",
          caveats=["The paper gives only the default size of the retraining set, 1024; here sizes "
                   "are 512 to 2048."]),
    _over("9", _RATE, _PICTURES, gain=0.356,
          course="stays high with OINC, falls with Ekya and Kalmia"),
    _over("10", _SUM, _BAND, least="OINC at every band",
          caveats=["The paper gives only one change of the bands, 20 % less; here changes go from "
                   "20 % less to 20 % more."]),
    _FIGURE_11,
    TABLE_S1,
)  # fmt: skip
"""In the order of the paper; Table S1 is not the paper's."""
