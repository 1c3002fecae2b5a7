"""A portfolio of policies: it deploys the best of what they propose, within the budgets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from edgeopt.errors import OptionError
from edgeopt.instances.idn import IdnInstance, generate
from edgeopt.online import simulate
from edgeopt.online.idn import FixedPlacement, IdnEnvironment, Infida, Olag, Portfolio

ROOMY = IdnInstance(
    # One node with room for two of three models of a task each; the cloud is 10 ms away.
    edges=[[0, 1]],
    latency=[10.0],
    size=[[1.0, 1.0, 2.0]] * 2,
    delay=[[0.0, 0.0, 0.0]] * 2,
    capacity=[[6.0, 6.0, 6.0], [np.inf] * 3],
    accuracy=[100.0] * 3,
    task=[0, 1, 2],
    budget=[2.0, 4.0],
    repository=[[False] * 3, [True] * 3],
    request_task=[0, 1, 2],
    path=[[0, 1]] * 3,
    requests=[[4, 2, 3], [4, 2, 3], [0, 0, 5], [0, 0, 5]],
    alpha=0.0,
)


@dataclass(frozen=True)
class Fixed:
    """Propose one placement of the node for ever."""

    models: tuple[int, ...]
    name: str = "fixed"

    def start(self, instance: IdnInstance) -> Any:
        allocation = instance.empty.copy()
        allocation[0, list(self.models)] = True
        return allocation

    def decide(self, state: Any, observation: Any, rng: Any) -> Any:
        return state, state

    def learn(self, state: Any, observation: Any, decision: Any, feedback: Any) -> Any:
        return state


def hosted(*proposals: tuple[int, ...]) -> list[list[int]]:
    """Return the models of node 0 in each slot."""
    portfolio = Portfolio([Fixed(models) for models in proposals])
    found = simulate(IdnEnvironment(ROOMY), portfolio, rng=0, runs=1, keep_trace=True)
    assert found.violations.sum() == 0
    return [np.flatnonzero(slot[0]).tolist() for slot in found.hosted]


def test_the_best_for_the_last_slot_is_deployed_and_the_rest_is_filled() -> None:
    # Before the first slot nothing is known: the first proposal. Model 0 gains 40 in slots 0 and
    # 1, model 2 gains 30 there and 50 later; model 1 fits beside model 0 and is never dropped.
    assert hosted((2,), (0,), (1,)) == [[2], [0, 1], [0, 1], [2]]
    assert hosted((1,), (0,)) == [[0, 1]] * 4
    assert hosted((), ()) == [[]] * 4


def test_what_is_deployed_stays_where_no_proposal_is_better() -> None:
    class Fickle(Fixed):
        """Propose its models in even slots, and nothing in odd ones."""

        def decide(self, state: Any, observation: Any, rng: Any) -> Any:
            empty = np.array(ROOMY.empty)
            return (empty if observation.index % 2 else state), state

    portfolio = Portfolio([Fickle((0,))])
    found = simulate(IdnEnvironment(ROOMY), portfolio, rng=0, runs=1, keep_trace=True)
    assert [np.flatnonzero(slot[0]).tolist() for slot in found.hosted] == [[0]] * 4


@pytest.mark.parametrize("popularity", ["fixed", "sliding"])
def test_it_gains_about_as_much_as_its_best_policy_within_the_budgets(popularity: Any) -> None:
    instance = generate(
        rng=503, horizon=40, attachment="common", alpha=5.0, popularity=popularity,
        shift_every=10 * 450_000,
    )  # fmt: skip
    policies = (Infida(pairs="useful", residual="fill"), Olag(), Infida.recommended())
    environment = IdnEnvironment(instance)
    gains = [simulate(environment, one, rng=0, runs=1).reward.mean() for one in policies]
    found = simulate(environment, Portfolio(policies), rng=0, runs=1)
    assert found.violations.sum() == 0
    assert found.reward.mean() > 0.997 * max(gains)


def test_policies_learn_as_if_alone() -> None:
    """With one policy and one type there is one order: every slot is that of the policy alone."""
    instance = generate(rng=1, horizon=12, tasks=1, replicas=1, attachment=1)
    policy = Olag()
    alone = simulate(IdnEnvironment(instance), policy, rng=0, runs=1, keep_trace=True)
    portfolio = Portfolio([policy])
    states = portfolio.start(instance)
    assert instance.types == 1
    environment = IdnEnvironment(instance)
    rng = np.random.default_rng(0)
    episode = environment.episode(environment.scenarios(rng, 1)[0])
    slots = 0
    while (observation := episode.observe()) is not None:
        decision, states = portfolio.decide(states, observation, rng)
        assert (states.proposed[0] == alone.hosted[slots]).all()
        states = portfolio.learn(states, observation, decision, episode.act(decision))
        slots += 1
    assert slots == 12


def test_bad_options() -> None:
    for bad in ({"policies": []}, {"orders": 0}, {"label": 3}):
        with pytest.raises(OptionError):
            Portfolio(**bad)
    assert Portfolio([FixedPlacement(ROOMY.empty)]).name == "Portfolio"
