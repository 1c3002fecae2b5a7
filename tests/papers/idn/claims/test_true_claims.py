"""Every true claim on a hundred drawn networks and more, none of them left without a case."""

from collections import Counter

import numpy as np
import pytest
from edgeopt_papers.idn.claims.evaluation import Adversary, Evaluation
from edgeopt_papers.idn.claims.instances import adversarial, long
from edgeopt_papers.idn.claims.theorem import static_optimum
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.bounds import check, claims
from edgeopt.bounds.regret import PSI
from edgeopt.instances.idn import IdnInstance, generate
from edgeopt.instances.idn.named import fitting, one_node, small
from edgeopt.testing.strategies import idn_instances
from tests.draws import LEAN, draws, every

ABOUT = {
    id: claim
    for id, claim in claims("idn").items()
    if not claim.counterexample and issubclass(IdnInstance, claim.instance_type)
}
# Many slots that are all rounded, or programs to solve: fewer and smaller cases.
LONG_RUNS = (
    "idn.theorem5_1", "idn.proposition", "idn.useful.regret", "idn.reserve", "idn.half.regret"
)  # fmt: skip
SIMULATED = [id for id in ABOUT if id.startswith(LONG_RUNS)]
SOLVED = [id for id in ABOUT if id.startswith("idn.cooperative")]
FAST = [id for id in ABOUT if id not in [*SIMULATED, *SOLVED]]
OBLIVIOUS = [
    id
    for id in claims(
        f"idn.{part}"
        for part in (
            "lemma_c*", "lemma3_1", "lemma_a*", "lemma_e1", "lemma_f[13679]*",
            "message_passing", "equation1*", "rounding", "half", "half.gain",
            "half.filled", "margin.gain", "useful.gain",
        )
    )
    if id in FAST
]  # fmt: skip
"""Claims whose truth depends on what an adversary chooses."""


def refuted(ids, instance):
    return [found for found in check(ids, instance) if found.verdict == "violated"]


@st.composite
def adversaries(draw, *, whole=True, slots=None, **sizes):
    """Draw a network and capacities up to what is allowed, repositories whole or only in sum."""
    instance = draw(idn_instances(**sizes))
    if slots is not None:
        instance = instance.replace(requests=np.tile(instance.requests, (slots, 1))[:slots])
    ranking = instance.ranking
    allowed = ranking.potential(instance.requests)
    shares = draw(st.lists(st.sampled_from([0, 1, 2, 3, 4]), min_size=7, max_size=7))
    share = np.resize(np.array(shares) / 4, allowed.shape)
    potential = np.where(ranking.permanent, allowed, np.floor(share * allowed))
    if not whole:
        for rho in range(instance.types):
            mine = np.flatnonzero(ranking.permanent & (ranking.type == rho))
            if len(mine) > 1:
                half = instance.requests[:, rho] // 2
                potential[:, mine[0]] = half
                potential[:, mine[1]] = instance.requests[:, rho] - half
    return Adversary(instance, potential)


@given(idn_instances(cost=None))
def test_networks(instance):
    assert refuted(FAST, instance) == []


@given(adversaries(cost=None))
@settings(max_examples=draws(100))
def test_adversaries(given):
    assert refuted(OBLIVIOUS, given) == []


@given(adversaries(cost=None, whole=False))
@settings(max_examples=draws(100))
def test_adversaries_that_split_the_repositories(given):
    assert refuted(OBLIVIOUS, given) == []


@given(adversaries(nodes=3, models=3, types=2, horizon=2, slots=24))
@settings(max_examples=draws(100))
def test_regret(given):
    assert refuted(SIMULATED, given) == []


@given(idn_instances(nodes=3, models=4, horizon=2, cost=None))
def test_cooperative_bound(instance):
    assert refuted(SOLVED, instance) == []


