"""Equal tuning: the search, the seeds that it keeps to, and the table that is kept."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from edgeopt_papers import cases, derived
from edgeopt_papers.provenance import stamp
from edgeopt_papers.tuning import run, stored, tune, tuned, tuned_in_words
from edgeopt_papers.tuning.search import GRID, STEP, best_of, search

from edgeopt.errors import OptionError
from edgeopt.instances.edr import generate

BOX = list(product(GRID, GRID))


def test_the_search_begins_on_the_grid_nearest_to_the_default():
    found = list(search(lambda place: 1.0, 16, 2))
    assert sorted(found) == sorted(BOX)
    assert found[0] == (0.0, 0.0)
    assert set(found[1:5]) == {(0.0, 1.0), (1.0, 0.0), (0.0, -1.0), (-1.0, 0.0)}
    assert best_of(dict.fromkeys(found, 1.0)) == (0.0, 0.0)


def test_edges_are_extended_in_turns():
    """Both parameters should grow: 16 places, then lines of 4, 5 and 5 more, and 2 of the next."""
    found = list(search(lambda place: -place[0] - place[1], 32, 2))
    assert len(found) == len(set(found)) == 32
    assert {x for x, y in found[16:20]} == {3.0}
    assert {y for x, y in found[20:25]} == {3.0}
    assert {x for x, y in found[25:30]} == {4.0}
    assert found[30:] == [(4.0, 4.0), (3.0, 4.0)]
    down = list(search(lambda place: place[1], 20, 2))
    assert sorted(down[16:]) == [(x, -2.0) for x in GRID]


def test_steps_are_halved_around_a_best_place_inside():
    found = list(search(lambda place: place[0] ** 2 + (place[1] - 1) ** 2, 32, 2))
    half, quarter = (
        [(x, 1 + y) for x, y in product((-s, 0.0, s), repeat=2) if (x, y) != (0, 0)]
        for s in (0.5, 0.25)
    )
    assert sorted(found[16:24]) == sorted(half)
    assert sorted(found[24:]) == sorted(quarter)


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Tune EDR on small instances, and return which of them have been drawn."""
    drawn: list[tuple[str, int]] = []

    def make(mode: str, seed: int) -> Any:
        drawn.append((mode, seed))
        return generate(rng=seed, reuse=mode, sites=4, tasks=4, frames=12, slots=2)  # type: ignore[arg-type]

    small = replace(cases.tuning("edr"), make=make, seeds=(420, 421))
    monkeypatch.setattr(run.cases, "tuning", lambda name: small)
    run._bounded.cache_clear()
    yield drawn
    run._bounded.cache_clear()


def test_the_tuner_keeps_to_its_seeds_and_its_budget(few):
    found = tune("edr", ["saddle_point", "oasdr", "greedy"], budget=4)
    assert [(one.policy, one.mode) for one in found] == [
        (policy, mode)
        for mode in ("group", "none")
        for policy in ("saddle_point", "oasdr", "greedy")
    ]
    assert [len(one.evaluations) for one in found] == [4, 4, 1] * 2
    assert few == [(mode, seed) for mode in ("group", "none") for seed in (420, 421)]
    for one in found:
        values = dict(one.evaluations)
        assert one.best.value == min(values.values())
        assert one.test_seeds == one.tested == ()
        options = {
            name: one.parameters[name] * STEP**step
            for name, step in zip(one.parameters, one.best.place, strict=True)
            if step
        }
        assert one.options == options
        again = run.ratios("edr", one.policy, one.mode, (420, 421), options)
        assert again.mean() == pytest.approx(one.best.value, rel=1e-12)
    assert any(one.options for one in found)


@pytest.mark.long
def test_a_choice_is_tested_when_it_is_made(few):
    [one] = tune("edr", ["lyapunov"], modes=["none"], budget=4, test=True)
    tests = cases.tuning("edr").test_seeds
    assert few == [("none", seed) for seed in (420, 421, *tests)]
    assert one.test_seeds == tests
    for values, options in ((one.untouched, {}), (one.tested, one.options)):
        assert list(values) == run.ratios("edr", "lyapunov", "none", tests, options).tolist()


def test_all_policies_have_the_same_settings(few, monkeypatch):
    """Also those that differ between the policies by default."""
    seen = []
    record = run.find_system("edr")

    def environment(instance: Any) -> Any:
        return instance

    def simulate(instance: Any, policy: Any, **_: Any) -> Any:
        seen.append(policy)
        raise RuntimeError

    record = replace(record, policies=replace(record.policies, environment=environment))
    shared = {"guard": 9.0, "training_room": 0.3, "reserve": None, "price_forecast": "last"}
    assert set(shared) == set(cases.tuning("edr").settings)
    tuning = replace(cases.tuning("edr"), settings=shared)
    monkeypatch.setattr(run.cases, "tuning", lambda name: tuning)
    monkeypatch.setattr(run, "find_system", lambda name: record)
    monkeypatch.setattr("edgeopt.online.simulate", simulate)
    for policy in cases.tuning("edr").parameters:
        with pytest.raises(RuntimeError):
            run.ratios("edr", policy, "none", (420,), {})
    assert "scenario" in cases.tuning("edr").parameters
    assert [{name: getattr(one, name) for name in shared} for one in seen] == [shared] * len(seen)


