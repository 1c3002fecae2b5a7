"""Headlines say no more than what was tested, on every system and on cases made for it."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy import stats

from edgeopt.online.protocols import Trajectory
from edgeopt.studies import Case, find_system, study
from edgeopt.studies import sentences as words
from edgeopt.studies.comparison import UNRESOLVED
from edgeopt.studies.pages.study import pictures_of
from edgeopt.studies.pictures.overview import CAPTION, drawn
from edgeopt.studies.wording import number, percent
from tests.draws import some
from tests.studies.stopping import SYSTEM, Offers, _fixed
from tests.studies.test_impossible_intervals import SMALL, SPANS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from edgeopt.studies import Study

SYSTEMS = ("rescue", "idn", "oinc", "edr", "tapfinger")
CROWNS = re.compile(r"\bis best\b|\bbest policy\b")
PRAISE = re.compile(r"\bbest\b|\bbetter\b|\bhighest\b|\bleast\b|\bmost\b|\bworse\b")


def texts(case: Case) -> list[str]:
    """Return every text that names the first policies of an instance."""
    said = words.sentences(case)
    said += [f"{one.what}, {one.figure}, {one.detail}" for one in words.headlines(case)]
    general = ("policies", "value_over_time", "weighted", "cost", "safety")
    return said + [one.title(case) for one in pictures_of(case) if one.name in general]


def sentences(those: list[str]) -> Iterator[str]:
    for one in those:
        yield from re.split(r"(?<=[\w)%])\. (?=[A-Z])", one)


def named(sentence: str, titles: list[str]) -> set[str]:
    """Return the titles that a sentence names, none that is only a part of another's."""
    found = set()
    for title in sorted(titles, key=len, reverse=True):
        pattern = rf"(?<![\w&+] ){re.escape(title)}(?![\w+])"
        if re.search(pattern, sentence):
            found.add(title)
            sentence = re.sub(pattern, "", sentence)
    return found


def beaten(values: Mapping[str, np.ndarray], sense: str, first: str) -> set[str]:
    """Return the policies that another is better than, by tests of all pairs and Holm's method."""
    tests = {}
    for a, b in combinations(values, 2):
        x, y = values[a], values[b]
        positive = (x > 0).all() and (y > 0).all()
        with np.errstate(divide="ignore", invalid="ignore"):  # of an infinite one nothing is said
            apart = np.log(x / y) if positive else x - y
        if len(apart) < 5 or not np.isfinite(apart).all():
            tests[a, b] = 1.0
        elif np.ptp(apart) <= 1e-12 * np.abs(apart).max():
            tests[a, b] = float(np.abs(apart).max() <= 1e-12)
        else:
            tests[a, b] = stats.ttest_1samp(apart, 0.0).pvalue
    below, rejected = True, set()
    for place, pair in enumerate(sorted(tests, key=lambda one: tests[one])):
        below = below and (len(tests) - place) * tests[pair] <= 0.05
        rejected |= {pair} if below else set()
    sign = 1 if sense == "max" else -1
    return {
        other
        for other in values
        if {(first, other), (other, first)} & rejected
        and sign * (values[first].mean() - values[other].mean()) > 0
    }


