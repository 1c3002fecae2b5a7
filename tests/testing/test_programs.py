"""Programs with known optima: each verdict comes out, of right solvers and of those that lie."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy import sparse
from scipy.io import savemat

from edgeopt.errors import InputError, MissingDependencyError, OptionError
from edgeopt.solvers import Backend, Kind, LinearProgram, Quality, Status, solve
from edgeopt.testing import check_programs
from edgeopt.testing import programs as verdicts
from edgeopt.testing.programs import Judged, known_programs, main
from tests.testing.solvers import backend, right

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

INF = np.inf
GLASS = LinearProgram([3, 5], [[1, 0], [0, 2], [3, 2]], -INF, [4, 12, 18], sense="max")
CHOICE = LinearProgram([5, 4, 3], [[2, 3, 1], [4, 1, 2]], -INF, [5, 11], 0, 3, True, "max")
CROWDED = LinearProgram([1, 1], [[1, 1]], 3, INF, 0, 1)
LIST = "set,name,status,objective\n"
NOTHING = 1e20
"""What stands for no limit in a file."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for group in ("linear", "whole", "empty", "curved"):
        (tmp_path / group).mkdir()
    GLASS.write(tmp_path / "linear" / "glass.mps.gz")
    CHOICE.write(tmp_path / "whole" / "choice.lp")
    CROWDED.write(tmp_path / "empty" / "crowded.mps")
    # (x - 1)^2 + (y - 2)^2 over x + y <= 2 and 0 <= x <= 9, 0 <= y
    rows = sparse.csc_array([[1.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    limits = {"l": [-NOTHING, 0, 0], "u": [2, 9, NOTHING]}
    write_quadratic(tmp_path / "curved" / "near.mat", A=rows, **limits)
    (tmp_path / "optima.csv").write_text(
        f"{LIST}linear,glass,optimal,36\nwhole,choice,optimal,{solve(CHOICE).objective}\n"
        "empty,crowded,infeasible,\ncurved,near,optimal,0.5\n"
    )
    return tmp_path


def write_quadratic(path: Path, **parts: Any) -> None:
    given = {"P": sparse.csc_array(2 * np.eye(2)), "q": np.array([[-2], [-4]]), "r": np.uint8(5)}
    sides = {name: np.array(parts.pop(name), dtype=float)[:, None] for name in ("l", "u")}
    savemat(path, given | sides | parts)


def test_right_solvers(folder: Path) -> None:
    report = check_programs(folder, time_limit=None)
    found = {one.name: one for one in report.programs}
    assert {name: one.verdict for name, one in found.items() if name != "crowded"} == dict.fromkeys(
        ("glass", "choice", "near"), "proven"
    )
    assert found["crowded"].verdict in ("proven", "right")
    assert found["glass"].objective == pytest.approx(36)
    assert max(one.error for one in found.values() if one.name != "crowded") <= 1e-7
    assert not report.failed
    assert set(report.versions) == {"highs", "clarabel"}
    assert str(report).splitlines()[0].split()[:4] == ["set", "solver", "proven", "right"]


def test_several_solvers_share_one_reading(folder: Path, monkeypatch: Any) -> None:
    read: list[str] = []
    once = LinearProgram.read
    monkeypatch.setattr(LinearProgram, "read", lambda path: read.append(path.name) or once(path))
    report = check_programs(folder, ["highs", "scipy", backend("sound", right)], sets=["linear"])
    assert [one.solver for one in report.of("proven")] == ["highs", "scipy", "sound"]
    assert read == ["glass.mps.gz"]


def at(values: Any, quality: Quality) -> Callable[[Any], Any]:
    """Claim a point, with its own objective and no bound."""

    def changed(found: Any) -> Any:
        program, point = found.problem, np.array(values, dtype=float)
        return replace(
            found, values=point, objective=program.objective(point), bound=-program.sign * INF,
            quality=quality, status=Status.UNKNOWN,
        )  # fmt: skip

    return changed


def ends(status: Status) -> Callable[[Any], Any]:
    def changed(found: Any) -> Any:
        none = Quality.NO_SOLUTION
        return replace(found, status=status, quality=none, values=None, objective=np.nan)

    return changed


def proof(evidence: Any) -> Callable[[Any], Any]:
    return lambda found: replace(ends(Status.PROVEN_INFEASIBLE)(found), evidence=evidence)


LIES = [
    ("glass", lambda found: found, "proven"),
    ("glass", at([2, 6], Quality.FEASIBLE), "right"),
    ("glass", at([4, 3], Quality.FEASIBLE), "wrong point"),
    ("glass", at([4, 3], Quality.OPTIMAL), "false"),
    ("glass", at([4, 3], Quality.INFEASIBLE), "none"),
    ("glass", lambda found: replace(found, objective=35.0), "false"),
    ("glass", lambda found: replace(found, bound=35.9), "false"),
    ("glass", lambda found: replace(found, bound=36.1), "proven"),
    ("glass", lambda found: replace(ends(Status.UNKNOWN)(found), bound=35.9), "false"),
    ("glass", ends(Status.PROVEN_INFEASIBLE), "false"),
    ("glass", ends(Status.PROVEN_UNBOUNDED), "false"),
    ("glass", ends(Status.MAX_TIME_LIMIT), "none"),
    ("choice", at([1, 0, 2], Quality.FEASIBLE), "wrong point"),
    ("choice", at([1, 0, 2], Quality.OPTIMAL), "false"),
    ("near", at([0.5, 1.5], Quality.FEASIBLE), "right"),
    ("near", at([0.5001, 1.4999], Quality.OPTIMAL), "proven"),
    ("near", at([0.6, 1.4], Quality.OPTIMAL), "false"),
    ("crowded", proof(np.array([2.0])), "proven"),
    ("crowded", proof(np.array([-2.0])), "right"),
    ("crowded", proof(None), "right"),
    ("crowded", ends(Status.PROVEN_UNBOUNDED), "false"),
    ("crowded", ends(Status.INFEASIBLE_OR_UNBOUNDED), "none"),
    ("crowded", at([1, 1], Quality.FEASIBLE), "false"),
    ("crowded", at([1, 1], Quality.INFEASIBLE), "none"),
]


@pytest.mark.parametrize(("name", "change", "verdict"), LIES)
def test_verdicts_on_what_is_claimed(
    folder: Path, monkeypatch: Any, name: str, change: Callable[[Any], Any], verdict: str
) -> None:
    """What `solve` would never say is judged as well: it is `solve` that is held to it."""
    monkeypatch.setattr(
        verdicts, "solve", lambda program, *solver, **options: change(solve(program, raises=False))
    )
    report = check_programs(folder)
    assert {one.name: one.verdict for one in report.programs}[name] == verdict
    failed = verdict in ("false", "error")
    assert (name in {one.name for one in report.failed}) is failed


def test_an_optimum_of_0_is_met_within_what_is_known_of_it(folder: Path) -> None:
    """The terms of the objective near its optimum of 0 at (1, 2) add up to 20."""
    known = replace(known_programs(folder, ["curved"])[0], objective=0.0)
    found = replace(solve(known.program()), problem=known.program().replace(row_upper=5))
    for shift, verdict in ((1e-5, "proven"), (2e-4, "false")):
        claimed = at([1 + shift, 2], Quality.OPTIMAL)(found)
        assert verdicts.judge(known, claimed.problem, claimed)[0] == verdict


def lie(change: Callable[[Any], Any], program: Any, request: Any) -> Any:
    return change(right(program, request))


def half(found: Any) -> Any:
    """A feasible point, said to be the optimum."""
    values = np.floor(found.values / 2)
    worth = found.problem.objective(values)
    return replace(found, values=values, objective=worth, bound=worth)


def test_backends_that_lie(folder: Path) -> None:
    """A search has only its word for its bound: then a lie is seen where the optimum is known."""
    lies = {"halves": half, "is silent": ends(Status.UNKNOWN), "fails": lambda found: 1 / 0}
    solvers = [backend(name, partial(lie, change)) for name, change in lies.items()]
    report = check_programs(folder, solvers, sets=["linear", "whole"])
    assert {(one.solver, one.name): one.verdict for one in report.programs} == {
        ("halves", "glass"): "wrong point",
        ("halves", "choice"): "false",
        ("is silent", "glass"): "none",
        ("is silent", "choice"): "none",
        ("fails", "glass"): "error",
        ("fails", "choice"): "error",
    }


def test_an_infeasibility_that_is_believed_is_false(folder: Path) -> None:
    denies = backend("denies", partial(lie, ends(Status.PROVEN_INFEASIBLE)))
    for one in check_programs(folder, denies, sets=["linear", "whole"]).programs:
        assert one.verdict == ("false" if one.status == "proven infeasible" else "none")


def test_errors_are_kept(folder: Path, monkeypatch: Any) -> None:
    plain = Backend("plain", "highspy", "highspy", {Kind.LINEAR: right})
    (folder / "linear" / "glass.mps.gz").unlink()
    report = check_programs(folder, plain, sets=["linear", "curved"])
    assert [one.verdict for one in report.programs] == ["none", "none"]
    missing, kind = (one.text for one in report.programs)
    assert "no file of this name ends in .mps, .mps.gz" in missing
    assert kind.startswith("ProblemTypeError: plain does not take a convex quadratic program")
    monkeypatch.setattr(verdicts, "solve", lambda *_, **__: 1 / 0)
    report = check_programs(folder, plain, sets=["curved"])
    assert [(one.verdict, one.text) for one in report.failed] == [
        ("error", "ZeroDivisionError: division by zero")
    ]


def test_the_command_prints_writes_and_fails(folder: Path, monkeypatch: Any, capsys: Any) -> None:
    path = folder / "report.json"
    command = [str(folder), "--set", "linear", "whole", "--solver", "highs", "scipy"]
    assert main([*command, "--time-limit", "5", "--json", str(path)]) == 0
    written = json.loads(path.read_text())
    assert written["table"][0]["proven"] == 1
    assert [one["verdict"] for one in written["programs"]] == ["proven"] * 4
    assert set(written["versions"]) == {"highs", "scipy"}
    assert written["time_limit"] == 5
    assert len(capsys.readouterr().out.splitlines()) == 5
    monkeypatch.setattr(
        verdicts, "solve", lambda *_, **__: ends(Status.PROVEN_UNBOUNDED)(solve(GLASS))
    )
    assert main([*command, "--json", str(path)]) == 1
    assert "linear/glass by highs: false: no solution, proven unbounded" in capsys.readouterr().out
    assert json.loads(path.read_text())["programs"][0]["objective"] is None
    with pytest.raises(SystemExit) as ended:
        main([str(folder), "--set", "none"])
    assert ended.value.code == 2
    assert "has no set 'none'; it has linear, whole, empty, curved" in capsys.readouterr().err


def test_what_cannot_begin_is_refused(folder: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        check_programs(folder / "linear")
    with pytest.raises(OptionError, match="there is no solver 'hihgs'"):
        check_programs(folder, "hihgs")
    absent = Backend("absent", "no_such_package", "no-such-package", {Kind.LINEAR: right})
    with pytest.raises(MissingDependencyError, match="pip install no-such-package"):
        check_programs(folder, absent)
    for text, rule in (
        ("set,name,status\n", "line 1: there is no column 'objective'"),
        (f"{LIST}linear,glass,solved,36\n", "line 2 = 'solved': status must be"),
        (f"{LIST}linear,glass,optimal,\n", "line 2 = '': objective is no number"),
        (f"{LIST}linear,glass,optimal,inf\n", "line 2 = 'inf': objective must be finite"),
        (f"{LIST}linear,glass\n", "line 2 = '': status must be"),
    ):
        (folder / "optima.csv").write_text(text)
        with pytest.raises(InputError, match=rule):
            check_programs(folder)


def test_rows_of_quadratic_files_become_bounds_where_they_are_the_identity(folder: Path) -> None:
    known = known_programs(folder, ["curved"])[0]
    program = known.program()
    assert program.shape == (1, 2)
    assert program.offset == 5
    assert (program.row_lower[0], program.row_upper[0]) == (-INF, 2)
    assert (program.lower.tolist(), program.upper.tolist()) == ([0, 0], [9, INF])
    rows = [[1, 1], [1, 0], [0, 2]]
    write_quadratic(known.path.with_suffix(".mat"), A=rows, l=[-2e20, 0, 0], u=[2, 9, NOTHING])
    program = known.program()
    assert program.shape == (3, 2)
    assert np.isinf(program.lower).all()
    assert solve(program).objective == pytest.approx(0.5)


@pytest.mark.parametrize("damage", ["text", "cut", "part"])
def test_damaged_quadratic_files_are_named(folder: Path, damage: str) -> None:
    path = folder / "curved" / "near.mat"
    if damage == "part":
        savemat(path, {"P": np.eye(2)})
    else:
        path.write_bytes(b"P = 1" if damage == "text" else path.read_bytes()[:300])
    report = check_programs(folder, sets=["curved"])
    assert report.of("none")[0].text.startswith(f"InputError: {path}")


def test_reports_are_short(folder: Path) -> None:
    entry = Judged("a", "b", "c", "none", text="why")
    assert str(entry) == "a/b by c: none: why"
    assert repr(check_programs(folder, sets=["linear"])) == "ProgramReport(1 proven)"
    assert "<td" in check_programs(folder, sets=["linear"])._repr_html_()
