"""Fits of growth, and measurements up to a limit."""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from benchmarks.__main__ import main
from benchmarks.climb import BUDGET, CALLS, climb, steps
from benchmarks.fit import CONFIDENCE, fit
from benchmarks.growth import Growth
from benchmarks.measure import Measurement
from benchmarks.picture import takeaway, write_picture
from benchmarks.record import Benchmark, Ladder, Reading
from benchmarks.registry import BENCHMARKS, find
from benchmarks.report import summary

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


SIZES = (10, 20, 40, 80, 160)


@pytest.mark.parametrize("exponent", [0.0, 1.0, 1.5, 3.0])
def test_exact_law_is_found_with_an_interval_of_no_width(exponent: float) -> None:
    law = fit(SIZES, [2e-6 * n**exponent for n in SIZES])
    assert law.exponent == pytest.approx(exponent, abs=1e-12)
    assert law.factor == pytest.approx(2e-6)
    assert law.last == pytest.approx(exponent, abs=1e-12)
    assert law.high - law.low == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("count", [3, 4, 5])
def test_interval_covers_the_exponent_as_often_as_it_says(count: int) -> None:
    rng = np.random.default_rng(7)
    sizes, draws = SIZES[:count], 1000
    covered = 0
    for _ in range(draws):
        noise = np.exp(rng.normal(0.0, 0.3, count))
        law = fit(sizes, [1e-3 * n**1.3 * z for n, z in zip(sizes, noise, strict=True)])
        covered += law.low <= 1.3 <= law.high
    # Noise is normal in logarithms, so that the interval is exact; five standard errors of a
    # binomial share leave a false alarm of 6e-7.
    share, error = covered / draws, (CONFIDENCE * (1 - CONFIDENCE) / draws) ** 0.5
    assert abs(share - CONFIDENCE) < 5 * error


def test_interval_narrows_with_the_confidence_of_more_sizes() -> None:
    few, many = (fit(SIZES[:k], [n * (1.1 if n % 40 else 0.9) for n in SIZES[:k]]) for k in (3, 5))
    assert many.high - many.low < few.high - few.low


def test_fixed_cost_shows_in_the_last_step() -> None:
    law = fit(SIZES, [1e-3 + 1e-5 * n for n in SIZES])
    assert 0.0 < law.exponent < law.last < 1.0


def test_slope_is_the_least_squares_line_in_logarithms() -> None:
    # At log n = 0, 1, 3: slopes by hand from the normal equations.
    law = fit(np.exp([0.0, 1.0, 3.0]).tolist(), np.exp([0.0, 2.0, 3.0]).tolist())
    assert law.exponent == pytest.approx(13 / 14)
    # One degree of freedom; the 97.5 % quantile of Student's t is 12.7062 there.
    x, y = np.array([0.0, 1.0, 3.0]), np.array([0.0, 2.0, 3.0])
    left = y - y.mean() - 13 / 14 * (x - x.mean())
    reach = 12.7062 * np.sqrt((left @ left) / ((x - x.mean()) ** 2).sum())
    assert law.high - law.exponent == pytest.approx(reach, rel=1e-5)
    assert law.exponent - law.low == pytest.approx(reach, rel=1e-5)


@pytest.mark.parametrize("count", [0, 1, 2])
def test_fewer_than_three_sizes_are_refused(count: int) -> None:
    with pytest.raises(ValueError, match="at least three"):
        fit(SIZES[:count], [1.0] * count)


SIZES_OF_GROWTH = (10, 20, 40, 80)


def spec(build: Any = None, **changes: Any) -> Benchmark:
    fields: dict[str, Any] = {
        "name": "made-up",
        "question": "Which grows?",
        "build": build or (lambda size, candidate: lambda limit: Reading()),
        "sizes": {"full": {"n": 80}, "smoke": {"n": 10}},
        "subject": "ours",
        "peers": ("quick", "slow"),
        "ladder": Ladder.over("n", SIZES_OF_GROWTH, axis="things", limit=5.0),
    }
    return Benchmark(**(fields | changes))


