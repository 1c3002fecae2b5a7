"""What the recommended policy of IDN and others gain on instances that no choice was made on."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from edgeopt.instances.idn import generate
from edgeopt.writing import write_file
from edgeopt_papers.releases import Release

if TYPE_CHECKING:
    import pandas as pd

SLOTS: Final = 300
"""Five hours of a minute a slot; sliding popularity shifts four times."""

SEEDS: Final = range(610, 620)
"""Of stations, coins and orders of arrival; fixed before the first run on any. Orders, policies
and the way to fill budgets were chosen on seeds 501 and 502."""

SETTINGS: Final = ("attachment", "alpha", "popularity")

INSTANCES: Final = tuple(
    product(("task", "common", "all"), (1.0, 3.0, 5.0), ("fixed", "sliding"), SEEDS)
)

OTHERS: Final = ("fill", "olag", "infida+")
"""The best known policies within the budgets, of which none is best in all settings."""


def measured(attachment: str, alpha: float, popularity: str, seed: int) -> dict[str, Any]:
    """Return the gain per request of each policy, ms, and what is fetched in a slot, MB."""
    from edgeopt.online import simulate
    from edgeopt.online.idn import IdnEnvironment, Infida, Olag, Portfolio

    instance = generate(
        rng=seed, horizon=SLOTS, attachment=attachment, alpha=alpha, popularity=popularity  # type: ignore[arg-type]
    )  # fmt: skip
    policies: dict[str, Any] = {
        "fill": Infida(residual="fill"),
        "olag": Olag(),
        "infida+": Infida.recommended(),
        "portfolio": Portfolio(),
    }
    row: dict[str, Any] = dict(zip((*SETTINGS, "seed"), (attachment, alpha, popularity, seed),
                                   strict=True))  # fmt: skip
    violations = 0
    for name, policy in policies.items():
        found = simulate(IdnEnvironment(instance), policy, rng=seed, runs=1)
        row[name] = float(found.time_averaged_gain()[0])
        row[f"{name}_fetched"] = float(found.model_updates()[0])
        violations += int(found.violations.sum())
    return row | {"violations": violations}


def _made(folder: Path) -> pd.DataFrame:
    """Measure the instances that the folder does not have yet, and return all."""
    import pandas as pd

    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for given in INSTANCES:
        kept = folder / ("-".join(map(str, given)) + ".json")
        if not kept.exists():
            write_file(kept, json.dumps(measured(*given)))
        rows.append(json.loads(kept.read_text()))
    return pd.DataFrame(rows)


PORTFOLIO: Final = Release(
    "idn-portfolio",
    Path(__file__).with_name("portfolio.csv"),
    "make learners NAMES=idn-portfolio",
    _made,
)


def leads() -> pd.DataFrame:
    """Return by setting how far each policy is ahead of the best of the others, and of OLAG, %."""
    table = PORTFOLIO.read().table
    gain = table.groupby(list(SETTINGS), sort=False)[[*OTHERS, "portfolio"]].mean()
    best = gain[list(OTHERS)].max(axis=1)
    found = 100.0 * gain.div(best, axis=0) - 100.0
    return found.assign(over_olag=100.0 * gain["portfolio"] / gain["olag"] - 100.0)


__all__ = ["INSTANCES", "OTHERS", "PORTFOLIO", "SEEDS", "SETTINGS", "SLOTS", "leads", "measured"]