@pytest.mark.parametrize("seed", range(1 if LEAN else 3))
def test_regret_over_long_horizons(seed):
    found = check(SIMULATED, long(seed, 200 if LEAN else 400))
    assert {one.verdict.value for one in found} <= {"holds", "vacuous"}
    sharper = {one.claim: one for one in found}["idn.theorem5_1.sharper"]
    assert sharper.verdict == "holds", sharper.reason


@pytest.mark.parametrize("residual", every(2, ["reserve", "half"]))
def test_regret_within_budgets(residual):
    said = Counter()
    seeds = 2 if LEAN else 6
    for seed in range(seeds):
        [found] = check([f"idn.{residual}.regret"], long(seed, 1000))
        said[found.verdict.value] += 1
    assert set(said) <= {"holds", "vacuous"}
    assert said["holds"] >= seeds // 2


@pytest.mark.parametrize("tasks", [2, 3])
@pytest.mark.parametrize("seed", every(4, range(4)))
def test_regret_with_expert_advice_drawn_at_random(tasks, seed):
    instance = adversarial(horizon=400 if tasks == 2 else 2500, tasks=tasks, rng=seed)
    ids = ["idn.theorem5_1", "idn.theorem5_1.sharper", "idn.useful.regret"]
    for found in check(ids, instance):
        assert found.verdict == "holds", found.reason


def test_no_claim_goes_untested():
    """Count the verdicts that say something."""
    said = Counter()
    seeds = 2 if LEAN else 15
    for seed in range(seeds):
        for instance in (small(seed), small(seed, own_cost=True), fitting(seed), one_node(seed)):
            for found in check(FAST, instance):
                assert found.verdict != "violated", found
                said[found.claim] += found.verdict == "holds"
    for id in FAST:
        assert said[id] >= seeds, (id, said[id])


@pytest.mark.long
def test_claims_that_scale_say_something_in_the_setting_of_the_paper():
    instance = generate(popularity="sliding", horizon=3)
    verdicts = {found.claim: found for found in check(list(ABOUT), instance)}
    assert [id for id, found in verdicts.items() if found.verdict == "violated"] == []
    silent = {id for id, found in verdicts.items() if found.verdict == "vacuous"}
    assert silent == {
        "idn.useful.regret",
        "idn.reserve.regret",
        "idn.half.regret",
        "idn.half.filled",
        "idn.half.filled.budget",
        "idn.filled.run_time",
        "idn.equation149",
        "idn.lemma_f11",
        "idn.rounding",
        "idn.rounding.capped",
        "idn.half",
        "idn.half.gain",
        "idn.theorem5_1",
        "idn.theorem5_1.sharper",
        "idn.proposition5_1_1",
        "idn.proposition5_1_1.sharper",
        "idn.cooperative.expected",
        "idn.greedy",
    }
    assert "worse than trivial at T = 3" in verdicts["idn.theorem5_1"].reason
    assert verdicts["idn.lemma_f11"].reason.startswith("too large")


@pytest.mark.parametrize("claim", ["theorem5_1", "theorem5_1.sharper", "useful.regret"])
def test_no_policy_that_earns_nothing_keeps_a_bound_on_the_regret(claim):
    """The regret of earning nothing is the share of the best fixed allocation."""
    for horizon in (10, 20, 50, 200, 800):
        given = adversarial(horizon=horizon)
        [found] = check(f"idn.{claim}", given)
        nothing = PSI * static_optimum(Evaluation(given)).gain * horizon
        assert (found.verdict == "holds") == (found.guaranteed < nothing)
        assert found.verdict in ("holds", "vacuous")


def test_trivial_bound_names_the_horizon_at_which_it_speaks():
    """With expert advice the best fixed allocation gains 1 in every second slot."""
    [short] = check("idn.theorem5_1", adversarial(horizon=4))
    assert short.verdict == "vacuous"
    needed = float(short.reason.rsplit("T = ", 1)[1].split()[0])
    [below] = check("idn.theorem5_1", adversarial(horizon=int(needed) - 1))
    [above] = check("idn.theorem5_1", adversarial(horizon=int(needed) + 1))
    assert (below.verdict, above.verdict) == ("vacuous", "holds")
