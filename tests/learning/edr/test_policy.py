"""Trained policies in NumPy: what they see, what becomes of it, and that no more is needed."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from edgeopt.errors import InputError
from edgeopt.instances.edr import generate
from edgeopt.learning import Checkpoint, perceptron
from edgeopt.learning.edr import RlBoth, RlTraining, rounds, rows
from edgeopt.learning.edr.policy import shipped
from edgeopt.learning.edr.rounds import TaskEpisode, features_of
from edgeopt.learning.edr.rows import gap, optima, plain_gap
from edgeopt.models.edr.routing import conditions, routing_problem
from edgeopt.models.edr.routing.network_simplex import solve_by_network
from edgeopt.online import simulate
from edgeopt.online.edr import EdrEnvironment
from edgeopt.online.edr.events import Slot
from tests.draws import draws
from tests.edr.nets import macro, micro, one_task
from tests.edr.scenarios import step_through


def small(seed: int, **changes):
    return generate(rng=seed, **{"sites": 5, "tasks": 6, "frames": 6, "slots": 2} | changes)


def seen(instance, frame, slot, training=None, budget=np.inf):
    """Return a slot, its routing problem and what is seen of it."""
    training = np.zeros(instance.sites) if training is None else training
    at = conditions(instance, frame, slot)
    shown = Slot(frame, slot, at, float(instance.cap[frame]), training, 0.0, 0.0)
    problem = routing_problem(
        instance, at, price=float(instance.price[frame]), training=training, budget=budget
    )
    return shown, problem, rows.rows_of(instance, shown, problem)


# --- rounds --------------------------------------------------------------------------------------


def test_features_by_hand():
    tasks = rounds.Tasks(
        frame=30, frames=40, arrival=np.array([28, 30]), deadline=np.array([31, 39]),
        rounds=np.array([8, 5]), remaining=np.array([2, 5]),
        cost=np.array([[1.0, 2.0], [5.0, 2.0], [3.0, 2.0]]), price=2.0, known=np.array([1.0, 3.0]),
        capped=True, weight=np.array([0.1, 0.4]),
    )  # fmt: skip
    crowding = 0.1 * 2 + 0.4 * 0.5
    angle = np.pi / 2
    shared = [1.0, np.sin(angle), np.cos(angle), 1.0, crowding]
    expected = [
        [0.25, 0.5, 0.05, 1.0, 0.5, *shared],
        [1.0, 1.0, 0.25, 1.0, 0.5, *shared],
    ]
    np.testing.assert_allclose(features_of(tasks), expected, atol=1e-12)
    values = np.array([[0.0, 1.0, 0.0, 0.0, 3.0, 0.0], [0.0, 0.0, 0.0, 0.0, 0.0, 2.0]])
    whole, order = rounds.rounds_of(values, values.argmax(axis=1), tasks)
    assert whole.tolist() == [2, 5]  # 4 x 2 rounds, but 2 are left; and all
    assert order.tolist() == [1, 0]  # what is worth least gives way first


def test_an_episode_pays_what_its_rounds_cost():
    episode = TaskEpisode(one_task([9.0, 1.0, 3.0], 1, 3))
    tasks = episode.observe()
    assert (tasks.frame, tasks.remaining.tolist()) == (1, [3])
    np.testing.assert_allclose(tasks.cost[:, 0], [9.0, 1.0])
    reward, ended = episode.act(np.array([1]), np.array([0]))
    scale = 3 * 2.0  # rounds at the mean cost of the window
    assert reward == pytest.approx([-1.0 / scale])
    assert not ended.any()
    episode.observe()
    reward, ended = episode.act(np.array([1]), np.array([0]))
    assert reward == pytest.approx([-(3.0 + 2 * 2.0) / scale])  # one is missing, at twice the mean
    assert ended.all()
    assert episode.observe() is None
    assert episode.share() == pytest.approx(8.0 / scale)


def test_episodes_show_what_policies_see():
    instance = small(3, capped=None)
    policy, asked = RlTraining(macro(1)), {}
    for step in step_through(EdrEnvironment(instance), policy):
        if isinstance(step.decision, np.ndarray):
            asked[step.seen.frame] = step.decision
    episode = TaskEpisode(instance)
    net = macro(1).weights
    while (tasks := episode.observe()) is not None:
        values = np.asarray(rounds_values(net, tasks), dtype=float)
        chosen = values.argmax(axis=1)
        whole, order = rounds.rounds_of(values, chosen, tasks)
        before, live, frame = episode.remaining.copy(), episode.live, episode.frame
        episode.act(whole, order)
        np.testing.assert_array_equal(
            (before - episode.remaining)[live], asked[frame][live], err_msg=f"frame {frame}"
        )


def rounds_values(net, tasks):
    return perceptron(net, features_of(tasks))


def test_a_task_that_has_not_arrived_changes_no_number():
    instance = small(5, capped=None)
    last = int(np.argmax(instance.arrival))
    assert instance.arrival[last] > 1
    other = instance.replace(rounds=instance.rounds + 7 * (np.arange(6) == last))
    runs = [
        simulate(EdrEnvironment(one), RlTraining(macro(2)), runs=1).rounds[0]
        for one in (instance, other)
    ]
    until = instance.arrival[last]
    np.testing.assert_array_equal(runs[0][:until], runs[1][:until])


# --- requests ------------------------------------------------------------------------------------


def test_projection_serves_or_leaves_and_keeps_capacities():
    rng = np.random.default_rng(0)
    for draw in range(draws(200)):
        instance = small(draw % 20, sites=4, tasks=0, headroom=float(rng.uniform(0.3, 3.0)))
        training = rng.uniform(0.0, 1.5, 4) * instance.slots * instance.capacity
        _, problem, shown = seen(instance, draw % 6, draw % 2, training * (rng.random() < 0.5))
        fractions = rng.dirichlet(np.full(rows.ROUTES, 0.3), len(shown.demand)) * shown.valid
        amount = rows.projected(problem, shown, fractions)
        assert (amount >= 0).all()
        served = np.bincount(problem.row, amount, problem.demand.size)
        assert (served <= problem.demand.ravel() * (1 + 1e-12)).all()
        load = np.bincount(problem.site, amount * problem.work[problem.type], 4)
        assert (load <= problem.capacity[0] * (1 + 1e-12)).all()
        # What is left over has found no room at all.
        left = problem.demand.ravel() - served > 1e-9 * problem.demand.max()
        free = problem.capacity[0] - load > 1e-9 * instance.capacity
        assert not free[problem.site[left[problem.row]]].any()


def test_fractions_of_a_row_do_not_depend_on_the_others():
    _, problem, shown = seen(small(1, sites=8), 2, 1)
    order = np.random.default_rng(0).permutation(len(shown.demand))
    mixed = rows.Rows(shown.features[order], shown.route[order], shown.demand[order], shown.usual)
    weights = micro().weights
    fractions, others = (rows.fractions_of(weights, one) for one in (shown, mixed))
    np.testing.assert_allclose(others, fractions[order], rtol=1e-12)
    np.testing.assert_allclose(fractions.sum(axis=1), 1.0)
    assert not fractions[~shown.valid].any()
    one, two = (
        rows.projected(problem, part, part_of)
        for part, part_of in ((shown, fractions), (mixed, others))
    )
    np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-6)


def test_a_route_that_is_too_slow_changes_no_number():
    instance = small(4)
    able = instance.capable.copy()
    able[0] = False
    able[1] = True
    speed = instance.speed * np.where(np.arange(5) == 0, 1e-9, 1.0)
    without = instance.replace(capable=able, speed=speed)
    able[0] = True
    found = [seen(one, 1, 0)[2] for one in (without, without.replace(capable=able))]
    for mine, other in zip(*found, strict=True):
        np.testing.assert_array_equal(mine, other)


def test_the_cheapest_routes_are_seen_by_cost():
    _, problem, shown = seen(small(2, sites=14, capable_share=0.9), 3, 0)
    assert shown.valid.sum(axis=1).max() == rows.ROUTES
    at = np.flatnonzero(problem.demand.ravel() > 0)
    for row, routes in zip(at, shown.route, strict=True):
        mine = np.arange(problem.first[row], problem.first[row + 1])
        best = mine[np.argsort(problem.cost[mine], kind="stable")][: rows.ROUTES]
        np.testing.assert_array_equal(routes[routes >= 0], best)


def test_no_flows_are_below_the_linear_programme():
    for draw in range(10):
        instance = small(draw, tasks=0, sites=6, headroom=1.5)
        _, problem, shown = seen(instance, 1, 0, budget=1.0)
        penalties = rows.mild(problem)
        fractions = rows.fractions_of(micro(draw).weights, shown)
        mine = rows.paid(problem, rows.projected(problem, shown, fractions), penalties)
        assert mine >= solve_by_network(problem, penalties).bound * (1 - 1e-9)


# --- policies ------------------------------------------------------------------------------------


def test_a_checkpoint_is_kept_bit_by_bit_and_others_are_refused(tmp_path):
    made = macro(4)
    path = made.save(tmp_path / "net.safetensors")
    read = Checkpoint.load(path, system="edr", learner="macro")
    for name, array in made.weights.items():
        np.testing.assert_array_equal(read.weights[name], array)
    instance = small(0)
    runs = [
        simulate(EdrEnvironment(instance), RlTraining(one), runs=1).reward for one in (made, read)
    ]
    np.testing.assert_array_equal(*runs)
    with pytest.raises(InputError, match="features"):
        RlTraining(micro())
    with pytest.raises(InputError, match=r"0\.weight"):
        RlBoth(macro(), routing=macro())
    with pytest.raises(InputError, match=r"2\.bias"):
        RlTraining(macro(weights=made.weights | {"2.bias": np.zeros(7)}))
    with pytest.raises(InputError, match="learner"):
        Checkpoint.load(path, system="edr", learner="micro")


def test_trained_policies_come_with_edgeopt_and_need_no_torch():
    code = (
        "import sys; from edgeopt.learning.edr.policy import shipped; shipped('macro'); "
        "print({'torch', 'edgeopt.learning.networks'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
    for name in ("macro", "micro"):
        found = shipped(name)
        assert not found.stopped
        assert min(found.seeds["training"]) >= 1000
        assert max(found.seeds["validation"]) < 1000
    instance = small(11)
    run = simulate(EdrEnvironment(instance), RlBoth(), runs=1)
    assert np.isfinite(run.reward).all()
    assert run.rounds.sum() > 0


HELD_OUT = (440, 441, 442, 443, 444)
"""Seeds of instances that chose nothing."""


def test_the_networks_reach_what_was_recorded_on_instances_that_chose_nothing():
    weights = shipped("macro").weights
    even = np.equal(rounds.LEVELS, 1.0).astype(float)
    costs = []
    for seed in HELD_OUT:
        episode = TaskEpisode(generate(rng=seed, reuse=("group", "none")[seed % 2], slots=3))
        for values in (lambda seen: perceptron(weights, seen), lambda seen: even + 0 * seen[:, :1]):
            episode.restart()
            while (tasks := episode.observe()) is not None:
                found = np.asarray(values(features_of(tasks)), dtype=float)
                episode.act(*rounds.rounds_of(found, found.argmax(axis=1), tasks))
            costs.append(episode.share())
    learnt, usual = np.reshape(costs, (-1, 2)).T
    assert learnt == pytest.approx([1.106, 1.414, 1.014, 1.391, 0.982], abs=0.02)
    assert (learnt < usual).all()
    gaps = []
    for seed in HELD_OUT:
        judged = list(optima(generate(rng=seed), seed))
        mine = np.mean([gap(*one, shipped("micro").weights) for one in judged])
        gaps.append((mine, np.mean([plain_gap(*one) for one in judged])))
    routed, cheapest = np.transpose(gaps)
    assert routed == pytest.approx([0.115, 0.009, 0.030, 0.941, 0.045], abs=0.01)
    assert (routed < cheapest).all()
