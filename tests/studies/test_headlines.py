"""Headlines say no more than what was tested, on every system and on cases made for it."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from edgeopt.bounds.pairs import OPEN
from edgeopt.online.protocols import Trajectory
from edgeopt.studies import Case, find_system, study
from edgeopt.studies import sentences as words
from edgeopt.studies.pages.study import pictures_of
from edgeopt.studies.pictures.overview import drawn
from edgeopt.studies.wording import counted, number, percent
from tests.draws import some
from tests.studies.stopping import SYSTEM, Offers, _fixed, bounding
from tests.studies.test_impossible_intervals import SMALL, SPANS
from tests.two_means import probability_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from edgeopt.studies import Study

SYSTEMS = ("rescue", "idn", "oinc", "edr", "tapfinger")
CROWNS = re.compile(
    r"\bBest (?:safe )?policy\b(?!.*(?:too close to call|the same as))|\bbest policy\b"
)
PRAISE = re.compile(r"\bbest\b|\bbetter\b|\bhighest\b|\bleast\b|\bmost\b|\bworse\b")


def texts(case: Case) -> list[str]:
    """Return every text that names the first policies of an instance."""
    said = words.sentences(case)
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


def beaten(
    values: Mapping[str, np.ndarray], exact: Mapping[str, float], sense: str, first: str
) -> set[str]:
    """Return the policies that another is better than, by tests of all pairs and Holm's method."""
    sign = 1 if sense == "max" else -1
    values = {name: np.array([exact[name]]) if name in exact else y for name, y in values.items()}
    tests, known = {}, set()
    for a, b in combinations(values, 2):
        apart = sign * (values[a] - values[b])
        if a in exact and b in exact:
            if abs(apart[0]) > 1e-9 * max(abs(exact[a]), abs(exact[b])):
                known.add((a, b) if apart[0] > 0 else (b, a))
        elif not np.isfinite(apart).all() or np.ptp(apart) <= 1e-12 * np.abs(apart).max():
            tests[a, b] = 1.0
        else:
            tests[a, b] = probability_of(apart)
    below = True
    for place, pair in enumerate(sorted(tests, key=lambda one: tests[one])):
        below = below and (len(tests) - place) * tests[pair] <= 0.05
        a, b = pair
        if below and np.broadcast(values[a], values[b]).size >= 10:
            known.add((a, b) if sign * (values[a].mean() - values[b].mean()) > 0 else (b, a))
    return {other for other in values if (first, other) in known}


def check(case: Case) -> None:
    """Check all that is said of an instance by what is in its trajectories."""
    values = {name: one.runs for name, one in case.estimates.items()}
    lost = {
        name: float(np.asarray(run.violations).sum(axis=1).mean())
        for name, run in case.trajectories.items()
    }
    titles = {case.entries[name].title: name for name in values}
    runs = f"{case.runs} run" + "s" * (case.runs > 1)
    every = list(sentences(texts(case)))
    for one in every:
        those = {titles[title] for title in named(one, list(titles))}
        if PRAISE.search(
            one.replace("valid for", "").replace("best known plan", "").replace("not ranked", "")
        ):
            assert all(case.entries[name].causal for name in those), one
        if case.constraints:
            for name in those:
                assert not lost[name] > 0 or counted(lost[name]) in one, (name, one)
        for low, high in SPANS.findall(one):
            assert low != high, one
        assert not re.search(r"not resolved|for sure|Holm|geometric", one), one
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
    entrants = {name: values[name] for name in values if case.entries[name].causal}
    won = beaten(entrants, case.exact, case.objective.sense, first.policy) & rest
    allowed = bool(rest) and won == rest and (not hard or first.policy in kept)
    assert bool(crowned) == allowed, (crowned, rest - won)
    lead = words.lead(case)
    alike = {n for n in rest if np.allclose(values[n], values[first.policy], rtol=1e-12, atol=0)}
    assert "the same as" in lead or not alike
    assert ("too close to call" in lead) == bool(rest - won - alike and (won or alike == rest))
    nobody = rest - won and not won and alike != rest
    assert bool(nobody) == ("No policy is clearly ahead" in lead or "too few to rank" in lead)
    head = re.split(r"(?<=[\w)%])\. (?=[A-Z])", lead)[0]
    assert len(head.split()) <= 40, head
    if "are too few" not in head:
        assert first.title in head
        assert first.keeps or first.violations in head
    note = words.note(case)
    sampled = any(name not in case.exact for name in entrants if np.isfinite(values[name]).all())
    assert bool(note) == sampled
    assert not note or f"none of the {runs} (chance below" in note


