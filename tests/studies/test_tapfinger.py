from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd
import pytest

from edgeopt.instances.tapfinger import TapFingerInstance, generate
from edgeopt.models.tapfinger import verify
from edgeopt.online.simulate import Deterministic
from edgeopt.online.tapfinger import Decision, Held
from edgeopt.studies import Case, Study, registry, study
from edgeopt.studies.pictures.canvas import MUTED, policy_styles
from edgeopt.studies.pictures.figure import draw
from edgeopt.studies.sentences import lead, sentences
from edgeopt.studies.tapfinger import SYSTEM
from edgeopt.studies.tapfinger.pictures import distribution, pieces
from edgeopt.studies.tapfinger.policies import CHANGING, FIXED, bound_label, solve
from edgeopt.studies.tapfinger.tables import (
    shortest_flow_times,
    simulated,
)
from tests.draws import some
from tests.studies.test_page import assert_readable, assert_self_contained, overlapping

if TYPE_CHECKING:
    from pathlib import Path

    from tests.studies.conftest import Plans

SIZES: dict[str, Any] = {"clusters": 2, "tasks": 24, "rate": 2.5}
FEW = ["reservation", "optimus", "random"]

NO_CLAIMS = replace(SYSTEM, claims=None)
"""The record, without the time that claims take."""

NO_PICTURES = replace(NO_CLAIMS, reporting=replace(SYSTEM.reporting, pictures=()))
"""The record, without the time that claims and pictures take."""


@dataclass(frozen=True)
class Idle(Deterministic):
    """Never starts anything, and never changes the bundle of what runs."""

    preemptive: ClassVar[bool] = False
    name: str = "Idle"

    def start(self, instance: TapFingerInstance) -> int:
        return instance.clusters

    def decide(self, state: int, _observation: Any, _rng: Any) -> tuple[Decision, int]:
        return Decision.void(state), state

    def learn(self, state: int, *_seen: Any) -> int:
        return state


@pytest.fixture(scope="module")
def both() -> Study:
    """Return a study of both modes, with noise in the second one."""
    instances = {
        "several": generate(**SIZES, rng=2),
        "single": generate(**SIZES, rng=3, single_start=True),
    }
    return study(instances, system=NO_CLAIMS, runs=3)


@pytest.fixture(scope="module")
def case(both: Study) -> Case:
    return both.case("several")


@pytest.mark.long
def test_every_policy_takes_part_under_the_bound_that_is_valid_for_it(both: Study) -> None:
    kinds = set()
    for one in both.cases:
        assert list(one.trajectories) == [
            entry.name
            for entry in sorted(SYSTEM.policies.entries, key=lambda one: not one.causal)
            if entry.default
        ]
        for name, policy in one.policies.items():
            own = one.bound_of(name)
            assert own == (CHANGING if policy.preemptive else FIXED)
            least = one.benchmarks[own].each or one.benchmarks[own].bound
            assert (one.values(name) >= np.array(least) * (1 - 1e-9)).all()
            if not policy.preemptive:
                assert not simulated(one)[name].preemptions.any()
            kinds.add(type(policy).__name__)
        assert one.table.set_index("policy")["preemptions"]["optimus"] > 0
    assert kinds == {
        "Min", "RandomAllocation", "Optimus", "Tiresias", "OptimusContainers",
        "TiresiasContainers", "PricedSpt", "ReservationSpt", "FutureRollout",
        "LearntReservation",
    }  # fmt: skip


def test_metrics_count_what_was_simulated(both: Study) -> None:
    for one in both.cases:
        instance: TapFingerInstance = one.instance
        table = one.table.set_index("policy")
        for name, runs in simulated(one).items():
            flow = [
                [c - a for c, a in zip(run.tolist(), instance.arrival.tolist(), strict=True)]
                for run in runs.completion
            ]
            row = table.loc[name]
            assert row["value"] == pytest.approx(np.mean([sum(run) for run in flow]))
            assert row["mean"] == pytest.approx(row["value"] / instance.tasks)
            assert row["median"] == np.mean([sorted(run)[11] for run in flow])
            assert row["p95"] == np.mean([sorted(run)[22] for run in flow])
            assert row["makespan"] == runs.completion.max(axis=1).mean()
            assert runs.accumulation.sum(axis=1) == pytest.approx([sum(run) for run in flow])
        replayed = one.replay("optimus")
        held = replayed.held
        length = held.end - held.begin
        for resource, name in enumerate(("cpu", "gpu")):
            amount = (length * held.bundle[:, resource]).sum()
            share = amount / replayed.end[0] / instance.capacity[:, resource].sum()
            metric = next(m for m in SYSTEM.reporting.metrics if m.name == name)
            assert metric.compute(instance, replayed)[0] == pytest.approx(share)


