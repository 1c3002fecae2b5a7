"""IDN, OINC, EDR and TapFinger live: what is revealed slot by slot leads to the same decisions."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from edgeopt.errors import OptionError, Refused
from edgeopt.instances import edr, idn, oinc, tapfinger
from edgeopt.instances.rescue import tight
from edgeopt.online.edr import EdrEnvironment
from edgeopt.online.idn import IdnEnvironment
from edgeopt.online.oinc import OincEnvironment
from edgeopt.online.rescue import RescueEnvironment
from edgeopt.online.session import EpisodeDesk, Session, scenario_of
from edgeopt.online.session.log import as_json, read_log
from edgeopt.online.simulate import run_policy
from edgeopt.online.tapfinger import TapFingerEnvironment
from edgeopt.studies.registry import find_system

if TYPE_CHECKING:
    from collections.abc import Callable

IDN = idn.generate(rng=0, horizon=8)
OINC = oinc.generate(slots=10, jobs=2, devices=8, sites=3, rng=2)
EDR = edr.generate(sites=3, tasks=3, frames=6, slots=4, rng=1)
TAPFINGER = tapfinger.generate(tasks=12, rng=1)

TASK = ("arrival", "kind", "eligible", "weight")
JOB = ("arrival", "work", "deadline", "weight")
REQUESTS = ("active", "request_size", "request_work", "slo")


class Noted:
    """A policy that notes what it sees and decides."""

    def __init__(self, policy: Any) -> None:
        self.name, self.policy, self.start = policy.name, policy, policy.start
        self.seen: list[Any] = []
        self.decisions: list[Any] = []

    def decide(self, state: Any, seen: Any, rng: np.random.Generator) -> Any:
        decision, state = self.policy.decide(state, seen, rng)
        self.seen.append(seen)
        self.decisions.append(decision)
        return decision, state

    def learn(self, *given: Any) -> Any:
        return self.policy.learn(*given)


def reveal(session: Session, truth: Any, at: Any, *names: str) -> None:
    rows = {name: np.asarray(getattr(truth, name))[tuple(np.atleast_1d(at))] for name in names}
    session.take({"event": "reveal", "at": at, "fields": rows})


def serve_idn(session: Session, seen: list[Any]) -> None:
    """Requests are known after the allocation."""
    for slot in seen:
        session.take({"event": "decide"})
        reveal(session, IDN, slot.index, "requests")


def serve_oinc(session: Session, seen: list[Any]) -> None:
    for one in seen:
        if one.slot < OINC.slots:
            reveal(session, OINC, one.slot, *REQUESTS)
        for job in np.flatnonzero(OINC.arrival == one.slot).tolist():
            reveal(session, OINC, job, *JOB)
        session.take({"event": "decide"})


def serve_edr(session: Session, seen: list[Any]) -> None:
    """Prices are known after the frame."""
    for one in seen:
        if hasattr(one, "slot"):
            reveal(session, EDR, [one.frame, one.slot], "requests", "slo")
        else:
            reveal(session, EDR, one.frame, "cap", "rate")
            for task in np.flatnonzero(EDR.arrival == one.frame).tolist():
                reveal(session, EDR, task, "rounds", "model_size")
        session.take({"event": "decide"})
        if getattr(one, "slot", None) == EDR.slots - 1:
            reveal(session, EDR, one.frame, "price")


def serve_tapfinger(session: Session, seen: list[Any]) -> None:
    task = 0
    for one in seen:
        while task < TAPFINGER.tasks and TAPFINGER.arrival[task] <= one.slot:
            reveal(session, TAPFINGER, task, *TASK)
            task += 1
        session.take({"event": "decide"})


@dataclass(frozen=True)
class Case:
    """An environment that knows all, one that knows nothing of what comes, and what to reveal."""

    whole: Any
    blank: Any
    serve: Callable[[Session, list[Any]], None]
    policies: tuple[str, ...]


def blank_oinc() -> Any:
    nothing = np.zeros_like(OINC.request_size)
    return OINC.replace(
        active=np.zeros_like(OINC.active), request_size=nothing, request_work=nothing,
        slo=np.full_like(OINC.slo, 0.5), arrival=np.full(OINC.jobs, OINC.slots - 1),
        deadline=np.full(OINC.jobs, 1e6), work=np.ones(OINC.jobs),
    )  # fmt: skip


def blank_edr() -> Any:
    return EDR.replace(
        requests=np.zeros_like(EDR.requests), cap=np.full_like(EDR.cap, 1e6),
        price=np.full_like(EDR.price, EDR.price.max()), rounds=np.ones_like(EDR.rounds),
    )  # fmt: skip


def blank_tapfinger() -> Any:
    nothing = np.zeros_like(TAPFINGER.kind)
    return TAPFINGER.replace(
        arrival=nothing + 10**6, kind=nothing, eligible=np.ones_like(TAPFINGER.eligible)
    )


CASES = {
    "idn": Case(
        IdnEnvironment(IDN),
        IdnEnvironment(IDN.replace(requests=np.zeros_like(IDN.requests))),
        serve_idn,
        ("infida", "infida+common", "sg"),
    ),
    "oinc": Case(
        OincEnvironment(OINC),
        OincEnvironment(blank_oinc()),
        serve_oinc,
        ("oinc", "ekya", "greedy+density"),
    ),
    "edr": Case(
        EdrEnvironment(EDR),
        EdrEnvironment(blank_edr()),
        serve_edr,
        ("saddle_point", "even_rate", "greedy"),
    ),
    "tapfinger": Case(
        TapFingerEnvironment(TAPFINGER),
        TapFingerEnvironment(blank_tapfinger()),
        serve_tapfinger,
        ("reservation", "optimus", "tiresias"),
    ),
}
NAMED = [(system, name) for system, case in CASES.items() for name in case.policies]


def policy_of(system: str, name: str) -> Any:
    entries = {entry.name: entry for entry in find_system(system).policies.entries}
    return entries[name].make(CASES[system].whole.truth, {})


@pytest.mark.parametrize(("system", "name"), NAMED)
def test_what_is_revealed_in_time_leads_to_the_decisions_of_the_simulator(
    system: str, name: str
) -> None:
    case, policy = CASES[system], policy_of(system, name)
    whole = case.whole
    scenario = whole.scenarios(np.random.default_rng(5), 1)[0]
    noted, episode = Noted(policy), whole.episode(scenario)
    run_policy(episode, noted, policy.start(whole.instance), np.random.default_rng(3))

    def desk() -> EpisodeDesk:
        return EpisodeDesk(case.blank, scenario=scenario)

    session = Session(policy, desk(), seed=3)
    case.serve(session, noted.seen)
    rows = read_log(session.log.getvalue())[0]
    decided = [row["decision"] for row in rows if "decision" in row]
    expected = [as_json(session.desk.written(one)) for one in noted.decisions]
    assert json.dumps(decided) == json.dumps(expected)
    assert len(decided) > 5
    with pytest.raises(Refused, match="decide: the horizon is over"):
        session.take({"event": "decide"})
    assert_equal(session.desk._episode, episode, whole, policy.name)
    again = Session.restore(session.log.getvalue(), policy, desk())
    assert again.log.getvalue() == session.log.getvalue()
    assert again.desk.truth.fingerprint() == session.desk.truth.fingerprint()


def assert_equal(mine: Any, other: Any, environment: Any, name: str) -> None:
    """Compare the books of two episodes."""
    one, two = (environment.trajectory(name, [episode], seconds=0.0) for episode in (mine, other))
    assert np.allclose(one.reward, two.reward, rtol=1e-12, atol=0.0)
    assert np.array_equal(one.violations, two.violations)


BAD: dict[str, list[Any]] = {
    "idn": [
        "decide", None, {}, {"event": "task"}, {"event": "decide", "at": 3}, {"event": "reveal"},
        {"event": "reveal", "at": 3, "fields": {}},
        {"event": "reveal", "at": 3, "fields": {"budget": [1]}},
        {"event": "reveal", "at": 3, "fields": {"nothing": [1]}},
        {"event": "reveal", "at": 3, "fields": {"requests": [1]}},
        {"event": "reveal", "at": 3, "fields": {"requests": "NEGATIVE"}},
        {"event": "reveal", "at": 3, "fields": {"requests": "HALVES"}},
        {"event": "reveal", "at": 3, "fields": {"requests": "NONE"}},
        {"event": "reveal", "at": 1, "fields": {"requests": "ROW"}},
        {"event": "reveal", "at": 8, "fields": {"requests": "ROW"}},
        {"event": "reveal", "at": -1, "fields": {"requests": "ROW"}},
        {"event": "reveal", "at": "3", "fields": {"requests": "ROW"}},
        {"event": "reveal", "at": [3, 0], "fields": {"requests": "ROW"}},
        {"event": "reveal", "at": [], "fields": {"requests": "ROW"}},
    ],
    "oinc": [
        {"event": "reveal", "at": 2, "fields": {"active": [0] * 8}},
        {"event": "reveal", "at": 2, "fields": {"slo": [0.1] * 8}},
        {"event": "reveal", "at": 5, "fields": {"slo": [-0.1] * 8}},
        {"event": "reveal", "at": 5, "fields": {"slo": ["inf"] * 8}},
        {"event": "reveal", "at": 5, "fields": {"slo": ["x"] * 8}},
        {"event": "reveal", "at": 1, "fields": {"arrival": 1}},
        {"event": "reveal", "at": 2, "fields": {"arrival": 7}},
        {"event": "reveal", "at": 0, "fields": {"work": [1.0]}},
    ],
    "edr": [
        {"event": "reveal", "at": 0, "fields": {"cap": 3.0}},
        {"event": "reveal", "at": [0, 0], "fields": {"slo": [1.0, 1.0]}},
        {"event": "reveal", "at": 9, "fields": {"cap": 3.0}},
        {"event": "reveal", "at": 3, "fields": {"cap": -3.0}},
    ],
    "tapfinger": [
        {"event": "reveal", "at": 0, "fields": {"arrival": 50}},
        {"event": "reveal", "at": 1, "fields": {"arrival": 0}},
        {"event": "reveal", "at": 1, "fields": {"speed": 0}},
        {"event": "reveal", "at": 99, "fields": {"arrival": 50}},
    ],
}  # fmt: skip


@pytest.mark.parametrize("system", BAD)
def test_bad_events_are_refused_and_change_nothing(system: str) -> None:
    case = CASES[system]
    policy, environment = policy_of(system, case.policies[0]), case.whole
    rows = {"ROW": [1] * IDN.types, "NEGATIVE": [-1] * IDN.types, "HALVES": [0.5] * IDN.types,
            "NONE": [None] * IDN.types}  # fmt: skip
    session, twin = (Session(policy, EpisodeDesk(environment), seed=1) for _ in range(2))
    for one in (session, twin):
        for _ in range(3):
            one.take({"event": "decide"})
    text, truth = session.log.getvalue(), session.desk.truth
    for event in BAD[system]:
        if isinstance(event, dict) and isinstance(event.get("fields"), dict):
            fields = event["fields"]
            given = {k: rows.get(v, v) if isinstance(v, str) else v for k, v in fields.items()}
            event = event | {"fields": given}
        with pytest.raises(Refused):
            session.take(event)
        assert session.log.getvalue() == text
        assert session.desk.truth is truth
    for _ in range(3):
        session.take({"event": "decide"})
        twin.take({"event": "decide"})
        assert session.last["decision"] == twin.last["decision"]


def test_the_head_names_the_environment_and_what_was_known() -> None:
    policy = policy_of("idn", "infida")
    environment = replace(CASES["idn"].blank, order="fluid")
    session = Session(policy, EpisodeDesk(environment))
    assert session.last["desk"] == "EpisodeDesk(IdnEnvironment(order=fluid))"
    assert session.last["instance"] == environment.truth.fingerprint()
    with pytest.raises(OptionError, match="desk"):
        Session.restore(session.log.getvalue(), policy, EpisodeDesk(CASES["idn"].blank))
    with pytest.raises(OptionError, match="a scenario needs a RescueDesk"):
        scenario_of(session.log.getvalue(), tight(0.5))


def test_an_environment_without_a_truth_is_refused() -> None:
    with pytest.raises(OptionError, match="RescueEnvironment has no truth to reveal"):
        EpisodeDesk(RescueEnvironment(tight(0.5)))


class Wrong:
    """It deploys nothing that could be deployed."""

    name = "Wrong"

    def start(self, instance: Any) -> int:
        return 0

    def decide(self, state: int, slot: Any, rng: np.random.Generator) -> Any:
        return np.zeros(3, dtype=bool), state

    def learn(self, state: int, slot: Any, decision: Any, outcome: Any) -> int:
        return state


def test_a_decision_that_cannot_be_carried_out_is_named_when_its_slot_passes() -> None:
    session = Session(Wrong(), EpisodeDesk(CASES["idn"].blank))
    session.take({"event": "decide"})
    with pytest.raises(OptionError, match="decision before cannot be carried out: a decision must"):
        session.take({"event": "decide"})
