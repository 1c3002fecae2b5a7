"""The scheduler that estimates durations: what it knows, its book, and the estimates by hand."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt import simulate
from edgeopt.errors import InstanceError, OptionError
from edgeopt.instances.tapfinger import from_durations, generate
from edgeopt.online.tapfinger import (
    Decision,
    LearntReservation,
    Outcome,
    ReservationSpt,
    ServiceBook,
    TapFingerEnvironment,
    Tiresias,
)
from edgeopt.online.tapfinger.policies.learned_durations import fill_durations, level
from edgeopt.testing.strategies import tapfinger_instances
from tests.draws import draws, every
from tests.tapfinger.plain_policies import reserved, seen, whole, written

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from edgeopt.instances.tapfinger import TapFingerInstance
    from edgeopt.online.tapfinger import Round, TapFingerTrajectory
    from tests.tapfinger.plain_policies import Lists, Plan

Rows = list[tuple[int, ...]]

EMPTY: Rows = []


# --- the estimates, in exact arithmetic -----------------------------------------------------------

PRIOR, SPREAD = (Fraction(1), Fraction(4), Fraction(0)), (Fraction(6), Fraction(16), Fraction(1, 2))


def solved(matrix: list[list[Fraction]], right: list[Fraction]) -> list[Fraction]:
    """Solve a system by Gauss and Jordan."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for i in range(len(rows)):
        rows[i] = [value / rows[i][i] for value in rows[i]]
        for j in range(len(rows)):
            if j != i:
                factor = rows[j][i]
                rows[j] = [a - factor * b for a, b in zip(rows[j], rows[i], strict=True)]
    return [row[-1] for row in rows]


def terms(least: list[int], cpu: int, gpu: int) -> list[Fraction]:
    """Return what the three coefficients are multiplied with."""
    ratios = [
        Fraction(low or 1, have if low else have + 1)
        for low, have in zip(least, (cpu, gpu), strict=True)
    ]
    return [Fraction(1), ratios[1], ratios[0]]


def plain_durations(
    services: Rows, late: Rows, minimum: list[list[int]], shape: tuple[int, ...]
) -> dict[tuple[int, ...], Fraction]:
    """Estimate durations from their description, ``{(class, kind, cpu, gpu): slots}``."""
    found: dict[tuple[int, ...], Fraction] = {}
    for m, k in np.ndindex(shape[:2]):
        own = [row for row in [*services, *late] if row[:2] == (m, k)]
        parts = [0, 1, 2]
        while True:
            matrix = [[Fraction(0)] * len(parts) for _ in parts]
            right = [PRIOR[i] / SPREAD[i] ** 2 for i in parts]
            for a, i in enumerate(parts):
                matrix[a][a] = 1 / SPREAD[i] ** 2
            for _, _, cpu, gpu, slots, times in own:
                weight, f = times / (Fraction(3, 10) * slots) ** 2, terms(minimum[k], cpu, gpu)
                for a, i in enumerate(parts):
                    right[a] += weight * f[i] * slots
                    for b, j in enumerate(parts):
                        matrix[a][b] += weight * f[i] * f[j]
            theta = dict(zip(parts, solved(matrix, right), strict=True))
            worst = min(theta, key=lambda i: theta[i], default=-1)
            if worst < 0 or theta[worst] >= 0:
                break
            parts.remove(worst)
        for cpu in range(minimum[k][0], shape[2]):
            for gpu in range(minimum[k][1], shape[3]):
                f = terms(minimum[k], cpu, gpu)
                at = (m, k, cpu, gpu)
                seen = [(row[4], row[5]) for row in services if row[:4] == at]
                total = 2 * sum(theta[i] * f[i] for i in parts) + sum(s * n for s, n in seen)
                found[at] = max(Fraction(1), Fraction(total) / (2 + sum(n for _, n in seen)))
    return found


def plain_level(expected: dict[tuple[int, ...], Fraction]) -> dict[tuple[int, ...], Fraction]:
    """Let a bundle count only if it saves more than a tenth of the time of every smaller one."""
    counts: dict[tuple[int, ...], Fraction] = {}
    for at in sorted(expected):
        smaller = [
            slots
            for one, slots in counts.items()
            if one[:2] == at[:2] and one[2] <= at[2] and one[3] <= at[3]
        ]
        best = min(smaller, default=None)
        mine = expected[at]
        counts[at] = mine if best is None or mine < Fraction(9, 10) * best else best
    return counts


