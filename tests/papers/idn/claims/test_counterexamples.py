"""Numbers of the counterexamples, by pen and paper."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from edgeopt_papers.idn.claims import dependent
from edgeopt_papers.idn.claims import instances as named
from edgeopt_papers.idn.claims.evaluation import Evaluation
from edgeopt_papers.idn.claims.instances import adversarial, crowded_out, shared_model
from edgeopt_papers.idn.claims.rounding_distribution import (
    by_step,
    common_by_step,
    distribution_of_coins,
    joint_distribution,
    mean,
    node_distribution,
)

from edgeopt.bounds import check
from edgeopt.online.mirror_ascent import KnapsackEntropy

PSI = 1 - 1 / math.e
REFUTED = [
    # claim, instance, measured, guaranteed
    ("lemma_c2.published", named.starved_repository(), 30, 12),
    ("lemma3_1.published", named.starved_repository(), 16, -2),
    ("lemma_f6.published", named.two_half_repositories(), 8, 10),
    ("lemma_f6.one_serves_all", named.cheap_half_repository(), 0, 2.5),
    ("lemma_a1.run_time", shared_model(), 16, 9),
    ("message_passing.published", named.unneeded_model(), -1, 0),
    ("equation103.published", named.dear_model(), 7, 0),
    ("lemma_f2.published", adversarial(horizon=4), 4, 1),
    ("lemma_f9.published", named.cheap_half_repository(), 2.5, 0),
    ("rounding.published", named.nearly_whole_repository(), 0.1, PSI),
    ("lemma_f11.published", named.one_model(), 0, 1e-9),
    ("coins.shared", named.two_shelves(), 1 / 2, PSI),
    ("half.oversized", named.oversized_model(), 2, 1),
    ("drop.psi", named.two_large_models(), 1, PSI * 5 / 3),
    ("drop.constant", named.large_leftover(0.01), 0.02, PSI / 2 * 1.01),
    ("drop.constant", named.large_leftover(0.001), 0.002, PSI / 2 * 1.001),
    ("residual.published", named.large_leftover(0.01), 0.02, PSI / 2 * 1.01),
    ("average.published", adversarial(horizon=400), 1 / 20, 1),
    ("average.published", adversarial(horizon=10), 2, 1),
    ("cooperative.dynamic", adversarial(horizon=2), 1, 1 / 2),
    ("cooperative.overshoot", named.one_model(), 1, 1 / 2),
    ("greedy.constant", crowded_out(0.01), 0.02, PSI / 2),
    ("greedy.constant", crowded_out(0.001), 0.002, PSI / 2),
    ("credit.published", shared_model(), 2, 1),
]


def test_starved_repository_by_hand():
    """Gain (13) is 12 - (8 + 6) = -2, the ranked form 2 x 8 = 16."""
    view = Evaluation(named.starved_repository())
    [slot], x = view.slots, view.allocations[:1]
    assert slot.serving_cost(x) == pytest.approx(8 * 1 + 2 * 3)
    assert slot.serving_cost(view.allocations[1:]) == pytest.approx(4 * 3)
    assert (slot.difference(x), slot.ranked(x)) == (pytest.approx(-2), pytest.approx(16))


def test_gain_at_run_time_of_every_set():
    [found] = check("idn.lemma_a1.run_time", shared_model())
    assert found.certificate["values"] == pytest.approx([0, 9, 1, 17])


def test_two_shelves_under_either_kind_of_coins():
    view = Evaluation(named.two_shelves())
    [slot], y = view.slots, view.fractional[0]
    outcomes, chance = joint_distribution(y, view.instance.size)
    assert slot.ranked(y.reshape(1, -1)) == pytest.approx(1)
    assert chance @ slot.ranked(outcomes) == pytest.approx(3 / 4)
    half = dependent.Knapsack.of([0.5], [1])
    distribution = distribution_of_coins([half, half], common_by_step)
    assert distribution == {((1,), (1,)): Fraction(1, 2), ((0,), (0,)): Fraction(1, 2)}
    own = distribution_of_coins([half, half], by_step)
    assert own == {((a,), (b,)): Fraction(1, 4) for a in (0, 1) for b in (0, 1)}


def test_two_large_models_settle_one_and_leave_the_other():
    """Sizes (3, 3), y = (5/6, 5/6): one entry goes to 1, the other to 2/3 and is dropped."""
    y, size = [Fraction(5, 6)] * 2, [Fraction(3)] * 2
    assert node_distribution(y, size, "drop") == {(1, 0): Fraction(1, 2), (0, 1): Fraction(1, 2)}
    # Then the settled one is kept with probability 2/3, else the other alone.
    assert mean(node_distribution(y, size, "half")) == (Fraction(1, 2), Fraction(1, 2))


def test_large_leftover_keeps_half_with_a_fair_coin():
    [kept] = check("idn.half", named.large_leftover(0.01))
    # With probability 0.99 the larger model would be drawn: then 0.02 or 1, else 0.02.
    assert kept.measured == pytest.approx(0.99 * (0.02 + 1) / 2 + 0.01 * 0.02)
    assert kept.verdict == "holds"


def test_overshoot_of_an_oversized_model_is_refused_by_the_rounding_itself():
    from edgeopt.errors import InputError
    from edgeopt.rounding import depround_distribution

    with pytest.raises(InputError):
        depround_distribution([0.5], [2], residual="half", budget=1)


def test_projections_checked_by_hand_are_those_of_the_entropy():
    expected = {
        named.capped_entry: (2 / 11, 9 / 11, 1, 1 / 22),
        named.whole_catalogue: (1, 1),
        named.tied: (0.4, 1, 1),
    }
    for case, result in expected.items():
        body = KnapsackEntropy(case().size, case().budget)
        assert body.project(np.array(case().point)) == pytest.approx(result, rel=1e-12)


def test_a_nearly_whole_repository_costs_twelve_by_itself():
    """Nine requests at cost 1 and one at 3; with the edge's tenth of a model, the one at 2."""
    case = named.nearly_whole_repository()
    potential = case.instance.ranking.potential(case.instance.requests)
    assert potential.shape[0] == 1
    alone = Evaluation(case).instance.cost
    assert sorted(set(alone.ravel()[np.isfinite(alone.ravel())].tolist())) == [1.0, 2.0, 3.0, 4.0]


