"""Greedy, the even rate and what all policies inherit: feasible rounds, the guard, repairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeopt.errors import InputError, OptionError
from edgeopt.online import simulate
from edgeopt.online.edr.environment import EdrEnvironment
from edgeopt.online.edr.events import Frame, Slot
from edgeopt.online.edr.policies.baselines import EvenRate, Greedy
from edgeopt.online.edr.policies.policy import (
    EdrPolicy,
    deadline_guard,
    latest_deadline_first,
    repair_cap,
    repair_work,
)
from tests.edr.scenarios import step_through, table, two_sites

if TYPE_CHECKING:
    from edgeopt.instances.edr import EdrInstance


@dataclass(frozen=True, eq=False, kw_only=True)
class Requesting(EdrPolicy[None]):
    """Request the same in every frame."""

    title: ClassVar[str] = "Requesting"
    rounds: Any = 0.0

    def begin(self, instance: EdrInstance) -> None:
        return None

    def requested_rounds(
        self, memory: None, frame: Frame, cap: float, rng: np.random.Generator
    ) -> tuple[np.ndarray, None]:
        return np.broadcast_to(np.asarray(self.rounds), frame.active.shape), None


# --- the even rate -------------------------------------------------------------------------------


def test_even_rate_rounds_up_early() -> None:
    instance = two_sites(cap=[np.inf] * 3, arrival=[0, 0], deadline=[2, 2], rounds=[7, 4])
    trajectory = simulate(EdrEnvironment(instance), EvenRate(guard=None), runs=1)
    assert trajectory.rounds[0].tolist() == [[3, 2], [2, 1], [2, 1]]


# --- greedy --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("deadline", "rounds", "cap", "expected"),
    [
        ([2, 1], [4, 3], 6.0, [0, 3]),  # task 1 is due first, and its rounds take 2 Wh
        ([1, 1], [4, 3], 6.0, [2, 0]),
        ([1, 2], [3, 9], np.inf, [3, 5]),  # site 1 has room for 8 rounds, site 0 for 4
        ([1, 2], [9, 9], np.inf, [4, 4]),
    ],
)
def test_greedy_requests_by_deadline_then_number(
    deadline: list[int], rounds: list[int], cap: float, expected: list[int]
) -> None:
    instance = two_sites(
        cap=[cap, np.inf, np.inf], arrival=[0, 0], deadline=deadline, rounds=rounds
    )
    policy = Greedy()
    environment = EdrEnvironment(instance)
    frame = environment.episode(0).observe()
    assert isinstance(frame, Frame)
    memory = policy.begin(environment.instance)
    requested_rounds, _ = policy.requested_rounds(
        memory, frame, frame.cap, np.random.default_rng(0)
    )
    assert requested_rounds.tolist() == expected


def test_greedy_that_sheds_stops_at_its_budget() -> None:
    # 4 Wh per slot: two requests at 1 Wh; the next would take 4 Wh and gets half a place.
    instance = two_sites(cap=[8.0] * 3, rounds=[1, 1], step_work=np.zeros((2, 2)))
    for step in step_through(EdrEnvironment(instance), Greedy(elastic="shed")):
        if isinstance(step.seen, Slot):
            flows = table(instance, step.decision)
            assert flows[0, 0, 0] == 2.0
            assert flows[0, 1, 1] == 0.5
            assert flows.sum() == 2.5


def test_greedy_ignores_prices_and_delays() -> None:
    one = two_sites()
    dear = two_sites(price=[9.0, -9.0, 9.0], price_prior=0.0)
    far = two_sites(propagation=np.broadcast_to([[0.0, 1.5], [1.5, 0.0]], (3, 2, 2, 2)))
    runs = [
        simulate(EdrEnvironment(each), Greedy(), runs=1, keep_trace=True)
        for each in (one, dear, far)
    ]
    assert (runs[0].flows == runs[1].flows).all()
    assert (runs[0].flows == runs[2].flows).all()
    assert (runs[0].rounds == runs[1].rounds).all()


# --- what all policies share ---------------------------------------------------------------------


def test_requests_are_rounded_up_and_cut_to_what_is_left() -> None:
    # Of 4 rounds: 1.2 ask for 2, and then again.
    trajectory = simulate(
        EdrEnvironment(two_sites(cap=[np.inf] * 3)), Requesting(rounds=1.2, guard=None), runs=1
    )
    assert trajectory.rounds[0].tolist() == [[2, 0], [2, 2], [0, 1]]
    slightly = Requesting(rounds=1.0 + 1e-12, guard=None)
    trajectory = simulate(EdrEnvironment(two_sites(cap=[np.inf] * 3)), slightly, runs=1)
    assert trajectory.rounds[0].tolist() == [[1, 0], [1, 1], [0, 1]]


def test_the_guard_trains_what_could_not_be_caught_up() -> None:
    free = two_sites(cap=[np.inf] * 3)
    assert simulate(EdrEnvironment(free), Requesting(guard=None), runs=1).rounds.sum() == 0
    # Even rates 2 and 1.5: at their pace 2 and ceil(1.5) rounds can wait for the last frame.
    even = simulate(EdrEnvironment(free), Requesting(guard=1.0), runs=1)
    assert even.rounds[0].tolist() == [[2, 0], [2, 1], [0, 2]]
    # Three times the rate leaves everything to the last frame.
    late = simulate(EdrEnvironment(free), Requesting(guard=3.0), runs=1)
    assert late.rounds[0].tolist() == [[0, 0], [4, 0], [0, 3]]
    assert not late.missing.any()


def test_training_keeps_to_its_share_of_the_sites() -> None:
    # Site 0 does 8 GFLOP in a frame and task 0 takes 1 of them per round.
    free = two_sites(cap=[np.inf] * 3, requests=np.zeros((3, 2, 2, 2)), rounds=[9, 1])
    shares = {
        room: Requesting(rounds=9, training_room=room, guard=None) for room in (0.0, 0.5, 1.0)
    }
    for room, policy in shares.items():
        trajectory = simulate(EdrEnvironment(free), policy, runs=1)
        assert trajectory.rounds[0, 0, 0] == min(9, 8 * room)


def test_a_reserve_is_what_inference_used_last() -> None:
    # A round of task 0 leaves 3.5 GFLOP per slot to site 0, and inference takes 10.5 Wh per slot:
    # 4 Wh of 25 Wh are left in frame 1, for a round of task 0 (3 Wh) but not of task 1 (2 Wh) too.
    capped = two_sites(cap=[np.inf, 25.0, np.inf])
    policies = [Requesting(rounds=1, guard=None, reserve=reserve) for reserve in ("last", None)]
    kept, spent = (simulate(EdrEnvironment(capped), policy, runs=1) for policy in policies)
    assert kept.rounds[0, 1].tolist() == [1, 0]
    assert kept.energy[0, 1] == pytest.approx(24.0)
    assert kept.excess.sum() == 0.0
    assert spent.rounds[0, 1].tolist() == [1, 1]
    assert spent.excess[0] == pytest.approx([0.0, 1.0, 0.0])


@pytest.mark.parametrize("requested_rounds", [-1.0, np.nan, [1.0, -0.5]])
def test_requests_that_are_no_numbers_of_rounds_are_refused(requested_rounds: Any) -> None:
    with pytest.raises(OptionError, match="requested rounds must be numbers >= 0"):
        simulate(EdrEnvironment(two_sites()), Requesting(rounds=requested_rounds), runs=1)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"elastic": "hard"}, "elastic = 'hard': must be one of"),
        ({"reserve": "first"}, "reserve = 'first'"),
        ({"guard": 0.0}, "guard = 0.0: must be positive"),
        ({"guard": np.nan}, "guard = nan: must be positive"),
        ({"training_room": 1.1}, "training_room = 1.1"),
        ({"training_room": np.nan}, "training_room = nan"),
    ],
)
def test_unknown_options_are_named(options: dict[str, Any], why: str) -> None:
    for policy in (Greedy, EvenRate):
        with pytest.raises(OptionError, match=why):
            policy(**options)


def test_names_tell_options_that_are_not_default() -> None:
    assert EvenRate().name == "Even rate"
    assert Greedy(reserve=None, guard=2.0).name == "Greedy, reserve=None, guard=2.0"


whole = st.integers(0, 6)


@st.composite
def requested_by(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rounds, weights in tenths on two sites, and deadlines of up to five tasks."""
    tasks = draw(st.integers(1, 5))

    def column() -> list[int]:
        return draw(st.lists(whole, min_size=tasks, max_size=tasks))

    weight = np.array([column(), column()]).T / 10.0
    return np.array(column()), weight, np.array(column())


