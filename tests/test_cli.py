from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import subprocess
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

import edgeopt
from edgeopt.cli import choose
from edgeopt.cli.main import run
from edgeopt.errors import OptionError
from edgeopt.instances import edr
from edgeopt.instances.edr import EdrInstance
from edgeopt.instances.oinc import OincInstance, generate
from edgeopt.instances.rescue import RescueInstance
from edgeopt.studies import Source as SourceEntry
from tests.studies import stopping
from tests.studies.conftest import offering as offering
from tests.studies.test_systems import document

if TYPE_CHECKING:
    from pathlib import Path

RUNS = ["--runs", "20"]
SMALL = ["--set", "servers=2", "--set", "devices=3", "--set", "profiles=2", "--set", "horizon=12"]


@pytest.fixture
def instance_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """Return the path of a RESCUE instance that the program has written."""
    path = tmp_path / "instance.nc"
    assert run(["generate", "rescue", "--out", str(path), "--set", "reserved=3", *SMALL]) == 0
    assert "fingerprint" in capsys.readouterr().out
    return str(path)


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"edgeopt {edgeopt.__version__}\n"
    assert run([]) == 0
    assert "study" in capsys.readouterr().out


@pytest.mark.usefixtures("offering")
def test_study_of_a_sixth_system(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["study", "stopping", *RUNS, "--out", str(tmp_path / "page")]) == 0
    printed = capsys.readouterr()
    assert "Choosy" in printed.out
    assert "Greedy" in printed.out
    assert printed.err == ""
    assert (tmp_path / "page" / "index.html").is_file()


@pytest.mark.usefixtures("offering")
def test_saved_instance_of_a_sixth_system(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / "offers.txt")
    settings = ["--set", "slots=4", "--set", "floor=0.25"]
    assert run(["generate", "stopping", "--out", path, *settings]) == 0
    capsys.readouterr()
    assert run(["study", "stopping", "--instance", path, *RUNS, "--json"]) == 0
    assert document(capsys)["benchmark"]["value"] == pytest.approx(4 / 5)


@pytest.mark.usefixtures("offering")
def test_several_instances_are_drawn_and_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = SourceEntry(
        lambda rng: stopping.Offers(3 + rng), "as many offers as the seed", seeded=True
    )
    record = dataclasses.replace(
        stopping.SYSTEM,
        instances=dataclasses.replace(stopping.SYSTEM.instances, sources={"seeded": drawn}),
    )
    monkeypatch.setattr(stopping, "SYSTEM", record)
    wanted = ["--draws", "2", "--seed", "4", "--policies", "first,half"]
    whole = [*wanted, "--wide", "--out", str(tmp_path / "page")]
    assert run(["study", "stopping", *RUNS, *whole]) == 0
    printed = capsys.readouterr().out
    assert "Over all instances; 2 instances" in printed
    for seed in (4, 5):
        assert f"instance seeded {seed}," in printed
    assert set(pd.read_csv(tmp_path / "page" / "table.csv")["instance"]) == {"seeded 4", "seeded 5"}
    assert run(["study", "stopping", *RUNS, *wanted, "--json"]) == 0
    assert [one["instance"]["name"] for one in document(capsys)] == ["seeded 4", "seeded 5"]


def test_a_fraction_may_be_set_where_the_default_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "fine.nc"
    assert run(["generate", "rescue", "--out", str(path), "--set", "slot_seconds=2.5", *SMALL]) == 0


def test_ranges_and_switches_may_be_set(tmp_path: Path) -> None:
    path = tmp_path / "physical.nc"
    chosen = ["channel=physical", "bandwidth=(20, 30)", "stationary=False", "jobs=2", "slots=9"]
    settings = [part for one in chosen for part in ("--set", one)]
    assert run(["generate", "oinc", "--out", str(path), *settings]) == 0
    assert OincInstance.load(path) == generate(
        channel="physical", bandwidth=(20.0, 30.0), stationary=False, jobs=2, slots=9
    )


