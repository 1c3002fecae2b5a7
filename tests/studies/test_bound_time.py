"""A limit of time for every bound: what is in hand then still is one, and its status says so."""

from __future__ import annotations

import numpy as np
import pytest

from edgeopt.errors import OptionError
from edgeopt.instances import edr, idn, oinc, rescue, tapfinger
from edgeopt.studies import study
from edgeopt.studies.registry import find_system

INSTANCES = {
    "rescue": lambda: rescue.generate(devices=8, horizon=40, rng=3),
    "idn": lambda: idn.generate(rng=3),
    "oinc": lambda: oinc.generate(slots=2, rng=3),
    "tapfinger": lambda: tapfinger.generate(tasks=3, noise=0.3, rng=3),
    "edr": lambda: edr.generate(sites=2, tasks=2, frames=4, slots=2, rng=3),
}
SOON = 1e-9


@pytest.mark.parametrize("system", INSTANCES)
def test_what_is_in_hand_is_a_bound_and_says_so(system):
    record, instance = find_system(system), INSTANCES[system]()
    sign = 1.0 if record.objective.sense == "max" else -1.0
    for name in record.offline.offered(instance):
        entry = record.offline.bounds[name]
        given = instance, record.policies.environment, 0, 5
        full, hasty = entry.solve(*given), entry.solve(*given, SOON)
        assert np.isfinite(hasty.bound), name
        # No tighter than what it bounds; `full.value` may be one of a relaxation that is reached.
        assert sign * hasty.bound >= sign * full.bound - 1e-5 * abs(full.bound), name
        assert hasty.status.endswith(f"took its limit of {SOON:g} s")
        assert "limit" not in full.status


def test_more_time_proves_no_less_of_safe_policies():
    instance = INSTANCES["rescue"]()
    entries = find_system("rescue").offline.bounds
    found = study(instance, ["price", "rescue+guard"], runs=5, claims=False, bound_time=0.0)
    [case] = found.cases
    for name, entry in entries.items():
        assert case.benchmarks[name].bound >= entry.compute(instance).bound * (1 - 1e-9), name
    assert case.benchmarks["safe"].status.startswith("1 price tried")
    assert case.benchmarks["lp"].bound > entries["lp"].compute(instance).bound * 1.01


@pytest.mark.parametrize("given", [-1.0, np.inf, "soon", True])
def test_the_limit_is_checked(given):
    with pytest.raises(OptionError, match="bound_time"):
        study(INSTANCES["rescue"](), ["price"], bound_time=given)
