"""The call `solve`: limits, errors, options, logs, progress, interruption."""

from __future__ import annotations

import importlib.metadata
import io
import json
import logging
import os
import pickle
import re
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import highspy
import numpy as np
import pytest
from hypothesis import given

from edgeopt.cli.main import run
from edgeopt.errors import (
    MissingDependencyError,
    OptionError,
    ProblemTypeError,
    ScalingWarning,
    SolverError,
)
from edgeopt.solvers import Backend, Kind, LinearProgram, Progress, Quality, Status, backends, solve
from edgeopt.solvers.backend import highs
from edgeopt.solvers.backend.highs import run_interruptibly
from edgeopt.testing.strategies import linear_programs
from tests.draws import some
from tests.solvers.programs import crowded, glass, market_split

INFEASIBLE = LinearProgram([1, 1], [[1, 1]], 5, np.inf, 0, 1)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@given(program=linear_programs())
def test_highs_and_scipy_agree(program: LinearProgram) -> None:
    first, second = (solve(program, name, raises=False) for name in ("highs", "scipy"))
    assert first.quality is second.quality
    if first.quality.usable:
        assert first.objective == pytest.approx(second.objective, rel=1e-6, abs=1e-6)
        assert first.certify().quality is second.certify().quality is Quality.OPTIMAL
    else:
        assert first.status is second.status is Status.PROVEN_INFEASIBLE


def test_a_program_without_columns_has_one_point() -> None:
    solution = solve(LinearProgram(np.zeros(0), np.zeros((1, 0)), -1.0, 1.0))
    assert solution.quality is Quality.OPTIMAL
    assert solution.values.shape == (0,)
    assert solution.objective == solution.bound == 0.0
    with pytest.raises(SolverError, match="proven infeasible"):
        solve(LinearProgram(np.zeros(0), np.zeros((1, 0)), 1.0, 2.0))


@pytest.mark.parametrize("solver", some(["highs", "scipy", "scip"], "highs"))
def test_time_limit_returns_incumbent_bound_and_gap(solver: str) -> None:
    if solver == "scip":
        pytest.importorskip("pyscipopt")
    solution = solve(market_split(), solver, time_limit=0.5)
    assert solution.status is Status.MAX_TIME_LIMIT
    assert solution.quality is Quality.FEASIBLE
    assert solution.primal_residual() <= 1e-6
    assert solution.bound <= solution.objective
    assert 0.0 < solution.gap < np.inf


def test_time_limit_without_a_point_raises_and_keeps_what_is_known() -> None:
    program = market_split()
    with pytest.raises(SolverError, match="time limit") as caught:
        solve(program, time_limit=0.0)
    solution = caught.value.solution
    assert solution.status is Status.MAX_TIME_LIMIT
    assert not solution.quality.usable
    assert not solve(program, "highs", time_limit=0.0, raises=False).quality.usable


def test_loose_gap_stops_early_and_is_kept_apart_from_a_tight_proof() -> None:
    solution = solve(market_split(3, 20), gap=1.0)
    assert solution.quality.usable
    assert solution.gap <= 1.0


def test_infeasible_raises_with_advice() -> None:
    with pytest.raises(SolverError, match="explain") as caught:
        solve(INFEASIBLE)
    assert caught.value.solution.status is Status.PROVEN_INFEASIBLE
    assert caught.value.solution.bound == np.inf
    assert solve(INFEASIBLE, raises=False).quality is Quality.NO_SOLUTION


def test_solution_says_who_solved_it_and_how() -> None:
    solution = solve(glass(), algorithm="ipm", threads=1, run_crossover="off")
    assert solution.solver == "highs"
    assert solution.version == importlib.metadata.version("highspy")
    asked = {"algorithm": "ipm", "threads": 1, "run_crossover": "off"}
    assert solution.options == asked | {"solver": "ipm"}
    assert solution.path == "cold"
    assert 3600 > solution.seconds.total >= solution.seconds.solve > 0.0


@pytest.mark.parametrize(
    "solver", [one.name for one in backends(installed=True) if Kind.LINEAR in one.routes]
)
def test_every_backend_tells_its_time(solver: str) -> None:
    seconds = solve(glass(), solver).seconds
    assert 3600 > seconds.build >= 0.0
    assert 3600 > seconds.solve > 0.0


@pytest.mark.parametrize(
    ("solver", "name", "value"),
    [
        ("highs", "mip_rel_gap", 1e-6),
        ("scipy", "mip_rel_gap", 1e-6),
        ("scip", "limits/gap", 1e-6),
    ],
)
def test_own_defaults_are_recorded(solver: str, name: str, value: float) -> None:
    if solver == "scip":
        pytest.importorskip("pyscipopt")
    assert solve(market_split(2, 8), solver).options[name] == value


def test_accuracy_of_first_order_methods_is_recorded() -> None:
    assert solve(glass(), algorithm="pdlp").options["kkt_tolerance"] == 1e-8
    assert solve(glass(), "osqp").options["eps_abs"] == 1e-9
    assert solve(glass(), "ipopt").options["tol"] == 1e-9


