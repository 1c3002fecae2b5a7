"""What is said of a policy that does not do its part, in all five environments."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from edgeopt.errors import EdgeOptError, PolicyError
from edgeopt.instances import edr, idn, oinc, rescue, tapfinger
from edgeopt.online import simulate
from edgeopt.online.edr import EdrEnvironment, Flows
from edgeopt.online.idn import IdnEnvironment
from edgeopt.online.oinc import Decision, OincEnvironment
from edgeopt.online.rescue import PickConfigs, Placement, RescueEnvironment
from edgeopt.online.tapfinger import Decision as Orders
from edgeopt.online.tapfinger import TapFingerEnvironment

RESCUE = RescueEnvironment(rescue.generate(servers=2, devices=2, profiles=2, horizon=20))
ENVIRONMENTS = {
    "rescue": RESCUE,
    "idn": IdnEnvironment(idn.generate(horizon=3, tasks=2, replicas=1)),
    "oinc": OincEnvironment(oinc.generate(sites=2, devices=3, slots=4, jobs=3)),
    "edr": EdrEnvironment(edr.generate(sites=3, tasks=2, frames=3, slots=2, types=2, clients=3)),
    "tapfinger": TapFingerEnvironment(tapfinger.generate(clusters=2, tasks=4)),
}


def mine(**parts):
    """Return a policy that declines everything, but for the parts that are given."""
    usual = {
        "name": "mine",
        "start": lambda self, instance: 0,
        "decide": lambda self, state, observation, rng: (None, state),
        "learn": lambda self, state, observation, decision, feedback: state,
    }
    return type("Mine", (), {name: part for name, part in (usual | parts).items() if part})()


def told(environment=RESCUE, **parts):
    with pytest.raises(PolicyError) as wrong:
        simulate(environment, mine(**parts), runs=2)
    assert isinstance(wrong.value, EdgeOptError | TypeError)
    assert "\n" not in str(wrong.value)
    return str(wrong.value)


def test_declining_is_fine():
    assert simulate(RESCUE, mine(), runs=2).total.tolist() == [0.0, 0.0]


def test_what_decide_returns_is_a_decision_and_a_state():
    said = told(decide=lambda self, state, observation, rng: None)
    assert said == (
        "Mine.decide, slot 1: returned None; it must return (decision, state): "
        "'return None, state' declines"
    )
    # A decision that is a tuple of two itself is not taken apart.
    said = told(decide=lambda self, state, observation, rng: Placement(0, 1))
    assert said == (
        "Mine.decide, slot 1: returned Placement(server=0, profile=1); "
        "it must return (decision, state)"
    )
    said = told(ENVIRONMENTS["idn"], decide=lambda self, state, observation, rng: None)
    assert said == "Mine.decide, slot 0: returned None; it must return (decision, state)"


def test_a_state_that_is_not_returned_is_asked_of_its_method_at_once():
    def forgets(self, state, observation, decision, feedback):
        pass

    assert told(learn=forgets) == (
        "Mine.learn, slot 1: returned None; it must return the state: "
        "'return state' leaves it as it was"
    )
    # Where `decide` has lost the state, `learn` only hands on what it was given.
    assert told(decide=lambda self, state, observation, rng: (None, None)) == (
        "Mine.decide, slot 1: returned None as its state; it must return (decision, state)"
    )
    # A policy without memory may do with None.
    usual = simulate(RESCUE, mine(start=lambda self, instance: None, learn=forgets), runs=2)
    assert usual.total.tolist() == [0.0, 0.0]


def counting(self, state, observation, rng):
    return None, state + 1


WRONG_STATES = [
    (
        {"learn": lambda self, state, *rest: str(state), "decide": counting},
        "its state is of type str since Mine.learn, slot 1; that of Mine.start is of type int",
    ),
    (
        {"decide": lambda self, state, *rest: (None, [state + 1])},
        "its state is of type list since Mine.decide, slot 1; that of Mine.start is of type int",
    ),
    (
        {"start": lambda self, instance: None, "decide": counting},
        "its state is None, which Mine.start returned",
    ),
]


@pytest.mark.parametrize(("parts", "note"), WRONG_STATES)
def test_an_error_of_decide_says_which_method_its_state_is_from(parts, note):
    with pytest.raises(TypeError) as own:
        simulate(RESCUE, mine(**parts), runs=2)
    assert own.value.__notes__[1] == note


def test_methods_take_what_they_are_called_with():
    assert told(decide=lambda self, state, observation: (None, state)) == (
        "Mine.decide takes (state, observation) but is called with (state, observation, rng)"
    )
    assert told(start=lambda self: 0) == "Mine.start takes () but is called with (instance)"
    assert told(learn=lambda self, state: state) == (
        "Mine.learn takes (state) but is called with (state, observation, decision, feedback)"
    )


@pytest.mark.parametrize("part", ["name", "start", "decide", "learn"])
def test_all_parts_are_there(part):
    said = told(**{part: None})
    assert said.startswith(f"Mine.{part} is missing")
    assert "a policy has name, start, decide, learn, see edgeopt.online.Policy" in said


def test_all_that_is_missing_is_said_at_once_with_what_is_misspelt():
    listed = "a policy has name, start, decide, learn, see edgeopt.online.Policy"
    for near in ("decid", "Decide"):
        assert told(decide=None, **{near: lambda self: 0}) == (
            f"Mine.decide is missing; {listed}; it has {near!r}: did you mean 'decide'?"
        )
    assert told(name=None, learn=None, lern=lambda self: 0) == (
        f"Mine.name and Mine.learn are missing; {listed}; it has 'lern': did you mean 'learn'?"
    )
    assert told(name=3) == f"Mine.name is no text; {listed}"


def test_a_class_is_no_policy():
    with pytest.raises(PolicyError, match=r"policy PickConfigs is a class; pass an object: Pick"):
        simulate(RESCUE, PickConfigs, runs=2)


def test_a_type_error_within_a_policy_is_its_own():
    def learn(self, state, observation, decision, feedback):
        return int(None)

    with pytest.raises(TypeError) as own:
        simulate(RESCUE, mine(learn=learn), runs=2)
    assert not isinstance(own.value, PolicyError)
    assert "in Mine.learn, slot " in own.value.__notes__[0]


IMPOSSIBLE = {
    "rescue": [Placement(9, 0), (0,), "ab", 3, object(), (0.5, 1), (10**5000, 0), np.ones((2, 2))],
    "idn": [None, 3, "a", np.ones((2, 2)), np.ones((2, 2), dtype=bool), [[True], [False, True]]],
    "oinc": [
        None, (1, 2, 3, 4), Decision(None, None, None, None), Decision(None, "a", [[1], [1, 2]], 3),
        Decision(None, 0, np.ones(2), None), Decision(None, None, np.array([0.5, 0.5]), None),
    ],
    "edr": [None, 3, "a", [0, 0], np.ones(2), np.full(2, -1), np.full(2, 10**6), np.ones((2, 2))],
    "tapfinger": [
        None, (1, 2), Orders(None, None), Orders("ab", [[1], [1, 2]]), Orders(np.ones(2), 3),
        Orders(np.array([0, 0]), np.zeros((3, 2), dtype=int)),
        Orders(np.array([10**9, -1]), [[1, 1]] * 2),
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("system", "decision"), [(name, one) for name, all_ in IMPOSSIBLE.items() for one in all_]
)
def test_what_cannot_be_carried_out_is_refused_in_its_step(system, decision):
    said = told(ENVIRONMENTS[system], decide=lambda self, state, seen, rng: (decision, state))
    assert said.startswith("Mine.decide, frame 0: " if system == "edr" else "Mine.decide, slot ")


PLACES = np.zeros((36, 20), dtype=bool)
SAID = [
    ("rescue", Placement(9, 0), "slot 1: Placement(server=9, profile=0): there are 2 servers"),
    ("rescue", Placement(0, -1), "slot 1: Placement(server=0, profile=-1): there are 2 profiles"),
    (
        "rescue", (0,),
        "slot 1: (0,): must be Placement(server, profile), two whole numbers, or None to decline",
    ),
    ("idn", None, "slot 0: None: a decision must be a bool array [node, model]"),
    (
        "idn", PLACES[:2, :2],
        "slot 0: bool[2, 2]: a decision must have shape (36, 20), not (2, 2)",
    ),
    ("oinc", None, "slot 0: None: the decision of a slot must be a Decision"),
    (
        "oinc", Decision(None, 0, np.ones(2), None),
        "slot 0: Decision: site 0 keeps 1.0 of its CPU for jobs: must lie in [0, 1)",
    ),
    ("edr", None, "frame 0: None: the decision of a frame must be rounds, shape (2,)"),
    (
        "edr", np.full(2, -1),
        "frame 0: int64[2]: task 0 cannot train -1 rounds in frame 0: 133 are left",
    ),
    ("tapfinger", 3, "slot 0, round 0: 3: the decision of a round must be a Decision"),
    (
        "tapfinger", Orders(np.array([10**9, -1]), [[1, 1]] * 2),
        "slot 0, round 0: Decision: names task 1000000000 on cluster 0, where it is not pending",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("system", "decision", "text"), SAID)
def test_a_refusal_says_where_what_and_why_once(system, decision, text):
    said = told(ENVIRONMENTS[system], decide=lambda self, state, seen, rng: (decision, state))
    assert said == f"Mine.decide, {text}"


@pytest.mark.parametrize("system", ENVIRONMENTS)
def test_signatures_and_answers_are_checked_at_the_first_call(system):
    environment, calls = ENVIRONMENTS[system], []

    def decide(self, state, observation, rng):
        calls.append(observation)

    when = {"edr": "frame 0", "tapfinger": "slot 0, round 0", "rescue": "slot 1"}
    said = told(environment, decide=decide)
    assert said.startswith(f"Mine.decide, {when.get(system, 'slot 0')}: returned None; it must ")
    assert len(calls) == 1
    assert told(environment, decide=lambda self, state, observation: (None, state)) == (
        "Mine.decide takes (state, observation) but is called with (state, observation, rng)"
    )
    assert told(environment, start=lambda self: 0) == (
        "Mine.start takes () but is called with (instance)"
    )


@pytest.mark.parametrize("system", ENVIRONMENTS)
def test_notes_name_slot_seed_and_policy_in_every_system(system):
    def decide(self, state, observation, rng):
        raise KeyError("mine")

    with pytest.raises(KeyError) as own:
        simulate(ENVIRONMENTS[system], mine(decide=decide), runs=2, rng=5)
    first, second = own.value.__notes__
    when = {"edr": "frame 0", "tapfinger": "slot 0, round 0"}.get(system, "slot 0")
    assert first == f"in Mine.decide, {when}, of the policy 'mine'"
    assert second == "in run 0, of the seed 5"


@pytest.mark.parametrize(
    "flows",
    [
        None, 3, Flows([[0]], [0], [0], [1.0]), Flows([0], [0, 1], [0], [1.0]),
        Flows([0.5], [0], [0], [1.0]), Flows("a", "b", "c", "d"),
        Flows([[0], [0, 1]], [0], [0], [1]),
        Flows([9], [0], [0], [1.0]), Flows([0], [0], [0], [np.nan]), Flows([0], [0], [0], ["x"]),
    ],
)  # fmt: skip
def test_flows_that_cannot_be_are_refused_in_their_slot(flows):
    def decide(self, state, seen, rng):
        return (flows if hasattr(seen, "slot") else np.zeros(2, dtype=np.int64)), state

    assert told(ENVIRONMENTS["edr"], decide=decide).startswith("Mine.decide, frame 0, slot 0: ")


def test_checks_cost_less_than_a_hundredth_of_a_run():
    """Counted in calls: of the loop itself nothing is called beyond what it did without checks."""
    calls = []
    loop = {"simulate", "stacked", "learn", "<dictcomp>", "<listcomp>"}

    def note(frame, event, argument):
        code = frame.f_code
        if event == "call" and code.co_filename.endswith("online/simulate.py"):
            calls.extend({code.co_name} - loop)

    sys.setprofile(note)
    try:
        trajectory = simulate(RESCUE, PickConfigs(), runs=20, compiled=False)
    finally:
        sys.setprofile(None)
    assert trajectory.decisions.sum() > 100
    assert sorted(set(calls)) == ["ask", "require_parts", "run_policy"]
    assert len(calls) == 1 + 1 + 20