def durations(services: Rows, late: Rows = EMPTY, minimum: Any = ((1, 1),), most: int = 3) -> Any:
    least = np.array(minimum)
    expected = np.zeros((1, len(least), most + 1, most + 1))
    fill_durations(
        *(np.array(rows, dtype=np.int64).reshape(-1, 6) for rows in (services, late)), least,
        expected,
    )  # fmt: skip
    return expected


def test_an_empty_book_says_what_is_expected_beforehand() -> None:
    """One slot, and four that GPUs share; CPU cores do not help."""
    expected = durations(EMPTY)[0, 0]
    assert expected[1:, 1].tolist() == [5.0] * 3
    assert expected[1, 1:].tolist() == pytest.approx([5, 3, 1 + 4 / 3])
    assert (expected[0] == 0).all()
    assert (expected[:, 0] == 0).all()
    # A kind that needs no GPU is as slow without one as another with its one.
    assert durations(EMPTY, minimum=((1, 0),))[0, 0, 1].tolist() == pytest.approx(
        [5, 3, 1 + 4 / 3, 2]
    )


def test_one_service_by_hand() -> None:
    """21 slots with (1, 1), where 5 are expected: 16 more.

    The variance beforehand is 36 + 256 + 0.25 of the model there, and (0.3 * 21)^2 of a service;
    the 16 slots go to the coefficients by their part in the sum.
    """
    gain = 16 / (36 + 256 + 0.25 + 6.3**2)
    theta = (1 + 36 * gain, 4 + 256 * gain, 0.25 * gain)
    expected = durations([(0, 0, 1, 1, 21, 1)])[0, 0]
    assert expected[1, 1] == pytest.approx((2 * sum(theta) + 21) / 3)
    assert expected[2, 3] == pytest.approx(theta[0] + theta[1] / 3 + theta[2] / 2)
    # A task that still runs is not averaged.
    assert durations(EMPTY, [(0, 0, 1, 1, 21, 1)])[0, 0, 1, 1] == pytest.approx(sum(theta))


def test_negative_coefficients_are_left_out_by_hand() -> None:
    """One slot with (1, 1): the coefficient of CPU cores would fall below 0, so it stays there."""
    gain = -4 / (36 + 256 + 0.3**2)
    theta = (1 + 36 * gain, 4 + 256 * gain)
    expected = durations([(0, 0, 1, 1, 1, 1)])[0, 0]
    assert expected[2, 2] == expected[1, 2] == pytest.approx(max(1.0, theta[0] + theta[1] / 2))
    assert expected[1, 1] == pytest.approx((2 * sum(theta) + 1) / 3)


rows_of_services = st.lists(
    st.tuples(
        st.just(0), st.integers(0, 1), st.integers(2, 4), st.integers(1, 4),
        st.integers(1, 25), st.integers(1, 3),
    ),
    max_size=8,
)  # fmt: skip


@settings(max_examples=draws(40))
@given(rows_of_services, rows_of_services, st.sampled_from([[2, 1], [2, 0], [0, 1]]))
def test_estimates_are_those_of_exact_arithmetic(
    services: Rows, late: Rows, other: list[int]
) -> None:
    minimum = [[2, 1], other]
    shape = (1, 2, 5, 5)
    found, plain = (
        durations(services, late, minimum, 4),
        plain_durations(services, late, minimum, shape),
    )
    for at, slots in plain.items():
        assert found[at] == pytest.approx(float(slots), rel=1e-9), at
    counts, plain_counts = level(found, np.array(minimum)), plain_level(plain)
    close = any(
        abs(plain[at] / least - Fraction(9, 10)) < 1e-9
        for at in plain
        for one, least in plain_counts.items()
        if one != at
    )
    for at, slots in plain_counts.items():
        assert close or counts[at] == pytest.approx(float(slots), rel=1e-9), at


