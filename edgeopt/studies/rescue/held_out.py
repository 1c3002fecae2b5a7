"""What the recommended policy of RESCUE earns on instances that no choice was made on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from edgeopt.bounds.intervals import spread
from edgeopt.instances.rescue import generate
from edgeopt.studies.released import Release
from edgeopt.writing import write_file

if TYPE_CHECKING:
    import pandas as pd

LAWS: Final = ("normal", "bimodal", "uniform", "heavy")
"""Laws of durations."""

INSTANCES: Final = tuple((1000 + n, 4 + n % 3, LAWS[n % 4]) for n in range(20))
"""Seeds, numbers of servers and laws of durations; chosen before the first run on any of them."""

SCENARIOS: Final = 2_000
SEED: Final = 7


def measured(seed: int, servers: int, distribution: str) -> dict[str, Any]:
    """Return bounds of an instance, and what policies earn in the same scenarios."""
    from edgeopt.models.rescue import safe_bound, solve_p1_lp
    from edgeopt.online import simulate
    from edgeopt.online.rescue import CompetingOffers, PriceGreedy, RescueEnvironment

    instance = generate(rng=seed, servers=servers, distribution=distribution)  # type: ignore[arg-type]
    plan = solve_p1_lp(instance, forbid_unsafe=True)
    bound = safe_bound(instance, plan=plan)
    pairs = safe_bound(instance, plan=plan, pairs=True)
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


def _made(folder: Path) -> pd.DataFrame:
    """Measure the instances that the folder does not have yet, and return all."""
    import pandas as pd

    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for seed, servers, distribution in INSTANCES:
        kept = folder / f"{seed}.json"
        if not kept.exists():
            write_file(kept, json.dumps(measured(seed, servers, distribution)))
        rows.append(json.loads(kept.read_text()))
    return pd.DataFrame(rows)


HELD_OUT: Final = Release(
    "rescue-safe",
    Path(__file__).with_name("held_out.csv"),
    "make learners NAMES=rescue-safe",
    _made,
    code=(
        "edgeopt.studies.rescue.held_out",
        "edgeopt.online.rescue.safe",
        "edgeopt.models.rescue.safe_bound",
    ),
    alone=("edgeopt.studies.rescue.held_out",),
)


def shares() -> pd.DataFrame:
    """Return what the policies earn in terms of the bounds, by instance."""
    table = HELD_OUT.read().table
    return table.assign(
        offers_share=table["offers"] / table["bound"],
        price_share=table["price"] / table["bound"],
        pair_share=table["offers"] / table["pairs"],
        lp_share=table["offers"] / table["lp_safe"],
    )


__all__ = ["HELD_OUT", "INSTANCES", "measured", "shares"]
