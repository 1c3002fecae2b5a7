"""Runs: next to the plain environment, resumed from a round, logged slot by slot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.instances.tapfinger import generate
from edgeopt.online.tapfinger import TapFingerEnvironment, TapFingerEpisode
from tests.draws import draws
from tests.online.tapfinger.scenarios import Wild, named, side_by_side, two_clusters
from tests.strategies import tapfinger_instances

if TYPE_CHECKING:
    from edgeopt.instances.tapfinger import TapFingerInstance
    from edgeopt.online.tapfinger import Round


def same(one: Round, two: Round) -> None:
    """Compare two rounds but for what was attained before."""
    assert one[:2] == two[:2]
    for left, right in zip(one[2:], two[2:], strict=True):
        parts = (left, right) if isinstance(left, tuple) else ((left,), (right,))
        for a, b in zip(*parts, strict=True):
            assert np.array_equal(a, b)


@settings(max_examples=draws(30))
@given(
    tapfinger_instances(tasks=8, noise=False),
    st.sampled_from(["slot", "round"]),
    st.booleans(),
    st.integers(0, 30),
    st.integers(0, 999),
)
def test_a_run_goes_on_as_it_would_have_if_nothing_more_arrives(
    instance: TapFingerInstance,
    refill: Literal["slot", "round"],
    preemption: bool,
    steps: int,
    seed: int,
) -> None:
    everybody = instance.replace(arrival=np.zeros_like(instance.arrival))
    environment = TapFingerEnvironment(everybody, refill=refill, preemption=preemption)
    policy, coins = Wild(preemption=preemption), np.random.default_rng(seed)
    episode = environment.episode(0)
    # With preemption from the first round of a slot: later ones may have changed bundles.
    while (seen := episode.observe()) is not None and (steps > 0 or preemption * seen.number):
        episode.act(policy.decide(everybody, seen, coins)[0])
        steps -= 1
    if seen is None:
        return
    resumed = TapFingerEpisode.resumed(
        environment.instance, seen, refill=refill, preemption=preemption
    )
    while (seen := episode.observe()) is not None:
        again = resumed.observe()
        assert again is not None
        same(seen, again)
        decision, _ = policy.decide(everybody, seen, coins)
        one, two = episode.act(decision), resumed.act(decision)
        for left, right in zip(one, two, strict=True):
            assert np.array_equal(left, right)
    assert resumed.observe() is None
    later = slice(len(episode.alive) - len(resumed.alive), None)
    assert np.array_equal(episode.alive[later], resumed.alive)


def test_a_run_goes_on_without_what_is_to_come_and_without_noise() -> None:
    environment = TapFingerEnvironment(two_clusters(noise=0.2))
    ends = set()
    for scenario in range(4):
        episode = environment.episode(scenario)
        episode.act(named(2, {0: (0, (1, 1)), 1: (2, (2, 2))}))
        episode.act(named(2))
        seen = episode.observe()
        assert seen is not None
        resumed = TapFingerEpisode.resumed(environment.instance, seen)
        shown = resumed.observe()
        assert shown is not None
        same(seen, shown)
        progress = float(seen.running.progress[0])
        ends.add(progress)
        resumed.act(named(2, {0: (1, (2, 0))}))
        slots = 0
        while (seen := resumed.observe()) is not None:
            assert seen.tasks.arrival.tolist() == [0, 0, 0]
            if 0 in seen.running.task:
                assert seen.running.progress[0] == progress + 0.25 * slots
            resumed.act(named(2))
            slots += 1
        assert slots == 4  # task 1 takes four slots
    assert len(ends) == 4


def test_nothing_that_a_resumed_run_does_reaches_the_round_it_was_seen_in() -> None:
    episode = TapFingerEnvironment(two_clusters()).episode(0)
    episode.act(named(2, {0: (0, (1, 1))}))
    seen = episode.observe()
    assert seen is not None
    before = [np.array(column) for part in seen[2:] for column in _columns(part)]
    resumed = TapFingerEpisode.resumed(two_clusters(), seen)
    policy, coins = Wild(), np.random.default_rng(0)
    while (shown := resumed.observe()) is not None:
        resumed.act(policy.decide(two_clusters(), shown, coins)[0])
    after = [column for part in seen[2:] for column in _columns(part)]
    assert all(np.array_equal(one, two) for one, two in zip(before, after, strict=True))


def test_what_has_changed_in_this_slot_is_paid_for_only_if_it_changes_again() -> None:
    for other, progress in ({}, 0.25 + 0.5), ({0: (2, 1)}, 0.25 + 0.375 / 2):
        episode = TapFingerEnvironment(two_clusters()).episode(0)
        episode.act(named(2, {0: (0, (1, 1))}))
        episode.act(named(2))
        episode.act(named(2, {0: (1, (1, 0))}, place=[True, False], other={0: (3, 1)}))
        seen = episode.observe()
        assert seen is not None
        assert (seen.slot, seen.number) == (1, 1)
        resumed = TapFingerEpisode.resumed(two_clusters(), seen)
        resumed.act(named(2, other=other))
        shown = resumed.observe()
        assert shown is not None
        assert shown.running.progress[0] == progress


def test_what_has_started_in_this_slot_may_still_change() -> None:
    episode = TapFingerEnvironment(two_clusters()).episode(0)
    episode.act(named(2, {0: (0, (1, 1))}))
    seen = episode.observe()
    assert seen is not None
    resumed = TapFingerEpisode.resumed(two_clusters(), seen)
    resumed.act(named(2, other={0: (3, 1)}))
    shown = resumed.observe()
    assert shown is not None
    assert shown.running.progress.tolist() == [0.5]


def _columns(part: Any) -> tuple[Any, ...]:
    return part if isinstance(part, tuple) else (part,)


OPTIONS = st.fixed_dictionaries(
    {
        "refill": st.sampled_from(["slot", "round"]),
        "conflict": st.sampled_from(["count", "ratio"]),
        "pass_on": st.booleans(),
        "patience": st.sampled_from([1000, 2, 1]),
    }
)


@settings(max_examples=draws(60))
@given(
    tapfinger_instances(tasks=8, noise=None, empty=True),
    OPTIONS,
    st.booleans(),
    st.integers(0, 999),
)
def test_every_round_and_all_logs_are_those_of_the_reference(
    instance: TapFingerInstance, options: dict[str, Any], preemption: bool, seed: int
) -> None:
    environment = TapFingerEnvironment(instance, preemption=preemption, **options)
    side_by_side(environment, Wild(preemption=preemption), seed)


@pytest.mark.parametrize("single_start", [False, True])
def test_so_they_are_in_a_crowd(single_start: bool) -> None:
    truth = generate(clusters=3, tasks=120, single_start=single_start, noise=0.1, rng=1)
    refill: Literal["slot", "round"] = "slot" if single_start else "round"
    plain = side_by_side(TapFingerEnvironment(truth, refill=refill), Wild(), 1)
    assert plain.lost > 0
    assert max(plain.local)[0] > truth.pending  # so that some have queued