def row(name: str, power: float, *, objective: float = 1.0) -> tuple[Measurement, ...]:
    """Times 1e-4 n**power, each with a spread of a tenth."""
    return tuple(
        Measurement(name, (0.9e-4 * n**power, 1e-4 * n**power, 1.1e-4 * n**power), 0.0, objective)
        for n in SIZES_OF_GROWTH
    )


def growth(*, quick: float = 2.0, objective: float = 1.0) -> Growth:
    slow = (*row("slow", 3.0)[:2], Measurement("slow", (5.0,), finished=False))
    return Growth(
        spec(),
        {
            "ours": row("ours", 1.0),
            "quick": row("quick", quick, objective=objective),
            "slow": slow,
        },
    )


def test_a_ladder_of_two_sizes_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 3 sizes"):
        Ladder.over("n", (1, 2))
    with pytest.raises(ValueError, match="positive and grow"):
        Ladder.over("n", (4, 2, 8))


@pytest.mark.parametrize("one", [b for b in BENCHMARKS if b.ladder], ids=lambda one: one.name)
def test_ladders_ask_for_what_the_sizes_ask_for(one: Benchmark) -> None:
    assert one.ladder is not None
    known = set().union(*one.sizes.values())
    assert all(set(size) <= known for _, size in one.ladder.rungs)
    assert 3 <= len(one.ladder.rungs) <= 6


def test_only_sizes_in_time_are_fitted() -> None:
    made = growth()
    ours, quick = made.fit("ours"), made.fit("quick")
    assert ours is not None
    assert quick is not None
    assert (ours.exponent, quick.exponent) == (pytest.approx(1.0), pytest.approx(2.0))
    assert made.fit("slow") is None
    stopped = made.stopped("slow")
    assert stopped is not None
    assert stopped[0] == 40


def test_ratios_are_to_the_fastest_peer_at_each_size() -> None:
    assert growth().ratios() == [(n, pytest.approx(n), "quick") for n in SIZES_OF_GROWTH]
    slower = growth(quick=3.5).ratios()
    assert [peer for _, _, peer in slower] == ["slow", "slow", "quick", "quick"]


def test_a_variant_is_no_reference_bound() -> None:
    made = growth()
    apart = Growth(spec(variants=("quick",)), made.climbs)
    assert [(n, peer) for n, _, peer in apart.ratios()] == [(10, "slow"), (20, "slow")]


def test_lines_show_every_size_and_who_was_stopped() -> None:
    lines = list(growth().lines())
    assert lines[0] == "made-up: growth with n = things"
    assert "grows like n^1.00 [1.00, 1.00] over 4 sizes" in lines[2]
    assert "> 5 s" in lines[4]
    assert "not tried" in lines[4]
    assert lines[4].endswith("no fit (2 sizes in time)")
    assert lines[5] == "  ours from size to size: n^1.00, n^1.00, n^1.00"
    assert lines[6] == "  at n=80: quick, the fastest peer, takes 80.0x our time"


def test_objectives_are_compared_size_by_size() -> None:
    assert growth().agrees
    wrong = growth(objective=1.1)
    assert wrong.disagreement == pytest.approx(0.1)
    assert "DISAGREE" in list(wrong.lines())[-1]
    assert (
        "wrong: growth of made-up: objectives differ by 1.0e-01" in list(summary([], [wrong]))[-1]
    )


def test_record_holds_every_raw_time_and_the_fit() -> None:
    record = json.loads(json.dumps(growth().record()))
    ours = record["candidates"]["ours"]
    assert [len(one["seconds"]) for one in ours["measurements"]] == [3, 3, 3, 3]
    assert [one["n"] for one in ours["measurements"]] == list(SIZES_OF_GROWTH)
    assert ours["fit"]["exponent"] == pytest.approx(1.0)
    assert record["candidates"]["slow"]["fit"] is None
    assert record["candidates"]["slow"]["measurements"][-1]["finished"] is False


def test_takeaway_says_whose_cost_grows_faster() -> None:
    assert takeaway(growth()) == (
        "made-up: at n = 80 quick takes 80 times as long as ours; the cost of quick grows faster"
    )
    assert takeaway(growth(quick=0.5)).endswith("the cost of ours grows faster")
    assert "ours takes 8.9 times as long as quick" in takeaway(growth(quick=0.5))


