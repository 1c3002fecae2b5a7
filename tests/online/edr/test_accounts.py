"""What is booked equals what the raw data say, for decisions of all kinds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.online import simulate
from edgeopt.online.edr.environment import EdrEnvironment
from edgeopt.online.edr.events import ClosedFrame, Flows, Frame
from tests.draws import draws
from tests.online.edr.lives import POLICIES, delays, live, table
from tests.strategies import edr_instances

if TYPE_CHECKING:
    from edgeopt.instances.edr import EdrInstance
    from edgeopt.online.edr.policies.policy import EdrPolicy


def round_figures(instance: EdrInstance, frame: int, task: int) -> tuple[float, float]:
    """Energy and communication delay of one round, client by client from the raw data."""
    joules, watt_hours = 0.0, 0.0
    seconds = []
    server, size = int(instance.server[task]), instance.model_size[task]
    for j in np.flatnonzero(instance.client[task]).tolist():
        work = instance.local_steps[task] * instance.step_work[task, j]
        if j == server:
            work += instance.aggregation_work[task]
        else:
            up, down = (
                size / instance.rate[frame, j, server],
                size / instance.rate[frame, server, j],
            )
            joules += instance.power[j] * up + instance.power[server] * down
            mean = instance.propagation[frame].mean(axis=0)
            seconds.append(up + down + mean[j, server] + mean[server, j])
        watt_hours += work * instance.energy_per_work[j]
    delay = max(seconds, default=0.0) if instance.round_delay == "max" else sum(seconds)
    return watt_hours + joules / 3600.0, delay


def recomputed(
    instance: EdrInstance, rounds: np.ndarray, flows: np.ndarray
) -> dict[str, np.ndarray]:
    """Book rounds [T, I] and flows [T, D, J, J, N] from the raw data alone."""
    T, D, J, _, N = flows.shape
    books = {name: np.zeros(T) for name in (
        "energy", "training_energy", "energy_cost", "delay_cost", "training_delay_cost",
        "late_cost", "unserved_cost", "excess", "asked", "unserved", "reward",
    )}  # fmt: skip
    quality = np.zeros(20)
    figures = np.array(
        [[round_figures(instance, t, i) for i in range(instance.tasks)] for t in range(T)]
    ).reshape(T, instance.tasks, 2)
    w_energy, w_delay = instance.energy_weight, instance.delay_weight
    price = [
        2.0 * (w_energy * max(0.0, *instance.price) * max(
            instance.energy_per_work[k] * instance.request_work[n]
            for k in range(J) if instance.capable[k, n]
        ) + w_delay * instance.slo[:, :, n].max())
        for n in range(N)
    ]  # fmt: skip
    missing = instance.rounds - rounds.sum(axis=0)
    for t in range(T):
        inference = 0.0
        for d in range(D):
            seconds = delays(instance, t, d)
            for j, k, n in np.ndindex(J, J, N):
                amount = flows[t, d, j, k, n]
                inference += amount * instance.energy_per_work[k] * instance.request_work[n]
                books["delay_cost"][t] += w_delay * amount * seconds[j, k, n]
                if amount:
                    share = seconds[j, k, n] / instance.slo[t, d, n]
                    quality[min(int(share * 20), 19)] += amount
            lost = instance.requests[t, d] - flows[t, d].sum(axis=1)
            books["asked"][t] += instance.requests[t, d].sum()
            books["unserved"][t] += lost.sum()
            books["unserved_cost"][t] += (lost @ price).sum()
        for i in range(instance.tasks):
            books["training_energy"][t] += rounds[t, i] * figures[t, i, 0]
            books["training_delay_cost"][t] += w_delay * rounds[t, i] * figures[t, i, 1]
            if instance.deadline[i] == t:
                window = range(instance.arrival[i], t + 1)
                mean = np.mean([
                    w_energy * instance.price[s] * figures[s, i, 0] + w_delay * figures[s, i, 1]
                    for s in window
                ])  # fmt: skip
                books["late_cost"][t] += missing[i] * max(2.0 * mean, 0.0)
        books["energy"][t] = inference + books["training_energy"][t]
        books["energy_cost"][t] = w_energy * instance.price[t] * books["energy"][t]
        books["excess"][t] = max(books["energy"][t] - instance.cap[t], 0.0)
    books["reward"] = sum(
        books[name] for name in (
            "energy_cost", "delay_cost", "training_delay_cost", "late_cost", "unserved_cost",
        )
    )  # type: ignore[assignment] # fmt: skip
    return {**books, "missing": missing, "quality": quality}


def hold(instance: EdrInstance, trajectory: Any, rounds: np.ndarray, flows: np.ndarray) -> None:
    """Compare a trajectory with the books made from its decisions."""
    books = recomputed(instance, rounds, flows)
    broken = books["excess"] > 1e-9 * books["energy"]
    books["excess"] = np.where(broken, books["excess"], 0.0)
    for name, expected in books.items():
        assert getattr(trajectory, name)[0] == pytest.approx(expected, rel=1e-9, abs=1e-9), name
    assert (trajectory.rounds[0] == rounds).all()
    assert (trajectory.violations[0] == broken).all()
    assert ((trajectory.excess[0] > 0) == broken).all()
    assert trajectory.flows == pytest.approx(flows.sum(axis=(0, 1, 4)), abs=1e-9)
    assert (trajectory.decisions == instance.slots + 1).all()
    assert trajectory.cost[0] + books["late_cost"] + books["unserved_cost"] == pytest.approx(
        books["reward"]
    )


@settings(max_examples=draws(60))
@given(edr_instances(), st.integers(0, 2**32 - 1))
def test_books_of_any_feasible_decisions_equal_the_raw_data(
    instance: EdrInstance, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    environment = EdrEnvironment(instance)
    episode = environment.episode(0, record=True)
    T, D, J, N = instance.requests.shape
    rounds = np.zeros((T, instance.tasks), dtype=np.int64)
    flows = np.zeros((T, D, J, J, N))
    inference = np.zeros(T)
    while (seen := episode.observe()) is not None:
        if isinstance(seen, Frame):
            t = seen.frame
            training = np.zeros(J)
            for i in rng.permutation(instance.tasks):
                count = rng.integers(0, seen.remaining[i] + 1)
                while (
                    count and (training + count * seen.round_work[i] > D * instance.capacity).any()
                ):
                    count -= 1
                rounds[t, i] = count
                training += count * seen.round_work[i]
            left = D * instance.capacity - training
            episode.act(rounds[t])
            continue
        t, d = seen.frame, seen.slot
        room = np.minimum(left, instance.capacity)
        seconds = delays(instance, t, d)
        waiting = instance.requests[t, d].copy()
        for j, k, n in rng.permutation(list(np.ndindex(J, J, N))):
            if instance.capable[k, n] and seconds[j, k, n] <= instance.slo[t, d, n]:
                most = min(waiting[j, n], room[k] / instance.request_work[n])
                amount = most * rng.choice([0.0, 0.5, 1.0])
                flows[t, d, j, k, n] = amount
                waiting[j, n] -= amount
                used = amount * instance.request_work[n]
                room[k], left[k] = max(room[k] - used, 0.0), max(left[k] - used, 0.0)
        origin, site, kind = np.nonzero(flows[t, d])
        feedback = episode.act(Flows(origin, site, kind, flows[t, d][origin, site, kind]))
        inference[t] += feedback.energy if d < D - 1 else feedback.served.energy  # type: ignore[union-attr]
        if isinstance(feedback, ClosedFrame):
            assert feedback.energy == pytest.approx(feedback.training_energy + inference[t])
    trajectory = environment.trajectory("mine", [episode], seconds=0.0, record=True)
    hold(instance, trajectory, rounds, flows)


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)
@settings(max_examples=draws(15))
@given(edr_instances())
def test_books_of_every_policy_equal_the_raw_data_and_requests_are_conserved(
    policy: EdrPolicy[Any], instance: EdrInstance
) -> None:
    environment = EdrEnvironment(instance)
    steps = live(environment, policy)
    rounds = np.stack([step.decision for step in steps if isinstance(step.seen, Frame)])
    flows = np.stack(
        [table(instance, step.decision) for step in steps if not isinstance(step.seen, Frame)]
    ).reshape(*instance.requests.shape[:3], *instance.requests.shape[2:])
    trajectory = simulate(environment, policy, runs=1, record=True)
    hold(instance, trajectory, rounds, flows)
    # Every request and every round is somewhere.
    asked = instance.requests.sum(axis=(1, 2, 3))
    assert flows.sum(axis=(1, 2, 3, 4)) + trajectory.unserved[0] == pytest.approx(asked)
    assert trajectory.quality[0].sum() + trajectory.unserved[0].sum() == pytest.approx(asked.sum())
    assert (rounds.sum(axis=0) + trajectory.missing[0] == instance.rounds).all()
    assert (trajectory.missing >= 0).all()
    # No site does more than it can, in a slot or in a frame with training.
    load = np.einsum("tdjkn,n->tdk", flows, instance.request_work)
    assert (load <= instance.capacity * (1 + 1e-9)).all()
    work = rounds @ instance.round_work
    assert (load.sum(axis=1) + work <= instance.slots * instance.capacity * (1 + 1e-9)).all()
    assert (work <= policy.training_room * instance.slots * instance.capacity * (1 + 1e-9)).all()