@pytest.mark.long
def test_a_study_draws_with_parameters(capsys: pytest.CaptureFixture[str]) -> None:
    small = {"slots": 8, "jobs": 2, "sites": 3, "devices": 4}
    settings = [part for one in small.items() for part in ("--set", "{}={}".format(*one))]
    wanted = ["--policies", "greedy+density", "--seed", "3", "--json"]
    assert run(["study", "oinc", *settings, *wanted, *RUNS, "--draws", "1"]) == 0
    found = document(capsys)["instance"]
    assert found["fingerprint"] == generate(**small, rng=3).fingerprint()
    assert run(["study", "oinc", *settings, *wanted, *RUNS]) == 0
    drawn = [generate(**small, rng=3 + more).fingerprint() for more in range(5)]
    assert [one["instance"]["fingerprint"] for one in document(capsys)] == drawn


def test_what_is_not_drawn_takes_no_parameters(
    instance_file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for chosen in (["--instance", instance_file], ["--data", "nowhere"]):
        assert run(["study", "rescue", *chosen, "--set", "servers=2"]) == 2
        assert "is not drawn, so it takes no parameters" in capsys.readouterr().err


@pytest.mark.parametrize("history", [False, True, "channel"])
def test_a_switch_may_be_set_to_the_word_that_it_takes(tmp_path: Path, history: object) -> None:
    path, small = tmp_path / "day.nc", {"sites": 3, "tasks": 2, "frames": 4, "slots": 2}
    chosen = [f"{name}={value}" for name, value in {**small, "history": history}.items()]
    settings = [part for one in chosen for part in ("--set", one)]
    assert run(["generate", "edr", "--out", str(path), *settings]) == 0
    assert EdrInstance.load(path) == edr.generate(**small, history=history)


@pytest.mark.usefixtures("offering")
def test_policies_with_commas_and_repeated(capsys: pytest.CaptureFixture[str]) -> None:
    wanted = ["--policies", "half,f*", "--policies", "never", "--reference", "never"]
    assert run(["study", "stopping", *RUNS, *wanted, "--json"]) == 0
    rows = document(capsys)["policies"]
    assert [row["policy"] for row in rows] == ["half", "first", "never"]
    assert [row["reference"] for row in rows] == ["never", "never", ""]


def test_rescue_study_as_json(instance_file: str, capsys: pytest.CaptureFixture[str]) -> None:
    wanted = ["--policies", "rescue*,pickconfigs+guard"]
    assert run(["study", "rescue", "--instance", instance_file, *RUNS, *wanted, "--json"]) == 0
    found = document(capsys)
    parts = [
        "schema",
        "system",
        "instance",
        "benchmark",
        "intervals",
        "policies",
        "bounds",
        "checks",
    ]
    assert list(found) == [*parts, "claims"]
    assert found["system"] == "rescue"
    assert found["instance"]["servers"] == 2
    assert found["benchmark"]["name"] == "safe"
    assert found["benchmark"]["others"]["lp"]["relative_gap"] <= 1e-6
    for one in (found["benchmark"], *found["benchmark"]["others"].values()):
        assert one["bound"] >= one["value"] - 1e-9
    names = {row["policy"] for row in found["policies"]}
    assert {"rescue", "rescue+guard", "rescueplus", "pickconfigs+guard"} <= names
    for claim in found["claims"]:
        assert list(claim) == [
            "id",
            "source",
            "verdict",
            "measured",
            "guaranteed",
            "slack",
            "factor",
        ]


def test_solve_writes_a_plan(
    instance_file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import pandas as pd
    import xarray as xr

    table, labelled = tmp_path / "plan.csv", tmp_path / "plan.nc"
    for out in (table, labelled):
        solved = ["solve", "rescue", "--instance", instance_file, "--out", str(out), "--json"]
        assert run(solved) == 0
        benchmark = document(capsys)["benchmark"]
        assert benchmark["relative_gap"] <= 1e-6
    cells = pd.read_csv(table)
    assert list(cells) == ["slot", "device", "server", "profile", "probability"]
    with xr.open_dataset(labelled, engine="h5netcdf") as stored:
        index = tuple(cells[axis] for axis in stored["probability"].dims)
        planned = stored["probability"].to_numpy()
        assert planned[index] == pytest.approx(cells["probability"].to_numpy())
        assert (planned != 0).sum() == len(cells)
        instance = edgeopt.instances.RescueInstance.load(instance_file)
        earned = instance.expected_profit[
            cells["slot"], cells["device"], cells["server"], cells["profile"]
        ]
        assert earned @ cells["probability"] == pytest.approx(benchmark["value"])


def test_solve_for_people(instance_file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["solve", "rescue", "--instance", instance_file]) == 0
    printed = capsys.readouterr()
    assert "proven bound" in printed.out
    assert printed.err == ""


def test_solvers(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["solvers", "--json"]) == 0
    highs = next(one for one in document(capsys) if one["name"] == "highs")
    assert highs["installed"]
    assert highs["version"]
    assert run(["solvers"]) == 0
    assert "highs" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["study", "rescu"], "system 'rescu' is unknown; did you mean rescue?"),
        (["study"], "Missing argument 'system'"),
        (["studi"], "No such command 'studi'"),
        (["study", "rescue", "--runs", "many"], "Invalid value for '--runs'"),
        (["study", "rescue", "--runs", "1"], "Invalid value for '--runs'"),
        (["study", "rescue", "--workers", "0"], "workers = 0: must be at least 1"),
        (["study", "rescue", "--policies", "resue"], "policy 'resue' is unknown to rescue"),
        (["study", "rescue", "--colour"], "No such option: --colour"),
        (["study", "rescue", "--instance", "nowhere"], "choose from tables, paper"),
        (["study", "rescue", "--data", "nowhere"], "--data nowhere: no such folder"),
        (["solve", "rescue", "--data", ".", "--instance", "paper"], "cannot be used together"),
        (["solve", "rescue", "--method", "magic"], "rescue has auto, direct"),
        (["solve", "rescue", "--instance", "paper", "--out", "plan.xls"], ".csv or .nc"),
        (["solve", "rescue", "--out", "nowhere/plan.nc"], "the directory does not exist"),
        (["generate", "rescue", "--out", "x.nc", "--set", "server=3"], "did you mean servers?"),
        (["generate", "rescue", "--out", "x.nc", "--set", "servers"], "write it as name=value"),
        (["generate", "rescue", "--out", "x.nc", "--set", "servers=few"], "must be a number"),
        (
            ["generate", "rescue", "--out", "x.nc", "--set", "servers=2", "--set", "servers=3"],
            "servers is set twice; keep one",
        ),
        (["generate", "rescue", "--out", "x.csv"], "a file ends in .nc, or in .zip for tables"),
        (["generate", "rescue", "--out", "x.nc", "--set", "servers=0"], "servers"),
        (["generate", "rescue", "--out", "x.nc", "--set", "servers=1.5"], "a whole number"),
        (["generate", "rescue", "--out", "nowhere/x.nc"], "the directory does not exist"),
        (["generate", "rescue", "--out", ""], "error: --out: must not be empty"),
        (["solve", "rescue", "--out="], "error: --out: must not be empty"),
        (["study", "rescue", "--force", "--out", ""], "error: --out: must not be empty"),
        (["solve", "rescue", "--bound", "best"], "--bound best: unknown; rescue has safe, lp, lp_"),
        (["solve", "rescue", "--bound", "safe", "--method", "auto"], "the safe bound of rescue"),
        (["solve", "rescue", "--bound", "safe", "--out", "x.nc"], "--out: the safe bound of"),
        (["study", "rescue", "--set", "servrs=3"], "no parameter servrs; did you mean servers?"),
        (["study", "rescue", "--set", "options=3"], "no parameter options; known: servers, dev"),
        (
            ["study", "tapfinger", "--instance", "tables", "--set", "reduced=False"],
            "known: figures",
        ),
        (["check", "rescue.theorem9"], "claim 'rescue.theorem9' is unknown"),
        (["check", "rescu"], "did you mean rescue"),
        (["check", "zzz"], "claims are of edr, idn, oinc, rescue, tapfinger"),
        (["check", "rescue.theorem9", "--out", "page"], "claim 'rescue.theorem9' is unknown"),
        (["check", "rescue.theorem2", "--instances", "-1"], "Invalid value for '--instances'"),
        (["check", "rescue.theorem2", "--workers", "0"], "workers = 0: must be at least 1"),
        (["study", "rescue", "--draws", "0"], "Invalid value for '--draws'"),
        (["study", "rescue", "--draws", "2", "--data", "."], "--draws 2: raw data is one"),
        (["study", "rescue", "--draws", "2", "--instance", "x.nc"], "--draws 2: x.nc is one"),
        (["study", "idm"], "did you mean idn?"),
        (["study", "idn", "--instance", "topology_3"], "choose from topology_1_common, top"),
        (["study", "idn", "--policies", "infid"], "did you mean infida"),
        (["study", "idn", "--runs", "1"], "Invalid value for '--runs'"),
        (["study", "idn", "--data", "nowhere"], "--data nowhere: no such folder"),
        (["study", "idn", "--data", "."], "holds none of the public files"),
        (["solve", "idn", "--method", "columns"], "idn has auto, direct, structured"),
        (["solve", "idn", "--out", "plan.xls"], ".csv or .nc"),
        (["generate", "idn", "--out", "x.nc", "--set", "topology=3"], "topology = 3: must be 1, 2"),
        (["generate", "idn", "--out", "x.nc", "--set", "alpha=-1"], "alpha"),
        (["generate", "edr", "--out", "x.nc", "--set", "history=day"], "True, False or channel"),
        (
            ["generate", "edr", "--out", "x.nc", "--set", "distribution=channel"],
            "must be True or False",
        ),
        (["generate", "idn", "--out", "x.nc", "--set", "horizon=0"], "horizon"),
        (
            ["generate", "idn", "--out", "x.nc", "--set", "horizon=2.5"],
            "horizon=2.5: must be a whole",
        ),
        (["generate", "idn", "--out", "x.nc", "--set", "popularity=wild"], "popularity = "),
        (["generate", "idn", "--out", "x.nc", "--set", "task=3"], "did you mean tasks?"),
        (["check", "idn.theorem9"], "claim 'idn.theorem9' is unknown"),
        (["study", "oincc"], "did you mean oinc?"),
        (["study", "oinc", "--set", "slot=3"], "did you mean slots?"),
        (["study", "idn", "--instance", "topology_1", "--set", "alpha"], "write it as name=value"),
        (
            ["study", "oinc", "--instance", "week"],
            "choose from drawn, calibrated, swinging, physical, tables",
        ),
        (["study", "oinc", "--policies", "oinc+larges"], "did you mean oinc+largest"),
        (["study", "oinc", "--policies", "ekya", "--reference", "kalmia"], "compared: ekya"),
        (["study", "oinc", "--runs", "1"], "Invalid value for '--runs'"),
        (
            ["study", "oinc", "--draws", "3", "--instance", "a.nc"],
            "a.nc is one instance",
        ),
        (["study", "oinc", "--data", "nowhere"], "--data nowhere: no such folder"),
        (["study", "oinc", "--data", "."], "holds none of the public files"),
        (["solve", "oinc", "--method", "socp"], "oinc has none"),
        (["solve", "oinc", "--out", "plan.xls"], ".csv or .nc"),
        (["generate", "oinc", "--out", "x.nc", "--set", "site=3"], "did you mean sites?"),
        (["generate", "oinc", "--out", "x.nc", "--set", "sites=0"], "sites"),
        (["generate", "oinc", "--out", "x.nc", "--set", "devices=1.5"], "a whole number"),
        (["generate", "oinc", "--out", "x.nc", "--set", "jobs=-1"], "jobs"),
        (["generate", "oinc", "--out", "x.nc", "--set", "slots=0"], "slots"),
        (["generate", "oinc", "--out", "x.nc", "--set", "channel=5g"], "'literal', 'physical'"),
        (["generate", "oinc", "--out", "x.nc", "--set", "duty=2"], "duty"),
        (["generate", "oinc", "--out", "x.nc", "--set", "stationary=no"], "True or False"),
        (["generate", "oinc", "--out", "x.nc", "--set", "slo=0.5"], "such as (0.3, 0.9)"),
        (["generate", "oinc", "--out", "x.nc", "--set", "slo=(0.3,'b')"], "'b' is no number"),
        (
            ["generate", "oinc", "--out", "x.nc", "--set", "slo=(0.3,1.5)"],
            "slo = (0.3, 1.5): must be",
        ),
        (["generate", "oinc", "--out", "x.nc", "--set", "bandwidth=(0,3)"], "bandwidth"),
        (["generate", "oinc", "--out", "x.nc", "--set", "job_scale=0"], "job_scale"),
        (["generate", "oinc", "--out", "x.nc", "--set", "patience=(0,2)"], "patience"),
        (["check", "oinc.theorem9"], "claim 'oinc.theorem9' is unknown"),
        (["study", "edw"], "did you mean edr?"),
        (["study", "edr", "--instance", "week"], "choose from drawn, quiet, tables"),
        (["study", "edr", "--policies", "saddle"], "did you mean saddle_point"),
        (["study", "edr", "--policies", "greedy", "--reference", "oasdr"], "compared: greedy"),
        (["study", "edr", "--runs", "0"], "Invalid value for '--runs'"),
        (["study", "edr", "--data", "nowhere"], "--data nowhere: no such folder"),
        (["study", "edr", "--data", "."], "holds none of the public files"),
        (["solve", "edr", "--method", "columns"], "edr has benders, highs"),
        (["solve", "edr", "--out", "plan.xls"], ".csv or .nc"),
        (["generate", "edr", "--out", "x.nc", "--set", "site=3"], "did you mean sites?"),
        (["generate", "edr", "--out", "x.nc", "--set", "sites=0"], "sites"),
        (["generate", "edr", "--out", "x.nc", "--set", "tasks=-1"], "tasks"),
        (["generate", "edr", "--out", "x.nc", "--set", "frames=1.5"], "a whole number"),
        (["generate", "edr", "--out", "x.nc", "--set", "slots=0"], "slots"),
        (["generate", "edr", "--out", "x.nc", "--set", "reuse=some"], "reuse"),
        (["generate", "edr", "--out", "x.nc", "--set", "weights=own"], "weights"),
        (["generate", "edr", "--out", "x.nc", "--set", "accuracy=0"], "accuracy"),
        (["generate", "edr", "--out", "x.nc", "--set", "headroom=-1"], "headroom"),
        (["generate", "edr", "--out", "x.nc", "--set", "capable_share=2"], "capable_share"),
        (
            ["generate", "edr", "--out", "x.nc", "--set", "rounds_bound=best"],
            "'published', 'corrected'",
        ),
        (["generate", "edr", "--out", "x.nc", "--set", "capped=often"], "capped"),
        (["check", "edr.theorem9"], "claim 'edr.theorem9' is unknown"),
        (["study", "tapfingers"], "did you mean tapfinger?"),
        (["study", "tapfinger", "--instance", "week"], "several, single, mixed, pointer, tables"),
        (["study", "tapfinger", "--policies", "optimuss"], "did you mean optimus"),
        (["study", "tapfinger", "--policies", "min", "--reference", "random"], "compared: min"),
        (["study", "tapfinger", "--runs", "1"], "Invalid value for '--runs'"),
        (["study", "tapfinger", "--data", "nowhere"], "--data nowhere: no such folder"),
        (["study", "tapfinger", "--data", "."], "holds none of the public files"),
        (["solve", "tapfinger", "--method", "milp"], "best, trivial, volume, pooled, relaxation"),
        (["solve", "tapfinger", "--out", "plan.xls"], ".csv or .nc"),
        (
            ["generate", "tapfinger", "--out", "x.nc", "--set", "cluster=3"],
            "did you mean clusters?",
        ),
        (["generate", "tapfinger", "--out", "x.nc", "--set", "clusters=0"], "clusters"),
        (["generate", "tapfinger", "--out", "x.nc", "--set", "tasks=-1"], "tasks"),
        (["generate", "tapfinger", "--out", "x.nc", "--set", "rate=0"], "rate"),
        (["generate", "tapfinger", "--out", "x.nc", "--set", "law=cubic"], "law"),
        (["generate", "tapfinger", "--out", "x.nc", "--set", "noise=2"], "noise"),
        (["generate", "tapfinger", "--out", "x.nc", "--set", "single_start=no"], "True or False"),
        (["generate", "tapfinger", "--out", "x.nc", "--set", "capacity=big"], "capacity"),
        (["generate", "tapfinger", "--out", "x.nc", "--set", "workload=mine"], "workload"),
        (["check", "tapfinger.theorem9"], "claim 'tapfinger.theorem9' is unknown"),
    ],
)
def test_bad_input_is_one_clear_line(
    arguments: list[str],
    line: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("edgeopt: error: ")
    assert printed.err.count("\n") == 1
    assert line in printed.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [b"", b"not a file of instances", None])
