"""Arguments of named instances, and of public functions other than the generators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.instances import edr, idn, oinc, rescue, tapfinger
from edgeopt.instances.idn.generate import largest_remainder, sliding_shares, zipf_shares
from edgeopt.instances.oinc.jobs import PageHinkley
from edgeopt.instances.tapfinger.generate import synthetic_workload
from tests.fuzz.driver import Case, check, count, source
from tests.fuzz.hostile import must_refuse, shown, spoiled, value_for
from tests.fuzz.test_constructors import uses

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ONES = np.ones(3)

FUNCTIONS: tuple[tuple[Callable[..., Any], dict[str, Any]], ...] = (
    (rescue.small, {"rng": 1, "reserved": True, "arrivals": "exclusive", "beyond": "hold"}),
    (rescue.tight, {"eps": 0.5}),
    (idn.small, {"rng": 1, "own_cost": True}),
    (idn.topology_2, {"missing": 2}),
    (idn.from_topology, {"source": "sndlib/geant", "cloud_ms": 40.0, "ms_per_km": 0.01}),
    (zipf_shares, {"tasks": 3, "exponent": 1.2}),
    (sliding_shares, {"base": ONES / 3, "horizon": 3, "per_slot": 9, "every": 5, "by": 1}),
    (largest_remainder, {"shares": ONES, "total": 5}),
    (edr.small, {"rng": 1}),
    (
        edr.rounds_needed,
        {
            "sites": 5, "clients": 3, "accuracy": 0.01, "local_steps": 5, "smoothness": 1.0,
            "convexity": 1.0, "deviation": 1.0, "gradient": 0.01, "rounds_bound": "published",
        },
    ),
    (edr.data.cap_shares, {"load": np.arange(9.0), "percentile": 50.0, "cap_share": (0.5, 1.0)}),
    (oinc.small, {"rng": 1}),
    (
        oinc.link_rates,
        {"channel": "literal", "kilometres": ONES / 4, "power": 90 * ONES, "bandwidth": 2 * ONES},
    ),
    (PageHinkley, {"tolerance": 0.02, "threshold": 0.5}),
    (tapfinger.small, {"rng": 1}),
    (synthetic_workload, {"law": "sqrt"}),
    (
        tapfinger.from_durations,
        {
            "duration": np.full((1, 3, 3), 2.0), "minimum": np.array([[1, 1]]),
            "capacity": np.array([[2, 2]]), "arrival": np.array([0, 1]), "kind": np.array([0, 0]),
            "eligible": np.ones((2, 1), bool), "seconds": True, "slot_seconds": 10.0,
        },
    ),
)  # fmt: skip


def hostile_arguments() -> Iterator[Case]:
    draw = source("named_instances")
    for n in range(count("named_instances")):
        function, right = FUNCTIONS[n % len(FUNCTIONS)]
        name = list(right)[int(draw.integers(len(right)))]
        if isinstance(right[name], np.ndarray) and draw.random() < 0.5:
            label, value, refused = spoiled(right[name], draw)
            # A row has no other axes to be cut or wrapped along, and an absent duration means one.
            refused = refused and label == "masked"
        else:
            value = value_for(draw)
            label, refused = shown(value), must_refuse(name, value, right[name])
        given = {**right, name: value}
        yield Case(
            f"{function.__module__}.{function.__name__}: {name}={label}",
            lambda function=function, given=given: answer(function(**given)),
            refused,
        )


def answer(found: Any) -> Any:
    """Use an instance, and look at every number of anything else."""
    if hasattr(found, "fingerprint"):
        return uses(found)
    parts = found if isinstance(found, tuple) else (found,)
    for part in parts:
        if isinstance(part, np.ndarray) and part.dtype.kind == "f":
            assert not np.isnan(part).any()
    return found


def test_arguments():
    check(hostile_arguments())
