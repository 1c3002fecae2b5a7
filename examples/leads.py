"""The portfolio against OLAG: networks, weights of accuracy, steady and moving demand.

Usage: leads.py [slots [runs [seed ...]]]. A seed draws the stations at which tasks enter, and the
order of arrivals. Without arguments it takes 300 slots, a run of each seed and about five minutes.
"""

import sys
from itertools import product

import numpy as np
import pandas as pd

from edgeopt.instances.idn import generate
from edgeopt.models.idn import Demand, solve_cooperative
from edgeopt.online import simulate
from edgeopt.online.idn import IdnEnvironment, Olag, Portfolio

NETWORKS = {
    "I, own stations": {"topology": 1, "attachment": "task"},
    "I, common stations": {"topology": 1, "attachment": "common"},
    "I, all stations": {"topology": 1, "attachment": "all"},
    "II": {"topology": 2},
}
ALPHAS = (1.0, 3.0, 4.0, 5.0, 6.0)
COLUMNS = {
    "lead, %": "{:+.2f}",
    "MB fetched in a slot": "{:,.0f}",
    "the same of OLAG": "{:,.0f}",
    "share of the bound, %": "{:.2f}",
}


def compare(instance, seed, runs):
    """Simulate both: the lead in %, share of the bound in % if demand is steady, MB fetched."""
    mine, other = (
        simulate(IdnEnvironment(instance), policy, rng=seed, runs=runs)
        for policy in (Portfolio(), Olag())
    )
    gain, its = (found.time_averaged_gain().mean() for found in (mine, other))
    steady = (instance.requests == instance.requests[0]).all()
    # Of equal slots the bound on static placements holds for moving ones too.
    bound = (
        solve_cooperative(instance, Demand.of(instance, normalised=True)).bound
        if steady else np.nan
    )  # fmt: skip
    return {
        "lead, %": 100.0 * (gain / its - 1.0),
        "share of the bound, %": 100.0 * gain / bound,
        "MB fetched in a slot": mine.model_updates().mean(),
        "the same of OLAG": other.model_updates().mean(),
        "violations": int(mine.violations.sum()),
    }


def grid(slots=300, runs=1, seeds=(301, 302)):
    """Compare in all settings, one row per setting and seed."""
    rows = []
    for popularity, network, alpha, seed in product(("fixed", "sliding"), NETWORKS, ALPHAS, seeds):
        instance = generate(
            rng=seed, horizon=slots, popularity=popularity, alpha=alpha, **NETWORKS[network]
        )
        setting = {"popularity": popularity, "network": network, "alpha": alpha, "seed": seed}
        rows.append(setting | compare(instance, seed, runs))
    return pd.DataFrame(rows)


def main(*given):
    found = grid(*given[:2], *([given[2:]] if given[2:] else []))
    assert (found["violations"] == 0).all()
    settings = found.groupby(["popularity", "network", "alpha"]).mean()
    for popularity, part in settings.groupby("popularity"):
        leads = part["lead, %"]
        print(f"{popularity}: ahead in {(leads > 0).sum()} of {len(leads)} settings,", end=" ")
        print(f"worst {leads.min():+.2f} %, mean {leads.mean():+.2f} %")
        for column, form in COLUMNS.items():
            if part[column].notna().all():
                print(column)
                table = part[column].droplevel(0).unstack("alpha")
                print(table.to_string(float_format=form.format))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