def test_unreadable_instance_files(
    content: bytes | None, instance_file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = tmp_path / "broken.nc"
    if content is None:
        with open(instance_file, "rb") as whole:
            content = whole.read()[:2000]
    broken.write_bytes(content)
    assert run(["study", "rescue", "--instance", str(broken)]) == 2
    printed = capsys.readouterr()
    assert "broken.nc" in printed.err
    assert printed.err.count("\n") == 1


def test_program_when_piped(instance_file: str) -> None:
    command = [sys.executable, "-c", "from edgeopt.cli import main; main()"]
    options = ["solve", "rescue", "--instance", instance_file, "--json"]
    done = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert done.stderr == ""
    assert json.loads(done.stdout)["benchmark"]["name"] == "lp"
    failed = subprocess.run([*command, "study", "no"], capture_output=True, text=True, check=False)
    assert failed.returncode == 2
    assert failed.stdout == ""
    assert "Traceback" not in failed.stderr


def test_of_several_notes_only_a_study_prints_all(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine").write_text("")
    noted = SimpleNamespace(notes=("one", "two"))
    record: Any = SimpleNamespace(
        instances=SimpleNamespace(sources={"usual": None}, load=lambda path: noted, draws=1)
    )
    chosen = choose.chosen_instance(record, str(tmp_path / "mine"), None, 0)
    assert chosen.provenance[1:] == ("one", "two")
    assert "mine: 2 notes on what was read" in capsys.readouterr().err
    choose.chosen_instances(record, str(tmp_path / "mine"), None, 0, None)
    assert capsys.readouterr().err == "edgeopt: one\nedgeopt: two\n"


def test_progress_on_a_terminal_only(instance_file: str, tmp_path: Path) -> None:
    pty = pytest.importorskip("pty")
    command = [sys.executable, "-c", "from edgeopt.cli import main; main()"]
    options = ["study", "rescue", "--instance", instance_file, *RUNS, "--policies", "random"]
    reader, writer = pty.openpty()
    with open(tmp_path / "out.json", "wb") as out:
        started = subprocess.Popen(
            [*command, *options, "--json"],
            stdout=out,
            stderr=writer,
            env={**os.environ, "TERM": "xterm"},
        )
    os.close(writer)
    shown = b""
    with contextlib.suppress(OSError):  # how the end of a terminal shows itself
        while piece := os.read(reader, 4096):
            shown += piece
    os.close(reader)
    assert started.wait() == 0
    assert json.loads((tmp_path / "out.json").read_text())["system"] == "rescue"
    assert b"bound safe bound" in shown  # what is at work, before it is done
    assert b"policy Random" in shown


@pytest.mark.parametrize(
    ("system", "setting", "size"),
    [
        ("rescue", "servers=3", "servers"),
        ("idn", "horizon=4", "horizon"),
        ("oinc", "sites=3", "sites"),
        ("edr", "sites=3", "sites"),
        ("tapfinger", "clusters=2", "clusters"),
    ],
)
def test_sources_of_tables_take_the_settings_of_their_builders(
    system: str, setting: str, size: str
) -> None:
    from edgeopt.cli.choose import chosen_instance
    from edgeopt.studies import find_system

    chosen = chosen_instance(find_system(system), "tables", None, 0, [setting])
    assert getattr(chosen.instance, size) == int(setting.partition("=")[2])


def test_a_function_that_lists_no_parameters_takes_none() -> None:
    from edgeopt.cli.choose import parsed_settings

    with pytest.raises(OptionError, match="no parameter options; known: none"):
        parsed_settings(["options=3"], lambda rng=0, **options: None)


def test_solve_says_whom_a_bound_bounds(
    instance_file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["solve", "rescue", "--instance", instance_file]) == 0
    usual = " ".join(capsys.readouterr().out.split())
    assert "The LP bound bounds every policy that meets all reserved" in usual
    assert "The reference bound of studies is the safe bound (--bound safe); it bounds" in usual
    assert run(["solve", "rescue", "--instance", instance_file, "--bound", "safe", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["benchmark"]
    assert found["name"] == "safe"
    assert found["bounds"].endswith("might let one fail and does not know the future")
    study = edgeopt.study(RescueInstance.load(instance_file), "srs", runs=2)
    assert found["bound"] == study.cases[0].benchmark.bound
    assert run(["solve", "rescue", "--instance", instance_file, "--bound", "safe"]) == 0
    assert "It is the reference bound, by which studies divide" in capsys.readouterr().out


@pytest.mark.usefixtures("offering")
def test_a_bound_that_has_no_solve_of_its_own_is_computed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["solve", "stopping"]) == 0
    assert "bounds" in capsys.readouterr().out
