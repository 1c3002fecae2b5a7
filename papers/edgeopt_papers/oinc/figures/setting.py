"""The settings of OINC's figures: the default one, and two that are fitted to what is printed.

The paper leaves open when jobs arrive, how much work they are, how often devices are active, what
share the fixed splits keep, and how Greedy chooses a site. In the calibrated setting these are
chosen so that the mean relative error of fourteen figures of Table I is least on two instances.
The joint setting turns more of what is open, `Knobs`, for Table I and the figures together; see
`edgeopt_papers.oinc.fit`. Other values may fit as well: activity, objectives and radio move
latencies alike, the size of jobs and the split move completions alike.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from edgeopt.instances.oinc import generate
from edgeopt.instances.oinc.generate import CALIBRATED
from edgeopt.studies.entries import PolicyEntry
from edgeopt.studies.oinc.tables import request_count
from edgeopt.studies.wording import percent
from edgeopt_papers.figures import Estimate, InstanceSpec, Published, means, swept
from edgeopt_papers.figures.aggregates import where
from edgeopt_papers.figures.jobs import table_row
from edgeopt_papers.texts import texts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pandas as pd

    from edgeopt.instances.oinc import OincInstance
    from edgeopt.studies.entries import Benchmark
    from edgeopt.studies.results import Case
    from edgeopt.studies.sweeps import Job
    from edgeopt_papers.figures.aggregates import Sense
    from edgeopt_papers.figures.jobs import Sweep

CAVEATS: Final = texts(__file__, "caveats")
"""Why computed values may differ from published ones."""

THREE: Final = {"oinc": "OINC", "ekya": "Ekya", "kalmia": "Kalmia"}
"""The policies of the paper's figures over sweeps."""

ALL: Final = THREE | {
    "greedy+density": "Greedy & A_ret",
    "liu+density": "Liu & A_ret",
    "near+dedas": "A_inf & Dedas",
    "near+zhang": "A_inf & Zhang",
}
"""Those of its table and its run times."""

SLOTS: Final = 200
FEW_SLOTS: Final = 30
"""Slots of an instance, and of one of a quick run."""

FITTED: Final = (0, 1)
"""Seeds of the instances of the fit of the calibrated setting."""

DEFAULT: Final = "default"
FIT: Final = "calibrated"
JOINT: Final = "joint"


class Setting(NamedTuple):
    """What the instances of a setting are drawn with, and how their costs are counted.

    Attributes
    ----------
    parameters
        Of `generate`.
    first
        Seed of the first instance.
    own
        Policies that are its own.
    least
        Mean latency and mean completion time that count as 0, s.
    lasting
        Whether deadlines stay as they are when the work of jobs is scaled, and do not grow with it.
    """

    parameters: Mapping[str, Any]
    first: int
    own: Mapping[str, PolicyEntry]
    least: tuple[float, float] = (0.0, 0.0)
    lasting: bool = False

    def spec(self, seed: int, few: Mapping[str, Any], changed: Mapping[str, Any]) -> InstanceSpec:
        """Return an instance with some parameters changed; the work of jobs is scaled further."""
        given = {**self.parameters, **few, **changed}
        scale = changed.get("job_scale", 1.0)
        if "job_scale" in changed:
            given["job_scale"] = scale * self.parameters.get("job_scale", 1.0)
        if self.lasting:
            given["patience"] = tuple(one / scale for one in self.parameters["patience"])
        return InstanceSpec.of(generate, rng=self.first + seed, **given)


def _part(name: str, share: float, _instance: OincInstance, _found: Mapping[str, Benchmark]) -> Any:
    """Return a pair of parts with a fixed split; Greedy takes the first site that fits."""
    from edgeopt.online import oinc

    parts: Mapping[str, Any] = {
        "near": oinc.NearOptimalInference(),
        "greedy": oinc.GreedyConvex(rule="first-fit"),
        "liu": oinc.Liu(),
        "density": oinc.ResidualDensity(),
        "dedas": oinc.Dedas(),
        "zhang": oinc.Zhang(),
    }
    inference, retraining = name.split("+")
    return oinc.Oinc(
        inference=parts[inference],
        retraining=parts[retraining],
        reservation=oinc.StaticShares(share=share),
    )


def _reserving(largest: float, _instance: OincInstance, _found: Mapping[str, Benchmark]) -> Any:
    """Return OINC that keeps at most this share of a CPU for jobs."""
    from edgeopt.online import oinc

    return oinc.Oinc(reservation=oinc.Reservation(largest=largest))