def test_solution_survives_pickling() -> None:
    solution = pickle.loads(pickle.dumps(solve(glass())))
    assert solution.certify().quality is Quality.OPTIMAL
    assert solution.problem.row_label(0) == "hours[plant=0]"


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        ({"no_such_option": 1}, "no_such_option"),
        ({"algorithm": "magic"}, "magic"),
        ({"presolve": "perhaps"}, "presolve"),
        ({"threads": 0}, "threads"),
        ({"time_limit": -1.0}, "time_limit"),
        ({"tolerance": "small"}, "tolerance"),
        ({"solver": "nobody"}, "there is no solver 'nobody'"),
        ({"solver": "scipy", "threads": 4}, "one thread"),
        ({"solver": "scipy", "no_such_option": 1}, "no_such_option"),
        ({"solver": "clarabel", "algorithm": "simplex"}, "algorithm"),
        ({"solver": "osqp", "threads": 2}, "threads"),
        ({"solver": "ipopt", "no_such_option": 1}, "no_such_option"),
    ],
)
def test_bad_arguments_are_refused_by_name(arguments: dict[str, object], what: str) -> None:
    with pytest.raises(OptionError, match=what):
        solve(glass(), **arguments)


def test_unknown_problem_is_refused() -> None:
    with pytest.raises(ProblemTypeError, match="cannot solve a dict"):
        solve({"cost": 1})
    with pytest.raises(ProblemTypeError, match="does not take a mixed-integer"):
        solve(market_split(), "clarabel")


ABSENT = [one for one in backends(installed=False) if Kind.LINEAR in one.routes]


def test_absent_solver_names_its_package() -> None:
    assert ABSENT, "this machine has every commercial solver"
    with pytest.raises(MissingDependencyError, match=ABSENT[0].distribution):
        solve(glass(), ABSENT[0].name)


