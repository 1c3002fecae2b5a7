"""INFIDA: online mirror ascent on fractional allocations, rounded at every refresh."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import numpy as np

from edgeopt.models.idn.gain import Pairs, pairs_of
from edgeopt.online.idn import kernels as compact
from edgeopt.online.idn.environment import IdnEnvironment
from edgeopt.online.idn.learning_rates import node_constants, published_rate, theory_rates
from edgeopt.online.idn.policies.noise import Gaussian, MessageLoss
from edgeopt.online.idn.policies.residuals import (
    RESIDUAL,
    Guarantee,
    checked_rows,
    guarantee_of,
    kernel_rows,
    limited_nodes,
    residual_of,
    rounded,
)
from edgeopt.online.mirror_ascent import (
    AdaptiveStep,
    KnapsackEntropy,
    Limited,
    MirrorAscent,
    StepRule,
)
from edgeopt.online.mirror_ascent.method import check_discount
from edgeopt.online.simulate import run_policy
from edgeopt.options import check_choice, check_kind, check_real, check_text, check_whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from edgeopt.arrays import Flags as Bools
    from edgeopt.arrays import Floats, Ints
    from edgeopt.instances.idn import IdnInstance
    from edgeopt.online.idn.environment import IdnEpisode, Outcome, Slot
    from edgeopt.online.idn.learning_rates import NodeConstants
    from edgeopt.online.mirror_ascent import AscentState, MirrorMap
    from edgeopt.online.protocols import Kernel
    from edgeopt.rounding import Rounding


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

    Examples
    --------
    >>> from edgeopt.instances.idn import small
    >>> from edgeopt.online import simulate
    >>> from edgeopt.online.idn import IdnEnvironment, Infida, Stretching
    >>> simulate(
    ...     IdnEnvironment(small(1)),
    ...     Infida(refresh=Stretching(initial=1, target=4, over=10)),
    ...     runs=5,
    ... )
    IdnTrajectory(INFIDA, 5 scenarios, 4 slots, mean reward 1.69712)
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


ADAPTIVE = 10.0
"""Adaptive rates are this many times those of the proof, which pays in practice."""


@dataclass(frozen=True, eq=False)
class NodeEntropy:
    """The product of the entropies of all nodes, `KnapsackEntropy` each, in compiled code.

    The nodes step in one compiled loop over pairs stored node by node; `Product` gives the same
    points, but calls Python once per node and slot.
    """

    pairs: Pairs
    start: Floats
    diameter: Floats
    still: bool
    """Whether nodes rest whose gradient moves no mass, instead of projecting their point again."""

    @cached_property
    def convexity(self) -> Floats:
        """1/b, shape [V]; infinite at nodes without a choice."""
        filled = self.pairs.filled
        return np.divide(1.0, filled, out=np.full_like(filled, np.inf), where=self.diameter > 0.0)

    @cached_property
    def width(self) -> Floats:
        """Twice the smaller of the budget and what it leaves out, MB, shape [V]."""
        first = np.diff(self.pairs.first)
        whole = np.bincount(np.repeat(np.arange(first.size), first), self.pairs.size, first.size)
        return 2.0 * np.maximum(np.minimum(self.pairs.filled, whole - self.pairs.filled), 0.0)

    def centre(self) -> Floats:
        """Return the point to begin with, shape [C]."""
        return self.start

    def step(self, point: Floats, gradient: Floats, rate: Floats) -> Floats:
        """Step at every node with a choice at its own rate, shape [V]."""
        moved = point.copy()
        norm = self.dual_norm(gradient) if self.still else rate
        compact.ascend(self.pairs, gradient, norm, rate, moved)
        return moved

    def dual_norm(self, gradient: Floats) -> Floats:
        """Return half the range of g/s at every node with a choice, shape [V]."""
        norm = np.empty(self.diameter.size)
        compact.half_range(self.pairs, gradient, norm)
        return norm

    def farthest(self, point: Floats) -> Floats:
        """Return an upper bound of the divergence of every node from a point, shape [V]."""
        far = np.zeros(self.diameter.size)
        for v in np.flatnonzero(self.diameter > 0.0):
            mine = slice(self.pairs.first[v], self.pairs.first[v + 1])
            own = KnapsackEntropy(self.pairs.size[mine], float(self.pairs.filled[v]))
            far[v] = own.farthest(point[mine])
        return far


class NodeRates(NamedTuple):
    """Fixed learning rates of all nodes, MB/ms, shape [V]."""

    values: Floats

    def rate(self, mirror: MirrorMap, squares: Any) -> Floats:
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
        Where it stands, shape [C]: the pairs that INFIDA decides on, node by node.
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
        One coin of every pair and one more of every node, once drawn and if they are common.
    noise
        Where noise is drawn from, if there is any.
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
    noise: np.random.Generator | None = None

    @property
    def mirror(self) -> NodeEntropy:
        """Pairs and geometry."""
        found = self.ascent.mirror
        found = found.map if isinstance(found, Limited) else found
        assert isinstance(found, NodeEntropy)
        return found

    @property
    def limited(self) -> Limited | None:
        """The same under further rows, if there are any."""
        found = self.ascent.mirror
        return found if isinstance(found, Limited) else None

    @property
    def fractional(self) -> Floats:
        """Fractional allocation y, repositories included, shape [V, M]."""
        return self.dense(self.climbing.point)

    def dense(self, values: NDArray[Any]) -> NDArray[Any]:
        """Spread values of pairs over the network, shape [V, M]."""
        out = self.instance.empty.astype(values.dtype)
        out.flat[self.mirror.pairs.place] = values
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
        How a node keeps its budget. ``"bernoulli"``: the last fractional entry is drawn, as
        printed; the budget may be exceeded by part of one model. ``"drop"`` leaves that entry out,
        ``"fill"`` does so and fills the rest of the budget. ``"half"``: within the budget, with
        half of the guarantee. ``"reserve"``: fractions fill the budget only up to the size of the
        node's largest model, so that no drawing exceeds it; see `guarantee`. What is left of a
        budget is then filled, by models that are there already and then by credit per MB, for
        ``"fill"``, ``"half"`` and ``"reserve"``. All but the first never deploy a model that
        exceeds a budget alone. A :class:`~edgeopt.rounding.Rounding` of one's own rounds node by
        node, and sees to the budgets itself.
    credit
        ``"own"``: a model that is not deployed is credited with its whole capacity for every type,
        as printed. ``"shared"``: its capacity is split among the types that want it.
    ascent
        ``"mirror"``: steps from the last point. ``"leader"``: from the start along the sum of all
        gradients, the variant of the adaptive step with a proof for every horizon.
    pairs
        ``"all"`` models compete for the budget of a node, or only ``"useful"`` ones, which can save
        something at all: nothing is lost without the others, and regret constants are smaller.
    scale
        Factor of the adaptive rates.
    discount
        For ``"leader"``: what a gradient still counts one slot later, 1 as long as nothing is to
        be forgotten.
    noise
        Disturbs what a node learns of a slot: a `MessageLoss` or a `Gaussian`. The rates of
        ``"theory"`` allow for it, and regret keeps its order.
    peak
        Most requests of a type in a slot, where known, for ``"theory"`` and ``"published"``.
    rows
        Further rows on allocations across the network, each an array [node, model] and the most
        that its sum over what is hosted may be. Fractional allocations keep them.
    keep
        ``"mean"``: deployments keep the rows on average. ``"always"``: models of least credit per
        MB are dropped until a deployment keeps them. A budget is refilled only with models that
        count in no row.
    label
        Name in tables; INFIDA by default.

    Raises
    ------
    OptionError
        If an option is unknown or out of range, or, from ``start``, nothing that fills the budgets
        keeps the rows.

    Notes
    -----
    Si Salem et al., Toward inference delivery networks, Algorithm 1 and Theorem V.1. That is
    ``step="published"`` with all other options at their defaults, and `peak` where it is known.
    The evaluation of the paper does not give its rate. That of the theorem moves no share by more
    than 0.004 in 30 slots of its networks, so the default here is ``"adaptive"``; `Stretching` and
    longer refresh periods are the paper's, everything else is not.

    Examples
    --------
    >>> from edgeopt.instances.idn import small
    >>> from edgeopt.online import simulate
    >>> from edgeopt.online.idn import IdnEnvironment, Infida
    >>> simulate(IdnEnvironment(small(1)), Infida(), runs=5)
    IdnTrajectory(INFIDA, 5 scenarios, 4 slots, mean reward 1.69712)
    """

    step: float | Literal["theory", "adaptive", "published"] = "adaptive"
    refresh: int | Stretching = 1
    coins: Literal["fresh", "common"] = "fresh"
    residual: Literal["bernoulli", "drop", "fill", "half", "reserve"] | Rounding = "bernoulli"
    credit: Literal["own", "shared"] = "own"
    ascent: Literal["mirror", "leader"] = "mirror"
    pairs: Literal["all", "useful"] = "all"
    scale: float = ADAPTIVE
    discount: float = 1.0
    noise: MessageLoss | Gaussian | None = None
    peak: float = np.inf
    rows: Sequence[tuple[ArrayLike, float]] = field(default=(), repr=False)
    keep: Literal["mean", "always"] = "mean"
    label: str = "INFIDA"

    def __post_init__(self) -> None:
        check_choice("coins", self.coins, ("fresh", "common"))
        if isinstance(self.residual, str) or not callable(self.residual):
            check_choice("residual", self.residual, RESIDUAL, otherwise="a rounding")
        check_choice("keep", self.keep, ("mean", "always"))
        object.__setattr__(self, "rows", checked_rows(self.rows, self.keep, self.residual))
        check_choice("credit", self.credit, ("own", "shared"))
        check_choice("ascent", self.ascent, ("mirror", "leader"))
        check_choice("pairs", self.pairs, ("all", "useful"))
        check_real("scale", self.scale, "(0, inf)")
        check_discount(self.discount, self.ascent)
        if self.noise is not None:
            check_kind("noise", self.noise, MessageLoss, Gaussian)
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

    @classmethod
    def recommended(cls, label: str = "INFIDA+") -> Infida:
        """Return options that keep the budgets, for demand that may move and accuracy that counts.

        Useful pairs, common coins, budgets filled by what is there already, shared credit, and
        steps along gradients that are forgotten within some hundred slots. No share of the best
        gain is proven for them; ``residual="reserve"`` or ``"half"`` with ``ascent="mirror"`` has
        a proof. Where accuracy counts little ``Infida(residual="fill")`` gains more, and where
        requests enter everywhere `Olag` may; `Portfolio` chooses among them slot by slot.

        Parameters
        ----------
        label
            Name in tables.

        Returns
        -------
        Infida
            The policy.
        """
        return cls(
            pairs="useful", coins="common", residual="fill", credit="shared", ascent="leader",
            discount=0.99, scale=3.0, label=label,
        )  # fmt: skip

    def guarantee(self, instance: IdnInstance) -> Guarantee:
        r"""Return what is proven of the gain at most, apart from a regret of order sqrt(T).

        Parameters
        ----------
        instance
            The network.

        Returns
        -------
        Guarantee
            The share of the gain of the best fixed placement: :math:`1 - 1/e` as printed, half of
            that for ``"half"``, and :math:`c (1 - 1/e)` with
            :math:`c = \min_v (1 - \max_m s_{vm} / b_v)` over nodes with a choice for
            ``"reserve"``; nothing is proven for ``"drop"`` and ``"fill"``, for ``keep="always"``,
            or for a rounding that does not promise ``"marginals"`` and ``"correlation"``. Under
            rows, the best is that of placements that fill the budgets and keep the rows.
        """
        constants = self._constants(instance)
        kept = constants.budget[constants.free] / instance.budget[constants.free]
        keep = self.keep if self.rows else None
        return guarantee_of(self.residual, float(kept.min(initial=1.0)), keep)

    def start(self, instance: IdnInstance) -> InfidaState:
        """Spread every budget evenly over the models that a node may host."""
        constants = self._constants(instance)
        pairs = pairs_of(instance, constants.allowed, constants.free, constants.budget)
        whole = np.where(constants.allowed, instance.size, 0.0).sum(axis=1)
        share = np.divide(
            constants.budget, whole, out=np.ones(instance.nodes), where=whole > constants.budget
        )
        point = np.repeat(share, np.diff(pairs.first))
        nodes = NodeEntropy(pairs, point, constants.diameter, self.ascent == "mirror")
        mirror: NodeEntropy | Limited = nodes
        if self.rows:
            mirror = limited_nodes(nodes, pairs, instance, self.rows)  # type: ignore[arg-type]
            constants = constants._replace(diameter=mirror.diameter)
        rule = self._rule(instance, constants)
        ascent = MirrorAscent(mirror, rule, self.ascent, self.discount)
        return InfidaState(
            instance, constants, ascent, ascent.start(), np.zeros_like(point),
            np.full_like(point, -1.0), np.zeros(point.size, dtype=np.bool_), instance.empty,
        )  # fmt: skip

    def _constants(self, instance: IdnInstance) -> NodeConstants:
        found = node_constants(
            instance,
            peak=self.peak,
            fitting=residual_of(self.residual).fitting,
            pairs=self.pairs,
            reserve=self.residual == "reserve",
        )
        if self.noise is None:
            return found
        return found._replace(reach=self.noise.reach(found.reach, found.allowed.sum(axis=1)))

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
        pairs, point = state.mirror.pairs, state.climbing.point
        residual, common = residual_of(self.residual), self.coins == "common"
        coins, noise = state.coins, state.noise
        if self.noise is not None and noise is None:
            [noise] = rng.spawn(1)
        if coins is None:
            coins = rng.random(_coins(pairs))
        rows = kernel_rows(state.limited, point.size, self.keep)
        if isinstance(self.residual, str):
            drawn, deployed = state.drawn.copy(), state.deployed.copy()
            compact.deploy(
                pairs, point, state.gradient, drawn, deployed, coins, common, residual.rule,
                residual.refill, rows,
            )  # fmt: skip
        else:
            # The first coin is the seed of a stream that the rounding may read as it likes.
            stream = np.random.default_rng(int(coins[0] * 2**53))
            drawn, deployed = point, rounded(self.residual, pairs, point, stream)
            if rows.drops:
                compact.drop(pairs, rows, state.gradient, deployed)
        allocation = state.dense(deployed)
        return allocation, replace(
            state, drawn=drawn, deployed=deployed, allocation=allocation, refreshed=slot,
            coins=coins if common else None, noise=noise,
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
        pairs, ranking = state.mirror.pairs, state.instance.ranking
        requests, potential = outcome.requests, outcome.potential[pairs.option]
        if self.credit == "shared":
            deployed = np.ascontiguousarray(decision).ravel()[pairs.place]
            compact.share_credit(pairs, requests, deployed, potential)
        noise, stream = self.noise, state.noise
        weight = np.ones(requests.size)
        if noise is not None and stream is not None:
            weight = noise.weights(requests.size, stream)
        gradient = np.empty(pairs.size.size)
        compact.gradient_of(
            pairs, ranking.repository_cost, requests, potential, state.climbing.point, weight,
            gradient,
        )  # fmt: skip
        if noise is not None and stream is not None:
            noise.disturb(pairs, gradient, stream)
        return gradient

    def climb(self, state: InfidaState, gradient: Floats) -> InfidaState:
        """Move every node along a gradient of shape [C], and back into its budget."""
        mirror, moved = state.mirror, state.ascent.update(state.climbing, gradient)
        rests = not mirror.still and isinstance(state.ascent.rule, AdaptiveStep)
        if rests and state.limited is None:
            # Without news a node rests: sum and rate are discounted by factors that cancel.
            news = np.repeat(mirror.dual_norm(gradient) > 0.0, np.diff(mirror.pairs.first))
            kept = np.where(news, moved.point, state.climbing.point)
            moved = replace(moved, point=kept)
        return replace(state, climbing=moved, gradient=gradient)

    def carry(self, state: InfidaState, instance: IdnInstance) -> InfidaState:
        """Go on in a network that has changed.

        A node whose models and memory are as before keeps its shares. Any other one goes on with
        the nearest shares that fill its memory, where models that it did not have before, or had
        no share of, begin with those of a fresh start. Then further rows are kept.
        """
        new = self.start(instance)
        nodes, pairs, old = new.mirror, new.mirror.pairs, state.mirror.pairs
        number = np.full(instance.size.size, -1)
        number[old.place] = np.arange(old.place.size)
        at = number[pairs.place]

        def kept(values: NDArray[Any]) -> NDArray[Any]:
            return np.asarray(np.append(values, np.zeros_like(values, shape=1))[at])

        unlike = (at < 0) | (kept(old.size) != pairs.size)
        node = np.repeat(np.arange(instance.nodes), np.diff(pairs.first))
        changed = np.bincount(node, unlike, instance.nodes) > 0
        changed |= (np.diff(pairs.first) != np.diff(old.first)) | (pairs.free != old.free)
        changed |= (pairs.filled != old.filled) | (pairs.budget != old.budget)
        here = changed[node]

        point = kept(state.climbing.point)
        point = np.where(here & ((point <= 0.0) | ~pairs.free[node]), nodes.start, point)
        nearest = replace(nodes, still=False)
        point = nearest.step(point, np.zeros_like(point), np.where(changed, 1.0, 0.0))
        rows = kernel_rows(new.limited, point.size, self.keep)
        if new.limited is not None and compact.exceeded(rows, point):
            point = new.limited.project(point)
        ascent, squares = new.ascent, state.climbing.squares
        climbing = replace(
            state.climbing, point=point, origin=new.climbing.origin,
            total=kept(state.climbing.total), squares=squares,
            rate=ascent.rule.rate(ascent.mirror, squares),
            spent=np.where(changed, np.inf, state.climbing.spent),
        )  # fmt: skip
        deployed = kept(state.deployed)
        fixed = np.array_equal(instance.repository, state.instance.repository)
        return replace(
            new, climbing=climbing, gradient=kept(state.gradient), deployed=deployed,
            drawn=np.where(here, -1.0, kept(state.drawn)), allocation=new.dense(deployed),
            refreshed=state.refreshed if fixed and not changed.any() else -1,
            coins=state.coins if np.array_equal(pairs.place, old.place) else None,
            noise=state.noise,
        )  # fmt: skip

    def compiled(self, environment: Any, state: InfidaState) -> Kernel | None:
        """Return a stand-in for the loop that simulates whole runs in compiled code."""
        plain = isinstance(environment, IdnEnvironment) and environment.order == "sequential"
        plain = plain and not environment.changes
        if plain and self.noise is None and isinstance(self.residual, str):
            return self._kernel(environment, state)
        return None

    def _kernel(self, environment: IdnEnvironment, state: InfidaState) -> Kernel:
        def run(scenarios: Any, rng: np.random.Generator, *, keep_trace: bool = False) -> Any:
            seconds, episodes = 0.0, []
            for scenario, stream in zip(scenarios, rng.spawn(len(scenarios)), strict=True):
                episode = environment.episode(scenario, keep_trace=keep_trace)
                if keep_trace:  # what is hosted is kept by the plain loop alone
                    seconds += run_policy(episode, self, state, stream)
                else:
                    began = time.perf_counter()
                    self._run(environment.truth, episode, scenario, state, stream)
                    seconds += time.perf_counter() - began
                episodes.append(episode)
            found = environment.trajectory(
                self.name, episodes, seconds=seconds, keep_trace=keep_trace
            )
            return replace(found, compiled=not keep_trace)

        return run

    def _run(
        self, truth: IdnInstance, episode: IdnEpisode, order: Ints, state: InfidaState,
        rng: np.random.Generator,
    ) -> None:  # fmt: skip
        """Simulate one scenario, and write what happens into its episode."""
        pairs, rule, mirror = state.mirror.pairs, state.ascent.rule, state.ascent.mirror
        residual, common = residual_of(self.residual), self.coins == "common"
        adaptive, leader = isinstance(rule, AdaptiveStep), self.ascent == "leader"
        rate = rule.rate(mirror, np.ones(truth.nodes))
        rules = compact.Rules(
            common, residual.rule, residual.refill, self.credit == "shared",
            leader, self.discount, rate, adaptive, self._refreshes(truth.horizon),
        )  # fmt: skip
        rows = kernel_rows(state.limited, pairs.size.size, self.keep)
        route = compact.route_of(truth.ranking, pairs)
        most = _coins(pairs)
        point, drawn = state.climbing.point.copy(), state.drawn.copy()
        deployed, squares = state.deployed.copy(), np.zeros(truth.nodes)
        gradient, total, last = np.zeros_like(point), np.zeros_like(point), np.zeros_like(point)
        coins = rng.random(most)
        slot = 0
        while True:
            slot, used, beyond = compact.run(
                pairs, route, rules, rows, state.climbing.origin, truth.requests, order, coins,
                slot, point, last, drawn, deployed, gradient, total, squares, *episode.log,
            )  # fmt: skip
            coins = coins[used:]
            if beyond:
                along = total if leader else gradient
                point[:] = mirror.step(last, along, rule.rate(mirror, squares))
            if slot == truth.horizon:
                return
            if not beyond:
                coins = np.concatenate([coins, rng.random(most * (1 + _COINS // most))])

    def _refreshes(self, slots: int) -> Bools:
        due, last = np.zeros(slots, dtype=np.bool_), -1
        for slot in range(slots):
            if self._due(last, slot):
                due[slot], last = True, slot
        return due


_COINS: Final = 2**18
"""About so many coins are drawn at a time."""


def _coins(pairs: Pairs) -> int:
    """Return how many coins a slot takes: one of every pair, and one more of every node."""
    return pairs.size.size + pairs.free.size
