"""INFIDA: online mirror ascent on fractional allocations, rounded to a deployment at every node."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from edgeopt.kernels import compiled
from edgeopt.models.idn.kernels import supergradient_kernel
from edgeopt.online.idn.rates import NodeConstants, node_constants, published_rate, theory_rates
from edgeopt.online.mirror_ascent import AdaptiveStep, AscentState, MirrorAscent, StepRule
from edgeopt.online.mirror_ascent.maps import EntropyRows
from edgeopt.options import check_choice, check_real, check_text, check_whole
from edgeopt.rounding.kernels import BERNOULLI, DROP, HALF, fill_row
from edgeopt.rounding.rows import depround_rows, depround_rows_with

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.idn import IdnInstance
    from edgeopt.online.idn.environment import Outcome, Slot
    from edgeopt.online.mirror_ascent.method import AscentMap

    Bools = NDArray[np.bool_]
    Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Stretching:
    """A refresh period that grows linearly.

    Parameters
    ----------
    initial, target
        First and last period, slots.
    over
        Slots until the last period is reached.

    Raises
    ------
    OptionError
        If a period is below 1, or `over` is not positive.
    """

    initial: int = 1
    target: int = 32
    over: int = 60

    def __post_init__(self) -> None:
        check_whole("initial", self.initial, 1)
        check_whole("target", self.target, 1)
        check_whole("over", self.over, 1)

    def period(self, slot: int) -> int:
        """Return the period in force at a slot."""
        part = min(1.0, slot / self.over)
        return round(self.initial + (self.target - self.initial) * part)


@compiled(writes="chosen")
def _fill(chosen: Bools, size: Floats, budget: Floats, free: Bools, credit: Floats) -> None:
    """Add to every node the models of most credit per MB that fit."""
    for v in range(size.shape[0]):
        if free[v]:
            used = 0.0
            for m in range(size.shape[1]):
                used += size[v, m] if chosen[v, m] else 0.0
            fill_row(credit[v], size[v], budget[v] - used, chosen[v])


RESIDUAL = {"bernoulli": BERNOULLI, "drop": DROP, "fill": DROP, "half": HALF}
ADAPTIVE = 10.0
"""Adaptive rates are this many times those of the proof, which pays in practice."""


@dataclass(frozen=True, eq=False)
class InfidaState:
    """What INFIDA remembers.

    Attributes
    ----------
    instance
        The network.
    constants
        Of its nodes.
    ascent
        Mirror ascent of all nodes, each at its own rate.
    climbing
        Where it stands.
    earned
        Last supergradient, or their sum for ``ascent="leader"``, shape [V, M], ms.
    allocation
        What is deployed, shape [V, M]; None before the first slot.
    refreshed
        Slot in which it was drawn.
    coins
        The coins of every node, shape [V, M + 1], once they are drawn and if they are common.
    """

    instance: IdnInstance
    constants: NodeConstants
    ascent: MirrorAscent
    climbing: AscentState
    earned: NDArray[np.float64]
    allocation: NDArray[np.bool_] | None = None
    refreshed: int = 0
    coins: NDArray[np.float64] | None = None

    @property
    def fractional(self) -> NDArray[np.float64]:
        """Fractional allocation y, shape [V, M]."""
        return self.climbing.point


class NodeRates(NamedTuple):
    """Fixed learning rates of all nodes, MB/ms, shape [V]."""

    values: NDArray[np.float64]

    def rate(self, mirror: AscentMap, squares: Any) -> NDArray[np.float64]:
        """Return the rates."""
        return self.values


@dataclass(frozen=True)
class Infida:
    r"""Learn a fractional allocation by mirror ascent, and deploy a rounding of it.

    After every slot each node moves its fractional allocation along the supergradient of the gain,
    in the mirror map of the weighted entropy, back into its budget. What is deployed is drawn by
    dependent rounding, independently at every node.

    Parameters
    ----------
    step
        Learning rate: a number for all nodes (MB/ms), ``"theory"`` (per node, of least proven
        regret), ``"adaptive"`` (per node, from the gradients seen so far; needs no horizon and no
        bound on gradients) or ``"published"`` (that of Theorem V.1).
    refresh
        A new deployment is drawn every so many slots, or by a `Stretching`; learning goes on in
        every slot.
    coins
        ``"fresh"`` coins in every slot, or ``"common"`` ones: a node keeps its coins, so that its
        deployment changes only when its fractional allocation does. Expectations per slot are the
        same; slots become dependent, so requests must not react to past deployments.
    residual
        What becomes of the last fractional entry of a node: ``"bernoulli"`` (the one that the
        guarantee covers; may exceed the budget by part of one model), ``"drop"``, ``"fill"``
        (dropped, then whatever fits by credit per MB) or ``"half"`` (within the budget, keeps half
        of the guarantee). All but the first never deploy a model that exceeds a budget alone.
    credit
        ``"own"``: a model that is not deployed is credited with its whole capacity for every type,
        as printed. ``"shared"``: its capacity is split among the types that want it.
    ascent
        ``"mirror"``: steps from the last point. ``"leader"``: from the start along the sum of all
        gradients, the variant of the adaptive step with a proof for every horizon.
    peak
        Most requests of a type in a slot, where known, for ``"theory"`` and ``"published"``.
    label
        Name in tables; INFIDA by default.

    Raises
    ------
    OptionError
        If an option is unknown or out of range.

    Notes
    -----
    Si Salem et al., Toward inference delivery networks, Algorithm 1 and Theorem V.1.
    """

    step: float | Literal["theory", "adaptive", "published"] = "adaptive"
    refresh: int | Stretching = 1
    coins: Literal["fresh", "common"] = "fresh"
    residual: Literal["bernoulli", "drop", "fill", "half"] = "bernoulli"
    credit: Literal["own", "shared"] = "own"
    ascent: Literal["mirror", "leader"] = "mirror"
    peak: float = np.inf
    label: str = "INFIDA"

    def __post_init__(self) -> None:
        check_choice("coins", self.coins, ("fresh", "common"))
        check_choice("residual", self.residual, RESIDUAL)
        check_choice("credit", self.credit, ("own", "shared"))
        check_choice("ascent", self.ascent, ("mirror", "leader"))
        if isinstance(self.step, str):
            check_choice(
                "step", self.step, ("theory", "adaptive", "published"), otherwise="a number"
            )
        else:
            check_real("step", self.step, "[0, inf)")
        if not isinstance(self.refresh, Stretching):
            check_whole("refresh", self.refresh, 1)
        check_real("peak", self.peak, "(0, inf]")
        check_text("label", self.label)

    @property
    def name(self) -> str:
        """Name in tables."""
        return self.label

    def start(self, instance: IdnInstance) -> InfidaState:
        """Spread every budget evenly over the models that a node may host."""
        fitting = self.residual != "bernoulli"
        constants = node_constants(instance, peak=self.peak, fitting=fitting)
        whole = np.where(constants.allowed, instance.size, 0.0).sum(axis=1)
        share = np.divide(
            instance.budget, whole, out=np.ones(instance.nodes), where=whole > instance.budget
        )
        fractional = np.where(constants.allowed, share[:, np.newaxis], instance.repository)
        nodes = EntropyRows(
            instance.size, fractional, instance.budget, constants.diameter, constants.free,
            constants.allowed,
        )  # fmt: skip
        ascent = MirrorAscent(nodes, self._rule(instance, constants), self.ascent)
        return InfidaState(instance, constants, ascent, ascent.start(), np.zeros_like(fractional))

    def _rule(self, instance: IdnInstance, constants: NodeConstants) -> StepRule:
        horizon = max(1, instance.horizon)
        if self.step == "adaptive":
            return AdaptiveStep(ADAPTIVE)
        if self.step == "theory":
            return NodeRates(theory_rates(instance, constants, horizon=horizon))
        if self.step == "published":
            return NodeRates(published_rate(instance, constants, horizon=horizon, peak=self.peak))
        return NodeRates(np.where(constants.free, float(self.step), 0.0))

    def decide(
        self, state: InfidaState, observation: Slot, rng: np.random.Generator
    ) -> tuple[NDArray[np.bool_], InfidaState]:
        """Keep what is deployed, or draw anew where a refresh is due."""
        if state.allocation is not None and not self._due(state, observation.index):
            return state.allocation, state
        instance, residual, coins = state.instance, RESIDUAL[self.residual], state.coins
        if self.coins == "common" and coins is None:
            coins = rng.random((instance.nodes, instance.models + 1))
        if coins is None:
            allocation = depround_rows(state.fractional, instance.size, residual, False, rng)
        else:
            allocation = depround_rows_with(state.fractional, instance.size, residual, coins)
        if self.residual == "fill":
            free = state.constants.free
            _fill(allocation, instance.size, instance.budget, free, state.earned)
        state = replace(state, allocation=allocation, refreshed=observation.index, coins=coins)
        return allocation, state

    def _due(self, state: InfidaState, slot: int) -> bool:
        if isinstance(self.refresh, Stretching):
            return slot - state.refreshed >= self.refresh.period(slot)
        return slot % self.refresh == 0

    def learn(
        self,
        state: InfidaState,
        observation: Slot,
        decision: NDArray[np.bool_],
        feedback: Outcome,
    ) -> InfidaState:
        """Move along the supergradient of the slot's gain, and back into the budgets."""
        return self.climb(state, self.gradient(state, decision, feedback))

    def gradient(
        self, state: InfidaState, decision: NDArray[np.bool_], outcome: Outcome
    ) -> NDArray[np.float64]:
        """Return the supergradient of a slot's gain at the fractional allocation, shape [V, M]."""
        ranking = state.instance.ranking
        potential = outcome.potential
        if self.credit == "shared":
            kept = ranking.permanent | decision.ravel()[ranking.cell]
            split = ranking.potential(outcome.requests, credit="shared")
            potential = np.where(kept, potential, split)
        gradient = np.empty_like(state.fractional)
        supergradient_kernel(
            ranking.first,
            ranking.cell,
            ranking.cost,
            outcome.requests,
            potential,
            state.fractional.ravel(),
            gradient.ravel(),
        )
        return gradient

    def climb(self, state: InfidaState, gradient: NDArray[np.float64]) -> InfidaState:
        """Move every node along a gradient of shape [V, M], and back into its budget."""
        climbing = state.ascent.update(state.climbing, gradient)
        earned = climbing.total if self.ascent == "leader" else gradient
        return replace(state, climbing=climbing, earned=earned)