def test_solver_that_cannot_be_loaded_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "torn_apart.py").write_text("raise ImportError('undefined symbol: highs')")
    monkeypatch.syspath_prepend(tmp_path)
    torn = Backend("torn", "torn_apart", "torn-apart", {Kind.LINEAR: _own_solve})
    monkeypatch.setattr("edgeopt.solvers.registry._TABLE", (torn,))
    assert torn.installed
    assert torn.fault == "torn-apart is installed, but cannot be loaded: undefined symbol: highs"
    with pytest.raises(SolverError, match=r"'torn'.*cannot be loaded: undefined symbol"):
        solve(glass(), "torn")
    assert run(["solvers"]) == 0
    table, note = capsys.readouterr().out.rsplit("\n", 2)[:2]
    assert "cannot be loaded" in table
    assert note == f"torn: {torn.fault}"
    assert run(["solvers", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["fault"] == torn.fault
    assert all(one.fault is None for one in ABSENT)


def test_backends_are_listed() -> None:
    listed = {one.name: one for one in backends()}
    assert listed["highs"].version == importlib.metadata.version("highspy")
    assert "mixed-integer linear program" in listed["highs"].problems
    assert "linear program" in listed["clarabel"].problems
    assert {one.name for one in backends(installed=True)} <= set(listed)


def _own_solve(program: LinearProgram, request):
    from edgeopt.solvers.backend import highs

    return highs.solve(program, request)


OWN = Backend("own", "edgeopt", "edgeopt", {Kind.LINEAR: _own_solve})


def test_entry_point_brings_an_own_backend(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = importlib.metadata.EntryPoint("own", f"{__name__}:OWN", "edgeopt.solvers")

    def entry_points(*, group: str, name: str | None = None):
        matches = group == "edgeopt.solvers" and name in (None, "own")
        return [entry] if matches else []

    monkeypatch.setattr(importlib.metadata, "entry_points", entry_points)
    assert "own" in {one.name for one in backends()}
    assert solve(glass(), "own").objective == pytest.approx(36.0)
    wrong = importlib.metadata.EntryPoint("own", f"{__name__}:INFEASIBLE", "edgeopt.solvers")
    entry = wrong
    with pytest.raises(OptionError, match="must be a Backend"):
        solve(glass(), "own")


def test_bad_scaling_warns_before_the_solve() -> None:
    program = LinearProgram([1, 1], [[1e-20, 1], [1, 1]], -np.inf, [1, 1], 0, 1)
    with pytest.warns(ScalingWarning, match=r"matrix span 7.6e-06 to 1.3e\+05 in the best units"):
        solve(program)


def test_units_alone_are_no_bad_scaling() -> None:
    program = LinearProgram([1, 1e6], [[1e-6, 1], [1, 1e6]], -np.inf, [1e-6, 1], 0, [1, 1e-6])
    assert solve(program).quality is Quality.OPTIMAL


@pytest.mark.parametrize("solver", ["highs", "scip", "clarabel", "ipopt"])
def test_log_goes_to_logging_and_nowhere_else(
    solver: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    if solver == "scip":
        pytest.importorskip("pyscipopt")
    with caplog.at_level(logging.INFO, logger="edgeopt.solvers"):
        solve(glass(), solver)
        assert caplog.records == []
        solve(glass(), solver, log=True)
    if solver != "clarabel":
        # Clarabel writes past Python: nothing of it can be caught.
        assert len(caplog.records) > 2
        assert capfd.readouterr().out == ""


@pytest.mark.parametrize("solver", ["highs", "scip"])
def test_progress_is_reported_and_can_stop_the_solver(solver: str) -> None:
    if solver == "scip":
        pytest.importorskip("pyscipopt")
    reports = []

    def watch(report) -> bool:
        reports.append(report)
        return np.isfinite(report.objective)

    solution = solve(market_split(), solver, time_limit=30.0, progress=watch)
    assert solution.status is Status.INTERRUPTED
    assert solution.quality is Quality.FEASIBLE
    assert reports[-1].bound <= reports[-1].objective
    assert reports[-1].seconds >= 0.0


@pytest.fixture
def listening() -> Iterator[None]:
    """Hear Ctrl-C even where the tests were started in the background, which ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("listening")
@pytest.mark.parametrize("solver", ["highs", "scip"])
def test_ctrl_c_returns_the_incumbent(solver: str) -> None:
    if solver == "scip":
        pytest.importorskip("pyscipopt")

    pressed = []

    def press(report) -> None:
        if np.isfinite(report.objective) and not pressed:
            pressed.append(report)
            os.kill(os.getpid(), signal.SIGINT)

    solution = solve(market_split(), solver, time_limit=30.0, progress=press)
    assert solution.status is Status.INTERRUPTED
    assert solution.quality is Quality.FEASIBLE
    assert solution.gap < np.inf


@pytest.mark.usefixtures("listening")
def test_second_ctrl_c_gives_up_waiting() -> None:
    stop, release = threading.Event(), threading.Event()

    def deaf() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        stop.wait(30.0)
        os.kill(os.getpid(), signal.SIGINT)
        release.wait(30.0)

    with pytest.raises(KeyboardInterrupt):
        run_interruptibly(deaf, stop)
    assert stop.is_set()
    release.set()


def test_failures_in_the_worker_reach_the_caller() -> None:
    def fail() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run_interruptibly(fail, threading.Event())


def test_solves_outside_the_main_thread() -> None:
    found = []
    thread = threading.Thread(target=lambda: found.append(solve(glass()).objective))
    thread.start()
    thread.join()
    assert found == [pytest.approx(36.0)]


def test_small_solves_leave_nothing_to_the_next() -> None:
    solve(glass(), algorithm="ipm", tolerance=1e-3, threads=1)
    held = highs._empty(again=True)
    assert held.getNumCol() == held.getNumRow() == 0
    for option in ("solver", "kkt_tolerance", "threads"):
        assert held.getOptionValue(option) == highspy.Highs().getOptionValue(option)


def test_small_solves_of_several_threads_do_not_meet() -> None:
    programs = [glass().replace(row_upper=[4.0, 12.0, 18.0 - part / 8]) for part in range(64)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda one: solve(one).objective, programs))
    assert found == [solve(one).objective for one in programs]


def test_threads_may_change_from_solve_to_solve() -> None:
    qualities = []

    def work() -> None:
        # HiGHS keeps one pool for each thread that calls it: here all solves share one.
        qualities.extend(solve(crowded(), threads=count).quality for count in (1, 2, 1))

    work()
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert qualities == [Quality.OPTIMAL] * 6


@pytest.mark.parametrize("solver", ["highs", "scip"])
def test_log_goes_to_a_file(solver: str, tmp_path: Path) -> None:
    logger = logging.getLogger("edgeopt.solvers")
    before = (logger.level, list(logger.handlers))
    solve(market_split(), solver, log=tmp_path / "run.log", time_limit=0.2)
    assert "ime" in (tmp_path / "run.log").read_text()
    assert len((tmp_path / "run.log").read_text().splitlines()) > 5
    assert (logger.level, list(logger.handlers)) == before
    with pytest.raises(OptionError, match="cannot be written"):
        solve(market_split(), solver, log=tmp_path, time_limit=0.2)


def test_progress_is_one_line(capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    solve(market_split(), progress=True, time_limit=0.5)
    shown = capsys.readouterr().err
    assert re.search(r"s, \d+ iterations, objective [\d.]+, bound [\d.]+, gap [\d.]+%", shown)
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stderr", stream)
    solve(market_split(), progress=True, time_limit=0.5)
    assert stream.getvalue().count("\n") == 1
    assert stream.getvalue().startswith("\r")
    assert str(Progress(1.5, 7)) == "1.5 s, 7 iterations"
    assert Progress(1.5, 7, 4.0, 3.0).gap == 0.25