def _pairs(share: float) -> dict[str, PolicyEntry]:
    """Return the pairs of parts, with a share of every CPU that is kept for jobs."""
    return {
        name: PolicyEntry(name, title, partial(_part, name, share))
        for name, title in ALL.items()
        if "+" in name
    }


class Knobs(NamedTuple):
    """What the fit of the joint setting turns; by default as in the calibrated setting.

    Attributes
    ----------
    slo
        Range of the objectives, s.
    jobs, job_scale
        Number of jobs, and the work of each in terms of the default setting.
    duty
        Share of the slots in which a device has a request.
    patience, lasting
        Time that a job has, in terms of what it takes alone on half of an average site, and
        whether it stays when work is scaled.
    share
        Of every CPU that the fixed splits keep for jobs.
    largest
        Share of a CPU that OINC keeps for jobs at most.
    least
        Mean latency and mean completion time that count as 0, s: the paper normalises the range
        of both, here from these on.
    """

    slo: tuple[float, float] = (0.3, 0.9)
    jobs: int = 24
    job_scale: float = 0.06
    duty: float = 0.4
    patience: tuple[float, float] = (1.5, 3.0)
    lasting: bool = False
    share: float = 0.25
    largest: float = 0.95
    least: tuple[float, float] = (0.0, 0.0)

    def setting(self, first: int) -> Setting:
        """Return the setting with these values, whose instances have seeds from one on."""
        open_ones = ("slo", "jobs", "job_scale", "duty", "patience")
        given = {name: getattr(self, name) for name in open_ones}
        oinc = PolicyEntry("oinc", "OINC", partial(_reserving, self.largest))
        own = {"oinc": oinc, **_pairs(self.share)}
        return Setting({**CALIBRATED, **given}, first, own, self.least, self.lasting)


CHOSEN: Final = Knobs(
    slo=(0.24, 0.58), jobs=200, job_scale=0.04, duty=0.38, patience=(0.8, 1.6), lasting=True,
    share=0.4, largest=0.8, least=(0.055, 94.0),
)  # fmt: skip
"""What the fit of the joint setting chose."""

SETTINGS: Final = {
    DEFAULT: Setting({"duty": 0.45}, 0, {}),
    FIT: Setting(CALIBRATED, 900, _pairs(0.25)),
    JOINT: CHOSEN.setting(910),
}
"""By name. The instances of the fitted ones were chosen before they were drawn."""

PANELS: Final = ("setting", {name: f"{name} setting" for name in SETTINGS})


ALWAYS: Final = (
    CAVEATS["settings"],
    "The calibrated setting is fitted to Table I: devices active in 40 % of the slots, jobs of 6 % "
    "of the work, one job in each of equal parts of the first 95 % of the slots, a quarter of each "
    "CPU kept by the fixed splits, and Greedy as first fit; the rest is as in the default setting. "
    f"The fit used the seeds {FITTED[0]} and {FITTED[1]}; instances shown have seeds from "
    f"{SETTINGS[FIT].first} on. It is one explanation of the printed values; others may fit as "
    "well.",
    f"The joint setting is fitted to Table I and Figures 4, 5, 8 and 9 on the seeds 900 to 909; "
    f"instances shown have seeds from {SETTINGS[JOINT].first} on. Beside the calibrated one, "
    f"objectives are {CHOSEN.slo[0]:g} to {CHOSEN.slo[1]:g} s, {CHOSEN.jobs} jobs of "
    f"{percent(CHOSEN.job_scale, 0)} of the work arrive, devices are active in "
    f"{percent(CHOSEN.duty, 0)} of the slots, jobs have {CHOSEN.patience[0]:g} to "
    f"{CHOSEN.patience[1]:g} times what they take alone, which does not grow with the retraining "
    f"set, the fixed splits keep {percent(CHOSEN.share, 0)} of each CPU, and OINC at most "
    f"{percent(CHOSEN.largest, 0)}. As the paper normalises the range of both times, they count "
    f"from {CHOSEN.least[0]:g} s and {CHOSEN.least[1]:g} s on: where a scale begins decides how "
    "large a saving is as a share, so that sums of this setting explain the printed shares, and "
    "do not confirm them.",
    *CAVEATS["open"],
)
"""What holds for every figure that is shown in all settings."""


def counted(case: Case) -> Mapping[str, Any]:
    """Return the numbers of a case, and what its sums are made of."""
    instance: OincInstance = case.instance
    sizes = ("slots", "jobs", "latency_scale", "completion_scale")
    own = {name: getattr(instance, name) for name in sizes}
    return {**table_row(case), **own, "requests": request_count(instance)}


