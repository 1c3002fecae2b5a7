"""INFIDA: online mirror ascent on fractional allocations, rounded to a deployment at every node."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import numpy as np

from edgeopt.models.idn.cells import Cells, cells_of
from edgeopt.online.idn import compact
from edgeopt.online.idn.environment import IdnEnvironment
from edgeopt.online.idn.rates import NodeConstants, node_constants, published_rate, theory_rates
from edgeopt.online.mirror_ascent import AdaptiveStep, AscentState, MirrorAscent, StepRule
from edgeopt.online.mirror_ascent.method import check_discount
from edgeopt.online.simulate import run_policy
from edgeopt.options import check_choice, check_real, check_text, check_whole
from edgeopt.rounding.kernels import BERNOULLI, DROP, HALF

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.idn import IdnInstance
    from edgeopt.online.idn.environment import IdnEpisode, Outcome, Slot
    from edgeopt.online.mirror_ascent.method import AscentMap
    from edgeopt.online.protocols import Kernel

    Bools = NDArray[np.bool_]
    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


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


class Residual(NamedTuple):
    """What becomes of the last fractional entry of a node."""

    rule: int
    coins: int
    """Coins beyond one per fractional entry."""
    fitting: bool
    """Whether models are left out that exceed a budget alone."""
    refill: bool
    """Whether the rest of the budget is filled."""


RESIDUAL: Final = {
    "bernoulli": Residual(BERNOULLI, 0, False, False),
    "drop": Residual(DROP, 0, True, False),
    "fill": Residual(DROP, 0, True, True),
    "half": Residual(HALF, 1, True, True),
    "reserve": Residual(BERNOULLI, 0, True, True),
}
ADAPTIVE = 10.0
"""Adaptive rates are this many times those of the proof, which pays in practice."""


@dataclass(frozen=True, eq=False)
class NodeEntropy:
    """The weighted entropy of every node's masses, on cells stored node by node."""

    cells: Cells
    start: Floats
    diameter: Floats

    @cached_property
    def convexity(self) -> Floats:
        """1/b, shape [V]."""
        filled = self.cells.filled
        return np.divide(1.0, filled, out=np.zeros_like(filled), where=self.diameter > 0.0)

    def centre(self) -> Floats:
        """Return the point to begin with, shape [C]."""
        return self.start

    def step(self, point: Floats, gradient: Floats, rate: Floats) -> Floats:
        """Step at every node with a choice at its own rate, shape [V]."""
        moved = point.copy()
        compact.ascend(self.cells, gradient, self.dual_norm(gradient), rate, moved)
        return moved

    def dual_norm(self, gradient: Floats) -> Floats:
        """Return half the range of g/s at every node with a choice, shape [V]."""
        norm = np.empty(self.diameter.size)
        compact.half_range(self.cells, gradient, norm)
        return norm