def test_more_profit_is_better(few, monkeypatch):
    record = run.find_system("edr")
    [cost] = run.ratios("edr", "greedy", "none", (420,), {})
    profit = replace(record, objective=replace(record.objective, sense="max"))
    monkeypatch.setattr(run, "find_system", lambda name: profit)
    assert run.ratios("edr", "greedy", "none", (420,), {}) == pytest.approx([1 / cost])


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: tune("rescue"), "rescue has no policies to tune"),
        (lambda: tune("edr", ["best"]), "policy"),
        (lambda: tune("edr", modes=["some"]), "mode"),
        (lambda: tune("edr", budget=0), "budget"),
        (lambda: tune("edr", workers=0), "workers"),
        (lambda: replace(cases.tuning("edr"), seeds=(1, 440)), r"\[440\] are both"),
        (lambda: replace(cases.tuning("edr"), parameters={"x": {"y": 0.0}}), r"x\.y"),
    ],
)
def test_what_cannot_be_tuned_is_refused(call: Any, named: str):
    with pytest.raises(OptionError, match=named):
        call()


def test_the_table_is_as_the_system_says_and_of_this_code():
    tuning, rows = cases.tuning("edr"), stored.stored("edr")
    assert list(rows) == [(policy, mode) for mode in tuning.modes for policy in tuning.parameters]
    for one in rows.values():
        parameters = tuning.parameters[one.policy]
        wanted = (tuning.settings, parameters, tuning.seeds, tuning.test_seeds)
        assert (one.settings, one.parameters, one.seeds, one.test_seeds) == wanted
        assert len(one.evaluations) == (tuning.budget if parameters else 1)
    one = rows["lyapunov", "none"]
    kept = run.ratios("edr", "lyapunov", "none", one.test_seeds[:1], one.options)
    assert kept == pytest.approx(one.tested[:1], rel=1e-3)


def test_what_is_written_is_what_is_read(tmp_path):
    rows = stored.stored("edr")
    path = tmp_path / "edr.json"
    path.write_text(stored.text_of(rows.values()), encoding="utf-8")
    assert stored._read(path) == (stamp(), rows)
    content, kept = (
        json.loads(one.read_text(encoding="utf-8")) for one in (path, stored.FOLDER / "edr.json")
    )
    assert content == kept | stamp()._asdict()
    for row in json.loads(path.read_text(encoding="utf-8"))["tuned"]:
        assert row["chosen"] == tuned("edr", row["policy"], row["mode"])
    path = tmp_path / "other.json"
    path.write_text('{"format": 0}', encoding="utf-8")
    assert stored._read(path).rows == {}


@pytest.mark.long
def test_what_is_tuned_anew_is_written_where_it_differs(few, monkeypatch, tmp_path, capsys):
    tuning = cases.tuning("edr")
    parameters = {name: tuning.parameters[name] for name in ("lyapunov", "saddle_point")}
    small = replace(tuning, budget=2, modes=("none",), parameters=parameters)
    monkeypatch.setattr(run.cases, "tuning", lambda name: small)
    monkeypatch.setattr(stored, "FOLDER", tmp_path)
    path = tmp_path / "edr.json"
    path.write_text("{}")
    assert derived.main(["tuned"]) == 0
    first = path.read_text()
    assert list(stored.stored("edr")) == [("lyapunov", "none"), ("saddle_point", "none")]
    path.write_text(first.replace(f'"{stamp().version}"', '"0.0.1"'))
    for check in ([], ["--check"]):
        assert derived.main(["tuned", *check]) == 0
        assert path.read_text() != first
    assert capsys.readouterr().out.endswith("\ntuned, edr: the same\ntuned, edr: the same\n")
    stored._read.cache_clear()


def test_a_figure_says_how_policies_were_tuned(monkeypatch):
    titles = {"saddle_point": "PROPOSED", "lyapunov": "LYNO", "greedy": "GREEDY", "x": "X"}
    said = tuned_in_words("edr", titles, "none")
    assert said.startswith(
        "PROPOSED and LYNO are tuned with 32 evaluations each, each the mean over the seeds 420, "
        "421, 422 and 423, which serve nothing else."
    )
    assert "What belongs to no policy is the same for all: guard = 20.0, training_room" in said
    ends = "Every best value lies between others that were tried.", "is not exhausted there."
    assert any(one in said for one in ends)
    one = stored.stored("edr")["lyapunov", "none"]
    rows = {("lyapunov", "none"): replace(one, evaluations=one.evaluations[:3])}
    table = stored.Table(stored.Stamp("0.0.1", "0123abc"), rows)
    monkeypatch.setattr(stored, "_read", lambda file: table)
    said = tuned_in_words("edr", titles, "none")
    assert "of LYNO is the least or the largest that was tried" in said
    assert said.endswith(
        "These options were found with edgeopt 0.0.1, commit 0123abc; `edgeopt tune edr` finds "
        "them anew."
    )
    assert tuned_in_words("edr", titles, "group") == "No policy is tuned."
    assert tuned("edr", "greedy", "none") == {}
