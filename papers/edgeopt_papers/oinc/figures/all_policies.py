"""Table I and Figure 11: latencies, completion times and run times of all policies."""

from __future__ import annotations

from functools import partial
from operator import gt, le, lt
from typing import TYPE_CHECKING, Any, Final

from edgeopt.bounds.paired import FEWEST_RUNS
from edgeopt_papers.figures import CLOSE, PaperFigure, found, means, said
from edgeopt_papers.figures.aggregates import by, extreme, ordered
from edgeopt_papers.figures.drawing import bars, curves
from edgeopt_papers.oinc.figures.setting import (
    ALL,
    ALWAYS,
    DEFAULT,
    FIT,
    JOINT,
    PANELS,
    SETTINGS,
    THREE,
    averages,
    behind,
    in_all,
    jobs,
    under,
)
from edgeopt_papers.oinc.figures.swept import DEVICES

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from edgeopt.studies.results import Case

_DRAWS: Final = 20

_TIMES: Final = {"latency": "latency", "completion": "completion", "both_times": "sum"}
_PUBLISHED: Final = {
    metric: dict(zip(ALL, times, strict=True))
    for metric, times in {
        "latency": (0.250, 0.277, 0.262, 0.479, 0.271, 0.256, 0.256),
        "completion": (96.209, 101.691, 98.372, 100.684, 100.684, 101.286, 144.326),
        "both_times": (96.459, 101.968, 98.634, 101.163, 100.955, 101.542, 144.582),
    }.items()
}
"""Times that the paper prints, s, by policy."""
_RIVALS: Final = {name: ALL[name] for name in THREE if name != "oinc"}
_REPLACED: Final = {name: title for name, title in ALL.items() if "+" in name}
"""With one part of OINC replaced, and a fixed split."""


def _near(setting: str, rows: pd.DataFrame) -> int:
    """Count the latencies and completion times of a setting near the printed ones."""
    return sum(
        abs(value / _PUBLISHED[metric][policy] - 1.0) <= CLOSE
        for metric in ("latency", "completion")
        for policy, value in under(setting, by(metric))(rows).items()
    )


def _outside(setting: str, rows: pd.DataFrame) -> str:
    """Count the printed values of the same kinds that lie outside the intervals of a setting."""
    own = under(setting, lambda rows: rows)(rows)
    outside = sum(
        not row[f"{metric}_low"] <= _PUBLISHED[metric][row["policy"]] <= row[f"{metric}_high"]
        for row in own.to_dict("records")
        for metric in ("latency", "completion")
    )
    ends = "95 % intervals" if (own["instances"] >= FEWEST_RUNS).all() else "ranges"
    return f"{outside} printed ones lie outside its {ends}"


def _least(rows: pd.DataFrame) -> bool:
    """Tell whether OINC's sum is below those of Ekya and Kalmia."""
    sums = by("both_times")(rows)
    return all(sums["oinc"] < sums[name] for name in _RIVALS)


def _longer(rows: pd.DataFrame) -> bool:
    """Tell whether both times are longer if a part is replaced."""
    return all(
        values[name] > values["oinc"]
        for values in (by(metric)(rows) for metric in ("latency", "completion"))
        for name in _REPLACED
    )


_FIRST_FIT: Final = "greedy+density"


def _why(policy: str, metric: str) -> dict[str, str]:
    """Say in each setting why a time may differ from the printed one."""
    times = (
        "A latency follows from the activity and from what jobs leave"
        if metric == "latency"
        else "A completion time is mostly the time before the job arrives"
    )
    own = {
        DEFAULT: f"{times}; nothing of the default setting is fitted.",
        FIT: f"{times}; the fit minimises the mean error of all policies, not that of each.",
        JOINT: f"{times}; the fit counts statements, those about figures, too.",
    }
    if (policy, metric) == (_FIRST_FIT, "latency"):
        own[DEFAULT] = (
            "Here Greedy sends each request where it costs least, not where it first fits."
        )
        own[JOINT] = (
            "This is the price of the joint setting: first fit fills a site until an objective "
            "would be missed, and tighter objectives leave room for fewer."
        )
    return own


_WAYS: Final = {"shorter than": gt, "not shorter than": le}

