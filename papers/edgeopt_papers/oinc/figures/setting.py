"""The two settings of OINC's figures: the default one, and one fitted to the paper's Table I.

The paper leaves open when jobs arrive, how much work they are, how often devices are active, what
share the fixed splits keep, and how Greedy chooses a site. In the calibrated setting these are
chosen so that the mean relative error of fourteen figures of Table I is least on two instances.
Other values may fit as well: activity, objectives and radio move latencies alike, the size of jobs
and the split move completions alike.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from edgeopt.instances.oinc import generate
from edgeopt.instances.oinc.generate import CALIBRATED
from edgeopt.studies.entries import PolicyEntry
from edgeopt_papers.figures import InstanceSpec, Published, means, swept
from edgeopt_papers.figures.aggregates import where
from edgeopt_papers.texts import texts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pandas as pd

    from edgeopt.instances.oinc import OincInstance
    from edgeopt.studies.entries import Benchmark
    from edgeopt.studies.results import Case
    from edgeopt.studies.sweeps import Job
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

SHARE: Final = 0.25
"""Fitted share of a CPU that the fixed splits keep for jobs."""

FITTED: Final = (0, 1)
"""Seeds of the instances of the fit."""


class Setting(NamedTuple):
    """Parameters of `generate`, the seed of the first instance, and policies that are its own."""

    parameters: Mapping[str, Any]
    first: int
    own: Mapping[str, PolicyEntry]

    def spec(self, seed: int, few: Mapping[str, Any], changed: Mapping[str, Any]) -> InstanceSpec:
        """Return an instance with some parameters changed; the work of jobs is scaled further."""
        given = {**self.parameters, **few, **changed}
        if "job_scale" in changed:
            given["job_scale"] = changed["job_scale"] * self.parameters.get("job_scale", 1.0)
        return InstanceSpec.of(generate, rng=self.first + seed, **given)


def _fitted(name: str, _instance: OincInstance, _found: Mapping[str, Benchmark]) -> Any:
    """Return a pair of parts with the fitted split; Greedy takes the first site that fits."""
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
        reservation=oinc.StaticShares(share=SHARE),
    )


DEFAULT: Final = "default"
FIT: Final = "calibrated"
SETTINGS: Final = {
    DEFAULT: Setting({"duty": 0.45}, 0, {}),
    FIT: Setting(
        CALIBRATED,
        900,
        {
            name: PolicyEntry(name, title, partial(_fitted, name))
            for name, title in ALL.items()
            if "+" in name
        },
    ),
}
"""By name. The instances of the fitted one were chosen before they were drawn."""

PANELS: Final = ("setting", {name: f"{name} setting" for name in SETTINGS})


BOTH: Final = (
    CAVEATS["two settings"],
    "The calibrated setting is fitted to Table I: devices active in 40 % of the slots, jobs of 6 % "
    "of the work, one job in each of equal parts of the first 95 % of the slots, a quarter of each "
    "CPU kept by the fixed splits, and Greedy as first fit; the rest is as in the default setting. "
    f"The fit used the seeds {FITTED[0]} and {FITTED[1]}; instances shown have seeds from "
    f"{SETTINGS[FIT].first} on. It is one explanation of the printed values; others may fit as "
    "well.",
    *CAVEATS["open"],
)
"""What holds for every figure that is shown in both settings."""


def jobs(
    quick: bool, policies: Mapping[str, str], draws: int, sweep: Sweep | None = None,
    aggregate: Callable[[Case], Mapping[str, Any]] | None = None,
    settings: Sequence[str] = tuple(SETTINGS),
) -> list[Job]:  # fmt: skip
    """List the jobs of policies on drawn instances in the settings, at every place.

    A quick run has two draws of small instances.
    """
    few: dict[str, Any] = {"slots": 30, "jobs": 6} if quick else {}
    seeds = range(2 if quick else draws)

    def at(seed: int, *, setting: str, **place: Any) -> InstanceSpec:
        changed = sweep.settings(place[sweep.name]) if sweep else {}
        return SETTINGS[setting].spec(seed, few, changed)

    return [
        job
        for name in settings
        for job in swept(
            "oinc",
            at,
            [SETTINGS[name].own.get(policy, policy) for policy in policies],
            {"setting": [name]} | ({sweep.name: sweep.at(quick)} if sweep else {}),
            seeds,
            runs=2,
            aggregate=aggregate,
            bounded=False,
        )
    ]


SHARES: Final = ("success", "requests_met", "jobs_met")


def averages(table: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Return means over the instances of a setting."""
    table = table.assign(both_times=table["latency"] + table["completion"])
    metrics = ("value", "total", "latency", "completion", "both_times", *SHARES)
    return means(table, metrics, ("setting", *by), shares=SHARES)


def under(setting: str, reader: Callable[[pd.DataFrame], Any]) -> Callable[[pd.DataFrame], Any]:
    """Return a reader of the rows of a setting."""
    return lambda rows: reader(where(rows, setting=setting))


def in_both(
    what: str, value: float | str, computed: Callable[[pd.DataFrame], Any], *, rule: Any,
    **more: Any,
) -> list[Published]:  # fmt: skip
    """Return a line of the paper for each setting; `rule` is as in `Published`."""
    return [
        Published(
            what, value, under(name, computed), setting=name,
            rule=under(name, rule) if callable(rule) else rule, **more,
        )
        for name in SETTINGS
    ]  # fmt: skip