class PlainLearner:
    """The whole policy once more: it remembers completed services and what started when."""

    def __init__(self, instance: TapFingerInstance, alike: Sequence[int]) -> None:
        self.instance, self.alike = instance, alike
        self.services: Rows = []
        self.slot, self.expected = -1, {}  # type: tuple[int, dict[tuple[int, ...], Fraction]]

    def _estimate(self, view: Round) -> None:
        instance, running = self.instance, view.running
        shape = (max(self.alike) + 1, instance.task_kinds, *np.add(instance.largest, 1).tolist())
        minimum = instance.minimum.tolist()
        self.expected = plain_durations(self.services, [], minimum, shape)
        late = []
        for j, n, bundle, start in zip(
            running.task.tolist(), running.cluster.tolist(), running.bundle.tolist(),
            running.start.tolist(), strict=True,
        ):  # fmt: skip
            at = (self.alike[n], int(view.tasks.kind[j]), *bundle)
            if view.slot - start + 1 > self.expected[at]:
                late.append((*at, view.slot - start + 1, 1))
        self.expected = plain_durations(self.services, late, minimum, shape)

    def decide(self, view: Round) -> Plan:
        """Answer a round."""
        instance, running = self.instance, view.running
        if view.slot != self.slot:
            self._estimate(view)
            self.slot = view.slot
        counts = plain_level(self.expected)
        lists: Lists = {}
        for n, k in np.ndindex(instance.clusters, instance.task_kinds):
            best: dict[tuple[int, int], float] = {}
            for (m, kind, cpu, gpu), slots in counts.items():
                fits = cpu <= instance.capacity[n, 0] and gpu <= instance.capacity[n, 1]
                smaller = [d for x, d in best.items() if x[0] <= cpu and x[1] <= gpu]
                if (m, kind) == (self.alike[n], k) and fits and slots < min(smaller, default=99999):
                    best[cpu, gpu] = float(slots)
            lists[n, k] = best
        remaining = {}
        for j, n, bundle, start in zip(
            running.task.tolist(), running.cluster.tolist(), running.bundle.tolist(),
            running.start.tolist(), strict=True,
        ):  # fmt: skip
            slots = self.expected[self.alike[n], int(view.tasks.kind[j]), bundle[0], bundle[1]]
            remaining[j] = max(1, whole(float(slots), 0.3) - (view.slot - start))
        return written(reserved(instance, view, lists=lists, remaining=remaining, early=0.3))


@settings(max_examples=draws(40))
@given(tapfinger_instances(tasks=8, noise=None), st.booleans())
def test_like_the_reference(instance: TapFingerInstance, own_classes: bool) -> None:
    alike = list(range(instance.clusters)) if own_classes else [0] * instance.clusters
    policy = LearntReservation(classes=alike)
    environment = TapFingerEnvironment(instance, patience=20)
    episode, state = environment.episode(0), policy.start(environment.instance)
    plain = PlainLearner(environment.instance, alike)
    placed: dict[int, tuple[tuple[int, ...], int]] = {}
    while (view := episode.observe()) is not None:
        decision, state = policy.decide(state, view, np.random.default_rng(0))
        assert written(decision) == plain.decide(view)
        outcome = episode.act(decision)
        for n, j in enumerate(outcome.started.tolist()):
            if j >= 0:
                bundle = decision.bundle[n].tolist()
                placed[j] = (alike[n], int(view.tasks.kind[j]), *bundle), view.slot
        for j in outcome.completed.tolist():
            at, start = placed[j]
            plain.services.append((*at, view.slot + 1 - start, 1))
        state = policy.learn(state, view, decision, outcome)


def test_a_larger_bundle_counts_only_if_it_saves_more_than_a_tenth() -> None:
    table = np.array([[[[10.0, 9.0, 8.9], [8.99, 8.2, 8.0]]]])
    minimum = np.array([[0, 0]])
    assert level(table, minimum)[0, 0].tolist() == [[10.0, 10.0, 8.9], [8.99, 8.99, 8.0]]


# --- the book -------------------------------------------------------------------------------------