class NodeRates(NamedTuple):
    """Fixed learning rates of all nodes, MB/ms, shape [V]."""

    values: Floats

    def rate(self, mirror: AscentMap, squares: Any) -> Floats:
        """Return the rates."""
        return self.values


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
        Where it stands, shape [C]: the cells that INFIDA decides on, node by node.
    gradient
        Last supergradient, shape [C], ms.
    drawn
        Shares behind what is deployed, shape [C]; negative before the first slot.
    deployed
        What is deployed, shape [C].
    allocation
        The same, repositories included, shape [V, M].
    refreshed
        Slot in which it was drawn, -1 before the first.
    coins
        One coin per cell, and one or two per node, once they are drawn and if they are common.
    """

    instance: IdnInstance
    constants: NodeConstants
    ascent: MirrorAscent
    climbing: AscentState
    gradient: Floats
    drawn: Floats
    deployed: Bools
    allocation: Bools
    refreshed: int = -1
    coins: Floats | None = None

    @property
    def mirror(self) -> NodeEntropy:
        """Cells and geometry."""
        found = self.ascent.mirror
        assert isinstance(found, NodeEntropy)
        return found

    @property
    def fractional(self) -> Floats:
        """Fractional allocation y, repositories included, shape [V, M]."""
        return self.dense(self.climbing.point)

    def dense(self, values: NDArray[Any]) -> NDArray[Any]:
        """Spread values of cells over the network, shape [V, M]."""
        out = self.instance.empty.astype(values.dtype)
        out.flat[self.mirror.cells.place] = values
        return out


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
    residual: Literal["bernoulli", "drop", "fill", "half", "reserve"] = "bernoulli"
    credit: Literal["own", "shared"] = "own"
    ascent: Literal["mirror", "leader"] = "mirror"
    cells: Literal["all", "useful"] = "all"
    scale: float = ADAPTIVE
    discount: float = 1.0
    peak: float = np.inf
    label: str = "INFIDA"

    def __post_init__(self) -> None:
        check_choice("coins", self.coins, ("fresh", "common"))
        check_choice("residual", self.residual, RESIDUAL)
        check_choice("credit", self.credit, ("own", "shared"))
        check_choice("ascent", self.ascent, ("mirror", "leader"))
        check_choice("cells", self.cells, ("all", "useful"))
        check_real("scale", self.scale, "(0, inf)")
        check_discount(self.discount, self.ascent)
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
        constants = node_constants(
            instance,
            peak=self.peak,
            fitting=RESIDUAL[self.residual].fitting,
            cells=self.cells,
            reserve=self.residual == "reserve",
        )
        cells = cells_of(instance, constants.allowed, constants.free, constants.budget)
        whole = np.where(constants.allowed, instance.size, 0.0).sum(axis=1)
        share = np.divide(
            constants.budget, whole, out=np.ones(instance.nodes), where=whole > constants.budget
        )
        point = np.repeat(share, np.diff(cells.first))
        nodes = NodeEntropy(cells, point, constants.diameter)
        rule = self._rule(instance, constants)
        ascent = MirrorAscent(nodes, rule, self.ascent, self.discount)
        climbing = replace(ascent.start(), squares=np.zeros(instance.nodes))
        return InfidaState(
            instance, constants, ascent, climbing, np.zeros_like(point),
            np.full_like(point, -1.0), np.zeros(point.size, dtype=np.bool_), instance.empty,
        )  # fmt: skip

    def _rule(self, instance: IdnInstance, constants: NodeConstants) -> StepRule:
        horizon = max(1, instance.horizon)
        if self.step == "adaptive":
            return AdaptiveStep(self.scale)
        if self.step == "theory":
            return NodeRates(theory_rates(instance, constants, horizon=horizon))
        if self.step == "published":
            return NodeRates(published_rate(instance, constants, horizon=horizon, peak=self.peak))
        return NodeRates(np.where(constants.free, float(self.step), 0.0))

    def decide(
        self, state: InfidaState, observation: Slot, rng: np.random.Generator
    ) -> tuple[Bools, InfidaState]:
        """Keep what is deployed, or draw anew where a refresh is due."""
        slot = observation.index
        if state.refreshed >= 0 and not self._due(state.refreshed, slot):
            return state.allocation, state
        cells, point = state.mirror.cells, state.climbing.point
        residual, common = RESIDUAL[self.residual], self.coins == "common"
        coins = state.coins
        if coins is None:
            coins = rng.random(
                _most(cells, residual)
                if common
                else compact.count_coins(cells.first, point, residual.coins)
            )
        drawn, deployed = state.drawn.copy(), state.deployed.copy()
        compact.deploy(
            cells, point, state.gradient, drawn, deployed, coins, 0, common, residual.rule,
            residual.coins, residual.refill,
        )  # fmt: skip
        allocation = state.dense(deployed)
        return allocation, replace(
            state, drawn=drawn, deployed=deployed, allocation=allocation, refreshed=slot,
            coins=coins if common else None,
        )  # fmt: skip

    def _due(self, refreshed: int, slot: int) -> bool:
        if refreshed < 0:
            return True
        if isinstance(self.refresh, Stretching):
            return slot - refreshed >= self.refresh.period(slot)
        return slot % self.refresh == 0

    def learn(
        self, state: InfidaState, observation: Slot, decision: Bools, feedback: Outcome
    ) -> InfidaState:
        """Move along the supergradient of the slot's gain, and back into the budgets."""
        return self.climb(state, self.gradient(state, decision, feedback))

    def gradient(self, state: InfidaState, decision: Bools, outcome: Outcome) -> Floats:
        """Return the supergradient of a slot's gain at the fractional allocation, shape [C]."""
        cells, ranking = state.mirror.cells, state.instance.ranking
        requests, potential = outcome.requests, outcome.potential[cells.option]
        if self.credit == "shared":
            deployed = np.ascontiguousarray(decision).ravel()[cells.place]
            compact.share_credit(cells, requests, deployed, potential)
        gradient = np.empty(cells.size.size)
        compact.gradient_of(
            cells, ranking.repository_cost, requests, potential, state.climbing.point,
            np.ones(requests.size), gradient,
        )  # fmt: skip
        return gradient

    def climb(self, state: InfidaState, gradient: Floats) -> InfidaState:
        """Move every node along a gradient of shape [C], and back into its budget."""
        return replace(
            state, climbing=state.ascent.update(state.climbing, gradient), gradient=gradient
        )

    def compiled(self, environment: Any, state: InfidaState) -> Kernel | None:
        """Return a stand-in for the loop that simulates whole runs in compiled code."""
        if isinstance(environment, IdnEnvironment) and environment.order == "sequential":
            return self._kernel(environment, state)
        return None

    def _kernel(self, environment: IdnEnvironment, state: InfidaState) -> Kernel:
        def run(scenarios: Any, rng: np.random.Generator, *, record: bool = False) -> Any:
            seconds, episodes = 0.0, []
            for scenario, stream in zip(scenarios, rng.spawn(len(scenarios)), strict=True):
                episode = environment.episode(scenario, record=record)
                if record:  # what is hosted is kept by the plain loop alone
                    seconds += run_policy(episode, self, state, stream)
                else:
                    began = time.perf_counter()
                    self._run(environment.truth, episode, scenario, state, stream)
                    seconds += time.perf_counter() - began
                episodes.append(episode)
            found = environment.trajectory(self.name, episodes, seconds=seconds, record=record)
            return replace(found, compiled=not record)

        return run

    def _run(
        self, truth: IdnInstance, episode: IdnEpisode, order: Ints, state: InfidaState,
        rng: np.random.Generator,
    ) -> None:  # fmt: skip
        """Simulate one scenario, and write what happens into its episode."""
        cells, rule = state.mirror.cells, state.ascent.rule
        residual, common = RESIDUAL[self.residual], self.coins == "common"
        adaptive = isinstance(rule, AdaptiveStep)
        rate = rule.rate(state.mirror, np.ones(truth.nodes))
        rules = compact.Rules(
            common, residual.rule, residual.coins, residual.refill, self.credit == "shared",
            self.ascent == "leader", self.discount, rate, adaptive, self._refreshes(truth.horizon),
        )  # fmt: skip
        route = compact.route_of(truth.ranking, cells)
        most = _most(cells, residual)
        point, drawn = state.climbing.point.copy(), state.drawn.copy()
        deployed, squares = state.deployed.copy(), np.zeros(truth.nodes)
        gradient, total = np.zeros_like(point), np.zeros_like(point)
        coins = rng.random(most)
        slot = 0
        while True:
            slot, used = compact.run(
                cells, route, rules, state.mirror.start, truth.requests, order, coins, slot, point,
                drawn, deployed, gradient, total, squares, *episode.log,
            )  # fmt: skip
            if slot == truth.horizon:
                return
            coins = np.concatenate([coins[used:], rng.random(_COINS + most)])

    def _refreshes(self, slots: int) -> Bools:
        due, last = np.zeros(slots, dtype=np.bool_), -1
        for slot in range(slots):
            if self._due(last, slot):
                due[slot], last = True, slot
        return due


_COINS: Final = 2**18
"""Coins that are drawn at a time."""


def _most(cells: Cells, residual: Residual) -> int:
    """Return how many coins a slot takes at most."""
    return cells.size.size + residual.coins * cells.free.size