TABLE_I: Final = PaperFigure(
    kind="table",
    number="I",
    title="average latency of requests, completion time of jobs, and their sum",
    jobs=partial(jobs, policies=ALL, draws=_DRAWS),
    rows=partial(averages, by=("policy",)),
    columns={
        "setting": "Setting", "policy": "Policy", "latency": "Latency (s)",
        "completion": "Completion (s)", "both_times": "Their sum (s)",
        "value": "Weighted scaled sum", "requests_met": "Requests in time",
        "jobs_met": "Jobs in time",
    },
    percent=("requests_met", "jobs_met"),
    draw=partial(
        bars, titles=ALL, published=_PUBLISHED, panels=PANELS,
        metrics={"latency": "mean latency (s)", "completion": "mean completion time (s)"},
    ),
    takeaway=said(
        "Of 14 latencies and completion times {fitted} are within 10 % of the printed ones in the "
        "calibrated setting, which is fitted to them, not known, and {outside}; {joint} are in the "
        "joint setting, and {default} in the default one",
        fitted=partial(_near, FIT),
        outside=partial(_outside, FIT),
        default=partial(_near, DEFAULT),
        joint=partial(_near, JOINT),
    ),
    published=[
        *in_all(
            "OINC against Ekya and Kalmia, sum", "less",
            said("{own:5} s; {others[ekya]:5} s and {others[kalmia]:5} s",
                 own=found("both_times", policy="oinc"), others=by("both_times")),
            rule=_least,
            why="Nearly all of the sum is completion time, and Kalmia gives jobs all that "
            "objectives leave.",
            apart=behind("both_times", _RIVALS, what="OINC's"),
        ),
        *in_all(
            "OINC against its parts with others, latency and completion", "both shorter",
            said("latency {latency}; completion {completion}",
                 latency=ordered("latency", "oinc", _REPLACED, _WAYS),
                 completion=ordered("completion", "oinc", _REPLACED, _WAYS)),
            rule=_longer,
            why="OINC keeps more for jobs than the fixed splits do, and requests wait for longer.",
            apart=lambda rows: " ".join(
                behind(metric, _REPLACED, what=f"OINC's {metric}")(rows)
                for metric in ("latency", "completion")
                if by(metric)(rows)["oinc"] >= min(by(metric)(rows)[one] for one in _REPLACED)
            ),
        ),
        *(
            line
            for policy, title in ALL.items()
            for metric, word in _TIMES.items()
            for line in in_all(
                f"{title}, {word} (s)", _PUBLISHED[metric][policy], found(metric, policy=policy),
                rule=CLOSE, sized=metric != "latency", why=_why(policy, metric),
            )
        ),
    ],
    caveats=(
        *ALWAYS,
        *(
            f"The {name} instances of this table have the seeds {SETTINGS[name].first} to "
            f"{SETTINGS[name].first + _DRAWS - 1}, in a quick run the first two; those of figures "
            "are the first ten."
            for name in (FIT, JOINT)
        ),
        "Mean completion follows the mean arrival of jobs, so that its level says little about the "
        "policies; the differences between them say more.",
    ),
    caption="Completion times count from the start of the run.",
)  # fmt: skip


def run_time(case: Case) -> Mapping[str, Any]:
    """Return the time that the one policy of a case takes for the decisions of 200 slots, s.

    It is simulated once more, after everything has been compiled.
    """
    from edgeopt.online import simulate

    [policy] = case.policies.values()
    environment = case.system.policies.environment(case.instance)
    again = simulate(environment, policy, rng=case.settings.seed, runs=1)
    return {"seconds": 200 * again.seconds / case.instance.slots}


def _between(rows: pd.DataFrame) -> bool:
    """Tell whether OINC is slower than Kalmia and faster than all others, with most devices."""
    seconds = by("seconds", devices=max)(rows)
    own = seconds.pop("oinc")
    return seconds.pop("kalmia") < own < min(seconds.values())


def _slower(rows: pd.DataFrame) -> str:
    """Say how many times as long as the others OINC takes, with most devices."""
    seconds = by("seconds", devices=max)(rows)
    times = {name: seconds["oinc"] / one for name, one in seconds.items() if name != "oinc"}
    least, most = min(times, key=times.__getitem__), max(times, key=times.__getitem__)
    return (
        f"It takes {times[least]:.1f} times as long as {ALL[least]} and {times[most]:.1f} times as "
        f"long as {ALL[most]}."
    )


_LONGEST: Final = found("seconds", policy="oinc", seconds=max)

FIGURE_11: Final = PaperFigure(
    number="11",
    title="run time of the policies over the number of devices",
    jobs=partial(jobs, policies=ALL, draws=5, sweep=DEVICES, aggregate=run_time),
    rows=partial(means, metrics=("seconds",), by=("setting", "devices", "policy")),
    columns={
        "setting": "Setting", "devices": "Devices", "policy": "Policy",
        "seconds": "Decisions of 200 slots (s)",
    },
    draw=partial(
        curves, x="devices", metrics={"seconds": "decisions of 200 slots (s)"}, xlabel="devices",
        titles=ALL, logy=True, panels=PANELS,
    ),
    takeaway=said(
        "With {devices:g} devices OINC decides 200 slots in {own:2} s in the default setting, "
        "{fitted:2} s in the calibrated one; {longest.title} takes longest, {longest:2} s",
        devices=lambda rows: rows["devices"].max(),
        own=found("seconds", policy="oinc", devices=max, setting=DEFAULT),
        fitted=found("seconds", policy="oinc", devices=max, setting=FIT),
        joint=found("seconds", policy="oinc", devices=max, setting=JOINT),
        longest=extreme("max", "seconds", ALL, devices=max, setting=DEFAULT),
    ),
    published=[
        *in_all("OINC, decisions of 200 slots at most (s)", "less than 5", _LONGEST,
                 rule=lambda rows: _LONGEST(rows).value < 5.0,
                 why="It is the time of this machine.",
                 apart=said("It takes {own:2} s.", own=_LONGEST)),
        *in_all(
            "OINC", "slightly slower than Kalmia; faster than all others",
            ordered("seconds", "oinc", ALL, {"slower than": lt, "faster than": gt}, devices=max),
            rule=_between, met="with most devices, any distance",
            why="A baseline here is compiled code of a few comparisons, and A_inf a search with "
            "objectives, not a network.",
            apart=_slower,
        ),
    ],
    caveats=(
        "The paper does not name its machine. Here it is the one that ran this; other work on it "
        "lengthens the times.",
        *ALWAYS,
    ),
    caption="Decisions only, without the rest of the simulation.",
)  # fmt: skip
