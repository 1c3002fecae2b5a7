"""The learners of OINC: their losses against explicit sums, and their training."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from edgeopt.errors import InputError, OptionError
from edgeopt.instances.oinc import generate
from edgeopt.learning.oinc.credit import (
    Latencies,
    closed_latencies,
    credits,
    earned,
    expected_cost,
    level_latencies,
    roots_of,
)
from edgeopt.learning.oinc.insertion import InsertionActor, reward_of, shipped
from edgeopt.learning.oinc.placing import FEATURES, places
from edgeopt.learning.oinc.published import SoftActor, planned
from edgeopt.learning.oinc.slots import Rooms, later
from edgeopt.learning.oinc.training import learner
from edgeopt.models.oinc.slot import SlotProblem, closed_form_cost, evaluate, slot_problem
from edgeopt.online import simulate
from edgeopt.online.oinc import Oinc, OincEnvironment

# --- credit, without PyTorch -----------------------------------------------------------------


def crowd(n: int = 5, sites: int = 3, seed: int = 0) -> SlotProblem:
    """Draw a slot in which some objectives are missed."""
    rng = np.random.default_rng(seed)
    return SlotProblem(
        rng.uniform(0.05, 0.3, (n, sites)), rng.uniform(0.02, 0.1, (n, sites)),
        rng.uniform(0.3, 0.9, n), rng.uniform(0.5, 1.0, sites),
    )  # fmt: skip


def closed(problem: SlotProblem, site: np.ndarray) -> Latencies:
    """Return latencies under the best shares."""
    a, e = (root[np.arange(site.size), site] for root in roots_of(problem))
    return closed_latencies(a, e, site)


def leveled(problem: SlotProblem, site: np.ndarray, band: Any, cpu: Any) -> Latencies:
    """Return latencies under shares in proportion to levels."""
    here = np.arange(site.size), site
    computation = (problem.computation / problem.room)[here]
    return level_latencies(problem.transmission[here], computation, site, band, cpu)


def without(problem: SlotProblem, i: int) -> SlotProblem:
    keep = np.arange(problem.requests) != i
    return SlotProblem(
        problem.transmission[keep], problem.computation[keep], problem.slo[keep], problem.room
    )


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("levels", [False, True])
def test_the_difference_is_that_of_two_evaluations_and_knows_the_best_reply(
    seed: int, levels: bool
) -> None:
    problem, rng = crowd(seed=seed), np.random.default_rng(seed)
    band, cpu = rng.integers(1, 5, (2, 5))

    def found(one: SlotProblem, site: np.ndarray, keep: Any = slice(None)) -> Latencies:
        return leveled(one, site, band[keep], cpu[keep]) if levels else closed(one, site)

    def total(one: SlotProblem, site: np.ndarray, keep: Any = slice(None)) -> float:
        return float(earned(found(one, site, keep).latency, one.slo).sum())

    site = rng.integers(3, size=5)
    mine = credits(found(problem, site), problem.slo, "difference", 5)
    for i in range(5):
        keep = np.arange(5) != i
        apart = total(problem, site) - total(without(problem, i), site[keep], keep)
        assert mine[i] == pytest.approx(apart)
        replies = []
        for j in range(3):
            other = site.copy()
            other[i] = j
            replies.append(total(problem, other))
        gains = np.array(replies) - total(without(problem, i), site[keep], keep)
        assert int(np.argmax(gains)) == int(np.argmax(replies))
    same = credits(found(problem, site), problem.slo, "global", 5)
    assert same == pytest.approx(total(problem, site) / 5)


@pytest.mark.parametrize("seed", range(4))
def test_latencies_are_those_of_their_shares(seed: int) -> None:
    problem, rng = crowd(seed=seed), np.random.default_rng(seed)
    site = rng.integers(3, size=5)
    best = closed(problem, site).latency
    plan = evaluate(problem, site, objectives=False)
    assert best == pytest.approx(plan.latency)
    band, cpu = rng.integers(1, 11, (2, 5))
    levels = leveled(problem, site, band, cpu).latency
    for i in range(5):
        here = site == site[i]
        v, z = band[i] / band[here].sum(), problem.room[site[i]] * cpu[i] / cpu[here].sum()
        expected = problem.transmission[i, site[i]] / v + problem.computation[i, site[i]] / z
        assert levels[i] == pytest.approx(expected)
    assert best.sum() <= levels.sum() + 1e-12


def test_the_expected_cost_is_the_sum_over_all_assignments() -> None:
    problem = crowd(4, 3)
    p = np.random.default_rng(1).dirichlet(np.ones(3), 4)
    total = 0.0
    for sites in product(range(3), repeat=4):
        site = np.array(sites)
        cost = sum(
            closed_form_cost(
                problem.transmission[site == j, j], problem.computation[site == j, j],
                room=float(problem.room[j]),
            )
            for j in set(sites)
        )  # fmt: skip
        total += float(np.prod(p[np.arange(4), site])) * cost
    assert expected_cost(p, roots_of(problem)) == pytest.approx(total, rel=1e-12)


# --- with PyTorch ----------------------------------------------------------------------------

torch = pytest.importorskip("torch", reason="training needs PyTorch")
pytestmark = pytest.mark.trains

from edgeopt.learning import Checkpoint, train  # noqa: E402
from edgeopt.learning.networks import soft_actor_loss, to_arrays  # noqa: E402
from edgeopt.learning.oinc.insertion import (  # noqa: E402
    TEACHER,
    in_order,
    sites_by_weights,
    terms_of,
)
from edgeopt.learning.oinc.insertion_learner import (  # noqa: E402
    CLOSE,
    Batch,
    InsertionLearner,
    cost_loss,
)
from edgeopt.learning.oinc.sac import SacLearner, critic_target, factored_loss  # noqa: E402


@pytest.fixture(scope="module")
def tiny() -> Rooms:
    """Return six devices and three sites, with CPU left as it comes."""
    instance = generate(rng=5, devices=6, sites=3, slots=240, jobs=0, duty=0.6)
    left = np.random.default_rng(5).choice([0.6, 0.8, 1.0], (40, 3))
    return Rooms(instance, left, even=0.1)


def test_the_target_is_the_sum_over_joint_choices() -> None:
    draw = np.random.default_rng(2)
    log_p = torch.log_softmax(torch.tensor(draw.normal(size=(1, 6, 2))), -1)
    first, second = (torch.tensor(draw.normal(size=(1, 6, 2))) for _ in range(2))
    mask = torch.ones(1, 6, dtype=torch.bool)
    found = critic_target(torch.tensor([0.3]), 0.9, log_p, first, second, 0.2, mask)
    total, least = 0.0, torch.minimum(first, second)[0]
    for choice in product(range(2), repeat=6):
        picked = [(head, a) for head, a in enumerate(choice)]
        chance = float(torch.stack([log_p[0, h, a] for h, a in picked]).sum().exp())
        worth = sum(float(least[h, a] - 0.2 * log_p[0, h, a]) for h, a in picked) / 6
        total += chance * worth
    assert float(found) == pytest.approx(0.3 + 0.9 * total)


def test_the_actor_rests_where_it_is_the_softmax_of_the_values() -> None:
    draw = np.random.default_rng(3)
    first, second = (torch.tensor(draw.normal(size=(4, 3, 5))) for _ in range(2))
    mask = torch.ones(4, 3, dtype=torch.bool)
    for logits, still in ((torch.minimum(first, second) / 0.3, True), (first, False)):
        held = logits.clone().requires_grad_()
        soft_actor_loss(torch.log_softmax(held, -1), first, second, 0.3, mask).backward()
        assert bool(held.grad.abs().max() < 1e-12) == still


def test_silent_devices_change_nothing(tiny: Rooms) -> None:
    one = SacLearner(seed=0, updates=5, rooms=tiny, held_out=40, hidden=(8,), batch=4)
    draw = np.random.default_rng(0)
    rows = {
        "inputs": torch.tensor(draw.normal(size=(4, 15)), dtype=torch.float32),
        "mask": torch.tensor(draw.random((4, 6)) < 0.5),
        "reward": torch.tensor(draw.normal(size=4), dtype=torch.float32),
        "action": torch.tensor(draw.integers(3, size=(4, 6))),
    }
    other = rows | {"action": torch.where(rows["mask"], rows["action"], (rows["action"] + 1) % 3)}
    found = []
    for part in (rows, other):
        losses = one.losses(part, 0.1)
        one.networks.zero_grad()
        sum(losses).backward()
        slopes = [p.grad.clone() for p in one.networks.parameters()]
        found.append(([float(loss.detach()) for loss in losses], slopes))
    assert found[0][0] == found[1][0]
    assert all(torch.equal(a, b) for a, b in zip(found[0][1], found[1][1], strict=True))
    rows["mask"] = torch.zeros(4, 6, dtype=torch.bool)
    rows["mask"][:, 0] = True
    losses = one.losses(rows, 0.1)
    one.networks.zero_grad()
    sum(losses).backward()
    for name in ("actor", "first"):
        last = list(one.networks[name].parameters())[-1].grad.view(6, 3)
        assert (last[1:] == 0).all()
        assert (last[0] != 0).any()


def test_one_device_learns_the_rewards_and_their_softmax() -> None:
    worth = torch.tensor([0.2, 1.0, 0.5])
    logits, values = torch.zeros(1, 1, 3, requires_grad=True), torch.zeros(1, 1, 3)
    mask = torch.ones(3, 1, dtype=torch.bool)
    values.requires_grad_()
    optimiser = torch.optim.Adam([logits, values], 0.02)
    for _ in range(600):
        critic = factored_loss(values.expand(3, 1, 3), torch.arange(3)[:, None], worth, mask)
        actor = soft_actor_loss(torch.log_softmax(logits, -1), values, values, 0.5, mask[:1])
        optimiser.zero_grad()
        (critic + actor).backward()
        optimiser.step()
    assert values.detach().flatten().numpy() == pytest.approx(worth.numpy(), abs=1e-2)
    p = torch.softmax(logits.detach(), -1).flatten().numpy()
    assert p == pytest.approx(torch.softmax(worth / 0.5, 0).numpy(), abs=1e-2)


def counted(sums: Any) -> float:
    """Return what a site of these sums counts with, from the eigenvalues of its objectives."""
    stretch = np.linalg.eigvalsh([[sums[2], sums[3]], [sums[3], sums[4]]])[-1]
    late = 0.7 * np.logaddexp(0.0, 40.0 * (stretch - 0.985))
    return float(sums[0] ** 2 + sums[1] ** 2 + 3.0 * min(late, 12.0 + 0.25 * (late - 12.0)))


@pytest.mark.parametrize("taught", [False, True])
def test_placing_goes_by_scores_and_training_by_costs(tiny: Rooms, taught: bool) -> None:
    made = InsertionLearner(seed=1, updates=9, rooms=[tiny], validation=[])
    slots = [tiny.terms(np.random.default_rng(seed)) for seed in range(6)]
    weights = TEACHER if taught else in_order(to_arrays(made.network))
    batch = Batch(slots, weights, 1.0, np.random.default_rng(0))
    size = batch.there.shape
    noise = np.random.default_rng(0).gumbel(size=(2, *size))
    entropy, first = 0.0, 0
    for terms, slo in slots:
        n = len(terms)
        here = slice(first, first + n)
        order = places(terms, slo)
        site = np.full(n, -1)
        for sweep in range(2):
            for at, i in enumerate(order):
                site[i] = -1
                sums = np.array([terms[site == j, j].sum(axis=0) for j in range(3)])
                more = np.array(
                    [counted(sums[j] + terms[i, j]) - counted(sums[j]) for j in range(3)]
                )
                row = first + at
                assert batch.costs[sweep, row].numpy() == pytest.approx(more, rel=1e-4, abs=1e-5)
                with torch.no_grad():
                    score = made.network(batch.features[sweep, row], sweep)
                p = np.exp(-(more - more.min()) / CLOSE)
                entropy -= float(p @ torch.log_softmax(score, -1).numpy() / p.sum())
                raised = (-more if taught else score.numpy()) + noise[sweep, row]
                site[i] = int(np.argmax(raised))
        assert sites_by_weights(weights, terms, slo, noise[:, here]).tolist() == site.tolist()
        first += n
    assert float(cost_loss(made.network, batch).detach()) == pytest.approx(
        entropy / first, rel=1e-3
    )


def test_the_exact_method_goes_down_the_expected_latency(tiny: Rooms) -> None:
    problem = tiny.draw(np.random.default_rng(2))
    logits = torch.tensor(np.random.default_rng(1).normal(size=(problem.requests, 3)))
    roots = [torch.tensor(root) for root in roots_of(problem)]

    def cost(z: Any) -> Any:
        return expected_cost(torch.softmax(z, -1), roots)

    assert torch.autograd.gradcheck(cost, logits.requires_grad_())
    made = SacLearner(
        seed=0, updates=40, rooms=tiny, held_out=40, hidden=(32,), rate=1e-2, batch=32,
        method="exact",
    )  # fmt: skip
    before = [float(made.expected().detach()) for _ in range(5)]
    for _ in range(40):
        made.update()
    after = [float(made.expected().detach()) for _ in range(5)]
    assert np.mean(after) < 0.95 * np.mean(before)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("insertion", {"batch": 8}),
        ("sac-d", {"batch": 8, "hidden": (16,), "discount": 0.9, "shares": "levels"}),
        ("sac-d", {"batch": 8, "hidden": (16,), "credit": "difference"}),
        ("sac-d", {"batch": 8, "hidden": (16,), "method": "exact"}),
    ],
)
def test_same_seed_same_weights_and_a_stop_changes_nothing(
    tiny: Rooms, tmp_path: Any, name: str, options: dict[str, Any]
) -> None:
    own = (
        {"rooms": [tiny], "validation": later(tiny, 20)[1]}
        if name == "insertion"
        else {"rooms": tiny, "held_out": 40}
    )

    def run(folder: str, **how: Any) -> Any:
        made = learner(name, seed=1, updates=4, **own, **options)
        return train(made, tmp_path / folder, updates=4, every=2, **how)

    whole, again = run("a"), run("b")
    assert whole.path.read_bytes() == again.path.read_bytes()
    run("c", minutes=1e-9)
    assert run("c").path.read_bytes() == whole.path.read_bytes()
    read = Checkpoint.load(whole.path, system="oinc", learner=name)
    assert read.instances == [tiny.instance.fingerprint()]
    if name == "insertion":
        InsertionActor(checkpoint=read)


def rewards(problem: SlotProblem) -> list[float]:
    """Return the rewards of all assignments of a slot."""
    sites = product(range(problem.sites), repeat=problem.requests)
    return [reward_of(evaluate(problem, np.array(site))) for site in sites]


@pytest.mark.long
def test_a_crowded_tiny_instance_is_learnt() -> None:
    # Before training it goes by marginal costs alone, which miss objectives where CPU is scarce.
    instance = generate(rng=6, devices=6, sites=3, slots=240, jobs=0, duty=0.9)
    left = np.random.default_rng(5).choice([0.4, 0.5, 0.7], (40, 3))
    rooms = Rooms(instance, left, even=0.1)
    problems = later(rooms, 60)[1]
    best = np.mean([max(rewards(one)) for one in problems])
    made = InsertionLearner(seed=0, updates=200, batch=32, rooms=[rooms], validation=problems)

    def lacks() -> tuple[float, float]:
        """Return by how much the likeliest choices, and the best of nine plans, earn too little."""
        learnt = Checkpoint(
            system="oinc", learner="insertion", weights=made.weights(), features=FEATURES
        )
        actor, rng = InsertionActor(checkpoint=learnt, samples=9), np.random.default_rng(0)
        nine = np.mean([reward_of(actor.answer(3.0, one, rng)[0]) for one in problems])
        return made.evaluate()["reward"] / best - 1.0, float(nine) / best - 1.0

    before = lacks()
    for _ in range(200):
        made.update()
    after = lacks()
    assert after[0] < 0.02 < 0.035 < before[0]
    assert after[1] < 0.01 < 0.025 < before[1]


def test_the_likeliest_choices_come_to_what_they_learn_from(tiny: Rooms) -> None:
    # Where the rule that they learn from misses an objective, so do they: training does not search.
    problems = later(tiny, 25)[1]
    best = np.array([max(rewards(one)) for one in problems])
    taught = [
        reward_of(evaluate(one, sites_by_weights(TEACHER, terms_of(one), one.slo)))
        for one in problems
    ]
    made = InsertionLearner(seed=0, updates=60, batch=32, rooms=[tiny], validation=problems)
    for _ in range(60):
        made.update()
    weights = in_order(to_arrays(made.network))
    mine = [
        reward_of(evaluate(one, sites_by_weights(weights, terms_of(one), one.slo)))
        for one in problems
    ]
    wrong = np.array(taught) < 1.5 * best
    assert wrong.sum() == 1
    assert ((np.array(mine) < 1.5 * best) == wrong).all()
    assert np.mean(mine) == pytest.approx(np.mean(taught), rel=0.01)


def test_the_published_learner_comes_from_below_random_choices_towards_the_best(
    tiny: Rooms,
) -> None:
    made = SacLearner(
        seed=1, updates=800, rooms=tiny, held_out=40, hidden=(32, 32), rate=3e-3, batch=64,
        played=32, temperature=0.5,
    )  # fmt: skip
    every = [rewards(one) for one in made.validation]
    random, best = np.mean([np.mean(one) for one in every]), np.mean([max(one) for one in every])

    def gone() -> float:
        """Return how much of the way from random choices to the best ones is gone."""
        return float((made.evaluate()["reward"] - random) / (best - random))

    assert gone() < 0.0
    for _ in range(800):
        made.update()
    assert gone() > 0.5


def test_slots_that_are_played_earn_what_their_plans_do(tiny: Rooms) -> None:
    for shares in ("exact", "levels"):
        made = SacLearner(seed=0, updates=1, rooms=tiny, held_out=40, played=8, shares=shares)
        slots, _, rooms, inputs = made._drawn(8)
        kinds = made.kinds
        action = np.random.default_rng(0).integers(3, size=(8, 6, kinds))
        found = made.outcomes(slots, rooms, action.reshape(8, -1))
        for row, slot in enumerate(slots):
            problem = tiny.requests(int(slot)).with_reserved(1.0 - rooms[row])
            assert found[row] == pytest.approx(reward_of(planned(problem, action[row])))
            assert inputs[row] == pytest.approx(made.inputs(int(slot), rooms[row]))
            assert made.counting(slots)[row].sum() == kinds * problem.requests


@pytest.mark.parametrize("shares", ["exact", "levels"])
def test_the_published_actor_runs_without_torch_as_it_was_trained(
    tiny: Rooms, tmp_path: Any, shares: Any
) -> None:
    made = learner(
        "sac-d", seed=0, updates=2, rooms=tiny, held_out=40, hidden=(16, 8), batch=8, shares=shares
    )
    path = train(made, tmp_path, updates=2, every=2).path
    read = Checkpoint.load(path)
    policy = SoftActor(checkpoint=read)
    memory = policy.start(tiny.instance)
    found = []
    for slot in range(tiny.instance.slots):
        problem = tiny.requests(slot)
        if slot in made.slots:
            problem = made.validation[list(made.slots).index(slot)]
        plan, memory = policy.answer(memory, problem)
        if slot in made.slots:
            found.append(reward_of(plan))
    best = max(row["reward"] for row in read.curve)
    assert np.mean(found) == pytest.approx(best, rel=1e-6)
    environment = OincEnvironment(tiny.instance)
    assert simulate(environment, Oinc(inference=policy), runs=1).complete.all()
    other = generate(rng=6, devices=6, sites=3, slots=20, jobs=1)
    with pytest.raises(InputError, match="trained with other rates"):
        simulate(OincEnvironment(other), Oinc(inference=policy), runs=1)
    with pytest.raises(InputError, match="rate"):
        policy.start(generate(sites=3, devices=5, slots=20, jobs=1))
    with pytest.raises(InputError, match="must be of the published actor"):
        SoftActor(checkpoint=shipped())
    wrong = Checkpoint(
        system="oinc", learner="sac-d", weights=read.weights, instances=read.instances,
        settings=dict(read.settings) | {"hidden": [16, 9]},
    )  # fmt: skip
    with pytest.raises(InputError, match="shape"):
        SoftActor(checkpoint=wrong).start(tiny.instance)


def test_options_of_learners_are_checked(tiny: Rooms) -> None:
    with pytest.raises(OptionError, match="name"):
        learner("ppo", updates=1)
    with pytest.raises(OptionError, match="needs discount = 0"):
        learner("sac-d", updates=1, rooms=tiny, discount=0.5, credit="own")
    with pytest.raises(OptionError, match="shares"):
        learner("sac-d", updates=1, rooms=tiny, shares="best")
    with pytest.raises(OptionError, match="needs shares"):
        learner("sac-d", updates=1, rooms=tiny, shares="levels", method="exact")
    assert slot_problem(tiny.instance, 3).sites == 3
