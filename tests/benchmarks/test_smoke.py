"""Every benchmark runs at its smallest size, and its candidates agree."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from benchmarks.__main__ import main
from benchmarks.measure import measure_apart
from benchmarks.registry import BENCHMARKS, find
from benchmarks.run import run

if TYPE_CHECKING:
    from benchmarks.record import Benchmark


@pytest.mark.parametrize("benchmark_", BENCHMARKS, ids=lambda one: one.name)
def test_candidates_agree_at_the_smallest_size(benchmark_: Benchmark) -> None:
    report = run(benchmark_, smoke=True)
    assert [m.candidate for m in report.measurements] == list(benchmark_.candidates)
    assert all(m.finished and min(m.seconds) > 0 for m in report.measurements)
    assert report.agrees
    assert "\n".join(report.lines()).startswith(f"{benchmark_.name}: ")


def test_names_are_unique() -> None:
    names = [one.name for one in BENCHMARKS]
    assert len(set(names)) == len(names)


def test_unknown_name_lists_the_known(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--only", "resuce-lp"]) == 2
    complaint = capsys.readouterr().err
    assert all(one.name in complaint for one in BENCHMARKS)


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