def test_demand_changes_in_turn_or_at_random():
    instance = adversarial(horizon=7, tasks=3, period=2)
    assert instance.requests.argmax(axis=1).tolist() == [0, 0, 1, 1, 2, 2, 0]
    assert (instance.requests.sum(axis=1) == 1).all()
    assert instance.active.tolist() == [True, False]
    assert instance.ranking.cost.tolist() == [0.0, 1.0] * 3
    drawn = adversarial(horizon=3000, tasks=3, period=3, rng=4)
    assert drawn == adversarial(horizon=3000, tasks=3, period=3, rng=4)
    wanted = drawn.requests.argmax(axis=1).reshape(1000, 3)
    assert (wanted == wanted[:, :1]).all()
    count = np.bincount(wanted[:, 0])
    assert ((count - 1000 / 3) ** 2 / (1000 / 3)).sum() < 27.7  # 2 degrees of freedom: 1e-6


def gain_in_turn(instance, hosts):
    """Gain of a slot if types are served one after another, by the definition."""
    left = {v: float(instance.capacity[v, 0]) for v in hosts}
    gain = 0.0
    for rho in range(instance.types):
        here = instance.ranking.options(rho)
        for _ in range(int(instance.requests[0, rho])):
            for v, cost, permanent in zip(
                instance.ranking.node[here].tolist(),
                instance.ranking.cost[here].tolist(),
                instance.ranking.permanent[here].tolist(),
                strict=True,
            ):
                if permanent or left.get(v, 0) >= 1:
                    if not permanent:
                        left[v] -= 1
                    gain += instance.ranking.repository_cost[rho] - cost
                    break
    return gain


def test_gains_at_run_time_are_not_submodular():
    instance = shared_model()
    found = {
        hosts: gain_in_turn(instance, hosts)
        for n in range(3)
        for hosts in itertools.combinations((0, 1), n)
    }
    assert found == {(): 0.0, (1,): 1.0, (0,): 9.0, (0, 1): 17.0}


def test_the_small_model_has_the_better_gain_per_size():
    instance = crowded_out(0.125)
    ranking = instance.ranking
    gain = ranking.repository_cost[ranking.type] - ranking.cost
    here = ranking.node == 0
    assert gain[here].tolist() == [0.25, 1.0]
    size = instance.size[0, ranking.model[here]]
    assert (gain[here] / size).tolist() == [2.0, 1.0]
    assert size.sum() > instance.budget[0] == size.max()