def test_legend_of_the_picture_covers_nothing(tmp_path: Path, monkeypatch: Any) -> None:
    from matplotlib.figure import Figure

    drawn: list[Figure] = []
    save = Figure.savefig
    monkeypatch.setattr(
        Figure, "savefig", lambda self, *a, **k: (drawn.append(self), save(self, *a, **k))
    )
    path = write_picture(growth(), tmp_path / "pictures")
    assert path.read_bytes().startswith(b"\x89PNG")
    (figure,) = drawn
    (axes,), (legend,) = figure.axes, figure.legends
    assert not legend.get_window_extent().overlaps(axes.get_tightbbox())
    assert len(legend.get_texts()) == 3


def test_short_calls_are_repeated_and_an_unfinished_one_ends_the_climb(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [0.0]
    monkeypatch.setattr("benchmarks.climb.time.perf_counter", lambda: now[0])
    seconds = {10: 0.01 * BUDGET, 20: 0.4 * BUDGET, 40: 6.0, 80: 1.0}

    def build(size: Mapping[str, Any], candidate: str) -> Any:
        def call(_: float | None) -> Reading:
            now[0] += seconds[size["n"]]
            return Reading(objective=float(size["n"]))

        return call

    entries = list(steps(spec(build), "ours"))
    counts = [sum(e["rung"] == r and "seconds" in e for e in entries) for r in range(4)]
    assert counts == [CALLS, 2, 1, 0]
    assert [e["finished"] for e in entries if "seconds" in e] == [True] * (CALLS + 2) + [False]
    assert entries[1]["seconds"] == pytest.approx(0.01 * BUDGET)


def test_a_solver_that_ends_at_its_limit_is_unfinished() -> None:
    def build(size: Mapping[str, Any], candidate: str) -> Any:
        return lambda limit: Reading(finished=size["n"] < 20)

    entries = [e for e in steps(spec(build), "ours") if "seconds" in e]
    assert [e["finished"] for e in entries] == [True] * CALLS + [False]


def test_a_candidate_that_hangs_is_ended_and_keeps_its_figures() -> None:
    lines = [
        {"rung": 0},
        {"rung": 0, "seconds": 0.1, "objective": 3.0, "finished": True, "phases": {}},
    ]
    lines.append({"rung": 1})
    script = (
        f"import time\nprint({chr(10).join(map(json.dumps, lines))!r}, flush=True)\ntime.sleep(60)"
    )
    began = time.perf_counter()
    first, second = climb(
        spec(ladder=Ladder.over("n", SIZES_OF_GROWTH, limit=0.3)),
        "slow",
        command=[sys.executable, "-c", script],
    )
    assert time.perf_counter() - began < 10.0
    assert (first.seconds, first.objective, first.finished) == ((0.1,), 3.0, True)
    assert (second.seconds, second.finished) == ((0.3,), False)


def test_a_candidate_that_fails_is_no_measurement() -> None:
    with pytest.raises(RuntimeError, match="made-up: slow failed"):
        climb(spec(), "slow", command=[sys.executable, "-c", "raise SystemExit(3)"])


def test_a_process_climbs_all_sizes_and_tells_phases_apart() -> None:
    measured = climb(find("rescue-build"), "compiled")
    assert len(measured) == 4
    assert all(one.finished for one in measured)
    for one in measured:
        assert 0.0 < sum(one.phases["matrix"]) <= sum(one.seconds)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--growth", "--only", "rescue-lp-huge"], "rescue-lp-huge has no sizes for --growth"),
        (["--growth", "--smoke"], "choose one of them"),
        (["--growth", "--only", "resuce-lp"], "no benchmark is called 'resuce-lp'"),
        (["--only", "rescue-build", "--json", "/"], "needs the name of a file"),
    ],
)
def test_a_wrong_choice_is_one_line(
    arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    printed = capsys.readouterr().err
    assert complaint in printed
    assert printed.count("\n") == 1


def test_list_tells_of_every_benchmark_and_measures_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["--list"]) == 0
    printed = capsys.readouterr().out
    for one in BENCHMARKS:
        assert f"{one.name}: {one.question}" in printed
        assert all(peer in printed for peer in one.peers)
    assert "phases  build, load, solve, proof" in printed