def check(case: Case) -> None:
    """Check all that is said of an instance by what is in its trajectories."""
    values = {name: case.values(name) for name in case.trajectories}
    lost = {
        name: float(np.asarray(run.violations).sum(axis=1).mean())
        for name, run in case.trajectories.items()
    }
    titles = {case.entries[name].title: name for name in values}
    runs = f"{case.settings.runs} scenarios"
    every = list(sentences(texts(case)))
    for one in every:
        those = {titles[title] for title in named(one, list(titles))}
        if PRAISE.search(one.replace("never called best", "").replace("valid for", "")):
            assert all(case.entries[name].causal for name in those), one
        if case.constraints:
            for name in those:
                assert not lost[name] > 0 or number(lost[name], 3) in one, (name, one)
        for low, high in SPANS.findall(one):
            assert low != high, one
    found = case.standings
    first = found.first
    crowned = [one for one in every if CROWNS.search(one)]
    if first is None:
        assert crowned == []
        return
    sign = 1 if case.objective.sense == "max" else -1
    among = [
        name
        for name, entry in case.entries.items()
        if entry.causal and np.isfinite(values[name]).all()
    ]
    kept = [name for name in among if not lost[name] > 0]
    hard = not case.constraint.soft
    among = kept if hard and kept else among
    assert first.policy in among
    best = {name: sign * case.exact.get(name, values[name].mean()) for name in among}
    assert best[first.policy] == max(best.values())
    rest = set(among) - {first.policy}
    won = beaten(values, case.objective.sense, first.policy) & rest
    allowed = bool(rest) and won == rest and (not hard or first.policy in kept)
    assert bool(crowned) == allowed, (crowned, rest - won)
    lead = words.lead(case)
    # Where one is called better, or this is open, the text says what is compared.
    for one in sentences(words.sentences(case)):
        if re.search(r"\bis best\b|\bbetter\b.* than\b", one):
            assert re.search(f"same {runs}.* all pairs tested together .method of Holm.", one), one
    if rest - won:
        assert ("all pairs tested together" in lead) == (f"not resolved in {runs}" in lead)
    alike = {n for n in rest if np.allclose(values[n], values[first.policy], rtol=1e-12, atol=0)}
    assert (f"the same in all {runs}." in lead) == bool(alike)
    assert (f"not resolved in {runs}" in lead) == bool(rest - won - alike)
    # The first sentence names policy, share of the bound with what it is known from, violations.
    head = lead.split(". ")[0]
    assert head.startswith(first.title)
    if np.isfinite(first.ratio.centre):
        ratio = first.ratio.centre
        share = percent(ratio) if case.objective.sense == "max" else f"{number(ratio, 4)} times"
        assert share in head
        if first.policy in case.exact:
            assert "(exact)" in head
            assert "interval" not in head
        elif np.ptp(values[first.policy]) <= 1e-12 * np.abs(values[first.policy]).max():
            assert f"the same in all {runs} on this instance" in head or "of its scenarios" in head
        else:
            assert re.search(r"interval|range", head), head
    assert first.violations in head


@cache
def small(name: str, seed: int) -> Case:
    record = replace(find_system(name), claims=None)
    if seed < 0:
        assert record.instances.generate is not None
        instance = record.instances.generate(rng=1, **SMALL[name])
    else:
        assert record.instances.random_small is not None
        instance = record.instances.random_small(seed)
    [case] = study(instance, system=record, runs=6, progress=False).cases
    return case


@pytest.mark.parametrize("seed", some([-1, 0, 1, 2, 3], -1))
@pytest.mark.parametrize("name", some(SYSTEMS, "rescue", "oinc", "edr"))
def test_headlines_of_every_system(name: str, seed: int) -> None:
    check(small(name, seed))


@cache
def several(name: str) -> Study:
    record = replace(find_system(name), claims=None)
    assert record.instances.random_small is not None
    instances = {str(seed): record.instances.random_small(2 * seed + 1) for seed in range(5)}
    return study(instances, system=record, runs=3, progress=False)


@pytest.mark.parametrize("name", some(SYSTEMS, "idn", "tapfinger"))
def test_headlines_over_instances_of_every_system(name: str) -> None:
    result = several(name)
    found, first = result.standings, result.standings.first
    assert first is not None
    said = [*words.sentences(result), words.title(result)]
    said += [f"{one.what}, {one.figure}, {one.detail}" for one in words.headlines(result)]
    titles = {one.title: one for one in found.rows}
    for one in sentences(said):
        for title in named(one, list(titles)):
            row = titles[title]
            assert row.causal
            assert row.keeps or number(row.violated, 3) in one, one
    values = {
        name: np.array([case.values(name).mean() for case in result.cases])
        for name in result.cases[0].trajectories
    }
    rest = {one.policy for one in found.others}
    won = beaten(values, result.system.objective.sense, first.policy) & rest
    crowned = [one for one in said if CROWNS.search(one)]
    assert not crowned or won == rest
    lead = words.lead(result)
    assert ("not resolved in 5 instances" in lead or "the same in all 5" in lead) == (won != rest)
    assert first.violations in lead.split(". ")[0]


