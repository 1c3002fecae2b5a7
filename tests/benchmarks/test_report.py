"""Ratios, goals and agreement of a report, on made-up measurements."""

from __future__ import annotations

import pytest

from benchmarks.measure import Measurement
from benchmarks.record import Benchmark, Goal, Reading
from benchmarks.report import Report, summary
from benchmarks.run import run


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
