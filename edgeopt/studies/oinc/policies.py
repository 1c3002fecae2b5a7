"""The policies that an OINC study compares, and the bound on inference and retraining apart."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import edgeopt
from edgeopt.bounds.validity import Check
from edgeopt.models.tabular import Tabular, named
from edgeopt.solvers.tolerance import relative_gap
from edgeopt.studies.entries import Benchmark, BenchmarkEntry, PolicyEntry, made
from edgeopt.studies.learners import Learned
from edgeopt.studies.oinc.tables import Parts
from edgeopt.studies.wording import plural

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from edgeopt.arrays import Floats
    from edgeopt.instances.oinc import OincInstance
    from edgeopt.learning import Checkpoint
    from edgeopt.models.oinc.slot import SlotPlan
    from edgeopt.models.tabular import Labels
    from edgeopt.online.simulate import Step
    from edgeopt.studies.results import Case


APART = "apart"
"""Name of the benchmark."""

GAP: Final = 3e-3
"""Relative gap at which the search for the bound of a slot stops.

A smaller one takes twice the time and raises the bound by a thousandth.
"""


@dataclass(frozen=True, eq=False)
class Apart(Tabular):
    """Inference as if there were no jobs, and retraining as if there were no requests.

    The weighted scaled sum of the two plans, which cannot both be carried out, and a lower bound on
    that of any two plans; the plan of every slot with all CPUs; and site and completion time (s) of
    every job, shape [K].
    """

    value: Parts
    bound: Parts
    plans: tuple[SlotPlan, ...]
    job_site: NDArray[np.int64]
    completion: Floats

    def _rows(self) -> dict[str, Any]:
        def joined(name: str) -> NDArray[Any]:
            return np.concatenate([np.asarray(getattr(one, name)) for one in self.plans])

        sizes = [one.site.size for one in self.plans]
        return {
            "slot": np.repeat(np.arange(len(sizes)), sizes),
            "device": np.concatenate([np.asarray(one.problem.device) for one in self.plans]),
            **{name: joined(name) for name in ("site", "band", "cpu", "latency")},
        }

    def _arrays(self, labels: Labels) -> dict[str, Any]:
        completion = {"long_name": "completion time without requests", "units": "s"}
        return {
            **{
                name: (
                    ("request",),
                    named(labels.get(name), values),
                    {"units": "s" if name == "latency" else "1"},
                )
                for name, values in self._rows().items()
            },
            "job_site": (("job",), named(labels.get("site"), self.job_site), {"units": "1"}),
            "completion": (("job",), self.completion, completion),
        }


def apart(case: Case) -> Parts:
    """Return the bounds on the two parts of the weighted scaled sum of a study."""
    plan: Apart = case.benchmarks[APART].plan
    return plan.bound


def solve(
    instance: OincInstance, *, gap: float = GAP, time_limit: float | None = None
) -> Benchmark:
    """Bound the weighted scaled sum of every policy that completes all jobs, each at one site."""
    from edgeopt.models.oinc import weighted_sum_bound
    from edgeopt.models.oinc.retraining import retraining_problem
    from edgeopt.online.oinc.retraining import run_density

    began = time.perf_counter()
    least = weighted_sum_bound(instance, gap=gap, time_limit=time_limit)
    plans = least.plans
    refused = [instance.refusal_latency * float((plan.site < 0).sum()) for plan in plans]
    latency = np.array([plan.objective for plan in plans]) + refused
    run = run_density(retraining_problem(instance))
    heavy = instance.weight > 0  # the others may never be complete
    per_request, per_job = instance.scaled_units
    value = Parts(
        np.asarray(instance.request_weight @ latency / per_request),
        np.asarray(instance.weight[heavy] @ run.completion[heavy] / per_job),
    )
    bound = Parts(*(np.asarray(part) for part in least.scaled_parts))
    found, proven = float(value.total), float(bound.total)
    slots = plural(instance.slots, "slot")
    return Benchmark(
        value=found,
        bound=proven,
        gap=relative_gap(found, proven),
        seconds=time.perf_counter() - began,
        solver="column generation and HiGHS",
        status=f"{slots}, each within {gap:.1%}, and {plural(instance.jobs, 'job')}",
        plan=Apart(value, bound, plans, run.site, run.completion),
        labels=dict(instance.labels),
    )


def _incomplete(instance: OincInstance, trajectory: Any) -> Any:
    """Return which jobs with a weight are not complete; others count with the end of the run."""
    return ~trajectory.complete[:, instance.weight > 0]


COMPLETE = Check(
    "all jobs complete", _incomplete, high=0, source="trajectory",
    sentence="completes all its jobs, each at one site",
)  # fmt: skip


def point(instance: OincInstance, log: Sequence[Step]) -> dict[str, NDArray[np.float64]]:
    """Return site, band and CPU of every request, shape [T, I, J], and sites of jobs, [K, J]."""
    slots = instance.slots, instance.devices, instance.sites
    found = {"y": np.zeros(slots), "v": np.zeros(slots), "z": np.zeros(slots)}
    found["x"] = np.zeros((instance.jobs, instance.sites))
    for seen, decision, _ in log:
        plan, served = decision.plan, decision.plan.site >= 0
        at = seen.slot, plan.problem.device[served], plan.site[served]
        if seen.slot < instance.slots:
            found["y"][at] = 1.0
            found["v"][at] = plan.band[served]
            found["z"][at] = plan.cpu[served]
        sent = decision.job_site >= 0
        found["x"][seen.jobs.job[sent]] = 0.0
        found["x"][seen.jobs.job[sent], decision.job_site[sent]] = 1.0
    return found


BENCHMARKS = {
    APART: BenchmarkEntry(
        "two-part bound",
        solve,
        (COMPLETE,),
    ),
}


_ONLINE = "edgeopt.online.oinc"

_INFERENCE = {
    "near": ("Near-optimal", "NearOptimalInference"),
    "greedy": ("Greedy", "GreedyConvex"),
    "liu": ("Liu", "Liu"),
}
"""Ways to answer requests: title and class."""

_RETRAINING = {
    "density": ("density", "ResidualDensity"),
    "dedas": ("Dedas", "Dedas"),
    "zhang": ("Zhang", "Zhang"),
}
"""Ways to dispatch and serve jobs: title and class."""

_Forms = tuple[tuple[str, str, dict[str, dict[str, Any]], bool], ...]

_OINC: _Forms = (
    # name, title, options of the parts, takes part by default
    ("oinc", "OINC", {}, True),
    (
        "oinc+busy",
        "OINC, optimised while busy",
        {"reservation": {"optimise": True, "span": "busy"}},
        True,
    ),
    ("oinc+largest", "OINC, at most 80 % kept", {"reservation": {"largest": 0.8}}, True),
    ("oinc+slot", "OINC, one job a slot", {"retraining": {"service": "slot"}}, False),
    ("oinc+deadline", "OINC, deadline weights", {"retraining": {"weights": "deadline"}}, False),
)

_AS_PUBLISHED = ("oinc", "oinc+slot", "oinc+deadline")
"""Readings of what the paper says of its policy."""

COMBINATIONS = {
    f"{inference}+{retraining}": f"{_INFERENCE[inference][0]} & {_RETRAINING[retraining][0]}"
    for inference in _INFERENCE
    for retraining in _RETRAINING
}
"""Names and titles of all pairs of a way to infer and a way to retrain, with fixed shares."""


def _oinc(
    options: Mapping[str, Mapping[str, Any]],
    _instance: OincInstance,
    _found: Mapping[str, Benchmark],
) -> Any:
    from edgeopt.online.oinc import Oinc, Reservation, ResidualDensity

    return Oinc(
        retraining=ResidualDensity(**options.get("retraining", {})),
        reservation=Reservation(**options.get("reservation", {})),
    )


def _learned(_instance: OincInstance, _found: Mapping[str, Benchmark]) -> Any:
    from edgeopt.learning.oinc import InsertionActor
    from edgeopt.online.oinc import Oinc

    return Oinc(inference=InsertionActor())


def _combined(name: str, _instance: OincInstance, _found: Mapping[str, Benchmark]) -> Any:
    from edgeopt.online import oinc

    inference, retraining = name.split("+")
    return oinc.Oinc(
        inference=getattr(oinc, _INFERENCE[inference][1])(),
        retraining=getattr(oinc, _RETRAINING[retraining][1])(),
        reservation=oinc.StaticShares(),
    )


POLICIES = (
    *(
        PolicyEntry(
            name,
            title,
            partial(_oinc, options),
            edition="published" if name in _AS_PUBLISHED else "improved",
            default=default,
        )
        for name, title, options, default in _OINC
    ),
    PolicyEntry(
        "learned",
        "OINC, learned",
        _learned,
        edition="improved",
        learned=True,
        default=False,
    ),
    *(
        PolicyEntry(name, title, made(_ONLINE, title), edition="published")
        for name, title in (("ekya", "Ekya"), ("kalmia", "Kalmia"))
    ),
    PolicyEntry(
        "kalmia+shared",
        "Kalmia, leftovers shared",
        made(_ONLINE, "Kalmia", spare=0.5),
        edition="published",
        default=False,
    ),
    *(
        PolicyEntry(
            name,
            title,
            partial(_combined, name),
            edition="published",
            default=name.endswith("+density"),
        )
        for name, title in COMBINATIONS.items()
    ),
)


def _run(checkpoint: Checkpoint) -> Any:
    from edgeopt.learning.oinc import InsertionActor
    from edgeopt.learning.oinc.published import SoftActor
    from edgeopt.online.oinc import Oinc

    made = SoftActor if checkpoint.learner == "sac-d" else InsertionActor
    return Oinc(inference=made(checkpoint=checkpoint))


def _checkpoints(policy: Any) -> list[Checkpoint]:
    from edgeopt.learning.oinc import InsertionActor, shipped
    from edgeopt.learning.oinc.published import SoftActor

    inference = getattr(policy, "inference", None)
    if not isinstance(inference, InsertionActor | SoftActor):
        return []
    return [inference.checkpoint or shipped()]


LEARNED: Final = Learned(
    "learned",
    Path(edgeopt.__file__).parent / "learning" / "oinc",
    _run,
    _checkpoints,
)
"""What runs the results of training."""
