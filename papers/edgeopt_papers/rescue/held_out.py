"""What the recommended policy of RESCUE earns on instances that no choice was made on."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.bounds.intervals import spread
from edgeopt.instances.rescue import generate
from edgeopt.writing import write_file
from edgeopt_papers.releases import Release

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from edgeopt.instances.rescue import RescueInstance

LAWS: Final = ("normal", "bimodal", "uniform", "heavy")
"""Distributions of durations."""

INSTANCES: Final = tuple((1000 + n, 4 + n % 3, LAWS[n % 4]) for n in range(20))
"""Seeds, numbers of servers, distributions of durations; chosen before the first run on any."""

SCENARIOS: Final = 2_000
SEED: Final = 7


def measured(seed: int, servers: int, distribution: str) -> dict[str, Any]:
    """Return bounds of an instance, and what policies earn in the same scenarios."""
    from edgeopt.models.rescue import safe_bound, solve_p1_lp
    from edgeopt.online import simulate
    from edgeopt.online.rescue import CompetingOffers, PriceGreedy, RescueEnvironment
    from edgeopt_papers.rescue.server_pairs import paired_bound

    instance = generate(rng=seed, servers=servers, distribution=distribution)  # type: ignore[arg-type]
    plan = solve_p1_lp(instance, forbid_unsafe=True)
    bound = safe_bound(instance, plan=plan)
    pairs = paired_bound(instance, bound)
    environment = RescueEnvironment(instance)
    offers, price = (
        simulate(environment, policy, rng=SEED, runs=SCENARIOS)
        for policy in (CompetingOffers(bound=bound), PriceGreedy(bound=bound))
    )
    ahead = spread((offers.total - price.total) / bound.value, "signed")
    return {
        "seed": seed,
        "servers": servers,
        "distribution": distribution,
        "lp_safe": plan.bound,
        "bound": bound.value,
        "pairs": pairs.value,
        "offers": float(offers.total.mean()),
        "price": float(price.total.mean()),
        "ahead": ahead.centre,
        "low": ahead.low,
        "high": ahead.high,
        "violations": int(offers.violations.sum() + price.violations.sum()),
    }


JOINT_INSTANCES: Final = tuple((5000 + n, 2) for n in range(10)) + tuple(
    (5000 + n, 3) for n in range(4)
)
"""Seeds and numbers of servers of instances small enough for an optimum over all servers."""

JOINT_STATES: Final = 5_000_000


def joint_optimum(instance: RescueInstance) -> float:
    """Return the largest expected profit of safe policies that are told how long runs will last.

    The state is the next state of every server as an idle one. Policies that are not told earn at
    most as much. Arrivals must be exclusive.
    """
    from edgeopt.models.rescue.server_states import ServerStates

    states = ServerStates.of(instance)
    slot, following = states.slot, states.following
    fits = [np.flatnonzero(instance.longest <= room) for room in states.longest]

    @functools.cache
    def value(servers: tuple[int, ...]) -> float:
        now = int(min(slot[list(servers)]))
        if now == instance.horizon:
            return 0.0
        idle = [k for k, state in enumerate(servers) if slot[state] == now]
        waiting = tuple(int(following[s, 0]) if slot[s] == now else s for s in servers)
        refused = value(waiting)
        gain = np.full(instance.devices, -np.inf)
        for k in idle:
            for profile in fits[servers[k]]:
                later = 0.0
                for length in np.flatnonzero(instance.duration[profile]) + 1:
                    end = now + length < instance.horizon
                    after = int(following[servers[k], length]) if end else states.count
                    busy = (*waiting[:k], after, *waiting[k + 1 :])
                    later += float(instance.duration[profile, length - 1]) * value(busy)
                profit = instance.expected_profit[now, :, k, profile]
                gain = np.maximum(gain, profit + later - refused)
        return refused + float(instance.arrival[now] @ np.maximum(gain, 0.0))

    return value(tuple(int(state) for state in states.first[:-1]))


def joint(seed: int, servers: int) -> dict[str, Any]:
    """Return the optimum over all servers of an instance, its bound, and what policies earn."""
    from edgeopt.models.rescue import safe_bound, solve_p1_lp
    from edgeopt.online.rescue import CompetingOffers, PriceGreedy, policy_value

    instance = generate(
        servers=servers, devices=4, profiles=3, horizon=36 if servers == 2 else 20,
        reserved=2 * servers, shortest=1, longest=2.5, distribution="normal", arrival=0.6, rng=seed,
    )  # fmt: skip
    bound = safe_bound(instance, plan=solve_p1_lp(instance, forbid_unsafe=True))
    offers, price = (
        policy_value(instance, policy, limit=JOINT_STATES)
        for policy in (CompetingOffers(bound=bound), PriceGreedy(bound=bound))
    )
    return {
        "seed": seed,
        "servers": servers,
        "optimum": joint_optimum(instance),
        "bound": bound.value,
        "offers": offers,
        "price": price,
    }


def _release(
    name: str,
    measure: Callable[..., dict[str, Any]],
    instances: tuple[tuple[Any, ...], ...],
) -> Release:
    def made(folder: Path) -> pd.DataFrame:
        """Measure the instances that the folder does not have yet, and return all."""
        import pandas as pd

        folder.mkdir(parents=True, exist_ok=True)
        rows = []
        for given in instances:
            kept = folder / ("-".join(map(str, given)) + ".json")
            if not kept.exists():
                write_file(kept, json.dumps(measure(*given)))
            rows.append(json.loads(kept.read_text()))
        return pd.DataFrame(rows)

    return Release(
        f"rescue-{name}",
        Path(__file__).with_name(f"{name}.csv"),
        f"make learners NAMES=rescue-{name}",
        made,
    )


HELD_OUT: Final = _release("safe", measured, INSTANCES)
JOINT: Final = _release("joint", joint, JOINT_INSTANCES)


def shares() -> pd.DataFrame:
    """Return what the policies earn in terms of the bounds, by instance."""
    table = HELD_OUT.read().table
    return table.assign(
        offers_share=table["offers"] / table["bound"],
        price_share=table["price"] / table["bound"],
        pair_share=table["offers"] / table["pairs"],
        lp_share=table["offers"] / table["lp_safe"],
    )


def joint_shares() -> pd.DataFrame:
    """Return what the policies earn in terms of the optimum over all servers, by instance."""
    table = JOINT.read().table
    return table.assign(
        offers_share=table["offers"] / table["optimum"],
        price_share=table["price"] / table["optimum"],
        optimum_share=table["optimum"] / table["bound"],
    )


__all__ = [
    "HELD_OUT",
    "INSTANCES",
    "JOINT",
    "JOINT_INSTANCES",
    "joint",
    "joint_optimum",
    "joint_shares",
    "measured",
    "shares",
]
