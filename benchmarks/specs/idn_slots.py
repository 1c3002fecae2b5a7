"""How many full slots of INFIDA per second: serve, supergradient, step and projection, rounding?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.record import Benchmark, Candidate, Goal, Ladder, Reading

if TYPE_CHECKING:
    from collections.abc import Mapping

    Array = np.ndarray[Any, Any]

SNAP = 1e-9


class PlainInfida:
    """INFIDA with fresh coins and the adaptive step, by array operations node by node."""

    def __init__(self, instance: Any) -> None:
        from edgeopt.online.idn import node_constants

        self.instance, self.ranking = instance, instance.ranking
        constants = node_constants(instance)
        self.free = np.flatnonzero(constants.free)
        self.pace = 10.0 * np.sqrt(8.0 * constants.diameter[self.free] / instance.budget[self.free])
        self.spread = np.zeros(self.free.size)
        self.share = instance.repository.astype(float)
        for v in np.flatnonzero(instance.active):
            self.share[v] = min(1.0, instance.budget[v] / instance.size[v].sum())
        self.options = [self.ranking.options(n) for n in range(instance.types)]

    def round(self, rng: np.random.Generator) -> Array:
        hosted = self.share > 0.5
        # Every model of a node with a budget has a coin, and every node one more.
        count = np.where(self.instance.active, self.instance.models, 0) + 1
        coins = np.split(rng.random(int(count.sum())), np.cumsum(count)[:-1])
        for v in self.free:
            fractional = np.flatnonzero((self.share[v] > SNAP) & (self.share[v] < 1.0 - SNAP))
            values, sizes = self.share[v, fractional].tolist(), self.instance.size[v, fractional]
            own = coins[v][np.append(fractional, -1)].tolist()
            hosted[v, fractional] = depround(values, sizes.tolist(), own)
        return hosted

    def serve(self, requests: Array, hosted: Array, turn: Array) -> tuple[float, Array]:
        ranking, flat = self.ranking, hosted.ravel()
        left = self.instance.capacity.ravel().copy()
        load, cost = np.zeros(ranking.pair.size), 0.0
        for n in turn:
            mine = self.options[n]
            pair = ranking.pair[mine]
            room = np.where(ranking.permanent[mine], np.inf, left[pair])
            room[~flat[pair]] = 0.0
            covered = np.minimum(np.cumsum(room), requests[n])
            taken = np.diff(covered, prepend=0.0)
            load[mine] = taken
            left[pair] -= taken
            cost += float(taken @ ranking.cost[mine])
        wanted = requests[ranking.type].astype(float)
        free = np.where(flat[ranking.pair], left[ranking.pair] + load, ranking.capacity)
        return cost, np.where(ranking.permanent, wanted, np.minimum(free, wanted))

    def learn(self, requests: Array, potential: Array) -> None:
        ranking = self.ranking
        gradient = np.zeros(self.share.size)
        for n, mine in enumerate(self.options):
            if requests[n] > 0:
                pair, cost = ranking.pair[mine], ranking.cost[mine]
                covered = np.cumsum(self.share.ravel()[pair] * potential[mine])
                closing = cost[np.argmax(covered >= requests[n])]
                gradient[pair] += potential[mine] * np.maximum(closing - cost, 0.0)
        worth = gradient.reshape(self.share.shape) / self.instance.size
        for place, v in enumerate(self.free):
            self.spread[place] += np.ptp(worth[v]) ** 2
            if self.spread[place] > 0:
                rate = self.pace[place] / np.sqrt(self.spread[place])
                exponent = np.log(self.share[v]) + rate * worth[v]
                self.share[v] = project(
                    np.exp(exponent - exponent.max()),
                    self.instance.size[v],
                    self.instance.budget[v],
                )


def project(point: Array, size: Array, budget: float) -> Array:
    """Project in the weighted entropy by sorting, as Algorithm 2 is printed."""
    order = np.argsort(point)
    value, weight = point[order], size[order]
    above = weight.sum() - np.cumsum(weight)
    multiplier = (budget - above) / np.cumsum(weight * value)
    k = np.flatnonzero((above < budget) & (value * multiplier < 1.0)).max()
    return np.maximum(np.minimum(point * multiplier[k], 1.0), 1e-300)


def depround(values: list[float], sizes: list[float], coins: list[float]) -> list[bool]:
    """Round fractions by pair steps in index order; the last one is drawn by itself."""
    out, carry = [False] * len(values), -1
    for j, value in enumerate(values):
        if carry < 0:
            carry, left = j, value
            continue
        s, t = sizes[carry], sizes[j]
        up, down = min(1.0 - left, t * value / s), min(left, t * (1.0 - value) / s)
        moved = up if coins[j] * (up + down) < down else -down
        left, value = left + moved, value - moved * s / t
        if not SNAP < left < 1.0 - SNAP:
            out[carry] = left > 0.5
            carry, left = j, value
        else:
            out[j] = value > 0.5
            continue
        if not SNAP < left < 1.0 - SNAP:
            out[carry], carry = left > 0.5, -1
    if carry >= 0:
        out[carry] = coins[-1] < left
    return out


def build(size: Mapping[str, Any], candidate: str) -> Candidate:
    from edgeopt.instances.idn import generate
    from edgeopt.online import simulate
    from edgeopt.online.idn import IdnEnvironment, Infida

    instance = generate(**size)
    environment, policy = IdnEnvironment(instance), Infida()
    _ = instance.ranking
    work = float(instance.horizon)

    def compiled(_: float | None) -> Reading:
        trajectory = simulate(environment, policy, rng=0, runs=1)
        return Reading(objective=float(trajectory.reward.mean()), work=work)

    def plain(_: float | None) -> Reading:
        scenarios, streams = np.random.default_rng(0).spawn(2)
        turns, rng = environment.scenarios(scenarios, 1)[0], streams.spawn(1)[0]
        infida, total = PlainInfida(instance), 0.0
        for turn, requests in zip(turns, instance.requests, strict=True):
            cost, potential = infida.serve(requests, infida.round(rng), turn)
            infida.learn(requests, potential)
            alone = float(instance.ranking.repository_cost @ requests)
            total += (alone - cost) / float(requests.sum())
        return Reading(objective=total / instance.horizon, work=work)

    return compiled if candidate == BENCHMARK.subject else plain


BENCHMARK = Benchmark(
    name="idn-slots",
    question="Full slots of INFIDA on 36 nodes and 600 models: compiled against NumPy",
    build=build,
    sizes={
        "full": {"topology": 1, "horizon": 300},
        "smoke": {"topology": 2, "tasks": 5, "replicas": 2, "horizon": 8},
    },
    subject="compiled",
    peers=("NumPy",),
    goals=(Goal("rate", at_least=1500.0),),
    unit="slots",
    repeats=7,
    peer_repeats=1,
    peer_warm=False,
    ladder=Ladder.over("tasks", (5, 10, 20, 40, 60), topology=1, horizon=20),
)

COMPACT = "useful pairs, common coins"
LOOP = "the same, slot by slot"
PUBLISHED = "all pairs, fresh coins"
PLUS = "INFIDA+"


def build_pairs(size: Mapping[str, Any], candidate: str) -> Candidate:
    """Simulate five runs; all but the loop are compiled."""
    from edgeopt.instances.idn import generate
    from edgeopt.online import simulate
    from edgeopt.online.idn import IdnEnvironment, Infida

    environment = IdnEnvironment(generate(**size))
    _ = environment.truth.ranking
    policy = Infida() if candidate == PUBLISHED else Infida(pairs="useful", coins="common")
    policy = Infida.recommended() if candidate == PLUS else policy

    def run(_: float | None) -> Reading:
        found = simulate(environment, policy, runs=5, compiled=candidate != LOOP)
        # The others take other steps or draw other coins, and gain something else.
        value = float(found.reward.mean()) if candidate in (COMPACT, LOOP) else None
        return Reading(objective=value, work=float(found.reward.size))

    return run


def over_pairs(attachment: str, rate: float, ratio: float) -> Benchmark:
    """Compare storage and coins of INFIDA where tasks enter at stations of their own, or not."""
    return Benchmark(
        name=f"idn-pairs-{attachment}",
        question="INFIDA on useful pairs and common coins: slots per second of the processor",
        build=build_pairs,
        sizes={
            "full": {"topology": 1, "attachment": attachment, "horizon": 300},
            "smoke": {"topology": 2, "tasks": 5, "replicas": 2, "horizon": 8},
        },
        subject=COMPACT,
        peers=(PUBLISHED, PLUS, LOOP),
        variants=(PUBLISHED, PLUS, LOOP),
        goals=(
            Goal("rate", at_least=rate),
            Goal("ratio", at_least=ratio, peer=PUBLISHED),
        ),
        unit="slots",
        repeats=9,
        peer_repeats=5,
        processor=True,
    )


PAIRS = over_pairs("task", 20_000.0, 6.0)
PAIRS_COMMON = over_pairs("common", 10_000.0, 3.0)
