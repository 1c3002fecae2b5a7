"""Values of a study: exact where nothing is random, with controls elsewhere, and when it stops."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import edgeopt
from edgeopt.bounds.pairs import Look, Pairs
from edgeopt.cli.main import run
from edgeopt.errors import OptionError
from edgeopt.instances.rescue import generate
from edgeopt.online.idn import IdnEnvironment
from edgeopt.online.rescue import Rescue, SafeRescuePlus
from edgeopt.studies import Study, find_system, study
from edgeopt.studies.run import settled
from edgeopt.studies.sentences import foreseen, lead, luck, note, sentences
from edgeopt.studies.simulation import Watched
from edgeopt.studies.wording import beside
from tests.draws import draws
from tests.false_words import any_word, pool_of
from tests.studies.stopping import SYSTEM, Offering, Offers, Threshold

if TYPE_CHECKING:
    from pathlib import Path

    from edgeopt.studies.results import Case


class Twin(Rescue):
    """A policy that equals a published one, handed in as an object."""


@pytest.fixture(scope="module")
def small() -> Any:
    return generate(servers=2, devices=4, profiles=2, horizon=20, reserved=3, rng=3)


@pytest.fixture(scope="module")
def first_of_docs() -> Any:
    return generate(servers=2, devices=6, horizon=40)


def test_the_same_policy_has_one_value_and_one_gap(small: Any) -> None:
    given = [Twin(), "rescue", "offers", "rescue+guard"]
    [case] = edgeopt.study(small, given, runs=50, claims=False).cases
    assert [one.mean for one in case.controls] == pytest.approx(
        [0.717771, 0.832815, 0.344323], abs=1e-6
    )
    rows = case.table.set_index("policy")
    for name in ("RESCUE", "rescue"):
        assert rows.loc[name, "value"] == pytest.approx(0.832815, abs=5e-7)
        assert rows.loc[name, "gap"] == pytest.approx(0.387218, abs=5e-7)
        assert rows.loc[name, "value_se"] == 0
    assert rows.loc["RESCUE", "value"] == rows.loc["rescue", "value"]
    assert rows.loc["RESCUE", "place"] == rows.loc["rescue", "place"]
    assert rows["how"].to_dict() == {
        "RESCUE": "as RESCUE (unguarded) in all 50 runs", "rescue": "exact",
        "offers": "50 runs", "rescue+guard": "as RESCUE by state in all 50 runs",
    }  # fmt: skip
    assert np.isnan(rows.loc["RESCUE", "value_exact"])
    spreads = rows["spread"].to_dict()  # what agreed with an exact one in 50 runs is not exact
    assert spreads == {
        "RESCUE": "as",
        "rescue": "exact",
        "offers": "interval",
        "rescue+guard": "as",
    }
    assert rows["gap_spread"].to_dict() == spreads
    assert case.pairs.ratio("rescue+guard", "RESCUE").kind == "as"
    guarded = case.rows["rescue+guard"]  # nothing is said beside its figures but how it is known
    assert (beside(guarded, "value"), beside(guarded, "gap", share=True)) == ("", "")
    assert case.pairs.word("RESCUE", "rescue") == "the same"
    offers = rows.loc["offers"]
    assert offers["value"] == pytest.approx(0.817782, abs=5e-7)
    assert offers["value_se"] == pytest.approx(0.021539, abs=5e-7)
    assert offers["gap"] == pytest.approx(0.0326, abs=5e-5)
    assert offers["raw_mean"] == pytest.approx(0.855823, abs=5e-7)


def test_the_first_study_of_the_docs_does_not_beat_its_bound(first_of_docs: Any) -> None:
    def made(runs: int) -> Case:
        plans = find_system("rescue").offline.bounds["lp_safe"].compute(first_of_docs)
        better = SafeRescuePlus(plan=plans.plan)
        given = [better, "rescue+guard"]
        return edgeopt.study(first_of_docs, given, runs=runs, claims=False).cases[0]

    case = made(50)
    plus, guard = case.table.to_dict("records")
    assert plus["value"] == pytest.approx(1.5669, abs=5e-5)
    assert plus["value_se"] == pytest.approx(0.0071, abs=5e-5)
    # An object has the bound of every policy; against that of safe ones:
    bound = case.benchmark.bound
    assert 1 - plus["value"] / bound == pytest.approx(-0.0009, abs=5e-5)
    assert guard["value"] == pytest.approx(1.5404, abs=5e-5)
    assert guard["gap"] == pytest.approx(0.0160, abs=5e-5)
    more = made(300)
    assert more.table["value"][0] == pytest.approx(1.5615, abs=5e-5)
    assert 1 - more.table["value"][0] / bound == pytest.approx(0.0025, abs=5e-5)
    [shown] = edgeopt.study(first_of_docs, ["offers"], runs=50, claims=False).cases
    row = shown.rows["offers"]
    assert row["gap_raw"] == pytest.approx(-0.0009, abs=5e-5)
    assert "at most 1.565 (proven); the runs alone would give 1.567" in lead(shown)


def test_a_copy_changes_no_value_and_neither_does_what_is_compared(small: Any) -> None:
    alone = edgeopt.study(small, ["offers", "srs"], runs=40, claims=False).table
    more = edgeopt.study(small, ["srs", Twin(), "rescue", "offers", "cvs"], runs=40, claims=False)
    rows = more.table.set_index("policy")
    for row in alone.to_dict("records"):
        assert rows.loc[row["policy"], "value"] == pytest.approx(row["value"], rel=1e-12)


def test_what_is_alike_is_simulated_once() -> None:
    record = replace(find_system("oinc"), claims=None)
    assert record.instances.random_small is not None
    given = ["oinc", "near+density", "kalmia"]
    result = study(record.instances.random_small(1), given, system=record, runs=3)
    [case] = result.cases
    for row in case.table.to_dict("records"):
        assert (row["how"], row["runs"], row["value_se"]) == ("exact", 1, 0.0)
        assert row["value"] == row["value_exact"] == row["raw_mean"]
    assert case.pairs.tests == 0
    assert note(case) == ""
    said = " ".join(sentences(case))
    assert "not resolved" not in said
    assert " of the bound (exact" in said or " the bound (exact" in said
    assert set(case.table["relative_finding"]) <= {"", "better", "worse", "the same"}


@dataclass(frozen=True)
class Alike(Offering):
    """All scenarios are the same offers."""

    alike = True

    def scenarios(self, rng: np.random.Generator, runs: int) -> np.ndarray:
        return np.tile(np.linspace(0.1, 0.9, self.instance.slots), (runs, 1))


@dataclass(frozen=True)
class Coin(Threshold):
    """Takes an offer by a coin, from the generator that it is given or from one of its own."""

    own: bool = False
    _state = np.random.default_rng(0)

    @property
    def name(self) -> str:
        return f"coin {self.own}"

    def decide(self, state: None, observation: tuple[int, float], rng: Any) -> tuple[bool, None]:
        return (self._state if self.own else rng).random() < 0.3, None


def test_only_a_policy_without_coins_is_exact() -> None:
    record = replace(SYSTEM, policies=replace(SYSTEM.policies, environment=Alike))
    given = [Threshold(0.4), Threshold(0.45), Coin(0), Coin(0, own=True)]
    [case] = study(Offers(8), given, system=record, runs=30).cases
    rows = case.table.set_index("policy")
    assert rows["runs"].tolist() == [1, 1, 30, 30]
    assert rows["how"].tolist() == ["exact", "exact", "30 runs", "30 runs"]
    assert case.pairs.tests == 5
    assert case.pairs.word("threshold 0.4", "threshold 0.45") in ("the same", "worse")
    assert np.isnan(case.pairs.probability("threshold 0.4", "threshold 0.45"))
    assert sentences(case)


def test_a_generator_knows_whether_its_children_have_drawn() -> None:
    watched = Watched(np.random.default_rng(3).bit_generator)
    scenarios, policy = watched.spawn(2)
    assert [one.random() for one in (scenarios,)] == [np.random.default_rng(3).spawn(2)[0].random()]
    assert watched.drawn
    assert not policy.drawn  # type: ignore[attr-defined]
    [run, other] = policy.spawn(2)
    assert not policy.drawn  # type: ignore[attr-defined]
    other.integers(3)
    assert policy.drawn  # type: ignore[attr-defined]
    assert not run.drawn  # type: ignore[attr-defined]


def test_order_matters_in_a_network_unless_it_is_fluid() -> None:
    record = find_system("idn")
    assert record.instances.random_small is not None
    instance = record.instances.random_small(0)
    assert IdnEnvironment(instance, "fluid").alike
    assert not IdnEnvironment(instance).alike


@pytest.mark.parametrize("name", ["rescue", "idn", "edr", "tapfinger"])
def test_more_runs_begin_with_the_fewer(name: str) -> None:
    record = replace(find_system(name), claims=None)
    assert record.instances.random_small is not None
    instance = record.instances.random_small(3)
    few, many = (
        study(instance, "all" if name == "rescue" else None, system=record, runs=runs).cases[0]
        for runs in (3, 7)
    )
    for policy, trajectory in few.trajectories.items():
        count = trajectory.runs
        assert few.values(policy).tolist() == many.values(policy)[:count].tolist(), policy


def test_a_study_that_stops_is_a_prefix(small: Any) -> None:
    given = ["offers", "srs+guard", "sumita+guard"]
    stopped = edgeopt.study(small, given, runs="auto", until=800, claims=False)
    settings = stopped.settings
    assert settings.runs == settings.looks[-1] < 800
    plain = edgeopt.study(small, given, runs=settings.runs, claims=False)
    assert stopped.table["value"].tolist() == plain.table["value"].tolist()
    assert stopped.cases[0].standings.crowned
    spent = (np.diff([0, *settings.looks]) / 800).tolist()
    assert [look.share for look in stopped.cases[0].pairs.looks] == spent
    for a, b in ((given[0], given[1]), (given[0], given[2])):
        assert stopped.cases[0].pairs.probability(a, b) >= plain.cases[0].pairs.probability(a, b)


def test_a_study_stops_where_all_is_precise_or_at_the_most() -> None:
    near = [Threshold(0.7), Threshold(0.71)]
    result = study(Offers(12), near, system=SYSTEM, runs="auto", until=300)
    assert result.settings.runs in (50, 100, 200, 300)
    assert not settled(study(Offers(3), near, system=SYSTEM, runs=20).cases[0])
    [case] = result.cases
    assert settled(case) or result.settings.runs == 300
    [alone] = study(Offers(30), [Threshold(0.9)], system=SYSTEM, runs="auto").cases
    low, high = (alone.table[f"value_{end}"][0] for end in ("low", "high"))
    assert alone.runs == 1600 or high - low <= 0.02 * alone.table["value"][0]
    with pytest.raises(OptionError, match="until"):
        study(Offers(3), near, system=SYSTEM, runs="auto", until=1)


def test_the_command_stops_and_says_what_it_cannot_tell(
    small: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small.save(path := tmp_path / "small.nc")
    words = ["study", "rescue", "--instance", str(path), "--no-claims"]
    words += ["--policies", "offers,srs+guard,sumita+guard"]
    assert run([*words, "--runs", "auto", "--until", "100", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["intervals"]["runs"] in (50, 100)
    assert run([*words, "--runs", "5"]) == 0
    printed = capsys.readouterr()
    assert "3 policies on 5 runs: no difference can be resolved" in printed.err
    assert "--runs 400" in printed.out
    for wrong in (["--runs", "1"], ["--runs", "some"], ["--runs", "20", "--until", "30"]):
        assert run([*words, *wrong]) == 2


def test_what_cannot_be_told_is_said_before() -> None:
    assert foreseen(18, 5, "instances") == (
        "18 policies on 5 instances: no difference can be resolved; from 12 on some can."
    )
    assert foreseen(18, 12, "instances") == foreseen(18, 1, "instances") == ""
    assert foreseen(1, 5, "runs") == ""


def test_the_note_says_what_was_not_seen() -> None:
    [case] = study(Offers(12), ["half", "choosy"], system=SYSTEM, runs=200).cases
    assert note(case) == (
        "\u2018Earns more\u2019 means: the mean difference over the same runs is too large for "
        "chance, all pairs together wrong in at most 1 study of 20. What happened in none of the "
        "200 runs (chance below 1.5\N{NO-BREAK SPACE}%) cannot be seen."
    )


def test_luck_of_the_runs_is_told_from_the_instances() -> None:
    alike = {str(place): Offers(12, 0.5 - place / 1e6) for place in range(12)}
    streams = study(alike, ["half", "choosy"], system=SYSTEM, runs=5)
    # The same scenarios on all instances have no luck between them; give each its own.
    cases = []
    for place, case in enumerate(streams.cases):
        other = study(alike["0"], ["half", "choosy"], system=SYSTEM, runs=5, rng=place).cases[0]
        cases.append(replace(case, trajectories=other.trajectories))
    said = luck(Study(streams.system, tuple(cases), streams.settings))
    assert "is luck of the runs: more runs help." in said
    assert luck(streams) == ""


def test_one_policy_one_without_a_value_and_a_bound_of_nothing() -> None:
    [case] = study(Offers(3), ["half"], system=SYSTEM, runs=2).cases
    assert case.places == {"half": "1"}
    assert lead(case).startswith("Only policy: Half, ")
    [two] = study(Offers(3), ["half", "choosy"], system=SYSTEM, runs=20).cases
    broken = two.trajectories["choosy"].reward.copy()
    broken[:3] = np.nan
    lost = replace(two.trajectories["choosy"], reward=broken)
    gone = replace(two, trajectories={**two.trajectories, "choosy": lost})
    assert gone.rows["choosy"]["how"] == "no value in 3 runs"
    assert gone.places == {"half": "1"}
    assert "Choosy" not in lead(gone)


@pytest.mark.parametrize("count", [20, 50, 200])
def test_false_words_on_six_policies_of_equal_means(count: int) -> None:
    pool = pool_of(runs=2000)
    rng, studies = np.random.default_rng(count), draws(4000)
    found = sum(any_word(pool, rng, count, policies=6) for _ in range(studies))
    assert found / studies <= 0.05 + 3 * (0.05 * 0.95 / studies) ** 0.5


def test_words_of_a_look_are_those_of_its_share() -> None:
    rng = np.random.default_rng(3)
    from edgeopt.bounds.estimate import estimates

    found = estimates({"a": rng.normal(0.4, 1, 50), "b": np.zeros(50)}, {})
    full, part = (Pairs([Look(found, share)], ["a", "b"], "max", 0.95) for share in (1.0, 0.1))
    assert part.probability("a", "b") == pytest.approx(10 * full.probability("a", "b"))
