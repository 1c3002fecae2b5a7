"""Policy optimisation from scratch: the stored table, and how it is made."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest
from edgeopt_papers.tapfinger import from_scratch
from edgeopt_papers.tapfinger.from_scratch import COURSES, FRESH, PLACES, SCHEDULE, SCRATCH, beside

from edgeopt.instances.tapfinger import generate
from edgeopt.learning.tapfinger import training
from edgeopt.online import simulate
from edgeopt.online.tapfinger import ReservationSpt, TapFingerEnvironment
from edgeopt.studies import find_system
from edgeopt.studies.learners import find_learner

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return SCRATCH.read().table


def test_trainings_differ_in_one_thing_from_the_whole_one() -> None:
    assert find_learner(find_system("tapfinger"), "mappo").updates == SCHEDULE
    for key, course in COURSES.items():
        whole = COURSES[f"mappo-{course.setting}"]
        assert set(course.seeds) <= set(whole.seeds)
        if key.startswith("ablation"):
            assert course.schedule == whole.schedule
            assert len(course.options) == 1


def test_curves_are_evaluations_of_whole_trainings(table: pd.DataFrame) -> None:
    learnt = table[(table["place"] == "validation")]
    assert {(key, seed) for key, one in COURSES.items() for seed in one.seeds} == set(
        learnt[["course", "seed"]].itertuples(index=False, name=None)
    )
    for (key, _), rows in learnt.groupby(["course", "seed"]):
        course = COURSES[str(key)]
        each = from_scratch.EVERY * 2048
        assert rows["rounds"].tolist() == [*range(0, 2048 * course.updates + 1, each)]
        assert set(rows["setting"]) == {course.setting}
        assert (np.diff(rows["seconds"]) > 0.0).all()
        # At least one pass over at least one minibatch of every update.
        assert (np.diff(rows["steps"]) >= from_scratch.EVERY).all()


def test_policies_are_set_beside_others_on_seeds_of_no_choice(table: pd.DataFrame) -> None:
    assert not set(FRESH) & {*training.TRAINING, *training.VALIDATION, *training.BOOK}
    found = list(beside(table))
    for setting in ("several", "single"):
        for place in PLACES:
            at = [one for one in found if (one.setting, one.place) == (setting, place)]
            assert len(at) == (3 if place == "fresh" else 1) * 4
            runs = table[(table["setting"] == setting) & (table["place"] == place)]
            for one in at:
                its = runs[runs["course"] == one.other].set_index("instance")["flow"]
                mine = runs[(runs["course"] == f"mappo-{setting}") & (runs["seed"] == one.seed)]
                flow = mine.set_index("instance")["flow"]
                assert list(flow.index) == list(its.index) == list(FRESH)
                assert one.ratio == pytest.approx(flow.sum() / its.sum())
                assert one.ahead == sum(flow[seed] < its[seed] for seed in FRESH)
    first = generate(rng=FRESH[0])
    run = simulate(TapFingerEnvironment(first), ReservationSpt(), rng=FRESH[0], runs=1)
    at = table[(table["course"] == "reservation") & (table["instance"] == FRESH[0])]
    [kept] = at[(at["setting"] == "several") & (at["place"] == "fresh")]["flow"]
    assert kept == pytest.approx(run.mean_flow_time()[0], abs=1e-6)


def test_runs_are_of_the_weights_that_did_best_on_the_validation_seeds(
    table: pd.DataFrame,
) -> None:
    for setting in ("several", "single"):
        own = table[table["course"] == f"mappo-{setting}"]
        curve = own[own["place"] == "validation"]
        best = curve.loc[curve.groupby("seed")["flow"].idxmin()].set_index("seed")
        for seed, rows in own[own["place"] == "fresh"].groupby("seed"):
            assert set(rows["rounds"]) == {best.loc[seed, "rounds"]}
        [chosen] = own[own["place"] == "pointer"]["seed"].unique()
        assert chosen == best["flow"].idxmin()


@pytest.mark.parametrize(
    ("setting", "each", "mean", "ratio", "other", "ahead"),
    [("single", 4.35, 4.2, 1.15, "optimus", 10), ("several", 4.8, 4.5, 1.2, "tiresias", 12)],
)
def test_what_was_trained_is_near_reservation_and_ahead_of_the_baselines(
    setting: str, each: float, mean: float, ratio: float, other: str, ahead: int,
    table: pd.DataFrame,
) -> None:  # fmt: skip
    rows = table[(table["course"] == f"mappo-{setting}") & (table["place"] == "validation")]
    best = rows.groupby("seed")["flow"].min()
    assert best.max() <= each
    assert best.mean() <= mean
    fresh = [one for one in beside(table) if (one.setting, one.place) == (setting, "fresh")]
    assert all(one.ratio <= ratio for one in fresh if one.other == "reservation")
    assert all(one.ahead >= ahead for one in fresh if one.other == other)


@pytest.mark.trains
def test_runs_are_made_by_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch", reason="training needs PyTorch")
    monkeypatch.setattr(training, "TRAINING", range(1000, 1001))
    monkeypatch.setattr(training, "VALIDATION", range(3000, 3001))
    monkeypatch.setattr(from_scratch, "FRESH", FRESH[:1])
    monkeypatch.setattr(from_scratch, "SCHEDULE", 1)
    monkeypatch.setattr(from_scratch, "others", lambda _: {"reservation": ReservationSpt()})
    short = replace(COURSES["mappo-single"], updates=1, seeds=(0,))
    monkeypatch.setattr(from_scratch, "COURSES", {"mappo-single": short})
    found = SCRATCH.make(tmp_path)
    assert isinstance(found, pd.DataFrame)
    curve, runs = found[:2], found[2:]
    assert curve["rounds"].tolist() == [0, 2048]
    assert curve["steps"].tolist()[0] == 0 < curve["steps"].tolist()[1]
    assert curve["seconds"].is_monotonic_increasing
    assert runs["place"].tolist() == [place for place in PLACES for _ in range(2)]
    assert runs["course"].tolist() == ["reservation", "mappo-single"] * 3
    assert (runs["flow"] > 1.0).all()