def made(
    values: Mapping[str, Any],
    *,
    violated: Mapping[str, Any] | None = None,
    hindsight: tuple[str, ...] = (),
    exact: Mapping[str, float] | None = None,
    sense: str = "max",
) -> Case:
    """Return a case whose policies have given values and violations in their runs."""
    bound = {"max": 20.0, "min": 0.01}[sense]
    record = replace(
        SYSTEM,
        objective=replace(SYSTEM.objective, sense=sense),
        constraint=replace(SYSTEM.constraint, count=lambda _: 4 if violated is not None else 0),
    )
    entries = [
        _fixed(0.1, name, kind="hindsight" if name in hindsight else "causal") for name in values
    ]
    runs = len(next(iter(values.values())))
    [case] = study(Offers(1), entries, system=record, runs=runs, progress=False).cases
    benchmark = replace(case.benchmark, value=bound, bound=bound)
    trajectories = {}
    for name in case.trajectories:
        reward = np.array(values[name], dtype=float)[:, None]
        lost = np.array((violated or {}).get(name, [0] * runs))[:, None]
        trajectories[name] = Trajectory(name, reward, lost, lost * 0, 0.0, False)
    return replace(
        case, trajectories=trajectories, benchmarks={"prophet": benchmark}, exact=exact or {}
    )


RNG = np.random.default_rng(8)
NOISE = RNG.uniform(1, 3, 40)


def test_a_difference_by_chance_crowns_nobody() -> None:
    case = made({"a": NOISE, "b": RNG.permutation(NOISE) * 0.999})
    check(case)
    assert not CROWNS.search(" ".join(texts(case)))
    assert "The difference to B is not resolved in 40 scenarios." in words.lead(case)


def test_a_clear_difference_crowns_the_better_one_in_both_directions() -> None:
    values = {"a": NOISE, "b": NOISE * RNG.uniform(0.8, 0.9, 40)}
    for sense, title in (("max", "A"), ("min", "B")):
        case = made(values, sense=sense)
        check(case)
        assert words.lead(case).startswith(f"{title} is best: a reward of ")


def test_what_is_resolved_between_two_is_not_among_many() -> None:
    # One of twelve is ahead of each of the others with a probability of some .01.
    rng = np.random.default_rng(4)
    base = rng.uniform(1, 2, 30)
    factor = np.exp(rng.normal(0, 0.05, (11, 30)))
    factor = factor / np.exp(np.log(factor).mean(axis=1))[:, None]
    others = {f"p{place}": base * factor[place] * np.exp(-0.025) for place in range(11)}
    two = made({"a": base, "p0": others["p0"]})
    check(two)
    assert words.lead(two).startswith("A is best")
    many = made({"a": base, **others})
    check(many)
    assert words.lead(many).startswith("A has the highest reward")
    assert "not resolved in 30 scenarios" in words.lead(many)


def test_mean_and_ratio_must_both_say_so() -> None:
    # The mean is that of one run; in all others, the first is a little worse.
    first, second = np.full(40, 1.0), np.full(40, 1.2) + 1e-3 * NOISE
    first[0] = 15.0
    case = made({"a": first, "b": second})
    check(case)
    assert "is best" not in " ".join(texts(case))
    assert not case.pairs.better("a", "b")
    assert not case.pairs.better("b", "a")
    assert case.table["relative_finding"].tolist() == ["", UNRESOLVED]


def bars(case: Case, *, narrow: bool) -> tuple[list[str], list[float]]:
    """Return which names are bold in the first picture, and the rows with the largest marks."""
    axes = drawn(case.standings, narrow=narrow).axes[0]
    texts = [*axes.texts, *axes.get_yticklabels()]
    bold = [text.get_text() for text in texts if text.get_fontweight() == "bold"]
    bold = [said for said in bold if said]
    marks = {
        float(line.get_ydata()[0]): line.get_markersize()
        for line in axes.lines
        if line.get_marker() == "o"
    }
    return bold, [row for row, size in marks.items() if size == max(marks.values())]


@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize("name", SYSTEMS)
def test_the_policy_that_is_named_is_marked_in_the_picture(name: str, narrow: bool) -> None:
    case = small(name, -1)
    first = case.standings.first
    assert first is not None
    bold, [row] = bars(case, narrow=narrow)
    assert [one for one in bold if not re.fullmatch(r"[\d.]+", one)] == [first.title]
    assert round(row) == [one.policy for one in case.standings.rows].index(first.policy)
    assert "Bold" in CAPTION


