"""How the tests let policies live in an inference delivery network, slot by slot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.online.idn import IdnEnvironment, Infida, Olag, Stretching

if TYPE_CHECKING:
    from collections.abc import Iterator

SAFE = ("drop", "fill", "half")
LEARNERS = [
    Infida(step=0.05),
    Infida(step="adaptive", coins="common"),
    Infida(step="adaptive", residual="drop", credit="shared"),
    Infida(step=2.0, residual="fill", refresh=2),
    Infida(step="adaptive", residual="half", ascent="leader"),
    Infida(step=0.5, residual="half", refresh=Stretching(1, 3, 2), coins="common"),
    Olag(),
    Olag(counters="forwarded"),
    Olag(ties="literal"),
]


def stepped(instance: Any, policy: Any, *, order: str, seed: int) -> Iterator[tuple]:
    """Yield (scenario of the slot, state before, decision, outcome, state after) by hand."""
    environment = IdnEnvironment(instance, order=order)
    scenarios, coins = np.random.default_rng(seed).spawn(2)
    scenario = environment.scenarios(scenarios, 1)[0]
    episode = environment.episode(scenario)
    state = policy.start(environment.instance)
    while (slot := episode.observe()) is not None:
        decision, ready = policy.decide(state, slot, coins)
        outcome = episode.act(decision)
        after = policy.learn(ready, slot, decision, outcome)
        yield scenario[slot.index], ready, decision, outcome, after
        state = after
