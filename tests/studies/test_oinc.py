from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from edgeopt.instances.oinc import OincInstance, generate
from edgeopt.online.oinc import NearOptimalInference, Oinc, OincTrajectory, Served
from edgeopt.studies import Case, Study, study
from edgeopt.studies.oinc import SYSTEM
from edgeopt.studies.oinc.pictures import Stretch, quotients, stretches
from edgeopt.studies.oinc.policies import APART, COMBINATIONS, apart, solve
from edgeopt.studies.oinc.tables import constraint_count, simulated
from edgeopt.studies.pictures.canvas import lead
from edgeopt.studies.wording import percent
from tests.draws import some
from tests.studies.test_page import assert_readable, assert_self_contained

if TYPE_CHECKING:
    from pathlib import Path

    from tests.studies.conftest import Plans

SIZES: dict[str, Any] = {"sites": 3, "devices": 7, "slots": 24, "jobs": 5, "job_scale": 0.1}
REFUSING = Oinc(inference=NearOptimalInference(unfit="refuse"), title="refusing")
FEW = ["oinc", REFUSING, "ekya", "greedy+zhang"]

NO_CLAIMS = replace(SYSTEM, claims=None)
"""The record, without the time that claims take."""


def busy(rng: int = 1) -> OincInstance:
    """Return an instance in which objectives and deadlines are missed."""
    usual = generate(**SIZES, rng=rng)
    return usual.replace(deadline=usual.arrival + 0.4 * (usual.deadline - usual.arrival))


@pytest.fixture(scope="module")
def minute() -> Study:
    return study({"minute": busy()}, "all", system=NO_CLAIMS, runs=2)


@pytest.fixture(scope="module")
def case(minute: Study) -> Case:
    return minute.cases[0]


def test_every_combination_takes_part_and_is_bounded(case: Case) -> None:
    assert len(COMBINATIONS) == 9
    names = list(case.trajectories)
    assert set(COMBINATIONS) | {"oinc", "oinc+largest", "ekya", "kalmia"} <= set(names)
    table = case.table.set_index("policy")
    assert set(table["bound"]) == {APART}
    assert (table["bound_ratio"] >= 1).all()
    assert names == [entry.name for entry in SYSTEM.policies.entries]


def test_the_weighted_scaled_sum_is_what_it_is_said_to_be(case: Case) -> None:
    usual = case.instance
    rng = np.random.default_rng(5)
    weighty = usual.replace(
        weight=rng.uniform(0.5, 3, usual.jobs), request_weight=rng.uniform(0.5, 3, usual.slots)
    )
    for instance in (usual, weighty):
        whole = study({"w": instance}, FEW, system=NO_CLAIMS).cases[0]
        for name, trajectory in simulated(whole).items():
            latency = weights = 0.0
            for i, slot in enumerate(trajectory.slot.tolist()):
                one, weight = trajectory.latency[0, i], instance.request_weight[slot]
                latency += weight * (instance.refusal_latency if np.isnan(one) else one)
                weights += weight
            jobs = sum(
                float(b) * float(w)
                for b, w in zip(trajectory.completion[0], instance.weight, strict=True)
            )
            expected = (
                latency / weights / instance.latency_scale,
                jobs / sum(instance.weight.tolist()) / instance.completion_scale,
            )
            for part, figure in zip(trajectory.scaled_parts(), expected, strict=True):
                assert part == pytest.approx([figure])
            assert whole.values(name) == pytest.approx([sum(expected)])
            row = whole.table.set_index("policy").loc[name]
            assert row["value"] == pytest.approx(sum(expected))
            assert row["ratio"] == pytest.approx(sum(expected) / whole.benchmark.bound)
            assert row["ratio"] >= 1
            total = latency / instance.latency_scale + jobs / instance.completion_scale
            assert row["total"] == pytest.approx(total)


def test_requests_and_jobs_without_weight_count_nothing() -> None:
    usual = generate(**SIZES, rng=1)
    weightless = usual.replace(weight=np.zeros(usual.jobs), request_weight=np.zeros(usual.slots))
    for instance in (weightless, generate(**SIZES | {"jobs": 0}).replace(active=0 * usual.active)):
        found = study({"nothing": instance}, ["oinc"], system=NO_CLAIMS).cases[0]
        assert (found.values("oinc") == 0).all()
        assert found.benchmark.bound == 0


