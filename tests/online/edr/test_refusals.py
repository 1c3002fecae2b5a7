"""What cannot be carried out is refused, with the reason, and nothing has happened then."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from edgeopt.errors import OptionError
from edgeopt.models.edr.routing import conditions, routing_problem, solve_routing
from edgeopt.online.edr.environment import EdrEnvironment
from edgeopt.online.edr.events import Flows, Frame, Served, Slot
from tests.online.edr.lives import ALL, NOTHING, at_slot, two_sites


def flows(*rows: tuple[int, int, int, float]) -> Flows:
    """Write flows as rows: origin, site, type, amount."""
    origin, site, kind, amount = zip(*rows, strict=True)
    return Flows(np.array(origin), np.array(site), np.array(kind), np.array(amount))


@pytest.mark.parametrize(
    ("rounds", "why"),
    [
        ([1, 1], "task 1 cannot train 1 rounds in frame 0: it is not active"),
        ([5, 0], "task 0 cannot train 5 rounds in frame 0: 4 are left"),
        ([-1, 0], "task 0 cannot train -1 rounds"),
        ([1.0, 0.0], "whole"),
        ([1.5, 0.0], "whole"),
        ([True, False], "whole"),
        ([1], "shape"),
        ([[1, 0]], "shape"),
    ],
)
def test_rounds_that_cannot_be_trained_are_refused(rounds: Any, why: str) -> None:
    episode = EdrEnvironment(two_sites()).episode(0)
    with pytest.raises(OptionError, match=why):
        episode.act(np.array(rounds))
    assert isinstance(episode.observe(), Frame)
    episode.act(np.array([4, 0]))


def test_rounds_beyond_what_is_left_are_refused_in_later_frames_too() -> None:
    episode = at_slot(two_sites(), [3, 0])
    episode.act(NOTHING)
    episode.act(NOTHING)
    with pytest.raises(OptionError, match="task 0 cannot train 2 rounds in frame 1: 1 are left"):
        episode.act(np.array([2, 0]))
    episode.act(np.array([1, 0]))
    episode.act(NOTHING)
    episode.act(NOTHING)
    with pytest.raises(OptionError, match=r"task 0 .* not active"):
        episode.act(np.array([1, 0]))


def test_training_beyond_a_site_is_refused() -> None:
    truth = two_sites(capacity=[1.5, 8.0], requests=np.zeros((3, 2, 2, 2)))
    with pytest.raises(OptionError, match=r"site 0 cannot train 4.0 GFLOP: it does 3.0"):
        EdrEnvironment(truth).episode(0).act(np.array([4, 0]))
    EdrEnvironment(truth).episode(0).act(np.array([3, 0]))


@pytest.mark.parametrize(
    ("decision", "why"),
    [
        (flows((0, 0, 1, 1.0)), "cannot serve the type"),
        (flows((0, 0, 0, -0.1)), "must be a number >= 0"),
        (flows((0, 0, 0, np.nan)), "must be a number >= 0"),
        (flows((0, 0, 0, np.inf)), "must be a number >= 0"),
        (flows((0, 2, 0, 1.0)), "no such site or type"),
        (flows((-1, 0, 0, 1.0)), "no such site or type"),
        (flows((0, 0, 2, 1.0)), "no such site or type"),
        (flows((0, 0, 0, 2.1)), "2.1 requests of type 0 from site 0 are served, 2.0 were asked"),
        (flows((0, 0, 0, 1.0), (0, 1, 0, 1.1)), "requests of type 0 from site 0 are served"),
        (flows((1, 1, 1, 0.1)), "0.1 requests of type 1 from site 1 are served, 0.0 were asked"),
        (flows((0, 0, 0, 2.0), (1, 0, 0, 2.5)), "site 0 cannot serve 4.5 GFLOP: it does 4.0"),
        (Flows(*np.zeros((3, 1)), np.ones(1)), "whole numbers"),  # type: ignore[arg-type]
        (Flows(*np.zeros((3, 2), dtype=int), np.ones(1)), "equal length"),
        (np.array([1, 0]), "RoutingPlan or Flows"),
        (None, "RoutingPlan or Flows"),
    ],
)
def test_flows_that_cannot_be_carried_out_are_refused(decision: Any, why: str) -> None:
    episode = at_slot(two_sites(), [0, 0])
    with pytest.raises(OptionError, match=why):
        episode.act(decision)
    # Nothing has happened.
    seen = episode.observe()
    assert isinstance(seen, Slot)
    assert (seen.slot, seen.spent) == (0, 0.0)
    assert not episode.quality.any()
    assert not episode.flows.any()
    assert isinstance(episode.act(ALL), Served)
    assert episode.flows.tolist() == [[2.0, 1.0], [0.0, 3.0]]


def test_requests_that_would_come_too_late_are_refused() -> None:
    slo = np.full((3, 2, 2), 5.0)
    slo[0, 0] = [2.9, 3.0]
    episode = at_slot(two_sites(slo=slo), [0, 0])
    with pytest.raises(OptionError, match=r"site 1 to site 0: takes longer than the objective"):
        episode.act(flows((1, 0, 0, 1.0)))  # 1 s there, 1 s back, 1 s of work: 3 s
    episode.act(flows((0, 1, 1, 1.0)))  # 3 s are allowed
    episode.act(flows((1, 0, 0, 1.0)))


def test_slow_links_count() -> None:
    truth = two_sites(request_size=[2.5, 0.0])
    with pytest.raises(OptionError, match="takes longer"):
        at_slot(truth, [0, 0]).act(flows((1, 0, 0, 1.0)))  # 2.5 s more on the link: 5.5 s
    at_slot(truth, [0, 0]).act(flows((0, 0, 0, 1.0)))  # no link at home


def test_training_and_requests_share_a_site_over_the_frame() -> None:
    truth = two_sites()  # site 0: 8 GFLOP in the frame
    asked = two_sites(requests=np.broadcast_to([[4.0, 0.0], [0.0, 0.0]], (3, 2, 2, 2)))
    episode = at_slot(asked, [1, 0])
    episode.act(flows((0, 0, 0, 4.0)))
    with pytest.raises(OptionError, match=r"site 0 cannot do 9.0 GFLOP of training and requests"):
        episode.act(flows((0, 0, 0, 4.0)))
    episode.act(flows((0, 0, 0, 3.0)))
    assert truth.requests.shape == asked.requests.shape


def test_a_plan_of_several_slots_is_no_decision() -> None:
    truth = two_sites()
    seen = [conditions(truth, 0, slot) for slot in (0, 1)]
    plan = solve_routing(routing_problem(truth, seen, price=1.0))
    with pytest.raises(OptionError, match="a plan must be of one slot"):
        at_slot(truth, [0, 0]).act(plan)


def test_a_plan_made_for_other_delays_is_refused() -> None:
    truth = two_sites(slo=np.broadcast_to([2.5, 5.0], (3, 2, 2)))
    near = two_sites(propagation=np.zeros((3, 2, 2, 2)))
    plan = solve_routing(routing_problem(near, conditions(near, 0, 0), price=1.0))
    with pytest.raises(OptionError, match="takes longer"):
        at_slot(truth, [0, 0]).act(plan)


def test_nothing_is_asked_when_the_scenario_is_over() -> None:
    episode = EdrEnvironment(two_sites()).episode(0)
    while (seen := episode.observe()) is not None:
        episode.act(np.zeros(2, dtype=int) if isinstance(seen, Frame) else NOTHING)
    with pytest.raises(OptionError, match="over"):
        episode.act(NOTHING)