def test_later_deadlines_give_way_first_and_of_equal_ones_the_later_task() -> None:
    assert latest_deadline_first(np.array([3, 7, 3, 9])).tolist() == [3, 1, 2, 0]


def test_rounds_are_dropped_in_order_until_the_cap_holds() -> None:
    rounds, energy = np.array([5, 5, 5]), np.array([1.0, 2.0, 3.0])
    order = np.array([2, 1, 0])
    kept = [repair_cap(rounds, energy, order, cap).tolist() for cap in (30.0, 29.0, 12.5, 0.0)]
    assert kept == [[5, 5, 5], [5, 5, 4], [5, 3, 0], [0, 0, 0]]
    assert rounds.tolist() == [5, 5, 5]
    assert repair_cap(rounds, energy, order, -4.0).tolist() == [0, 0, 0]
    assert repair_cap(rounds, energy, order, np.inf).tolist() == [5, 5, 5]


@given(requested_by(), st.lists(st.integers(0, 60), min_size=2, max_size=2))
def test_every_site_is_kept_within_its_room(
    requested_rounds: tuple[np.ndarray, np.ndarray, np.ndarray], tenths: list[int]
) -> None:
    rounds, work, deadline = requested_rounds
    order = latest_deadline_first(deadline)
    kept = repair_work(rounds, work, order, np.array(tenths) / 10)
    assert (kept >= 0).all()
    assert (kept <= rounds).all()
    load = kept @ np.rint(10 * work).astype(int)
    assert (load <= tenths).all()
    # A site that was within its room costs nobody anything; with one over, it binds.
    before = rounds @ np.rint(10 * work).astype(int)
    if (before <= tenths).all():
        assert (kept == rounds).all()
    if (before > tenths).sum() == 1:
        [site] = np.flatnonzero(before > tenths)
        assert kept.tolist() == repair_cap(rounds, work[:, site], order, tenths[site] / 10).tolist()


def test_guard_requires_nothing_of_a_task_whose_window_is_over() -> None:
    least = deadline_guard(np.array([0, 0]), np.array([2.0, 2.0]), np.array([-3, 0]), 1.0)
    assert least.tolist() == [0, 0]


def test_guard_needs_a_positive_multiple() -> None:
    with pytest.raises(InputError, match="multiple = 0"):
        deadline_guard(np.array([1]), np.array([1.0]), np.array([1]), 0.0)
