"""Submissions to the scoreboard: what every run writes is valid, and each change is found."""

from __future__ import annotations

import copy
import json

import pytest

import edgeopt
from edgeopt.cli.main import run
from edgeopt.collection import entries, entry, jobs
from edgeopt.collection.submission import examined
from edgeopt.studies.entries import Benchmark

NAMES = ["rescue-odd-k1-t50", "tapfinger-odd-c1-n7", "edr-paper-i4-f6"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("bench")
    found = edgeopt.bench(NAMES[:2], offline=["auto"], online=["min"], runs=5)
    found.save(out)
    return out


@pytest.fixture
def documents(folder):
    return [
        json.loads((folder / f"submissions/{name}.json").read_text()) for name in ("auto", "min")
    ]


def test_what_a_run_writes_is_valid(documents) -> None:
    solver, policy = documents
    for content, results in ((solver, 6), (policy, 1)):
        found = examined(content, again=True)
        assert found == (results, 0, [], [])
        assert content["machine"]["processor"]
        assert content["threads"] == 1


def changed(content, path, value):
    """Return a copy in which one place has another value, or is missing."""
    made = copy.deepcopy(content)
    at = made
    for key in path[:-1]:
        at = at[key]
    if value is None:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return made


RESULT = ("results", 0)


@pytest.mark.parametrize(
    ("who", "path", "value", "says"),
    [
        (0, ("threads",), None, "submission: threads is missing"),
        (0, ("threads",), True, "threads must be a whole number, got True"),
        (0, ("extra",), 1, "submission: 'extra' is unknown"),
        (0, ("competitor",), "", "competitor must be a text"),
        (0, ("edition",), "1999.1", "edition: '1999.1'; this one is"),
        (0, RESULT, "x", "results: 0: part must be offline or online"),
        (0, (*RESULT, "part"), "both", "results: 0: part must be offline or online"),
        (0, (*RESULT, "instance"), "rescue-odd-k1-t51", "is no instance of the collection"),
        (0, (*RESULT, "instance"), NAMES[1], "fingerprint is not that of tapfinger-odd-c1-n7"),
        (0, (*RESULT, "value"), "1", "value must be a finite number, got '1'"),
        (0, (*RESULT, "value"), float("nan"), "value must be a finite number, got nan"),
        (0, (*RESULT, "seconds"), -1.0, "seconds must not be negative"),
        (0, (*RESULT, "target"), 2.0, "target must be between 0 and 1"),
        (0, (*RESULT, "target"), 1e-4, "results: 1, rescue-odd-k1-t50: is there twice"),
        (0, (*RESULT, "bound"), 1e3, "is above its target 0.01; call it failed"),
        (0, (*RESULT, "value"), 1e3, "is beyond its own bound"),
        (1, (*RESULT, "seed"), 7, "its scenarios have another seed than"),
        (1, (*RESULT, "scenarios"), 1, "2 scenarios are the fewest"),
        (1, (*RESULT, "scenarios"), 6, "run again its value is"),
        (1, (*RESULT, "se"), -1.0, "must not be negative"),
        (1, (*RESULT, "value"), 1.0, "is beyond bound without reallocation = "),
        (1, ("competitor",), "random", "run again its value is"),
        (1, ("competitor",), "no.such.module:Mine", "cannot be found"),
        (0, ("certificates",), {NAMES[0]: {"format": "x"}}, f"certificates: {NAMES[0]}: "),
        (0, ("certificates",), {"nobody": {}}, "'nobody' is no instance of the collection"),
    ],
)
def test_each_change_is_found(documents, who, path, value, says) -> None:
    faults = examined(changed(documents[who], path, value), again=True).faults
    assert any(says in fault for fault in faults), faults


def test_both_sides_of_an_offline_result_are_held_to_what_is_proven(documents) -> None:
    solver, _ = documents
    known = entry(NAMES[0]).offline
    high = solver
    for place in range(3):
        for name in ("value", "bound"):
            high = changed(high, ("results", place, name), known.bound * 1.01)
    [said, *_] = examined(high).faults
    assert "is better than the known" in said
    low = solver
    for place in range(3):
        for name in ("value", "bound"):
            low = changed(low, ("results", place, name), known.best * 0.99)
    assert all("and no certificate proves it" in one for one in examined(low).faults)


def test_policies_that_know_the_future_are_listed_apart(documents) -> None:
    row = entries.row_of("idn-odd-v5-r8")
    path = ("results", 0)
    content = changed(documents[1], (*path, "instance"), row["name"])
    content = changed(content, (*path, "fingerprint"), row["fingerprint"])
    for name, told in (("sg", True), ("olag", False)):
        faults = examined(changed(content, ("competitor",), name)).faults
        assert any("knows the future" in one for one in faults) is told


@pytest.fixture
def poorer(monkeypatch):
    """Make what is known of the instances of linear and structured programs a little poorer."""
    rows = {name: copy.deepcopy(row) for name, row in entries.rows().items()}
    for name in (NAMES[0], NAMES[2]):
        offline, worse = (
            rows[name]["offline"],
            1 - 1e-3 if rows[name]["goal"] == "max" else 1 + 1e-3,
        )
        offline["best"] *= worse
        offline["bound"] /= worse
    monkeypatch.setattr(entries, "rows", lambda: rows)
    monkeypatch.setattr("edgeopt.collection.submission.rows", lambda: rows)
    return rows


def test_better_values_need_a_certificate_of_their_instance(poorer, tmp_path) -> None:
    found = edgeopt.bench([NAMES[0], NAMES[2]], offline=["auto"], gap=1e-6)
    assert {name for name, _ in found.certificates} == {NAMES[0], NAMES[2]}
    found.save(tmp_path)
    content = json.loads((tmp_path / "submissions/auto.json").read_text())
    better = examined(content)
    assert (better.certificates, better.faults) == (2, [])
    told = {line.split()[0].rstrip(":") + line.split()[1] for line in better.improved}
    assert told == {name + part for name in (NAMES[0], NAMES[2]) for part in ("value", "bound")}
    bare = examined(changed(content, ("certificates",), {}))
    assert sum("no certificate proves it" in one for one in bare.faults) == 4
    weak = {"sense": "min", "objective": None, "bound": "-1e999"}
    first, second = (content["certificates"][name] for name in (NAMES[0], NAMES[2]))
    for certificates, says in (
        ({NAMES[0]: second, NAMES[2]: second}, "is about another instance"),
        (
            {
                NAMES[0]: first,
                NAMES[2]: second | {"data": second["data"] | {"offset": "1"}, "claim": weak},
            },
            "its program is not that of the instance",
        ),
        ({NAMES[0]: first | {"dual": {}}, NAMES[2]: second}, f"certificates: {NAMES[0]}"),
    ):
        faults = examined(changed(content, ("certificates",), certificates)).faults
        assert any(says in one for one in faults), faults


def test_a_certificate_without_a_result_is_found(poorer, tmp_path) -> None:
    found = edgeopt.bench(NAMES[2], offline=["auto"], gap=1e-6)
    found.save(tmp_path)
    content = json.loads((tmp_path / "submissions/auto.json").read_text())
    faults = examined(changed(content, ("results",), [])).faults
    assert faults == [f"certificates: {NAMES[2]}: no result of this instance is in the submission"]


def test_command(folder, documents, tmp_path, capsys) -> None:
    file = str(folder / "submissions/min.json")
    assert run(["bench", "check", file]) == 0
    assert "valid: 1 results, 0 certificates" in capsys.readouterr().out
    wrong = tmp_path / "wrong.json"
    wrong.write_text(json.dumps(changed(documents[1], ("threads",), None)))
    assert run(["bench", "check", file, str(wrong)]) == 1
    assert f"{wrong}: submission: threads is missing" in capsys.readouterr().out
    for text, says in (("{", "is no JSON document"), ("[]", "is no submission"), (None, "No such")):
        wrong.unlink(missing_ok=True)
        if text is not None:
            wrong.write_text(text)
        assert run(["bench", "check", str(wrong)]) == 2
        assert says in capsys.readouterr().err
    assert run(["bench", "chekc", file]) == 2
    assert "write edgeopt bench check FILE" in capsys.readouterr().err
    assert run(["bench", "--again"]) == 2


def test_a_tighter_gap_that_was_reached_before_takes_no_other_run(monkeypatch) -> None:
    row, calls = entries.row_of(NAMES[0]), []
    reaches = dict.fromkeys((1e-2, 1e-4, 1e-6), 0.0)

    def solved(system, instance, competitor, gap, time_limit):
        calls.append(gap)
        return Benchmark(value=1.0, bound=1.0, gap=reaches[gap], seconds=0.0, solver="mine")

    monkeypatch.setattr(jobs, "solved", solved)
    monkeypatch.setattr(jobs, "_warm", lambda *_: None)
    monkeypatch.setattr(jobs, "improvements", lambda *_: [])
    job = jobs.offline_job(row, "mine", (1e-6, 1e-2, 1e-4), 1.0)
    found = json.loads(job.compute()["reached"])
    assert calls == [1e-2]
    assert [one["target"] for one in found] == [1e-2, 1e-4, 1e-6]
    assert len({one["seconds"] for one in found}) == 1
    calls.clear()
    reaches |= {1e-2: 1e-3, 1e-4: 1e-7}
    job.compute()
    assert calls == [1e-2, 1e-4]