def test_value_weighs_flow_times_and_has_no_ratio_where_a_task_is_left() -> None:
    usual = generate(**SIZES, rng=5)
    weight = np.random.default_rng(1).integers(0, 4, usual.tasks).astype(float)
    weighty = usual.replace(weight=weight)
    one = study({"w": weighty}, [*FEW, Idle()], system=NO_CLAIMS, runs=2).cases[0]
    for name in FEW:
        flow = simulated(one)[name].completion - usual.arrival
        assert one.values(name) == pytest.approx(flow @ weight)
        assert one.values(name).min() >= one.benchmarks[one.bound_of(name)].bound
    row = one.table.set_index("policy").loc["Idle"]
    assert row["bound"] == FIXED
    assert row["value"] == np.inf
    assert np.isnan(row[["ratio", "bound_ratio", "relative"]].astype(float)).all()


def test_missing_bounds_are_written_as_such(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    instance = generate(**SIZES, rng=5)
    compared = study({"i": instance}, ["reservation", Idle()], system=NO_PICTURES, runs=2)
    page = compared.page(tmp_path).read_text(encoding="utf-8")
    reader = assert_self_contained(page)
    assert len(re.findall(r'<td data-key="">no bound\s*</td>', page)) == 1
    text = " ".join(" ".join(reader.text).split())
    assert not re.search(r"\b(nan|None|inf|profit|failed)\b", text)
    written = pd.read_csv(tmp_path / "over_instances.csv").set_index("policy")
    assert written.loc["Idle", "bound"] == "no bound"
    assert np.isnan(written.loc["Idle", "gap"])
    assert written.loc["reservation", "bound"] == SYSTEM.offline.bounds[FIXED].label
    from edgeopt.cli.study import _print_comparison

    _print_comparison(compared, SYSTEM.reporting.comparisons[0])
    assert "no bound" in capsys.readouterr().out
    for picture in SYSTEM.reporting.pictures[:2]:
        assert overlapping(draw(picture, compared.cases[0], titled=True)) == [], picture.name


def test_benchmark_plans_all_tasks_and_bounds_both_ways(both: Study) -> None:
    for one in both.cases:
        tight, loose = one.benchmarks[FIXED], one.benchmarks[CHANGING]
        assert 0 < loose.bound <= tight.bound * (1 + 1e-9)
        for found in (tight, loose):
            plan = found.plan
            verify(plan.problem, plan.schedule)
            if not found.each:
                assert plan.schedule.flow_time(plan.problem) == found.value
            assert found.gap == pytest.approx((found.value - found.bound) / found.value)
    assert both.case("several").benchmarks[FIXED].gap < 0.25
    few = generate(clusters=2, tasks=5, rate=5.0, rng=8)
    best = solve(few, preemptive=False)
    assert best.bound <= best.value
    runs = study({"few": few}, ["reservation", "rollout"], system=NO_CLAIMS, runs=2).cases[0]
    assert best.value <= min(runs.values(name).min() for name in runs.trajectories)


def test_noisy_runs_are_compared_with_their_scenarios(both: Study) -> None:
    calm, noisy = both.cases
    assert not calm.benchmarks[FIXED].each
    assert bound_label(calm, FIXED) == "bound without reallocation"
    assert bound_label(noisy, FIXED) == "bound without reallocation, per scenario"
    best = noisy.best()
    assert best is not None
    assert f"{best['bound_ratio']:.3f} times the bound" in sentences(noisy)[0]
    first = noisy.standings.first
    assert first is not None
    assert first.label == "bound without reallocation, per scenario"
    assert "of its scenarios" not in " ".join([lead(calm), *sentences(calm)])
    found = noisy.benchmarks[FIXED]
    least, table = np.array(found.each), noisy.table.set_index("policy")
    assert found.bound == pytest.approx(least.mean())
    assert found.bound > found.plan.bound.any_noise.value
    assert found.record()["each"] == least.tolist()
    for name, run in simulated(noisy).items():
        assert (run.scenarios == found.plan.bound.scenarios).all()
        row, values = table.loc[name], noisy.values(name)
        if row["bound"] == CHANGING:
            assert row["bound_scope"] == ""
            continue
        assert (values >= least * (1 - 1e-9)).all()
        assert (row["bound_scope"], row["bound_value"]) == ("scenario", found.bound)
        assert row["bound_ratio"] == pytest.approx(values.sum() / least.sum())
        assert row["bound_ratio_low"] <= row["bound_ratio"] <= row["bound_ratio_high"]
    said = " ".join(SYSTEM.reporting.notes(noisy))
    assert (
        "bound without reallocation, per scenario uses the durations that tasks have in the "
        "scenario" in said
    )
    assert "a bound for any noise would be" in said
    assert "which knows all tasks and all noise in advance" in said
    rows = study({"noisy": noisy.instance}, FEW, system=NO_CLAIMS, runs=2)
    parts = rows.comparison("over_instances").set_index("policy")
    assert parts.loc["reservation", "bound"] == "bound without reallocation, per scenario"
    for _, row in parts.iterrows():
        assert (1 + row["over_plan"]) * (1 + row["plan_gap"]) == pytest.approx(1 + row["gap"])


def test_no_flow_time_is_below_the_shortest(both: Study) -> None:
    for one in both.cases:
        least = shortest_flow_times(one)
        assert least.min() >= 1
        for runs in simulated(one).values():
            assert (runs.flow_time >= least).all()


def test_logs_leave_out_no_task_and_no_cluster(both: Study) -> None:
    clusters, tasks = SYSTEM.reporting.logs
    for one in both.cases:
        instance: TapFingerInstance = one.instance
        for name, runs in simulated(one).items():
            every = tasks.rows(one, name)
            assert every["task"].tolist() == list(range(instance.tasks))
            assert every["flow time (slots)"].sum() == pytest.approx(one.values(name)[0])
            waited = every["arrival (slot)"] + every["waiting (slots)"]
            assert waited.tolist() == runs.start[0].tolist()
            assert (every["flow time (slots)"] >= every["shortest (slots)"]).all()
            assert every["changes of bundle"].sum() == runs.preemptions[0].sum()
            assert every["incomplete"].sum() == 0
            place = clusters.rows(one, name)
            assert place["tasks"].sum() == instance.tasks
            total = (place["tasks"] * place["mean flow time (slots)"].fillna(0)).sum()
            assert total == pytest.approx(one.values(name)[0])
            held = place["mean share of GPUs held"] * place["GPUs"] * runs.end[0]
            assert held.sum() == pytest.approx(runs.used[0, :, :, 1].sum())
            for log, rows in zip(SYSTEM.reporting.logs, (place, every), strict=True):
                assert set(log.bad) <= set(rows.columns)


def test_pieces_give_every_stretch_units_of_its_own(both: Study) -> None:
    for one in both.cases:
        instance = one.instance
        for name in ("optimus", "tiresias", "reservation"):
            held: Held = one.replay(name).held
            for cluster in range(instance.clusters):
                for resource in range(2):
                    units = int(instance.capacity[cluster, resource])
                    taken = np.zeros((int(held.end.max()), units), dtype=int)
                    area = np.zeros(held.task.size, dtype=int)
                    for piece in pieces(held, cluster, resource, units):
                        taken[piece.begin : piece.end, piece.low : piece.high] += 1
                        area[piece.held] += (piece.end - piece.begin) * (piece.high - piece.low)
                        assert piece.task == held.task[piece.held]
                    assert taken.max() == 1
                    mine = held.cluster == cluster
                    size = (held.end - held.begin) * held.bundle[:, resource]
                    assert area[mine].tolist() == size[mine].tolist()
                    assert not area[~mine].any()


def test_pieces_are_split_only_where_no_neighbours_are_left() -> None:
    # Units 0 and 1, 2, 3 are taken; 2 stays while the others leave; three are wanted, then two.
    held = Held(
        task=np.array([0, 1, 2, 3, 4]),
        cluster=np.zeros(5, dtype=int),
        bundle=np.array([[1, 2], [1, 1], [1, 1], [1, 3], [1, 2]]),
        begin=np.array([0, 0, 0, 2, 6]),
        end=np.array([2, 6, 2, 6, 8]),
    )
    split = [(one.task, one.low, one.high) for one in pieces(held, 0, 1, 4)]
    assert split == [(0, 0, 2), (1, 2, 3), (2, 3, 4), (3, 0, 2), (3, 3, 4), (4, 0, 2)]


def test_pieces_take_the_smallest_gap_that_is_large_enough() -> None:
    # Units 0 to 2 and 4 are free from slot 1 on.
    held = Held(
        task=np.array([0, 1, 2, 3, 4]),
        cluster=np.zeros(5, dtype=int),
        bundle=np.array([[0, 3], [1, 1], [1, 1], [1, 1], [1, 3]]),
        begin=np.array([0, 0, 0, 1, 1]),
        end=np.array([1, 2, 1, 2, 2]),
    )
    assert [one.low for one in pieces(held, 0, 1, 5)] == [0, 3, 4, 4, 0]


def test_distribution_counts_tasks_that_are_never_complete() -> None:
    at, share = distribution(np.array([[3.0, np.inf], [1.0, 3.0]]))
    assert at.tolist() == [1.0, 3.0]
    assert share.tolist() == [0.25, 0.75]


def test_every_policy_has_a_line_of_its_own(case: Case) -> None:
    entries = {entry.name: entry for entry in registry.choose(SYSTEM, "*")}
    every = replace(case, entries=entries)
    styles, knowing = policy_styles(every), [name for name in entries if name not in every.causal]
    assert list(styles) == [*every.causal, *knowing]
    assert len(set(styles.values())) == len(styles) > 9
    assert [name for name, one in styles.items() if one.colour == MUTED] == knowing != []


def drawn() -> dict[str, TapFingerInstance]:
    usual = generate(**SIZES, rng=1)
    nothing = generate(**SIZES | {"tasks": 0})
    return {
        "no tasks": nothing,
        "one task": generate(**SIZES | {"tasks": 1}).replace(weight=[0.0]),
        "long names": usual.replace(
            weight=np.arange(usual.tasks) % 3,
            names=tuple(f"A very long name of cluster {n}" for n in range(2)),
            kinds=("a kind with a very long name", "another kind with a long name"),
        ),
        "many clusters": generate(clusters=12, tasks=20, capacity="mixed", rng=2),
        "noisy": generate(**SIZES, workload="pointer", noise=0.4, single_start=True),
    }


@pytest.mark.parametrize("name", some(drawn(), "no tasks", "many clusters"))
def test_pictures_can_be_read(name: str) -> None:
    policies = ["reservation", "optimus"]
    case = study({name: drawn()[name]}, policies, system=NO_CLAIMS, runs=2).cases[0]
    assert_readable(case)


@pytest.mark.long
def test_titles_say_what_the_table_says(case: Case) -> None:
    table = case.table.set_index("policy")
    titles = {picture.name: picture.title(case) for picture in SYSTEM.reporting.pictures}
    for picture in SYSTEM.reporting.pictures:
        assert overlapping(draw(picture, case, titled=True)) == [], picture.name
    first = case.standings.first
    assert first is not None
    lead = table.loc[first.policy]
    assert f"within {lead['median']:g} slots" in titles["flow_times"]
    assert f"95 % within {lead['p95']:g};" in titles["flow_times"]
    sizes = case.replay(first.policy).held.bundle[:, 1]
    assert f"from {sizes.min()} to {sizes.max()} GPUs each" in titles["gantt"]


@pytest.mark.long
def test_page_shows_flow_times_over_all_instances(both: Study, tmp_path: Path) -> None:
    plain = tuple(replace(one, system=NO_PICTURES) for one in both.cases)
    shown = replace(both, system=NO_PICTURES, cases=plain)
    page = shown.page(tmp_path).read_text(encoding="utf-8")
    text = " ".join(" ".join(assert_self_contained(page).text).split())
    for one in both.cases:
        assert " ".join(one.instance.origin.split()) in text
    assert not re.search(r"\b(nan|None|inf|profit)\b", re.split(r"All \d+ claims", text)[0])
    assert "bound without reallocation" in text
    assert "medians and ranges of 2 drawn instances" in text
    policies = sum(entry.default for entry in SYSTEM.policies.entries)
    rows = 2 * policies * SIZES["tasks"]
    assert len(pd.read_csv(tmp_path / "tasks.csv")) == rows
    assert len(pd.read_csv(tmp_path / "clusters.csv")) == 2 * policies * 2


@pytest.mark.long
@pytest.mark.parametrize("single_start", [False, True])
def test_means_over_drawn_instances(single_start: bool) -> None:
    instances = {str(n): generate(rng=n, single_start=single_start, **SIZES) for n in (4, 5)}
    compared = study(instances, FEW, system=NO_CLAIMS, runs=2)
    found, each = compared.comparison("over_instances").set_index("policy"), compared.cases
    first = np.array([simulated(one)["reservation"].mean_flow_time().mean() for one in each])
    for policy, row in found.iterrows():
        mean = np.array([simulated(one)[policy].mean_flow_time().mean() for one in each])
        assert row["mean"] == pytest.approx(np.median(mean))
        assert (row["mean_low"], row["mean_high"]) == (mean.min(), mean.max())
        bounds = [one.benchmarks[one.entries[policy].bound].bound for one in each]
        values = [one.values(policy).mean() for one in each]
        gap = [value / bound - 1 for value, bound in zip(values, bounds, strict=True)]
        assert row["gap"] == pytest.approx(np.median(gap))
        assert row["gap_low"] <= row["gap"] <= row["gap_high"]
        assert 0 < row["seconds"] < 1
        if policy == "reservation":
            assert np.isnan(row["mean_relative"])
        else:
            assert row["mean_relative"] == pytest.approx(np.median(mean / first))


def test_sources_and_what_they_are_made_of() -> None:
    assert list(SYSTEM.instances.sources) == ["several", "single", "mixed", "pointer", "tables"]
    made = {name: source.make(rng=2) for name, source in SYSTEM.instances.sources.items()}
    assert all(isinstance(instance, TapFingerInstance) for instance in made.values())
    assert made["single"].single_start
    assert made["single"].noise > 0 == made["several"].noise
    assert np.unique(made["mixed"].capacity, axis=0).shape[0] == 6
    assert made["pointer"].minimum.tolist() == [[3, 3]] * 2
    assert any("TapFinger" in line for line in SYSTEM.instances.sources["tables"].provenance())


def test_describe_counts_what_there_is() -> None:
    instance = generate(**SIZES, rng=2)
    found = SYSTEM.instances.describe(instance)
    assert found["tasks"] == 24
    slots = instance.arrival[-1] - instance.arrival[0] + 1
    assert found["tasks_per_slot"] == pytest.approx(24 / slots)
    assert found["starts_per_slot_and_cluster"] == "several"
    assert SYSTEM.instances.describe(generate(**SIZES | {"tasks": 0}))["tasks"] == 0


def test_export_writes_both_files_alike(plans: Plans) -> None:
    instance = generate(**SIZES, rng=2)
    benchmark = solve(instance)
    rows, stored = plans(benchmark)
    assert (rows["completion"] - rows["arrival"]).sum() == benchmark.value
    duration = instance.duration[rows["cluster"], instance.kind, rows["cpu"], rows["gpu"]]
    assert (rows["completion"] - rows["start"]).tolist() == duration.tolist()
    assert stored["completion"].to_numpy().tolist() == rows["completion"].tolist()
    assert stored["start"].attrs["units"] == "slot"


def test_policies_warm_up_before_they_are_timed() -> None:
    ran: list[int] = []

    @dataclass(frozen=True)
    class Watched(Idle):
        name: str = "Watched"

        def start(self, instance: TapFingerInstance) -> int:
            ran.append(instance.clusters)
            return super().start(instance)

    assert SYSTEM.policies.warm_up is not None
    short = SYSTEM.policies.warm_up(generate(**SIZES))
    assert 0 < short.tasks < 10
    study({"x": generate(**SIZES)}, [Watched()], system=NO_CLAIMS, runs=2)
    # Nothing is random, so it runs once, and again to see whether it has coins of its own.
    assert len(ran) == 3