def test_metrics_count_requests_and_jobs(case: Case) -> None:
    instance, table = case.instance, case.table.set_index("policy")
    missed = 0
    for name, trajectory in simulated(case).items():
        row = table.loc[name]
        slo = [instance.slo[t, i] for t, i in zip(*np.nonzero(instance.active), strict=True)]
        requests = [a <= b * (1 + 1e-9) for a, b in zip(trajectory.latency[0], slo, strict=True)]
        jobs = [
            a <= b * (1 + 1e-9)
            for a, b in zip(trajectory.completion[0], instance.deadline, strict=True)
        ]
        assert row["requests_met"] == pytest.approx(np.mean(requests))
        assert row["jobs_met"] == pytest.approx(np.mean(jobs))
        assert row["success"] == pytest.approx(np.mean([*requests, *jobs]))
        assert row["violated"] == requests.count(False) + jobs.count(False)
        missed += requests.count(False) * jobs.count(False)
    assert missed > 0
    assert constraint_count(instance) == instance.active.sum() + instance.jobs


def test_benchmark_is_below_every_policy_part_by_part(case: Case) -> None:
    found = case.benchmark
    assert found.bound <= found.value
    assert found.gap < 0.5
    least = apart(case)
    for trajectory in simulated(case).values():
        inference, retraining = trajectory.scaled_parts()
        assert float(least.inference) <= inference[0] * (1 + 1e-9)
        assert float(least.retraining) <= retraining[0] * (1 + 1e-9)
    value = found.plan.value
    mean = np.concatenate([plan.latency for plan in found.plan.plans]).mean()
    assert float(value.inference) == pytest.approx(mean / case.instance.latency_scale)
    assert len(found.plan.plans) == case.instance.slots


def test_benchmark_bounds_plans_that_refuse_what_is_dear() -> None:
    usual = generate(**SIZES | {"jobs": 0}, rng=2)
    heavy = usual.request_size * np.where(np.arange(usual.devices) < 3, 60.0, 1.0)
    instance = usual.replace(request_size=heavy)
    refused_all = instance.refusal_latency / instance.latency_scale
    found = study({"dear": instance}, ["oinc", REFUSING], system=NO_CLAIMS).cases[0]
    served, refusing = (found.values(name)[0] for name in ("oinc", "refusing"))
    assert found.benchmark.bound <= refusing < served
    assert found.benchmark.bound <= refused_all
    assert simulated(found)["refusing"].refused.any()
    assert found.benchmark.plan.bound.retraining == 0
    # All are dear: what is best is to refuse all of them, and the bound must not be above that.
    dear = instance.replace(request_size=60.0 * usual.request_size)
    assert solve(dear).bound <= refused_all * (1 + 1e-9)
    assert solve(dear).bound > 0.2 * refused_all


def test_logs_leave_out_no_slot_job_or_site(case: Case) -> None:
    sites, jobs, slots = SYSTEM.reporting.logs
    instance, table = case.instance, case.table.set_index("policy")
    for name, trajectory in simulated(case).items():
        row = table.loc[name]
        every = slots.rows(case, name)
        assert every["slot"].tolist() == list(range(instance.slots))
        assert every["requests"].tolist() == instance.active.sum(axis=1).tolist()
        assert every["jobs arriving"].sum() == instance.jobs
        assert every[SYSTEM.objective.name].sum() == pytest.approx(row["value"])
        late = jobs.rows(case, name)
        assert late["job"].tolist() == list(range(instance.jobs))
        assert (late["late by (s)"] > 0).mean() == pytest.approx(1 - row["jobs_met"])
        missed = every["objectives missed"].sum() + (late["late by (s)"] > 0).sum()
        assert missed == row["violated"]
        assert (late["completion (s)"] - late["arrival (s)"]).tolist() == pytest.approx(
            late["flow time (s)"].tolist()
        )
        place = sites.rows(case, name)
        assert len(place) == instance.sites
        assert place["requests"].sum() == every["requests"].sum() - every["refused"].sum()
        assert place["jobs"].sum() == instance.jobs
        kept = trajectory.reserved[0].max(axis=0)
        assert place["largest share kept"].tolist() == pytest.approx(kept.tolist())
        for log, rows in zip(SYSTEM.reporting.logs, (place, late, every), strict=True):
            assert set(log.bad) <= set(rows.columns)