def jobs(
    quick: bool, policies: Mapping[str, str], draws: int, sweep: Sweep | None = None,
    aggregate: Callable[[Case], Mapping[str, Any]] = counted,
    settings: Mapping[str, Setting] = SETTINGS,
) -> list[Job]:  # fmt: skip
    """List the jobs of policies on drawn instances in the settings, at every place.

    A quick run has two draws of small instances.
    """
    seeds = range(2 if quick else draws)

    def at(seed: int, *, setting: str, **place: Any) -> InstanceSpec:
        own = settings[setting]
        changed = sweep.settings(place[sweep.name]) if sweep else {}
        most = own.parameters.get("jobs", 24) * FEW_SLOTS // SLOTS
        few = {"slots": FEW_SLOTS, "jobs": max(6, most)} if quick else {}
        return own.spec(seed, few, changed)

    return [
        job
        for name, own in settings.items()
        for job in swept(
            "oinc",
            at,
            [own.own.get(policy, policy) for policy in policies],
            {"setting": [name]} | ({sweep.name: sweep.at(quick)} if sweep else {}),
            seeds,
            runs=2,
            aggregate=aggregate,
            bounded=False,
        )
    ]


SHARES: Final = ("success", "requests_met", "jobs_met")


def averages(
    table: pd.DataFrame, by: Sequence[str], settings: Mapping[str, Setting] = SETTINGS
) -> pd.DataFrame:
    """Return means over the instances of a setting; sums count from its least times on.

    Completion times grow with the slots, and so does the least one of a quick run.
    """
    least = np.array([settings[name].least for name in table["setting"]])
    latency = least[:, 0] / table["latency_scale"]
    completion = least[:, 1] * table["slots"] / SLOTS / table["completion_scale"]
    table = table.assign(
        both_times=table["latency"] + table["completion"],
        value=table["value"] - latency - completion,
        total=table["total"] - table["requests"] * latency - table["jobs"] * completion,
    )
    metrics = ("value", "total", "latency", "completion", "both_times", *SHARES)
    return means(table, metrics, ("setting", *by), shares=SHARES)


def under(setting: str, reader: Callable[[pd.DataFrame], Any]) -> Callable[[pd.DataFrame], Any]:
    """Return a reader of the rows of a setting."""
    return lambda rows: reader(where(rows, setting=setting))


def in_all(
    what: str, value: float | str, computed: Callable[[pd.DataFrame], Any], *, rule: Any,
    apart: Callable[[pd.DataFrame], str] | None = None, why: str | Mapping[str, str] = "",
    **more: Any,
) -> list[Published]:  # fmt: skip
    """Return a line of the paper for each setting; `rule` is as in `Published`.

    A line says why it differs, by setting or in all of them, and by how much: `apart` says so of a
    statement.
    """

    def reason(name: str) -> Callable[[pd.DataFrame], str]:
        known = why if isinstance(why, str) else why[name]
        size = apart or (lambda rows: _distance(computed(rows), value))
        return lambda rows: f"{known} {size(where(rows, setting=name))}".strip()

    return [
        Published(
            what, value, under(name, computed), setting=name, apart=reason(name),
            rule=under(name, rule) if callable(rule) else rule, **more,
        )
        for name in SETTINGS
    ]  # fmt: skip


def _distance(found: Any, printed: Any) -> str:
    """Say how far a number lies from the printed one."""
    value = found.value if isinstance(found, Estimate) else found
    way = "above" if value > printed else "below"
    return f"It lies {percent(abs(value / printed - 1.0))} {way} the printed one."


def behind(
    metric: str, others: Mapping[str, str], sense: Sense = "min", places: str = "", what: str = ""
) -> Callable[[pd.DataFrame], str]:
    """Return a reader of how far OINC is behind others at the most, where it should be best."""

    def read(rows: pd.DataFrame) -> str:
        table = rows.pivot(index=places or "setting", columns="policy", values=metric)
        above = table[[*others]].rdiv(table["oinc"], axis=0) - 1.0
        worst, place, other = largest_entry(above if sense == "min" else -above)
        at = f" at {places} {place:g}" if places else ""
        return (
            f"{what or 'It'} is {percent(worst)} {'above' if sense == 'min' else 'below'} "
            f"that of {others[other]}{at}."
        )

    return read


def largest_entry(table: pd.DataFrame) -> tuple[float, Any, str]:
    """Return the largest entry of a table, with its row and its column."""
    entries = [
        (float(value), row, str(one))
        for row, own in table.to_dict("index").items()
        for one, value in own.items()
    ]
    return max(entries, key=lambda entry: entry[0])