def test_books_are_merged_by_adding(tmp_path: Path) -> None:
    one = ServiceBook([[0, 1, 2, 1, 4, 2], [0, 0, 2, 1, 4, 1], [0, 1, 2, 1, 4, 3]])  # type: ignore[arg-type]
    other = ServiceBook([[0, 0, 2, 1, 4, 5], [1, 0, 2, 1, 3, 1]])  # type: ignore[arg-type]
    assert one.services.tolist() == [[0, 0, 2, 1, 4, 1], [0, 1, 2, 1, 4, 5]]
    both = one.merged(other)
    assert both == other.merged(one) == ServiceBook().merged(one, other)
    assert both.services.tolist() == [[0, 0, 2, 1, 4, 6], [0, 1, 2, 1, 4, 5], [1, 0, 2, 1, 3, 1]]
    assert (both.count, str(both), str(ServiceBook())) == (12, "12 services", "0 services")
    for book in (both, ServiceBook()):
        book.save(tmp_path / "book.csv")
        assert ServiceBook.load(tmp_path / "book.csv") == book
    with pytest.raises(OptionError, match="others: must be a ServiceBook"):
        one.merged(other.services)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("class,kind\n", "must begin with the line class,kind,cpus,gpus,slots,times"),
        ("", "must begin with the line"),
        ("0,0,2,1,4\n", "must have 6 entries"),
        ("0,0,2,1,0,1\n", "book.csv:slots.*must be a whole number from 1"),
        ("0,0,2,1.5,4,1\n", "book.csv:gpus.*must be a whole number from 0"),
        ("0,0,2,one,4,1\n", "book.csv:gpus.*must be a number"),
        ("0,0,2,1,4,1e16\n", "book.csv:times.*must be a whole number from 1 to 10"),
    ],
)
def test_bad_files_are_named(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "book.csv"
    header = "" if "kind" in text or not text else "class,kind,cpus,gpus,slots,times\n"
    path.write_text(header + text)
    with pytest.raises(InstanceError, match=says):
        ServiceBook.load(path)


def test_bad_options_are_named() -> None:
    for rows in ([[0, 0, 2, 1, 0, 1]], [[0, 0, -1, 1, 4, 1]], [[0, 0, 2, 1, 4]], [[0.5] * 6]):
        with pytest.raises(InstanceError, match="services"):
            ServiceBook(rows)  # type: ignore[arg-type]
    for options, says in (
        ({"memory": "long"}, "memory = 'long': must be one of 'fresh', 'kept'"),
        ({"book": ServiceBook()}, "book: fresh memory begins with an empty one"),
        ({"memory": "kept", "book": "mine"}, "book: must be a ServiceBook, or None"),
        ({"classes": 3}, "classes.*must be several"),
        ({"classes": [0, -1]}, r"classes\[1\]"),
        ({"classes": [10**30]}, r"classes\[0\]"),
        ({"pressure": -1.0}, "pressure"),
        ({"look": 0}, "look"),
    ):
        with pytest.raises(OptionError, match=says):
            LearntReservation(**options)
    instance = generate(tasks=6, clusters=2)
    for policy, says in (
        (LearntReservation(classes=[0, 2]), "classes: must be 2 numbers below that"),
        (LearntReservation(classes=[0]), "classes: must be 2 numbers"),
        *((with_book([row]), "book: must be of classes of clusters, kinds and bundles")
          for row in ([1, 0, 2, 1, 4, 1], [0, 2, 2, 1, 4, 1], [0, 0, 1, 1, 4, 1],
                      [0, 0, 2, 17, 4, 1])),
    ):  # fmt: skip
        with pytest.raises(OptionError, match=says):
            policy.start(instance)
    run = simulate(TapFingerEnvironment(instance), LearntReservation(), runs=1)
    with pytest.raises(OptionError, match="trajectories: must be recorded"):
        LearntReservation().after(run)
    preempted = simulate(
        TapFingerEnvironment(generate(tasks=30)), Tiresias(), runs=1, keep_trace=True
    )
    with pytest.raises(OptionError, match="without preemption"):
        LearntReservation().after(preempted)


def with_book(rows: Any) -> LearntReservation:
    return LearntReservation(memory="kept", book=ServiceBook(rows))


# --- the policy -----------------------------------------------------------------------------------


def ran(
    policy: Any, instance: TapFingerInstance, *, blind: bool = False
) -> tuple[list[Any], set[tuple[int, ...]], Any]:
    """Simulate a scenario; return all plans, the bundles that tasks had, and the last state."""
    environment = TapFingerEnvironment(instance, patience=200)
    episode, state = environment.episode(0), policy.start(environment.instance)
    plans, had = [], set()
    while (view := episode.observe()) is not None:
        if blind:
            hidden = np.full(view.running.progress.shape, np.nan)
            view = view._replace(running=view.running._replace(progress=hidden))
        decision, state = policy.decide(state, view, np.random.default_rng(0))
        plans.append((view.slot, view.number, written(decision)))
        outcome = episode.act(decision)
        for n, j in enumerate(outcome.started.tolist()):
            if j >= 0:
                had.add((n, int(view.tasks.kind[j]), *map(int, decision.bundle[n])))
        state = policy.learn(state, view, decision, outcome)
    return plans, had, state


@settings(max_examples=draws(30))
@given(tapfinger_instances(tasks=8, noise=None), st.integers(0, 2**32 - 1))
def test_speeds_of_bundles_that_no_task_had_and_progress_change_nothing(
    instance: TapFingerInstance, seed: int
) -> None:
    plans, had, _ = ran(LearntReservation(), instance)
    other = instance.speed * np.random.default_rng(seed).uniform(0.5, 2.0, instance.speed.shape)
    for n, k, cpu, gpu in had:
        other[n, k, cpu, gpu] = instance.speed[n, k, cpu, gpu]
    changed = instance.replace(speed=other)
    assert ran(LearntReservation(), changed, blind=True)[0] == plans


@settings(max_examples=draws(30))
@given(tapfinger_instances(tasks=8, noise=None), st.integers(0, 2**32 - 1), st.booleans())
def test_whatever_the_book_says_all_tasks_have_bundles_and_complete(
    instance: TapFingerInstance, seed: int, own_classes: bool
) -> None:
    """Also if it knows nothing, or one kind only, or what cannot be."""
    draw = np.random.default_rng(seed)
    if instance.noise == 1.0:
        instance = instance.replace(noise=0.3)
    low, high = instance.minimum[0], np.array(instance.largest) + 1
    rows = [
        [0, 0, *draw.integers(low, high).tolist(), int(draw.integers(1, 40)), times]
        for times in (1, 10**15)[: int(draw.integers(0, 3))]
    ]
    classes = range(instance.clusters) if own_classes else None
    book = ServiceBook(np.array(rows, dtype=np.int64).reshape(-1, 6))
    policy = LearntReservation(memory="kept", book=book, classes=classes)
    environment = TapFingerEnvironment(instance)
    episode, state = environment.episode(0), policy.start(environment.instance)
    holds = (instance.minimum <= instance.capacity[:, None]).all(axis=2)
    while (view := episode.observe()) is not None:
        decision, state = policy.decide(state, view, draw)
        assert state.duration is not None
        assert state.expected is not None
        assert np.isfinite(state.duration).all()
        assert (np.diff(state.expected.first).reshape(holds.shape)[holds] > 0).all()
        assert (state.expected.duration >= 1).all()
        state = policy.learn(state, view, decision, episode.act(decision))
    assert state.book.count == book.count + instance.tasks


@pytest.mark.parametrize("single_start", [False, True])
def test_with_the_exact_table_in_the_book_it_decides_as_one_that_is_told(
    single_start: bool,
) -> None:
    # CPU cores never help here, and each further GPU saves a tenth of the time or nothing.
    instance = generate(tasks=40, rng=3, single_start=single_start, noise=0.0, switching=1.0)
    exact = [
        [0, k, cpu, gpu, int(slots), 10**15]
        for (k, cpu, gpu), slots in np.ndenumerate(instance.duration[0])
        if slots
    ]
    told = simulate(TapFingerEnvironment(instance), ReservationSpt(), runs=1, keep_trace=True)
    learnt = simulate(TapFingerEnvironment(instance), with_book(exact), runs=1, keep_trace=True)
    assert_same(told, learnt)


def assert_same(one: TapFingerTrajectory, other: TapFingerTrajectory) -> None:
    for name in ("cluster", "start", "completion", "used"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert one.held is not None
    assert other.held is not None
    assert all(np.array_equal(*pair) for pair in zip(one.held, other.held, strict=True))


def test_a_book_that_was_saved_and_read_gives_the_same_run(tmp_path: Path) -> None:
    first, then = (TapFingerEnvironment(generate(tasks=40, rng=seed)) for seed in (1, 2))
    kept = LearntReservation().after(
        simulate(first, LearntReservation(), runs=1, keep_trace=True),
        simulate(first, ReservationSpt(), runs=1, keep_trace=True),
    )
    assert kept.book is not None
    assert (kept.memory, kept.book.count) == ("kept", 80)
    assert kept.name == "LearntReservation, memory=kept, book=80 services"
    kept.book.save(tmp_path / "book.csv")
    again = LearntReservation(memory="kept", book=ServiceBook.load(tmp_path / "book.csv"))
    one, other, fresh = (
        simulate(then, policy, runs=1, keep_trace=True)
        for policy in (kept, again, LearntReservation())
    )
    assert_same(one, other)
    assert not np.array_equal(one.completion, fresh.completion)


@settings(max_examples=draws(20))
@given(tapfinger_instances(tasks=8, noise=None))
def test_the_book_at_the_end_of_a_run_is_that_of_its_trajectory(
    instance: TapFingerInstance,
) -> None:
    policy = LearntReservation(classes=range(instance.clusters))
    state = ran(policy, instance)[2]
    environment = TapFingerEnvironment(instance, patience=200)
    episode = environment.episode(0, keep_trace=True)
    states = policy.start(environment.instance)
    while (view := episode.observe()) is not None:
        decision, states = policy.decide(states, view, np.random.default_rng(0))
        states = policy.learn(states, view, decision, episode.act(decision))
    trajectory = environment.trajectory("mine", [episode], seconds=0.0, keep_trace=True)
    assert policy.after(trajectory).book == state.book


def test_services_in_which_another_policy_has_changed_the_bundle_do_not_count() -> None:
    instance = generate(tasks=2, clusters=1)
    policy = LearntReservation()
    rows = {
        0: {"bundle": (2, 3), "start": 1, "attained": 6},
        1: {"bundle": (2, 1), "start": 1, "attained": 5},
    }
    view = seen(instance, [[]], rows, slot=3)
    attained = np.column_stack([[4, 4], view.running.attained[:, 1]])
    view = view._replace(running=view.running._replace(attained=attained))
    outcome = Outcome(np.array([-1]), True, np.array([0, 1]))
    state = policy.learn(policy.start(instance), view, Decision.void(1), outcome)
    assert state.book.services.tolist() == [[0, int(instance.kind[0]), 2, 3, 3, 1]]


def test_clusters_of_other_classes_have_pages_of_their_own() -> None:
    """Cluster 1 is five times as slow, which is no news about cluster 0."""
    slots = np.array([2.0, 10.0])[:, None, None, None]
    instance = from_durations(
        np.broadcast_to(slots, (2, 1, 2, 2)), minimum=[[1, 1]], capacity=[[1, 1], [1, 1]],
        arrival=[0, 0, 12], kind=[0, 0, 0],
    )  # fmt: skip
    apart = ran(LearntReservation(classes=[0, 1]), instance)[2]
    assert apart.book.services.tolist() == [[0, 0, 1, 1, 2, 2], [1, 0, 1, 1, 10, 1]]
    assert apart.duration[0, 0, 1, 1] < 4 < 8 < apart.duration[1, 0, 1, 1]
    both = ran(LearntReservation(), instance)[2]
    assert both.book.services.tolist() == [[0, 0, 1, 1, 2, 2], [0, 0, 1, 1, 10, 1]]


@pytest.mark.parametrize(
    ("single_start", "kept_at_most"), every(2, [(False, 0.03), (True, 0.05)], rows=True)
)
def test_what_it_costs_not_to_be_told(single_start: bool, kept_at_most: float) -> None:
    fresh = LearntReservation()
    before = TapFingerEnvironment(generate(rng=299, single_start=single_start))
    kept = fresh.after(simulate(before, fresh, runs=1, keep_trace=True))
    told, *others = (
        [
            simulate(TapFingerEnvironment(instance), policy, runs=1).mean_flow_time()[0]
            for instance in (generate(rng=300 + i, single_start=single_start) for i in range(5))
        ]
        for policy in (ReservationSpt(), fresh, kept)
    )
    above = [sum(one) / sum(told) - 1 for one in others]
    assert above[0] <= 0.25
    assert above[1] <= kept_at_most
