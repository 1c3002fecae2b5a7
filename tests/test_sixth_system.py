"""A package of somebody else's brings a system, claims, a figure, a policy and a solver."""

from __future__ import annotations

import ast
import itertools
import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from edgeopt import simulate
from edgeopt.errors import InstanceError

if TYPE_CHECKING:
    from collections.abc import Sequence

SOURCE = Path(__file__).parents[1] / "examples" / "sixth_system"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the package into a folder of its own, from a copy: building leaves traces."""
    folder = tmp_path_factory.mktemp("sixth")
    shutil.copytree(SOURCE, folder / "source", ignore=shutil.ignore_patterns("__pycache__"))
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check"]
    places = ["--target", str(folder / "site"), str(folder / "source")]
    done = subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", *options, *places],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder / "site"


@pytest.fixture(autouse=True)
def installed(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let this process see the package, for one test."""
    monkeypatch.syspath_prepend(site)


def ran(
    site: Path, commands: Sequence[str], folder: Path, *more: Path
) -> list[tuple[int, str, str]]:
    """Run commands in one fresh process that sees the package: exit code, output, errors."""
    driver = (
        "import contextlib, io, sys\nfrom edgeopt.cli import main\n"
        "for command in sys.argv[1:]:\n"
        "    sys.argv = ['edgeopt', *command.split()]\n"
        "    out, err = io.StringIO(), io.StringIO()\n"
        "    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):\n"
        "        try:\n            main()\n"
        "        except SystemExit as left:\n            code = left.code\n"
        "    print(ascii((code, out.getvalue(), err.getvalue())))\n"
    )
    path = os.pathsep.join(map(str, [site, *more]))
    done = subprocess.run(
        [sys.executable, "-c", driver, *commands],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [ast.literal_eval(line) for line in done.stdout.splitlines()]


def least_cost(requests: Sequence[int], launch: float) -> float:
    """Try every set of slots to launch in."""

    def cost(chosen: Sequence[bool]) -> float:
        total, waiting = 0.0, 0
        for new, launched in zip(requests, chosen, strict=True):
            waiting += new
            total += launch if launched else waiting
            waiting = 0 if launched else waiting
        return np.inf if waiting else total

    return min(cost(chosen) for chosen in itertools.product([False, True], repeat=len(requests)))


@pytest.mark.long
def test_the_optimum_is_that_of_every_set_of_slots() -> None:
    from sixth_system.instance import BatchInstance
    from sixth_system.offline import optimum

    stream = np.random.default_rng(3)
    for launch in (0.5, 1.0, 3.0, 7.5):
        for _ in range(8):
            requests = stream.poisson(0.8, 9)
            found = optimum(BatchInstance(requests, launch))
            assert found.value == pytest.approx(least_cost(requests.tolist(), launch))
            assert found.bound == pytest.approx(found.value)


def test_policies_follow_their_rules_and_balance_keeps_its_ratio() -> None:
    from sixth_system.instance import BatchInstance, generate
    from sixth_system.offline import optimum
    from sixth_system.online import ALONE, BALANCE, TIMER, RandomBalance, Waking

    # A price of 4. Balance: 1 + 1 waited, two wait, launch at 4; the timer waits for four slots.
    day = Waking(BatchInstance(np.array([0, 1, 0, 1, 0, 0, 0, 0, 1]), 4.0))
    costs = {one.name: simulate(day, one, runs=1).reward[0].tolist() for one in (ALONE, BALANCE)}
    assert costs["At once"] == [0, 4, 0, 4, 0, 0, 0, 0, 4]
    assert costs["Balance"] == [0, 1, 1, 4, 0, 0, 0, 0, 4]
    assert simulate(day, TIMER, runs=1).reward[0].tolist() == [0, 1, 1, 2, 2, 4, 0, 0, 4]
    # A share above a half of the price waits for both. That has a probability of (e - sqrt e) /
    # (e - 1); the test is wrong in one of 10^9 cases, at six standard errors.
    coins = simulate(day, RandomBalance(), runs=1000, rng=5).total
    assert set(coins.tolist()) == {10.0, 12.0, 13.0, 14.0, 15.0, 16.0}
    both = (np.e - np.sqrt(np.e)) / (np.e - 1)
    assert abs((coins == 10.0).mean() - both) <= 6 * np.sqrt(both * (1 - both) / 1000)
    for seed in range(20):
        drawn = generate(slots=60, launch=3.0 + seed, rng=seed)
        paid = simulate(Waking(drawn), BALANCE, runs=1).total[0]
        assert paid <= 2 * optimum(drawn).bound


def test_bad_input_is_refused_and_files_come_back(tmp_path: Path) -> None:
    from sixth_system.instance import BatchInstance, generate

    with pytest.raises(InstanceError, match=r"requests\[1\] = -2: must not be negative"):
        BatchInstance(np.array([1, -2]))
    with pytest.raises(InstanceError, match=r"launch = 0\.0: must be positive"):
        BatchInstance(np.array([1]), 0)
    drawn = generate(slots=20, rng=4)
    drawn.save(tmp_path / "day.nc")
    assert BatchInstance.load(tmp_path / "day.nc") == drawn
    assert drawn != generate(slots=20, rng=5)


def test_the_commands_know_all_that_it_brings(site: Path, tmp_path: Path) -> None:
    study, checked, made, kept, rescue, solvers, figure = ran(
        site,
        [
            "study sixth --runs 20 --json",
            "check sixth --instances 4 --json",
            "generate sixth --set slots=12 --set launch=3 --set burst=6 --out day.nc",
            "study sixth --instance day.nc --policies timer,alone --json",
            "study rescue --policies offered_policy,srs --runs 4 --json",
            "solvers --json",
            "reproduce sixth --quick --workers 1 --out figures --json",
        ],
        tmp_path,
    )
    assert [code for code, _, _ in (study, checked, made, kept, rescue, solvers, figure)] == [0] * 7

    found: dict[str, Any] = json.loads(study[1])
    assert found["benchmark"]["relative_gap"] < 1e-9
    ratio = {row["policy"]: row["ratio"] for row in found["policies"]}
    assert list(ratio) == ["balance", "random", "timer", "alone"]
    assert 1 <= ratio["balance"] <= 2 < ratio["timer"]
    assert {row["id"]: row["verdict"] for row in found["claims"]} == {
        "sixth.balance": "holds",
        "sixth.timer": "violated",
    }

    # One request and a price of 20: Balance waits for 19 slots. Two requests, a price of 1: 3.
    balance, timer, *promised = json.loads(checked[1])["claims"]
    assert {row["id"]: row["verdict"] for row in promised} == {
        "sixth.guarantee.balance": "holds",
        "sixth.valid_bound.opt": "holds",
    }
    assert balance["drawn"]["holds"] == 4
    assert (balance["verdict"], balance["measured"]) == ("holds", pytest.approx(39 / 20))
    assert timer["verdict"] == "violated"
    assert (timer["counterexample"]["instance"], timer["counterexample"]["measured"]) == (
        "two_at_once",
        pytest.approx(3.0),
    )

    from sixth_system.instance import BatchInstance

    day = BatchInstance.load(tmp_path / "day.nc")
    assert (day.requests.size, day.launch) == (12, 3.0)
    on_file = json.loads(kept[1])
    assert on_file["instance"]["fingerprint"] == day.fingerprint()
    least = least_cost(day.requests.tolist(), 3.0)
    assert on_file["benchmark"]["value"] == pytest.approx(least)
    alone = on_file["policies"][1]
    assert alone["value"] == pytest.approx(3.0 * np.count_nonzero(day.requests))

    rows = {row["policy"]: row for row in json.loads(rescue[1])["policies"]}
    assert list(rows) == ["offered_policy", "srs"]
    assert rows["offered_policy"]["group"] == "Picky"
    assert 0.3 < rows["offered_policy"]["ratio"] < 1.2

    listed = {one["name"]: one for one in json.loads(solvers[1])}
    assert listed["offered_solver"]["problems"] == ["linear program"]

    [paper_figure] = json.loads(figure[1])["paper_figures"]
    rows = {(row["burst"], row["policy"]): row["ratio"] for row in paper_figure["rows"]}
    assert rows[20, "timer"] > rows[1, "timer"]
    assert paper_figure["published"][0]["computed"] == pytest.approx(
        max(rows[1, "balance"], rows[20, "balance"])
    )
    assert (tmp_path / "figures" / "figure-1.svg").stat().st_size > 1000


def test_a_search_refutes_the_timer_and_comes_near_the_ratio_of_balance() -> None:
    from sixth_system.claims import CLAIMS, PARAMETER_SPACES

    from edgeopt.bounds.search import search

    balance, timer = (search(claim, PARAMETER_SPACES[0], budget=120, rng=1) for claim in CLAIMS)
    assert balance.verdict.verdict == "holds"
    assert 1.8 < balance.verdict.measured < 2.0
    assert timer.verdict.verdict == "violated"
    # Slots after the last request serve nobody better.
    day = timer.instance
    requests = day.requests[: np.flatnonzero(day.requests)[-1] + 1].tolist()
    least = least_cost(requests, day.launch)
    assert timer.verdict.certificate["optimum"] == pytest.approx(least)
    assert timer.verdict.certificate["paid"] > 2 * least


def test_its_solver_is_reached_by_name() -> None:
    from edgeopt.instances.rescue import small
    from edgeopt.models.rescue import solve_p1_lp

    scenario = small(2)
    theirs = solve_p1_lp(scenario, solver="offered_solver")
    assert theirs.solution.solver == "offered_solver"
    assert theirs.objective == pytest.approx(solve_p1_lp(scenario, solver="highs").objective)


def test_its_policy_has_the_exact_value_that_its_rule_brings() -> None:
    from sixth_system.guests import Picky

    from edgeopt.instances.rescue import small
    from edgeopt.online.rescue import RescueEnvironment, policy_value

    scenario = small(7, reserved=False)
    runs = simulate(RescueEnvironment(scenario), Picky(), runs=4000, rng=1).total
    exact = policy_value(scenario, Picky())
    assert exact > 0
    # Six standard errors: a false alarm has a chance of about 2e-9.
    assert abs(runs.mean() - exact) <= 6 * runs.std() / np.sqrt(runs.size)


def test_a_broken_plugin_is_reported_in_one_line(site: Path, tmp_path: Path) -> None:
    metadata = tmp_path / "broken-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(
        "[edgeopt.systems]\nseventh = nowhere:SYSTEM\n[edgeopt.policies]\nodd = nowhere:ODD\n"
        "[edgeopt.claims]\nodd = nowhere:CLAIMS\n"
    )
    sixth, seventh, checked = ran(
        site,
        ["study sixth --runs 2 --policies alone", "study seventh", "check sixth"],
        tmp_path,
        tmp_path,
    )
    assert (sixth[0], seventh[0], checked[0]) == (0, 2, 0)
    why = "of the package broken: cannot be loaded, ModuleNotFoundError: No module named 'nowhere'"
    assert sixth[2].splitlines() == [
        f"edgeopt: warning: left out: entry point 'odd' = 'nowhere:ODD' in edgeopt.policies {why}",
        f"edgeopt: warning: left out: entry point 'odd' = 'nowhere:CLAIMS' in edgeopt.claims {why}",
    ]
    assert seventh[2].splitlines() == [
        f"edgeopt: error: entry point 'seventh' = 'nowhere:SYSTEM' in edgeopt.systems {why}"
    ]
    assert "balance" in checked[1]


def test_every_door_is_shown_and_written_down() -> None:
    from edgeopt_papers import cases

    from edgeopt import registry
    from edgeopt.solvers.registry import ENTRY_POINTS

    offered = tomllib.loads((SOURCE / "pyproject.toml").read_text())["project"]["entry-points"]
    groups = {registry.SYSTEMS, registry.CLAIMS, registry.PARAMETER_SPACES, registry.POLICIES}
    doors = groups | {ENTRY_POINTS, f"{cases.GROUP}.figures"}
    assert set(offered) == doors
    told = (SOURCE.parents[1] / "CONTRIBUTING.md").read_text()
    assert [group for group in offered if f"`{group}`" not in told] == []


def test_the_checkout_stays_clean(site: Path) -> None:
    built = {path.name for path in SOURCE.rglob("*") if path.suffix == ".egg-info"}
    assert built == set()
    assert not (SOURCE / "build").exists()
