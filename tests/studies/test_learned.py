"""Policies that run what was trained: by default, by name, and from a file."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from edgeopt import study
from edgeopt.cli.main import run
from edgeopt.errors import InputError, OptionError
from edgeopt.instances.oinc import generate
from edgeopt.instances.tapfinger import from_bundled
from edgeopt.instances.tapfinger import generate as draw
from edgeopt.learning import Checkpoint
from edgeopt.studies import PolicyEntry, find_system
from edgeopt.studies.registry import choose
from tests.draws import LEAN, some

if TYPE_CHECKING:
    from edgeopt.studies import Learned

SHIPPED = {
    "tapfinger": ["several", "single", "unknown"],
    "oinc": ["insertion"],
    "edr": ["macro", "micro"],
}
NAMED = {"tapfinger": "imitation", "oinc": "learned", "edr": "rl"}


def _learned(system: str) -> Learned:
    found = find_system(system).learned
    assert found is not None
    return found


def _one(system: str, name: str) -> PolicyEntry:
    [entry] = choose(find_system(system), [name])
    assert entry.learned
    assert entry.name == name
    return entry


def _origins(system: str, name: str, instance: object = None) -> list[str]:
    policy = _one(system, name).make(instance, {})
    return [one.fingerprint() for one in _learned(system).checkpoints(policy)]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("instances") / "small.nc"
    generate(sites=2, devices=3, slots=6, jobs=2).save(path)
    return path


@pytest.mark.parametrize("system", SHIPPED)
def test_what_comes_with_the_package_runs_by_name(system: str) -> None:
    shipped = _learned(system).shipped
    assert set(shipped) >= set(SHIPPED[system])
    for name, path in shipped.items():
        assert _origins(system, f"learned:{name}") == [Checkpoint.load(path).fingerprint()]


def test_what_comes_with_the_package_is_small() -> None:
    paths = [path for system in SHIPPED for path in _learned(system).shipped.values()]
    assert sum(path.stat().st_size for path in paths) <= 2_000_000


def test_the_recommended_policy_is_that_of_the_record() -> None:
    for seed, name in ((2, "several"), (3, "single")):
        instance = find_system("tapfinger").instances.sources[name].make(rng=seed)
        assert _origins("tapfinger", "learned", instance) == _origins(
            "tapfinger", f"learned:{name}"
        )
    assert _origins("oinc", "learned") == _origins("oinc", "learned:insertion")
    both = _origins("edr", "learned:macro") + _origins("edr", "learned:micro")
    assert _origins("edr", "learned") == both


@pytest.mark.parametrize("system", some(SHIPPED, "oinc"))
def test_a_study_compares_learned_policies_and_says_what_they_run(system: str) -> None:
    record = replace(find_system(system), claims=None)
    assert record.instances.random_small is not None
    tiny = record.instances.random_small
    instance = generate(sites=2, devices=3, slots=4, jobs=2) if system == "oinc" else tiny(2)
    names = ["learned", f"learned:{SHIPPED[system][-1]}"]
    names += [NAMED[system]] * (NAMED[system] not in names)
    found = study(instance, names, system=record, runs=2)
    assert list(found.table["policy"]) == names
    [case] = found.cases
    values = dict(zip(found.table["policy"], found.table["value"], strict=True))
    assert values["learned"] == values[NAMED[system]]
    assert case.trained["learned"] == case.trained[NAMED[system]]
    assert "weights, seed" in case.trained["learned"][0]


@pytest.mark.long
def test_a_file_runs_in_worker_processes_and_is_named_on_the_page(
    small: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "seed-0"
    folder.mkdir()
    path = Path(shutil.copy(_learned("oinc").shipped["insertion"], folder / "policy.safetensors"))
    instance = find_system("oinc").instances.load(small)
    names = ["learned", f"learned:{folder}", "greedy+density"]
    record = replace(find_system("oinc"), claims=None)
    one, two = (study(instance, names, system=record, runs=2, workers=count) for count in (1, 2))
    values = one.table["value"]
    assert list(values) == list(two.table["value"])
    assert values[0] == values[1] != values[2]
    assert set(one.cases[0].trained) == set(names[:2])
    page = one.page(tmp_path / "report").read_text()
    said = Checkpoint.load(path).fingerprint()[:16]
    assert f"Learned ({tmp_path.name}/seed-0) was trained: insertion, 3,012 weights" in page
    assert page.count(f"fingerprint {said}") == 2


def test_the_command_takes_a_folder(
    small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(_learned("oinc").shipped["insertion"], tmp_path / "policy.safetensors")
    command = ["study", "oinc", "--instance", str(small), "--runs", "2"]
    assert run([*command, "--policies", f"learned:{tmp_path},ekya", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [row["policy"] for row in document["policies"]] == [f"learned:{tmp_path}", "ekya"]
    assert list(document["trained"]) == [f"learned:{tmp_path}"]


@pytest.mark.parametrize(
    ("system", "name", "words"),
    [
        ("edr", "learned:mine", "edr has no such checkpoint, and there is no such file; choose"),
        ("edr", "learned:", "choose from macro, micro, or name a policy.safetensors"),
        ("edr", "learned:FOLDER", "the folder has no policy.safetensors; choose from .*seed-3"),
        ("edr", "learned:FOLDER/seed-3", "is a checkpoint for the system 'oinc', not 'edr'"),
        ("oinc", "learned:FOLDER/damaged", "is damaged: its hash does not match"),
        ("oinc", "learned:FOLDER/other", "cannot be run by oinc: .*must be of the insertion"),
        ("rescue", "learned", "policy 'learned': rescue has no learned policy"),
        ("idn", "learned:mine", "idn has no learned policy"),
        ("oinc", "learnedly", "policy 'learnedly' is unknown to oinc; did you mean learned"),
    ],
)
def test_what_cannot_be_run_is_refused_in_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], system: str, name: str, words: str
) -> None:
    whole = _learned("oinc").shipped["insertion"]
    (tmp_path / "seed-3").mkdir()
    shutil.copy(whole, tmp_path / "seed-3" / "policy.safetensors")
    (tmp_path / "damaged").write_bytes(whole.read_bytes()[:-1] + b"\7")
    read = Checkpoint.load(whole)
    Checkpoint(weights=read.weights, system="oinc", learner="liu").save(tmp_path / "other")
    wanted = name.replace("FOLDER", str(tmp_path))
    with pytest.raises((OptionError, InputError), match=words):
        choose(find_system(system), [wanted])
    assert run(["study", system, "--policies", wanted]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.splitlines()[-1].startswith("edgeopt: error: ")


@pytest.mark.parametrize("name", ["learned", "imitation"])
@pytest.mark.parametrize(
    ("make", "setting"),
    [
        (partial(draw, workload="pointer"), "pointer"),
        (partial(from_bundled, figures="testbed"), "testbed"),
        (from_bundled, "containers"),
    ],
)
def test_tasks_without_a_network_in_the_package_say_how_one_is_trained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, make: Any, setting: str
) -> None:
    make(tasks=3).save(tmp_path / "few.nc")
    command = ["study", "tapfinger", "--instance", str(tmp_path / "few.nc"), "--runs", "2"]
    assert run([*command, "--policies", name]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.splitlines()[-1].startswith("edgeopt: error: ")
    [entry] = [one for one in find_system("tapfinger").learners if one.name == "imitation"]
    assert setting in entry.options["setting"]
    assert f"edgeopt train tapfinger imitation --set setting={setting} --out DIR" in printed.err


@pytest.mark.trains
def test_what_was_just_trained_runs(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch", reason="training needs PyTorch")
    from edgeopt.learning.oinc import insertion_learner

    if LEAN:
        monkeypatch.setattr(insertion_learner, "TRAINING", range(1000, 1002))
        monkeypatch.setattr(insertion_learner, "VALIDATION", range(3000, 3001))
    out = tmp_path / "out"
    assert run(["train", "oinc", "--seeds", "5", "--updates", "1", "--out", str(out)]) == 0
    instance = find_system("oinc").instances.load(small)
    [case] = study(instance, [f"learned:{out / 'seed-5'}"], runs=2).cases
    [said] = case.trained[f"learned:{out / 'seed-5'}"]
    assert said.startswith("insertion, 3,012 weights, seed 5, 1 update")