def test_a_policy_without_a_bound_is_headed_by_its_value() -> None:
    case = made({"a": NOISE, "b": NOISE * 0.5})
    entries = {name: replace(entry, bound="") for name, entry in case.entries.items()}
    free = replace(case, entries=entries)
    check(free)
    bounded, tile = words.headlines(case)[0], words.headlines(free)[0]
    assert bounded.figure == f"{percent(NOISE.mean() / 20)} of E[max]"
    assert tile.figure == f"{number(NOISE.mean())} per run"
    low, high = stats.t.interval(0.95, 39, NOISE.mean(), stats.sem(NOISE))
    assert tile.detail.startswith("no bound")
    assert tile.detail.endswith(f"{percent(0.95, 0)} interval {number(low)} to {number(high)}")
    assert f": {number(NOISE.mean())} per run, no bound; " in words.title(free)
    exact = replace(free, exact={"a": 2.1})
    assert words.headlines(exact)[0].figure == "2.100 per run"
    assert words.headlines(exact)[0].detail == "no bound for this policy, exact"


@pytest.mark.parametrize("name", SYSTEMS)
def test_no_figure_is_a_share_of_what_does_not_bound_the_policy(name: str) -> None:
    case = small(name, -1)
    found, tiles = case.standings, words.headlines(case)
    those = [one for one in (found.first, found.other) if one is not None]
    assert tiles[len(those)].what.startswith(f"{case.label}, the reference bound")
    for one, tile in zip(those, tiles[: len(those)], strict=True):
        own = case.bound_of(one.policy)
        label = "no bound for this" if not own else found.of(one.policy).label
        assert label in (tile.figure if own else tile.detail)
        if not own:
            assert tile.figure == one.amount
            unit = found.objective.unit
            assert unit == "dimensionless" or tile.detail.endswith(f" {unit}")


def test_what_is_exact_has_no_interval() -> None:
    case = made({"a": NOISE, "b": NOISE * 0.5}, exact={"a": 2.1})
    check(case)
    head = words.lead(case).split(". ")[0]
    assert (
        f"2.100 per run, {percent(2.1 / 20)} of E[max] (exact), a gap of {percent(0.895)}" in head
    )
    tile = words.headlines(case)[0]
    assert tile.detail == f"gap of {percent(0.895)}, exact"


def test_equal_results_are_the_same_in_all_scenarios() -> None:
    case = made({"a": [2.0] * 6, "b": [2.0] * 6, "c": [1.0] * 6})
    check(case)
    lead = words.lead(case)
    assert "(the same in all 6 scenarios on this instance)" in lead
    assert "B has the same in all 6 scenarios." in lead
    assert "interval" not in " ".join(texts(case))


def test_who_violates_is_named_with_how_many() -> None:
    lost = [1, 0, 2, 1, 0, 1]
    values = {"a": NOISE[:6] + 2, "b": NOISE[:6], "c": NOISE[:6] * 0.5}
    case = made(values, violated={"a": lost})
    check(case)
    lead = words.lead(case)
    assert lead.startswith("B is best of the policies that fail no floor: a reward of ")
    assert f"but it fails {number(5 / 6, 3)} of 4 floors per run." in lead
    worst = made(values, violated={"a": lost, "b": lost, "c": lost})
    check(worst)
    assert words.lead(worst).startswith("A has the highest reward: ")
    assert words.lead(worst).endswith("Every policy fails some.")
    assert not CROWNS.search(" ".join(texts(worst)))


def test_who_knows_the_future_is_drawn_apart_and_never_best() -> None:
    case = made({"oracle": NOISE * 2, "a": NOISE, "b": NOISE * 0.5}, hindsight=("oracle",))
    check(case)
    assert words.lead(case).startswith("A is best: ")
    assert "Oracle" not in words.lead(case)
    for narrow in (False, True):
        axes = drawn(case.standings, narrow=narrow).axes[0]
        [separator] = [line for line in axes.lines if list(line.get_ydata()) == [1.5, 1.5]]
        marks = [line for line in axes.lines if line.get_marker() == "o"]
        assert len(marks) == 3
        assert float(marks[-1].get_ydata()[0]) > float(separator.get_ydata()[0])
    alone = made({"oracle": NOISE}, hindsight=("oracle",))
    check(alone)
    assert words.lead(alone).startswith(words.ONLY_HINDSIGHT)