def test_stretches_join_what_follows_without_a_break() -> None:
    job = np.array([0, 1, 0, 1, 0, 0])
    begin = np.array([0.0, 0.5, 1.0, 1.0, 2.0, 3.5])
    end = np.array([0.5, 1.0, 2.0, 1.25, 3.0, 4.0])
    share = np.array([0.5, 0.5, 0.5, 0.5, 0.25, 0.25])
    served = Served(job, np.zeros(6, dtype=int), share, begin, end)
    assert stretches(served) == [
        Stretch(0, 0.5, 0.0, 0.5),
        Stretch(0, 0.5, 1.0, 2.0),
        Stretch(0, 0.25, 2.0, 3.0),
        Stretch(0, 0.25, 3.5, 4.0),
        Stretch(1, 0.5, 0.5, 1.25),
    ]


def test_stretches_do_the_work_of_every_job(case: Case) -> None:
    instance: OincInstance = case.instance
    for name in ("oinc", "ekya", "near+zhang"):
        trajectory: OincTrajectory = case.replay(name)
        assert trajectory.served is not None
        done = np.zeros(instance.jobs)
        for one in stretches(trajectory.served):
            speed = one.share * instance.speed[trajectory.job_site[0, one.job]]
            done[one.job] += speed * (one.end - one.begin)
            assert one.begin >= instance.arrival[one.job]
            assert one.end <= trajectory.completion[0, one.job] + 1e-9
        assert done == pytest.approx(instance.work)


def test_quotients_are_on_the_side_that_the_counts_say(case: Case) -> None:
    for trajectory in simulated(case).values():
        found = quotients(trajectory)
        assert found.size == (~trajectory.refused[0]).sum()
        assert (found > 1.0).sum() == (~trajectory.met[0] & ~trajectory.refused[0]).sum()


def drawn() -> dict[str, OincInstance]:
    usual = generate(**SIZES, rng=1)
    silent = np.zeros_like(usual.active)
    long = tuple(f"A very long name of site {j}" for j in range(usual.sites))
    return {
        "silent": usual.replace(active=silent, names=long),
        "no jobs": generate(**SIZES | {"jobs": 0}),
        "nothing": generate(**SIZES | {"jobs": 0}).replace(active=silent),
        "weightless": usual.replace(
            weight=np.zeros(usual.jobs), request_weight=np.zeros(usual.slots)
        ),
        "many": generate(**SIZES | {"jobs": 14, "sites": 20}).replace(
            job_kind=np.arange(14) % 11, kinds=tuple(f"kind of model number {n}" for n in range(11))
        ),
        "hopeless": usual.replace(request_size=40.0 * usual.request_size),
        "one slot": generate(**SIZES | {"slots": 1}),
        "one site": generate(**SIZES | {"sites": 1}, rng=2).replace(job_kind=None, kinds=None),
    }  # fmt: skip


@pytest.mark.parametrize("name", some(drawn(), "hopeless"))
def test_pictures_can_be_read(name: str) -> None:
    policies = ["oinc", REFUSING]
    case = study({name: drawn()[name]}, policies, system=NO_CLAIMS).cases[0]
    assert_readable(case)


def test_titles_say_what_the_table_says(case: Case) -> None:
    table = case.table.set_index("policy")
    titles = {picture.name: picture.title(case) for picture in SYSTEM.reporting.pictures}
    best = lead(case)
    runs, title = simulated(case)[best], case.entries[best].title
    share = runs.scaled_parts()[0].mean() / table.loc[best, "value"]
    assert titles["weighted"].endswith(f"of {title}, {percent(share, 0)} is latency of requests")
    met = f"{100 * table.loc[best, 'requests_met']:.1f}"
    assert f"{title} answers {met}" in titles["latency"]
    late = int((runs.completion[0] > case.instance.deadline).sum())
    assert f"{late} of them after" in titles["gantt"] if late else "all of them" in titles["gantt"]