@cache
def small(name: str, seed: int) -> Case:
    record = replace(find_system(name), claims=None)
    if seed < 0:
        assert record.instances.generate is not None
        instance = record.instances.generate(rng=1, **SMALL[name])
    else:
        assert record.instances.random_small is not None
        instance = record.instances.random_small(seed)
    [case] = study(instance, system=record, runs=12, progress=False).cases
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
    titles = {one.title: one for one in found.rows}
    for one in sentences(said):
        for title in named(one, list(titles)):
            row = titles[title]
            assert row.causal
            assert row.keeps or counted(row.violated) in one, one
    assert not [one for one in said if CROWNS.search(one)]
    lead = words.lead(result)
    if found.others:
        assert lead.startswith("5 instances are too few to rank ")
        assert ": --draws 20)" in lead
    else:  # the only one that keeps the service constraint is compared with nobody
        assert lead.startswith(f"Only safe policy over 5 instances: {first.title}, ")
        assert [one.policy for one in found.rows if one.causal and one.keeps] == [first.policy]
    assert first.keeps or first.violations in lead


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
    assert words.lead(case).startswith(
        "No policy is clearly ahead after 40 runs; highest reward so far: A, "
    )


def test_a_clear_difference_crowns_the_better_one_in_both_directions() -> None:
    values = {"a": NOISE, "b": NOISE * RNG.uniform(0.8, 0.9, 40)}
    for sense, said in (("max", "Best policy: A, "), ("min", "Best policy: B, ")):
        case = made(values, sense=sense)
        check(case)
        assert words.lead(case).startswith(said)
        assert case.standings.crowned


def test_what_is_resolved_between_two_is_not_among_many() -> None:
    # One of twelve is ahead of each of the others with a probability of some .01.
    rng = np.random.default_rng(4)
    base = rng.uniform(1, 2, 30)
    factor = np.exp(rng.normal(0, 0.05, (11, 30)))
    factor = factor / np.exp(np.log(factor).mean(axis=1))[:, None]
    others = {f"p{place}": base * factor[place] * np.exp(-0.025) for place in range(11)}
    two = made({"a": base, "p0": others["p0"]})
    check(two)
    assert words.lead(two).startswith("Best policy: A, ")
    many = made({"a": base, **others})
    check(many)
    assert words.lead(many).startswith("No policy is clearly ahead after 30 runs; ")
    assert two.pairs.better("a", "p0")
    assert not many.pairs.better("a", "p0")


def test_one_run_decides_nothing() -> None:
    # The mean is that of one run; in all others, the first is a little worse.
    first, second = np.full(40, 1.0), np.full(40, 1.2) + 1e-3 * NOISE
    first[0] = 15.0
    case = made({"a": first, "b": second})
    check(case)
    assert "is best" not in " ".join(texts(case))
    assert not case.pairs.better("a", "b")
    assert not case.pairs.better("b", "a")
    assert case.table["relative_finding"].tolist() == ["", OPEN]


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


def test_a_policy_without_a_bound_is_headed_by_its_value() -> None:
    case = made({"a": NOISE, "b": NOISE * 0.5})
    free = replace(case, system=bounding(9, case.system))
    check(free)
    assert words.title(free) == f"Best policy: A, {number(NOISE.mean())} per run, no bound"


def test_what_is_exact_has_no_interval() -> None:
    case = made({"a": NOISE, "b": NOISE * 0.5}, exact={"a": 2.1})
    check(case)
    head = words.lead(case).split(". ")[0]
    assert head == f"Best policy: A, {percent(2.1 / 20)} of the bound (exact)"


def test_equal_results_are_the_same_in_all_scenarios() -> None:
    case = made({"a": [2.0] * 6, "b": [2.0] * 6, "c": [1.0] * 6})
    check(case)
    lead = words.lead(case)
    assert lead.startswith("6 runs are too few to rank 3 policies (10 needed: --runs 20); ")
    assert "highest reward so far: A, " in lead
    assert "(the same in all 6 runs), the same as B." in lead
    assert "A has 1.00 more than C in each of 6 runs; runs that differ may still come." in lead
    assert "interval" not in " ".join(texts(case))
    known = replace(case, exact={"a": 2.0, "b": 2.0, "c": 1.0})
    check(known)
    assert words.lead(known).startswith(
        f"Best policy: A, {percent(0.1)} of the bound (exact), the same as B."
    )
    assert "The other earns less." in words.lead(known)


def test_who_violates_is_named_with_how_many() -> None:
    lost = [1, 0, 2, 1, 0, 1] * 4
    values = {"a": NOISE[:24] + 2, "b": NOISE[:24], "c": NOISE[:24] * 0.5}
    case = made(values, violated={"a": lost})
    check(case)
    lead = words.lead(case)
    assert lead.startswith("Best safe policy: B, ")
    assert f"but it fails {number(5 / 6, 2)} of 4 floors per run ({percent(5 / 24, 0)})." in lead
    worst = made(values, violated={"a": lost, "b": lost, "c": lost})
    check(worst)
    assert words.lead(worst).startswith("Highest reward: A, ")
    assert words.lead(worst).endswith("Every policy fails some.")
    assert not CROWNS.search(" ".join(texts(worst)))


def test_who_knows_the_future_is_drawn_apart_and_never_best() -> None:
    case = made({"oracle": NOISE * 2, "a": NOISE, "b": NOISE * 0.5}, hindsight=("oracle",))
    check(case)
    assert words.lead(case).startswith("Best policy: A, ")
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
