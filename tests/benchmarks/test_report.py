"""Reports of benchmarks, their layers, and a short run of each."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.__main__ import main
from benchmarks.measure import Measurement, measure_apart
from benchmarks.record import Benchmark, Goal, Reading
from benchmarks.registry import BENCHMARKS, find
from benchmarks.report import Report, summary
from benchmarks.rescue_models import in_cvxpy, in_linopy
from benchmarks.run import run
from benchmarks.specs import tapfinger_build
from edgeopt.instances.rescue import generate
from edgeopt.instances.tapfinger import generate as workload
from edgeopt.models.rescue import p1_lp_matrix
from edgeopt.models.tapfinger import list_schedule, scheduling_problem, start_matrix
from edgeopt.solvers import solve


def spec(**changes) -> Benchmark:
    fields = {
        "name": "made-up",
        "question": "Which is faster?",
        "build": lambda size, candidate: lambda limit: Reading(),
        "sizes": {"full": {"n": 2}, "smoke": {"n": 1}},
        "subject": "ours",
        "peers": ("quick", "slow"),
        "goals": (Goal("ratio", at_least=15.0), Goal("gap", at_most=1e-6)),
    }
    return Benchmark(**(fields | changes))


def report(*, ours: float = 1.0, quick: float = 20.0, objective: float = 5.0) -> Report:
    return Report(
        spec(),
        "full",
        (
            Measurement(
                "ours",
                (ours, ours, 2 * ours),
                0.5,
                objective=5.0,
                gap=1e-8,
                work=100.0,
            ),
            Measurement("quick", (quick,), 1.0, objective=objective),
            Measurement("slow", (60.0,), 1.0, finished=False),
        ),
    )


def test_ratio_is_against_the_fastest_peer_that_finished() -> None:
    assert report().ratio == 20.0
    assert report(quick=90.0).ratio == 90.0
    own = Report(spec(variants=("quick",)), "full", report().measurements)
    assert own.ratio is None


def test_ratio_is_per_unit_where_a_peer_does_less() -> None:
    part = Report(
        spec(unit="slots", peers=("quick",)),
        "full",
        (
            Measurement("ours", (1.0, 1.0), 0.5, work=100.0),
            Measurement("quick", (2.0, 3.0), 0.5, work=10.0),
        ),
    )
    assert part.ratio == pytest.approx(25.0)
    assert "25.0x ours [20.0, 30.0] per slot" in list(part.lines())[3]


def test_goal_may_name_its_peer() -> None:
    named = report(quick=90.0)
    goal = Goal("ratio", at_least=15.0, peer="quick")
    stopped = Goal("ratio", at_least=15.0, peer="slow")
    named = Report(spec(goals=(goal, stopped)), "full", named.measurements)
    assert [(str(one), value, met) for one, value, met in named.goals()] == [
        ("ratio to quick >= 15", 90.0, True)
    ]


def test_phases_are_published_as_medians() -> None:
    parts = {"build": (0.1, 0.2, 0.3), "solve": (0.02, 0.02, 0.01)}
    apart = Report(spec(peers=()), "full", (Measurement("ours", (1.0,) * 3, phases=parts),))
    assert "of which build 200 ms, solve 20 ms" in list(apart.lines())[3]


def test_rate_is_work_over_the_median() -> None:
    assert report(ours=4.0).subject.rate == 25.0


def test_stopped_peer_is_published_as_slower_than_its_limit() -> None:
    lines = list(report().lines())
    assert "> 60 s (stopped)" in lines[4]
    assert "> 60.0x ours" in lines[4]
    assert "20.0x ours [10.0, 20.0]" in lines[3]


@pytest.mark.parametrize(("quick", "word"), [(20.0, "met"), (14.0, "MISSED")])
def test_goal_is_published_as_met_or_missed(quick: float, word: str) -> None:
    lines = "\n".join(report(quick=quick).lines())
    assert f"goal ratio >= 15: {word} ({quick:g})" in lines
    assert "goal gap <= 1e-06: met" in lines


def test_summary_counts_goals_and_names_what_went_wrong() -> None:
    fine, bad = report(), report(quick=3.0, objective=5.1)
    lines = list(summary([fine, bad]))
    assert lines[0] == "3 of 4 goals met"
    assert "missed: made-up: ratio >= 15" in lines[1]
    assert "wrong: made-up: objectives differ by 2.0e-02" in lines[2]


def test_disagreement_is_relative() -> None:
    assert report(objective=5.0 + 4e-6).agrees
    assert not report(objective=5.0 + 6e-6).agrees


def test_goal_of_an_unmeasured_quantity_is_left_out() -> None:
    alone = Report(spec(peers=()), "full", (Measurement("ours", (1.0,), 0.5, gap=1e-8),))
    assert [str(goal) for goal, _, _ in alone.goals()] == ["gap <= 1e-06"]


def test_later_peers_race_against_the_fastest_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = {"ours": 1.0, "quick": 4.0, "slow": 90.0}
    limits = {}

    def meter(benchmark, size, candidate, *, repeats, time_limit) -> Measurement:
        limits[candidate] = time_limit
        finished = time_limit is None or seconds[candidate] <= time_limit
        return Measurement(candidate, (seconds[candidate],), 0.1, finished=finished)

    monkeypatch.setattr("benchmarks.run.measure_apart", meter)
    result = run(spec(race=3.0))
    assert limits == {"ours": None, "quick": None, "slow": 12.0}
    assert result.ratio == 4.0
    assert not result.measurements[2].finished


SMALL = {"servers": 2, "devices": 3, "profiles": 2, "horizon": 10}


@pytest.mark.parametrize("reserved", [0, 3])
def test_relaxation_has_one_optimum_in_all_layers(reserved: int) -> None:
    instance = generate(rng=1, reserved=reserved, **SMALL)
    expected = solve(p1_lp_matrix(instance)).objective
    assert in_cvxpy(instance).solve(solver="HIGHS", canon_backend="SCIPY") == pytest.approx(
        expected, rel=1e-7
    )
    model = in_linopy(instance)
    model.solve("highs", io_api="direct", output_flag=False)
    assert model.objective.value == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("single_start", [True, False])
def test_starts_in_linopy_have_the_optimum_of_the_compiled_program(single_start: bool) -> None:
    problem = scheduling_problem(workload(clusters=2, tasks=9))
    # Nothing fits on the first cluster in the first slots.
    occupied = np.zeros((3, 2, 2), dtype=np.int64)
    occupied[:, 0] = problem.capacity[0]
    problem = replace(problem, single_start=single_start, occupied=occupied)
    slots = int(list_schedule(problem).completion(problem).max())
    expected = solve(start_matrix(problem, horizon=slots, relax=True)).objective
    model = tapfinger_build.in_linopy(problem, slots, relax=True)
    model.solve("highs", io_api="direct", output_flag=False)
    assert model.objective.value == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("benchmark_", BENCHMARKS, ids=lambda one: one.name)
def test_candidates_agree_at_the_smallest_size(benchmark_: Benchmark) -> None:
    report = run(benchmark_, smoke=True)
    assert [m.candidate for m in report.measurements] == list(benchmark_.candidates)
    # OR-Tools holds a HiGHS of its own and cannot be loaded where highspy is already.
    there = [m for m in report.measurements if m.finished or m.candidate != "OR-Tools"]
    assert all(m.finished and min(m.seconds) > 0 for m in there)
    assert report.agrees
    assert "\n".join(report.lines()).startswith(f"{benchmark_.name}: ")


def test_names_are_unique() -> None:
    names = [one.name for one in BENCHMARKS]
    assert len(set(names)) == len(names)


def test_unknown_name_lists_the_known(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--only", "resuce-lp"]) == 2
    complaint = capsys.readouterr().err
    assert all(one.name in complaint for one in BENCHMARKS)


def test_a_benchmark_may_time_the_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("edgeopt.collection.measures.time.process_time", iter(range(9)).__next__)
    one = run(spec(processor=True, peers=()), smoke=True)
    assert one.subject.seconds == (1,)
    assert "; processor time" in list(one.lines())[1]


def test_a_process_of_its_own_reports_time_and_peak_memory() -> None:
    spec = find("rescue-build")
    result = measure_apart(spec, "smoke", spec.subject, repeats=2, time_limit=None)
    assert len(result.seconds) == 2
    assert 0.01 < result.memory < 8.0


def test_figures_are_kept_as_json(tmp_path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "figures.json"
    assert main(["--smoke", "--only", "rescue-build", "--json", str(path)]) == 0
    document = json.loads(path.read_text())
    assert document["machine"]["python"]
    (figures,) = document["benchmarks"]
    assert figures["name"] == "rescue-build"
    assert "x ours" in capsys.readouterr().out
