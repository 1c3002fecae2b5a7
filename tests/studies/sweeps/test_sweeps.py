"""Sweeps: jobs are computed once, kept whole, and never trusted when they are not."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import edgeopt
from edgeopt.errors import OptionError, OutputError
from edgeopt.instances.rescue import tight
from edgeopt.studies.sweeps import Job, Store, StoreWarning, run_jobs
from edgeopt.studies.sweeps.jobs import code_of, modules_in, packages_of
from edgeopt.studies.sweeps.sweep import Keep, _finish
from tests.studies.sweeps.work import jobs, squared

ROOT = Path(__file__).parents[3]


def done(log: Path) -> list[int]:
    return sorted(map(int, log.read_text().split())) if log.exists() else []


def test_rows_come_in_the_order_of_the_jobs(tmp_path: Path) -> None:
    listed = jobs(5, str(tmp_path / "log"))[::-1]
    table = run_jobs(listed)
    assert table["number"].tolist() == [4, 3, 2, 1, 0]
    assert table["square"].tolist() == [16.0, 9.0, 4.0, 1.0, 0.0]
    assert list(table.columns) == ["name", "number", "square"]


def test_equal_jobs_are_computed_once(tmp_path: Path) -> None:
    log = tmp_path / "log"
    table = run_jobs([*jobs(2, str(log)), *jobs(3, str(log))])
    assert table["square"].tolist() == [0.0, 1.0, 0.0, 1.0, 4.0]
    assert done(log) == [0, 1, 2]


def test_finished_jobs_are_left_alone(tmp_path: Path) -> None:
    log, store = tmp_path / "log", tmp_path / "store"
    first = run_jobs(jobs(3, str(log)), store=store)
    again = run_jobs(jobs(5, str(log)), store=store)
    assert again[:3].equals(first)
    assert done(log) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("workers", [1, 2])
def test_a_killed_run_loses_no_finished_job(tmp_path: Path, workers: int) -> None:
    log, store = tmp_path / "log", tmp_path / "store"
    child = subprocess.Popen(
        [sys.executable, "-m", "tests.studies.sweeps.work", str(store), str(log), str(workers)],
        cwd=ROOT,
        start_new_session=True,
    )
    while len(list(store.glob("*.json")) if store.exists() else []) < 3:
        assert child.poll() is None
        time.sleep(0.01)
    os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    finished = len(list(store.glob("*.json")))
    assert 3 <= finished < 12
    before = done(log)
    resumed = run_jobs(jobs(12, str(log)), store=store)
    undisturbed = run_jobs(jobs(12, str(tmp_path / "other")))
    assert resumed.equals(undisturbed)
    # Work that was done and not kept may be done again, for each process at most once.
    assert len(done(log)) - len(before) == 12 - finished
    assert len(before) - finished <= workers


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda text: text[: len(text) // 2], "torn"),
        (lambda text: "", "torn"),
        (lambda text: "[]", "foreign"),
        (lambda text: text.replace('"format": 3', '"format": 0'), "foreign"),
        (lambda text: text.replace("4.0", "5.0"), "changed"),
        (lambda text: text.replace("4.0", "[" * 10**5 + "]" * 10**5), "torn"),
        (lambda text: text.replace("4.0", "4" * 5000), "torn"),
        (lambda text: text.replace('"code"', '"cod"'), "foreign: it lacks what a job has"),
        (lambda text: '{"format": 3, "key": "", "code": "", "checksum": "", "row": []}', "lacks"),
    ],
)
def test_what_is_not_sound_is_named_and_computed_again(tmp_path: Path, spoil, why: str) -> None:
    log = tmp_path / "log"
    listed = jobs(4, str(log))
    run_jobs(listed, store=tmp_path / "store")
    path = Store(tmp_path / "store").path(listed[2])
    path.write_text(spoil(path.read_text()))
    with pytest.warns(StoreWarning, match=f"{path.name}.*{why}"):
        table = run_jobs(listed, store=tmp_path / "store")
    assert table["square"].tolist() == [0.0, 1.0, 4.0, 9.0]
    assert done(log) == [0, 1, 2, 2, 3]
    assert run_jobs(listed, store=tmp_path / "store").equals(table)


def test_the_file_of_another_job_is_foreign(tmp_path: Path) -> None:
    listed = jobs(2, str(tmp_path / "log"))
    store = Store(tmp_path / "store")
    run_jobs(listed, store=store.folder)
    store.path(listed[0]).write_text(store.path(listed[1]).read_text())
    with pytest.warns(StoreWarning, match="another job"):
        assert store.get(listed[0]) is None


def test_a_job_of_other_code_is_named_and_computed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "log"
    listed = jobs(2, str(log))
    table = run_jobs(listed, store=tmp_path / "store")
    with monkeypatch.context() as other:
        other.setattr("edgeopt.studies.sweeps.sweep.code_of", lambda job, **_: "other")
        said = "is of other code.*; so it is with 1 of its folder; the jobs are computed again"
        with pytest.warns(StoreWarning, match=said) as given:
            assert run_jobs(listed, store=tmp_path / "store").equals(table)
        assert len(given) == 1
    assert done(log) == [0, 0, 1, 1]


def test_an_edited_module_voids_the_jobs_that_run_it(tmp_path: Path) -> None:
    script = tmp_path / "sweep.py"
    script.write_text(
        "from edgeopt.studies.sweeps import Job, run_jobs\n"
        "import sys\n"
        "from helping import help\n"
        "def work():\n"
        "    'Work.'\n"
        "    return {'x': help()}\n"
        "if __name__ == '__main__':\n"
        "    jobs = [Job({'n': 1}, work)]\n"
        "    print(run_jobs(jobs, store='store', workers=int(sys.argv[1]))['x'][0])\n"
    )
    helping = tmp_path / "helping.py"

    def ran(workers: str = "1") -> tuple[str, str]:
        command = [sys.executable, script.name, workers]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            command, capture_output=True, text=True, check=True, cwd=tmp_path, env=environment
        )
        return done.stdout.strip(), done.stderr

    helping.write_text("def help(): return 1\n")
    assert ran() == ("1", "")
    assert ran() == ("1", "")
    helping.write_text("def help(): return 2\n")
    value, said = ran("2")
    assert value == "2"
    assert "is of other code" in said


def test_code_of_arguments_counts_however_deep() -> None:
    from edgeopt_papers.figures.jobs import InstanceSpec, simulated

    assert packages_of(Job({"n": 1}, dict)) == {"edgeopt"}
    spec = InstanceSpec(dict, (("of", squared),))
    nested = Job({"n": 1}, dict, ({"a": [partial(min, spec)]}, np.zeros(2)))
    assert packages_of(nested) == {"edgeopt", "edgeopt_papers", "tests"}
    assert {"edgeopt_papers.figures.jobs", squared.__module__} <= modules_in(nested.arguments)
    [job] = simulated("rescue", InstanceSpec.of(tight, eps=0.5), ["rescue"], runs=2)
    assert packages_of(job) == {"edgeopt", "edgeopt_papers"}
    plain = Job({"n": 1}, dict)
    assert code_of(plain).startswith(f"{edgeopt.__version__} ")
    assert len({code_of(one) for one in (plain, nested, job)}) == 3
    assert code_of(plain) == code_of(Job({"n": 2}, dict, (0.5,)))


def test_a_process_with_other_code_computes_nothing(tmp_path: Path) -> None:
    [job] = jobs(1, str(tmp_path / "log"))
    with pytest.raises(OptionError, match="install the same edgeopt"):
        _finish(job, Keep(Store(tmp_path / "store"), "other", "other"))
    assert done(tmp_path / "log") == []


def test_sources_that_changed_since_the_start_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = jobs(1, str(tmp_path / "log"))
    monkeypatch.setattr("edgeopt._BEGAN", 0.0)
    with pytest.raises(OptionError, match=r"\.py has changed since this process began"):
        run_jobs(listed, store=tmp_path / "store")
    assert run_jobs(listed)["square"].tolist() == [0.0]


def test_identity_is_the_key() -> None:
    job = Job({"seed": 1, "policy": "min"}, dict)
    assert job.key == Job({"policy": "min", "seed": 1}, list).key
    assert job.key != Job({"policy": "min", "seed": 2}, dict).key
    assert job.key != Job({"policy": "min", "seed": "1"}, dict).key


def test_numbers_of_numpy_are_kept_as_plain_ones(tmp_path: Path) -> None:
    row = {"whole": np.int64(3), "real": np.float32(0.5), "none": float("nan"), "text": "a"}
    job = Job({"n": 1}, dict, (row,))
    first = run_jobs([job], store=tmp_path)
    assert first.equals(run_jobs([job], store=tmp_path))
    assert json.loads(Store(tmp_path).path(job).read_text())["row"]["whole"] == 3


def test_wrong_use_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="identity"):
        Job({"array": np.zeros(2)}, dict)
    with pytest.raises(OptionError, match="workers = 0"):
        run_jobs([], workers=0)
    with pytest.raises(OptionError, match="row"):
        run_jobs([Job({"n": 1}, dict, ({"set": {1}},))], store=tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="file cannot be written: Not a directory"):
        Store(tmp_path / "file")
