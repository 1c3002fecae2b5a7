"""IDN live while its network changes: decided as in a simulation, and restored from any line."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from edgeopt.errors import OptionError, Refused
from edgeopt.instances.idn import from_bundled
from edgeopt.online.idn import IdnEnvironment, Infida, Olag, StaticGreedy
from edgeopt.online.oinc import OincEnvironment
from edgeopt.online.session import EpisodeDesk, Session
from edgeopt.online.session.log import as_json, read_log
from edgeopt.online.simulate import run_policy
from tests.idn.test_changes import CHANGES, LESS, LINK, NETWORK, NODE, busiest
from tests.online.test_episode_desk import OINC, Noted, assert_equal

EVENTS: dict[int, Any] = {
    4: {"links": [LINK]},
    7: {"links": [LINK], "nodes": [NODE]},
    10: {"fields": {"budget": as_json(LESS.budget), "capacity": as_json(LESS.capacity)}},
    14: {},
}
BLANK = NETWORK.replace(requests=np.zeros_like(NETWORK.requests))
SCENARIO = IdnEnvironment(NETWORK).scenarios(np.random.default_rng(5), 1)[0]


def desk() -> EpisodeDesk:
    return EpisodeDesk(IdnEnvironment(BLANK), scenario=SCENARIO)


def served(session: Session, slots: range) -> None:
    """Requests and changes of the network are known after the slot before."""
    for slot in slots:
        if slot in EVENTS:
            session.take({"event": "change", **EVENTS[slot]})
        session.take({"event": "decide"})
        rows = NETWORK.requests[slot].tolist()
        session.take({"event": "reveal", "at": slot, "fields": {"requests": rows}})


@pytest.mark.parametrize(
    "policy", [Infida.recommended(), Infida(), Olag(), StaticGreedy.plan(NETWORK)]
)
def test_changes_that_come_as_events_lead_to_the_decisions_of_the_simulator(policy: Any) -> None:
    whole = IdnEnvironment(NETWORK, changes=CHANGES)
    noted, episode = Noted(policy), whole.episode(SCENARIO)
    noted.carry = policy.carry  # type: ignore[attr-defined]
    run_policy(episode, noted, policy.start(whole.instance), np.random.default_rng(3))
    session = Session(policy, desk(), seed=3)
    served(session, range(18))
    rows = read_log(session.log.getvalue())[0]
    decided = [row["decision"] for row in rows if "decision" in row]
    assert decided == [as_json(one) for one in noted.decisions]
    with pytest.raises(Refused, match="decide: the horizon is over"):
        session.take({"event": "decide"})
    assert_equal(session.desk._episode, episode, whole, policy.name)


def test_a_session_killed_after_any_line_goes_on() -> None:
    network, policy = from_bundled(horizon=5, tasks=2), Infida.recommended()
    link, node = busiest(network)
    memory = as_json(np.where(network.pinned, network.budget, 3e3))
    changes = [{"links": [link], "nodes": [node]}, {"fields": {"budget": memory}}]

    def opened() -> EpisodeDesk:
        return EpisodeDesk(IdnEnvironment(network))

    session = Session(policy, opened(), seed=3)
    for change in ({}, *changes, {}):
        session.take({"event": "change", **change})
        session.take({"event": "decide"})
    rows, _ = read_log(session.log.getvalue())
    lines = session.log.getvalue().splitlines()
    for kept in range(1, len(lines)):
        again = Session.restore(lines[:kept], policy, opened())
        assert again.log.getvalue().splitlines() == lines[:kept]
        for row in rows[kept:]:
            again.take(row["event"])
            for name in ("n", "event", "decision"):
                assert again.last.get(name) == row.get(name)
        assert again.desk.truth == session.desk.truth


def test_a_change_that_does_not_fit_is_refused_and_changes_nothing() -> None:
    session, twin = (Session(Infida(), desk(), seed=1) for _ in range(2))
    served(session, range(3))
    served(twin, range(3))
    text, truth = session.log.getvalue(), session.desk.truth
    cut = [[int(u), int(v)] for u, v in NETWORK.edges if NETWORK.pinned[[u, v]].any()]
    for event, says in [
        ({"links": cut}, "change: path.*can reach no repository of task"),
        ({"nodes": [99]}, "change: nodes = 99: must be at most"),
        ({"links": [[0, 0]]}, "change: links: there is none between nodes 0 and 0"),
        ({"link": [LINK]}, "change: has no 'link'; it may have links, nodes and fields"),
        ({"fields": {"budget": [1.0]}}, "budget: must have shape"),
        ({"fields": {"budget": [-1.0] * NETWORK.nodes}}, "change: budget"),
        ({"fields": {"requests": [1.0]}}, "requests: cannot change; what can is edges, latency"),
        ({"fields": {"task": [0] * NETWORK.models}}, "task: cannot change"),
        ({"fields": [1]}, "fields: must have the values of fields, by name"),
        ({"nodes": 3}, "change: nodes = 3: must be several"),
    ]:
        with pytest.raises(Refused, match=says):
            session.take({"event": "change", **event})
        assert session.log.getvalue() == text
        assert session.desk.truth is truth
    for one in (session, twin):
        served(one, range(3, 6))
    assert session.last["event"] == twin.last["event"]
    assert session.desk.truth == twin.desk.truth
    with pytest.raises(Refused, match="event = 'change': must be reveal or decide"):
        EpisodeDesk(OincEnvironment(OINC)).take({"event": "change"}, float)
    with pytest.raises(OptionError, match="environment: has changes; a desk takes them as events"):
        EpisodeDesk(IdnEnvironment(NETWORK, changes=CHANGES))