@pytest.mark.long
def test_page_shows_table_one_and_what_the_figures_mean(minute: Study, tmp_path: Path) -> None:
    page = minute.page(tmp_path).read_text(encoding="utf-8")
    text = " ".join(" ".join(assert_self_contained(page).text).split())
    assert " ".join(minute.cases[0].instance.origin.split()) in text
    assert not re.search(r"\b(nan|None|inf|profit)\b", re.split(r"All \d+ claims", text)[0])
    written = pd.read_csv(tmp_path / "table_one.csv").set_index("policy")
    assert list(written.index) == list(minute.cases[0].ranked["policy"])
    assert written["latency_low"].isna().all()
    assert len(pd.read_csv(tmp_path / "jobs.csv")) == 5 * len(written)


def test_table_one_averages_over_drawn_instances() -> None:
    wanted = ["oinc", "kalmia", "liu+dedas"]
    instances = {str(seed): generate(rng=seed, **SIZES) for seed in (4, 5, 6)}
    compared = study(instances, wanted, system=NO_CLAIMS)
    found, each = compared.comparison("table_one").set_index("policy"), compared.cases
    assert found["instances"].tolist() == [3, 3, 3]
    for policy in wanted:
        latency = np.array([simulated(one)[policy].mean_latency()[0] for one in each])
        row = found.loc[policy]
        assert row["latency"] == pytest.approx(np.mean(latency))
        assert (row["latency_low"], row["latency_high"]) == (latency.min(), latency.max())
        both = np.array([simulated(one)[policy].mean_completion()[0] for one in each]) + latency
        assert row["both_times"] == pytest.approx(np.mean(both))
        assert (row["both_times_low"], row["both_times_high"]) == pytest.approx(
            (both.min(), both.max())
        )
        scaled = [simulated(one)[policy].scaled_sum()[0] for one in each]
        assert row["value"] == pytest.approx(np.mean(scaled))
        bounds = np.array([one.benchmark.bound for one in each])
        ours = np.array([simulated(one)["oinc"].scaled_sum()[0] for one in each])
        lead = (scaled / bounds).mean() / (ours / bounds).mean()
        if policy != "oinc":
            assert row["value_relative"] == pytest.approx(lead)
            assert row["value_relative_finding"] == "too close to call"
    assert np.isnan(found.loc["oinc", "value_relative"])


def test_sources_and_what_they_are_made_of() -> None:
    assert list(SYSTEM.instances.sources) == [
        "drawn",
        "calibrated",
        "swinging",
        "physical",
        "tables",
    ]
    lines = SYSTEM.instances.sources["tables"].provenance()
    for source in ("Alibaba", "Azure", "RobustBench"):
        assert any(line.startswith(source) for line in lines)
    assert "physical" in SYSTEM.instances.sources["physical"].make(rng=1).origin
    for source in SYSTEM.instances.sources.values():
        assert isinstance(source.make(rng=2), OincInstance)


def test_describe_counts_what_there_is() -> None:
    instance = busy()
    found = SYSTEM.instances.describe(instance)
    assert found["requests"] == instance.active.sum()
    asked = sum(
        instance.request_work[t, i] for t, i in zip(*np.nonzero(instance.active), strict=True)
    )
    share = asked / instance.slots / instance.speed.sum()
    assert found["CPU_share_asked_by_requests"] == pytest.approx(share)


def test_export_writes_both_files_alike(plans: Plans) -> None:
    instance = busy()
    rows, stored = plans(solve(instance))
    slot, device = np.nonzero(instance.active)
    assert rows["slot"].tolist() == slot.tolist()
    assert rows["device"].tolist() == device.tolist()
    sent = instance.transmission_seconds[slot, device, rows["site"]] / rows["band"]
    done = instance.computation_seconds[slot, device, rows["site"]] / rows["cpu"]
    assert rows["latency"].to_numpy() == pytest.approx((sent + done).to_numpy())
    assert stored["latency"].to_numpy() == pytest.approx(rows["latency"].to_numpy())
    assert stored["latency"].attrs["units"] == "s"
    assert stored["completion"].shape == (instance.jobs,)
