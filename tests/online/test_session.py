"""A session decides as the simulator does, and its log, cut anywhere, restores it."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import edgeopt
from edgeopt.errors import EdgeOptError, OptionError, PolicyError, Refused
from edgeopt.instances.rescue import RescueInstance, ReservedTasks, generate
from edgeopt.online.rescue import (
    CompetingOffers,
    Placement,
    RandomPolicy,
    Rescue,
    RescueEnvironment,
    SafeRescue,
    Srs,
)
from edgeopt.online.session import (
    RescueDesk,
    Session,
    durations_seen,
    rolled,
    scenario_of,
)
from edgeopt.online.session.log import read_log, written
from edgeopt.online.session.rolling_horizon import planned
from edgeopt.online.simulate import run_policy
from tests.draws import LEAN, draws

if TYPE_CHECKING:
    from pathlib import Path

INSTANCE = generate(horizon=60, rng=7)
SMALL = generate(horizon=12, rng=3)


@dataclass(frozen=True)
class Counting:
    """Its decisions depend on what it has learnt, and on coins of its own."""

    name: str = "Counting"

    def start(self, instance: RescueInstance) -> tuple[int, float]:
        return instance.profiles, 0.0

    def decide(self, state: Any, arrival: Any, rng: np.random.Generator) -> Any:
        profiles, earned = state
        if not arrival.idle.any() or rng.random() > 0.5 + 0.5 / (1.0 + earned):
            return None, state
        return Placement(int(arrival.idle.argmax()), int(rng.integers(profiles))), state

    def learn(self, state: Any, arrival: Any, decision: Any, finished: Any) -> Any:
        return state[0], state[1] + sum(run.profit * run.duration for run in finished)


POLICIES = [
    Counting(),
    Srs(guarded=True),
    RandomPolicy(guarded=True),
    Rescue(guarded=True),
    SafeRescue(),
    CompetingOffers(),
]


def rows_of(session: Session) -> list[dict[str, Any]]:
    return read_log(session.log.getvalue())[0]


def untimed(text: str) -> list[dict[str, Any]]:
    return [{k: v for k, v in row.items() if k != "ms"} for row in read_log(text)[0]]


class Watched:
    """Hands the events of a simulated run to a session before the simulated policy decides."""

    def __init__(self, policy: Any, session: Session) -> None:
        self.name, self.policy, self.session, self.finished = policy.name, policy, session, ()
        self.start, self.answers = policy.start, 0

    def decide(self, state: Any, arrival: Any, rng: np.random.Generator) -> Any:
        for run in self.finished:
            slot = run.slot + run.duration
            self.session.take(
                {"event": "finished", "slot": slot, "server": run.server, "profit": run.profit}
            )
        decision, state = self.policy.decide(state, arrival, rng)
        event = {"event": "task", "slot": arrival.slot, "device": arrival.device}
        assert self.session.take(event | {"coin": arrival.coin}) == decision
        assert np.array_equal(self.session.desk.remaining, arrival.remaining)
        self.answers += 1
        return decision, state

    def learn(self, state: Any, arrival: Any, decision: Any, finished: Any) -> Any:
        self.finished = finished
        return self.policy.learn(state, arrival, decision, finished)


def simulated(policy: Any, instance: RescueInstance, seed: int) -> tuple[Session, Any]:
    """Return a session that was told of a simulated run, and the episode of that."""
    environment = RescueEnvironment(instance)
    scenario = environment.scenarios(np.random.default_rng(seed), 1)[0]
    episode = environment.episode(scenario)
    watched = Watched(policy, Session(policy, RescueDesk(instance), seed=seed))
    run_policy(episode, watched, policy.start(instance), np.random.default_rng(seed))
    assert watched.answers > 5
    return watched.session, episode


def ended(session: Session, episode: Any) -> None:
    """Tell a session of the runs that have not ended by the last arrival."""
    runs = [*episode._finished, *episode._running.values()]
    for run in sorted(runs, key=lambda run: run.slot + run.duration):
        slot = run.slot + run.duration
        session.take({"event": "finished", "slot": slot, "server": run.server})


def independent() -> RescueInstance:
    return generate(horizon=30, devices=3, rng=2).replace(arrivals="independent")


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)
@pytest.mark.parametrize("instance", [INSTANCE, independent()], ids=["exclusive", "independent"])
def test_a_session_decides_as_the_simulator_does(policy: Any, instance: RescueInstance) -> None:
    for seed in range(draws(20)):
        session, episode = simulated(policy, instance, seed)
        again = Session.restore(session.log.getvalue(), policy, RescueDesk(instance))
        assert again.log.getvalue() == session.log.getvalue()
        # A profit that is not reported is what the instance says.
        ended(session, episode)
        assert session.desk.earned == pytest.approx(episode.log.reward.sum(), rel=1e-12)


@pytest.mark.parametrize("policy", POLICIES[1:], ids=lambda policy: policy.name)
def test_a_session_knows_the_outages_of_its_instance(policy: Any) -> None:
    instance = INSTANCE.down(0, 0, 3).down(1, 30, 40).down(1, 41, 41)
    session, episode = simulated(policy, instance, 1)
    again = Session.restore(session.log.getvalue(), policy, RescueDesk(instance))
    assert again.log.getvalue() == session.log.getvalue()
    assert session.desk.failed == episode.log.violations.sum() == 0


# --- plans ----------------------------------------------------------------------------------


def rolling(instance: RescueInstance = INSTANCE) -> RescueDesk:
    return RescueDesk(instance, every=20, forecast=rolled)


def live(policy: Any, desk: RescueDesk, slots: int, seed: int, log: Any = None) -> Session:
    """Return a session in which all kinds of things have happened, in many orders."""
    session = Session(policy, desk, seed=seed, log=log)
    rng = np.random.default_rng(seed)
    for slot in range(slots):
        for server in list(desk.running):
            if desk.running[server][0] < slot and rng.random() < 0.2:
                profit = {"profit": 1.0} if rng.random() < 0.5 else {}
                session.take({"event": "finished", "slot": slot, "server": server} | profit)
        for server in range(desk.opened.servers):
            if rng.random() < 0.02:
                kind = "up" if server in desk.down else "down"
                session.take({"event": kind, "slot": slot, "server": server})
        if rng.random() < 0.7 and (slot < desk.opened.horizon or desk.forecast is rolled):
            device = int(rng.integers(desk.opened.devices))
            session.take({"event": "task", "slot": slot, "device": device})
    return session


def state_of(session: Session) -> Any:
    desk = session.desk
    names = ("slot", "shift", "running", "down", "failed", "given_up", "earned", "surprises")
    found = {name: getattr(desk, name) for name in names}
    return found | {"windows": desk.windows, "remaining": desk.remaining.tolist()}


@pytest.mark.parametrize(
    "policy",
    # Offers plan as seldom as RESCUE by state, and take half of the time of all.
    [*POLICIES[:-1], pytest.param(POLICIES[-1], marks=pytest.mark.long)],
    ids=lambda policy: policy.name,
)
def test_sessions_outlive_the_horizon_and_are_restored(policy: Any) -> None:
    for seed in range(1 if LEAN else 3):
        session = live(policy, rolling(), 85, seed)
        text = session.log.getvalue()
        assert session.desk.surprises > 0
        restored = [Session.restore(text, policy, rolling(), full=full) for full in (True, False)]
        for other in restored:
            assert other.log.getvalue() == text
            assert state_of(other) == state_of(session)
            assert other.last == session.last
        for ahead in range(1, 10 if LEAN else 30):
            slot, device = session.desk.slot + ahead % 3, ahead % INSTANCE.devices
            event = {"event": "task", "slot": slot, "device": device}
            decision = session.take(event)
            assert all(other.take(event) == decision for other in restored)
        assert len({tuple(json.dumps(row) for row in untimed(other.log.getvalue()))
                    for other in (session, *restored)}) == 1  # fmt: skip


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)
def test_what_cannot_happen_is_planned_anew_within_the_horizon(policy: Any) -> None:
    for seed in range(3):
        session = live(policy, RescueDesk(SMALL), 20, seed)
        assert state_of(
            Session.restore(session.log.getvalue(), policy, RescueDesk(SMALL), full=False)
        ) == state_of(session)


def test_a_session_may_stay_silent_for_a_whole_horizon() -> None:
    for forecast in (None, 5):
        desk = RescueDesk(SMALL, every=forecast, forecast=rolled)
        session = Session(SafeRescue(), desk)
        for slot in (3, 15, 26, 27, 39):
            session.take({"event": "task", "slot": slot, "device": 0})
        assert desk.slot - desk.shift < SMALL.horizon


def test_a_horizon_rolled_by_its_length_is_itself() -> None:
    desk = RescueDesk(SMALL, forecast=rolled)
    desk._pass(SMALL.horizon - 1)
    assert len(rolled(desk).reserved) >= np.count_nonzero(SMALL.reserved.end == SMALL.horizon - 1)
    desk = RescueDesk(SMALL, every=SMALL.horizon, forecast=rolled)
    for lap in (1, 2):
        desk._pass(lap * SMALL.horizon)
        assert desk.instance.fingerprint() == SMALL.fingerprint()
    assert desk.failed == desk.given_up == 0


@pytest.mark.parametrize("every", [None, 1, 5, 7, 12])
def test_every_reserved_task_is_served_once_a_round(every: int | None) -> None:
    """Whenever plans are made, idle servers do all of its work and no more."""
    desk, done = RescueDesk(SMALL, every=every, forecast=rolled), dict[Any, float]()

    def left() -> dict[tuple[int, int], float]:
        tasks = [window.task for window in desk.windows]
        return dict(zip(tasks, desk.remaining.tolist(), strict=True))

    rounds = 4
    for slot in range(1, rounds * SMALL.horizon + 1):
        before = left()
        desk._pass(slot)
        now = left()
        for task, work in before.items():
            done[task] = done.get(task, 0.0) + work - now.get(task, 0.0)
    assert desk.failed == desk.given_up == 0
    for task, work in enumerate(SMALL.reserved.demand.tolist()):
        for number in range(rounds):
            assert done[task, number] == pytest.approx(work, rel=1e-8)


def test_what_cannot_be_met_any_more_is_given_up_and_counted() -> None:
    reserved = ReservedTasks([0, 0, 0], [0, 0, 5], [4, 4, 9], [2.0, 1.0, 5.0])
    one = SMALL.servers
    instance = SMALL.replace(
        reserved=reserved, capacity=np.ones((one, SMALL.horizon)), profit=np.ones((1,) * 5)
    )
    desk = RescueDesk(instance)
    session = Session(RandomPolicy(guarded=True), desk)
    session.take({"event": "down", "slot": 0, "server": 0})
    session.take({"event": "up", "slot": 3, "server": 0})
    # Two slots are left for three units: the larger task goes, the other two are met.
    assert (desk.given_up, desk.failed) == (1, 0)
    assert [window.task for window in desk.windows] == [(1, 0), (2, 0)]
    desk._pass(instance.horizon)
    assert (desk.given_up, desk.failed) == (1, 0)


@pytest.mark.parametrize("slot", [3, 4])
def test_a_plan_in_the_last_slot_of_a_window_still_serves_it(slot: int) -> None:
    reserved = ReservedTasks([0], [0], [4], [5.0])
    one = np.ones((SMALL.servers, SMALL.horizon))
    instance = SMALL.replace(reserved=reserved, capacity=one, profit=np.ones((1,) * 5))
    desk = RescueDesk(instance)
    session = Session(RandomPolicy(guarded=True), desk)
    session.take({"event": "down", "slot": slot, "server": 1})
    assert desk.remaining.tolist() == [5.0 - slot]
    desk._pass(instance.horizon)
    assert (desk.given_up, desk.failed) == (0, 0)


def test_slots_and_profits_of_a_plan_are_those_of_their_time() -> None:
    rng = np.random.default_rng(0)
    table = rng.random(SMALL.shape)
    for instance in (SMALL, SMALL.replace(profit=table)):
        desk = RescueDesk(instance)
        desk._pass(5)
        left = planned(desk, np.arange(5, SMALL.horizon))
        assert left.horizon == SMALL.horizon - 5
        assert np.array_equal(left.arrival, instance.arrival[5:])
        assert np.array_equal(left.capacity, instance.capacity[:, 5:])
        later = instance.profit_block(slice(5, SMALL.horizon))
        assert np.allclose(left.profit_block(slice(0, left.horizon)), later, rtol=1e-12)


def test_a_forecast_of_another_shape_is_refused() -> None:
    other = generate(horizon=12, devices=SMALL.devices + 1, rng=3)
    for forecast in (
        lambda desk: other,
        lambda desk: replace(SMALL, reserved=ReservedTasks.none()),
    ):
        session = Session(Srs(), RescueDesk(SMALL, forecast=forecast))
        with pytest.raises(EdgeOptError):
            session.take({"event": "down", "slot": 1, "server": 0})


# --- events that do not fit -----------------------------------------------------------------

BAD = [
    "task", "3", '{"event":', b"{}", 3, None, [], {},
    {"event": "reboot", "slot": 9},
    {"event": ["task"], "slot": 9, "device": 0},
    {"event": "task", "slot": 9},
    {"event": "task", "device": 0},
    {"event": "task", "slot": 9, "device": 99},
    {"event": "task", "slot": 9, "device": -1},
    {"event": "task", "slot": 9, "device": 1.0},
    {"event": "task", "slot": 9, "device": True},
    {"event": "task", "slot": 9, "device": "0"},
    {"event": "task", "slot": 7, "device": 0},
    {"event": "task", "slot": 9.5, "device": 0},
    {"event": "task", "slot": 10**9, "device": 0},
    {"event": "task", "slot": 60, "device": 0},
    {"event": "task", "slot": 9, "device": 0, "coin": 1.0},
    {"event": "task", "slot": 9, "device": 0, "coin": float("nan")},
    {"event": "task", "slot": 9, "devise": 0, "device": 1},
    {"event": "task", "slot": 9, "device": 0, "why": object()},
    {"event": "finished", "slot": 9, "server": 99},
    {"event": "finished", "slot": 9, "server": "IDLE"},
    {"event": "finished", "slot": 8, "server": "BUSY"},
    {"event": "finished", "slot": 9, "server": "BUSY", "profit": "much"},
    {"event": "finished", "slot": 9, "server": "BUSY", "profit": float("inf")},
    {"event": "finished", "slot": 9, "server": "BUSY", "profti": 1.0},
    {"event": "up", "slot": 9, "server": "IDLE"},
    {"event": "down", "slot": 9, "server": "DOWN"},
]  # fmt: skip


def test_bad_events_are_refused_and_change_nothing() -> None:
    policy = Counting()

    def opened() -> tuple[Session, dict[str, int]]:
        session = Session(policy, RescueDesk(INSTANCE), seed=4)
        session.take({"event": "down", "slot": 8, "server": 1})
        while not session.desk.running:
            session.take({"event": "task", "slot": 8, "device": 0})
        busy = next(iter(session.desk.running))
        idle = next(k for k in range(INSTANCE.servers) if k not in (1, busy))
        return session, {"BUSY": busy, "IDLE": idle, "DOWN": 1}

    (session, named), (twin, _) = opened(), opened()
    for bad in BAD:
        event = bad
        if isinstance(bad, dict):
            event = {k: named.get(v, v) if isinstance(v, str) else v for k, v in bad.items()}
        before, text = state_of(session), session.log.getvalue()
        with pytest.raises(Refused):
            session.take(event)
        assert state_of(session) == before
        assert session.log.getvalue() == text
    for slot in range(9, 40):
        event = {"event": "task", "slot": slot, "device": slot % 3}
        assert session.take(event) == twin.take(event)
    assert untimed(session.log.getvalue()) == untimed(twin.log.getvalue())


@pytest.mark.parametrize(
    ("event", "says"),
    [
        ({"event": "tsk", "slot": 0}, "event = 'tsk': must be task, finished, down, up"),
        ({"event": "task", "slot": 0}, "task: device is missing"),
        (
            {"event": "finished", "slot": 1, "server": 0, "profti": 2},
            "finished: has no 'profti'; did you mean 'profit'?",
        ),
        ({"event": "task", "slot": 0, "device": 99}, "device = 99: must be 0 to"),
        ({"event": "finished", "slot": 0, "server": 0}, "server 0 runs nothing"),
        ({"event": "up", "slot": 0, "server": 0}, "server 0 is not down"),
        ({"event": "task", "slot": 99, "device": 0}, "slot = 99: must be at most 59"),
        ([], "an event is a JSON object, no list"),
        ('{"event": "task", "dev', "an event is a JSON object: Unterminated string"),
    ],
)
def test_refusals_say_what_is_wrong(event: Any, says: str) -> None:
    with pytest.raises(Refused, match=says.replace("?", r"\?")):
        Session(Srs(), RescueDesk(INSTANCE)).take(event)


def test_a_desk_serves_one_session() -> None:
    desk = RescueDesk(SMALL)
    session = Session(Srs(), desk)
    for begin in (Session, lambda *given: Session.restore(session.log.getvalue(), *given)):
        with pytest.raises(OptionError, match="desk: it has the books of another session"):
            begin(Srs(), desk)


class Stubborn(Counting):
    """It takes server 0 whatever runs there."""

    def decide(self, state: Any, arrival: Any, rng: np.random.Generator) -> Any:
        return Placement(0, 0), state


def test_a_decision_that_cannot_be_carried_out_ends_the_session() -> None:
    session = Session(Stubborn(), RescueDesk(INSTANCE))
    session.take({"event": "task", "slot": 1, "device": 0})
    text = session.log.getvalue()
    with pytest.raises(PolicyError, match=r"Stubborn.decide, slot 2: .*server.*0.* is busy"):
        session.take({"event": "task", "slot": 2, "device": 0})
    assert session.log.getvalue() == text
    with pytest.raises(OptionError, match="the session has ended: PolicyError in event 2"):
        session.take({"event": "finished", "slot": 3, "server": 0})
    again = Session.restore(text, Stubborn(), RescueDesk(INSTANCE))
    again.take({"event": "finished", "slot": 3, "server": 0})
    assert again.desk.running == {}


class Torn(Counting):
    """Its answer lacks the state."""

    def decide(self, state: Any, arrival: Any, rng: np.random.Generator) -> Any:
        return Placement(0, 0), state, 3


class Forgetful(Counting):
    """It loses its state."""

    def learn(self, state: Any, arrival: Any, decision: Any, finished: Any) -> None:
        return None


@pytest.mark.parametrize(
    ("policy", "says"),
    [
        (Torn(), r"Torn.decide, slot 1: returned"),
        (Forgetful(), "Forgetful.learn, slot 1: returned"),
    ],
)
def test_errors_of_a_policy_say_where_they_came_up(policy: Any, says: str) -> None:
    session = Session(policy, RescueDesk(INSTANCE))

    def take() -> None:
        for slot in (1, 2):
            session.take({"event": "task", "slot": slot, "device": 0})

    with pytest.raises(PolicyError, match=says):
        take()


# --- the log ----------------------------------------------------------------------------------


def short(path: Path | None = None) -> Session:
    """Return a session of few lines, with a plan by time, one by surprise and all events."""
    desk = RescueDesk(SMALL, every=5, forecast=rolled)
    if path is None:
        session = Session(Counting(), desk, seed=2)
    else:
        session = Session.open(path, Counting(), desk, seed=2)
    for event in EVENTS:
        session.take(event)
    return session


EVENTS = [
    {"event": "task", "slot": 1, "device": 0},
    {"event": "task", "slot": 2, "device": 1},
    {"event": "finished", "slot": 6, "server": 0, "profit": 0.5},
    {"event": "down", "slot": 6, "server": 1},
    {"event": "task", "slot": 11, "device": 1},
    {"event": "up", "slot": 11, "server": 1},
    {"event": "task", "slot": 12, "device": 0, "coin": 0.25},
]


def small_desk() -> RescueDesk:
    return RescueDesk(SMALL, every=5, forecast=rolled)


def test_the_log_says_what_happened() -> None:
    rows = rows_of(short())
    assert rows[0] == {
        "format": 1,
        "edgeopt": edgeopt.__version__,
        "instance": SMALL.fingerprint(),
        "policy": "Counting",
        "seed": 2,
        "desk": "RescueDesk(every=5, forecast=rolled)",
    }
    assert [row["n"] for row in rows[1:]] == [*range(1, len(rows))]
    assert [row["event"] for row in rows if "event" in row] == EVENTS
    decided = [row for row in rows if "decision" in row]
    assert [row["event"]["event"] for row in decided] == ["task"] * 4
    assert all(row["ms"] >= 0 for row in decided)
    assert decided[0]["decision"] is None or set(decided[0]["decision"]) == {"server", "profile"}
    plans = [n for n, row in enumerate(rows) if "checkpoint" in row]
    assert len(plans) == 5  # at 5, for the failure, at 10, for the return, at 12
    for n in plans:
        assert "event" in rows[n - 1]


def test_of_a_log_cut_at_any_byte_the_whole_lines_are_read() -> None:
    text = short().log.getvalue()
    rows = read_log(text)[0]
    ends = [n for n, sign in enumerate(text) if sign == "\n"]
    for cut in range(ends[0], len(text) + 1):
        # A line is whole from its last brace on, with or without the end of the line.
        assert read_log(text[:cut])[0] == rows[: sum(end <= cut for end in ends)]
    for cut in range(ends[0]):
        with pytest.raises(OptionError, match="begin a new session"):
            read_log(text[:cut])


def test_a_kill_loses_no_event_that_was_answered(tmp_path: Path) -> None:
    """Cut the file at every line and within: what has a line stays, the rest is taken again."""
    path = tmp_path / "session.jsonl"
    short(path).log.close()
    text = path.read_text()
    whole = untimed(text)
    ends = [n for n, sign in enumerate(text) if sign == "\n"]
    cuts = {0, 1, ends[0] // 2}
    cuts |= {
        min(end + by, len(text)) for end in ends for by in (-1, 0, 1, 2, 40)[: 3 if LEAN else 5]
    }
    for cut in sorted(cuts):
        events = sum("event" in row for row, end in zip(whole, ends, strict=True) if end <= cut)
        for full in (True, False):
            path.write_text(text[:cut])
            session = Session.open(path, Counting(), small_desk(), seed=2, full=full)
            kept = untimed(path.read_text())
            assert sum("event" in row for row in kept) == events
            assert kept == whole[: len(kept)]
            for event in EVENTS[events:]:
                session.take(event)
            session.log.close()
            assert untimed(path.read_text()) == whole


def test_a_checkpoint_that_was_not_written_is_made_again() -> None:
    lines = short().log.getvalue().splitlines()
    rows = untimed("\n".join(lines))
    for n in [n for n, row in enumerate(rows) if "checkpoint" in row]:
        for full in (True, False):
            more = io.StringIO()
            session = Session.restore(lines[:n], Counting(), small_desk(), full=full, log=more)
            assert untimed("\n".join([*lines[:n], more.getvalue()]))[: n + 1] == rows[: n + 1]
            assert session.log is more


def test_every_changed_line_is_refused() -> None:
    lines = short().log.getvalue().splitlines()

    def refused(changed: list[str]) -> None:
        for full in (True, False):
            with pytest.raises(OptionError, match="log"):
                Session.restore(changed, Counting(), small_desk(), full=full)

    for n, line in enumerate(lines):
        digit = next(i for i in range(len(line) - 30, 0, -1) if line[i].isdigit())
        other = line[:digit] + str((int(line[digit]) + 1) % 10) + line[digit + 1 :]
        refused([*lines[:n], other, *lines[n + 1 :]])
        refused([*lines[:n], line.replace(":", ": ", 1), *lines[n + 1 :]])
        refused([*lines[:n], "", *lines[n:]])
        refused([*lines[:n], line[:-30], *lines[n + 1 :], "{}"])
        if n < len(lines) - 1:
            refused([*lines[:n], *lines[n + 1 :]])
            refused([*lines[:n], lines[n + 1], line, *lines[n + 2 :]])
    refused([])


def forged(rows: list[dict[str, Any]]) -> list[str]:
    """Return a log whose digests are right whatever its rows say."""
    lines, digest = [], ""
    for row in rows:
        line, digest = written(row, digest)
        lines.append(line)
    return lines


def test_a_log_of_something_else_is_refused() -> None:
    session = short()
    rows = rows_of(session)
    assert forged(rows) == session.log.getvalue().splitlines()
    for name, value in [("format", 2), ("edgeopt", "0.0"), ("instance", "x"), ("seed", "1")]:
        head = rows[0] | {name: value}
        with pytest.raises(OptionError, match=name):
            Session.restore(forged([head, *rows[1:]]), Counting(), small_desk())
    lines = session.log.getvalue()
    with pytest.raises(OptionError, match="log: its policy is 'Counting'; here it is 'SRS'"):
        Session.restore(lines, Srs(), small_desk())
    with pytest.raises(OptionError, match="instance"):
        Session.restore(lines, Counting(), RescueDesk(INSTANCE, every=5, forecast=rolled))
    with pytest.raises(OptionError, match="desk"):
        Session.restore(lines, Counting(), RescueDesk(SMALL, every=6, forecast=rolled))


def test_another_decision_or_plan_than_the_logged_one_is_refused() -> None:
    rows = rows_of(short())
    for n, row in enumerate(rows[1:], 1):
        changes: list[dict[str, Any]] = []
        if "decision" in row:
            changes = [row | {"decision": {"server": 9, "profile": 0}}]
        elif "checkpoint" in row:
            changes = [row | {"checkpoint": row["checkpoint"] | {"earned": 17.0}}]
        elif row["event"]["event"] == "down":
            changes = [row | {"event": row["event"] | {"slot": -1}}, row | {"event": None}]
        for change in changes:
            with pytest.raises(OptionError, match=f"log, line {n + 1}: "):
                Session.restore(
                    forged([*rows[:n], change, *rows[n + 1 :]]), Counting(), small_desk()
                )


def test_files_that_are_no_logs_are_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    for text in ("my notes", "my\nnotes\n"):
        path.write_text(text)
        with pytest.raises(OptionError):
            Session.open(path, Counting(), small_desk())
        assert path.read_text() == text


def test_a_log_that_cannot_be_written_ends_the_session() -> None:
    class Full(io.StringIO):
        def flush(self) -> None:
            if self.getvalue().count("\n") > 2:
                raise OSError("no space left")

    session = Session(Counting(), small_desk(), log=Full())
    session.take(EVENTS[0])
    with pytest.raises(OSError, match="no space left"):
        session.take(EVENTS[1])
    with pytest.raises(OptionError, match="its log could not be written"):
        session.take(EVENTS[1])


# --- a log is a scenario ------------------------------------------------------------------------


@pytest.mark.parametrize("instance", [INSTANCE, independent()], ids=["exclusive", "independent"])
def test_a_log_replays_to_the_profit_that_it_says(instance: RescueInstance) -> None:
    environment, whole = RescueEnvironment(instance), 0
    for seed in range(8):
        policy = RandomPolicy(guarded=True)
        session, episode = simulated(policy, instance, seed)
        ended(session, episode)
        seen, begun = durations_seen(session.log.getvalue())
        assert begun == episode.log.accepted.sum()
        again = environment.episode(scenario_of(session.log.getvalue(), instance, rng=seed))
        run_policy(again, policy, policy.start(instance), np.random.default_rng(0))
        assert np.array_equal(again.log.decisions, episode.log.decisions)
        if seen == begun:
            whole += 1
            assert again.log.reward.sum() == pytest.approx(episode.log.reward.sum(), rel=1e-12)
    assert whole >= 2


def test_drawn_coins_are_those_of_the_log() -> None:
    policy = RandomPolicy(guarded=True)
    session = Session(policy, RescueDesk(INSTANCE), seed=5)
    arrivals = [(2, 0), (4, 1), (9, 2), (11, 0), (20, 1)]
    answers = [session.take({"event": "task", "slot": slot, "device": j}) for slot, j in arrivals]
    scenario = scenario_of(session.log.getvalue().splitlines(), INSTANCE)
    episode = RescueEnvironment(INSTANCE).episode(scenario)
    first = episode.observe()
    assert first is not None
    state = policy.start(INSTANCE)
    assert policy.decide(state, first)[0] == answers[0]


@pytest.mark.parametrize(
    ("slot", "device", "says"),
    [
        (3, 1, "probability 0 in slot 3"),
        (40, 0, "slot 40, device 0 lies beyond the instance of 12 slots"),
        (2, 0, "a second task in slot 2"),
    ],
)
def test_arrivals_that_an_instance_rules_out_are_named(slot: int, device: int, says: str) -> None:
    session = Session(Srs(), RescueDesk(INSTANCE.replace()), seed=1)
    session.take({"event": "task", "slot": 2, "device": 1})
    session.take({"event": "task", "slot": max(slot, 2), "device": device})
    arrival = np.array(SMALL.arrival)
    arrival[3] = 0.0
    with pytest.raises(OptionError, match=says):
        scenario_of(session.log.getvalue(), SMALL.replace(arrival=arrival))


# --- policies that are handed what they cannot know ----------------------------------------------


def test_policies_by_state_name_a_run_that_no_state_follows() -> None:
    from edgeopt.online.rescue import Arrival, FinishedRun

    policy = SafeRescue()
    state = policy.start(SMALL)
    idle = np.ones(SMALL.servers, dtype=bool)
    arrival = Arrival(2, 0, idle, np.array(SMALL.reserved.demand), 0.5)
    _, state = policy.decide(state, arrival)
    longest = int(SMALL.longest[0])
    for slot, duration in [(2, SMALL.max_duration + 1), (-3, longest), (2, 0)]:
        run = FinishedRun(slot, 0, 0, 0, duration, 1.0)
        with pytest.raises(OptionError, match="server 0: no state follows a run of"):
            policy.learn(state, arrival, None, (run,))


@pytest.mark.parametrize("policy", POLICIES[1:], ids=lambda policy: policy.name)
def test_slots_beyond_the_horizon_are_named(policy: Any) -> None:
    from edgeopt.online.rescue import Arrival

    idle = np.ones(SMALL.servers, dtype=bool)
    arrival = Arrival(SMALL.horizon, 0, idle, np.array(SMALL.reserved.demand), 0.5)
    if isinstance(policy, RandomPolicy):
        return  # it looks nothing up
    with pytest.raises(OptionError, match="horizon"):
        policy.decide(policy.start(SMALL), arrival)
