"""Fields of instances, one by one, replaced by what does not belong there."""

from __future__ import annotations

import dataclasses
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from edgeopt.instances import edr, idn, oinc, rescue, tapfinger
from tests.fuzz.driver import Case, check, count, source
from tests.fuzz.hostile import shown, spoiled, value_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SMALL = {"servers": 2, "devices": 2, "profiles": 2, "horizon": 4, "reserved": 2}

KINDS: dict[str, Callable[[int], Any]] = {
    "rescue": rescue.small,
    "reserved": lambda seed: rescue.generate(rng=seed, **SMALL).reserved,
    "profit": lambda seed: rescue.generate(rng=seed, **SMALL).profit,
    "idn": lambda seed: idn.small(seed, own_cost=seed % 2 == 1),
    "edr": edr.small,
    "oinc": oinc.small,
    "tapfinger": tapfinger.small,
}


def uses(thing: Any) -> Any:
    """Work out whatever follows from the data, and return the thing."""
    for name in dir(type(thing)):
        if isinstance(getattr(type(thing), name), property | cached_property):
            sound(name, getattr(thing, name))
    if isinstance(thing, edr.EdrInstance):
        sound("request_seconds", thing.request_seconds(0, 0))
    if isinstance(thing, oinc.OincInstance):
        sound("job_seconds", thing.job_seconds(0.5))
    if isinstance(thing, rescue.LogProfit):
        sound("block", thing.block(slice(0, thing.shape[0])))
    if hasattr(thing, "fingerprint"):
        assert len(thing.fingerprint()) == 64
    repr(thing)
    return thing


def sound(name: str, value: Any) -> None:
    assert not np.isnan(np.asarray(value)).any() if isinstance(value, np.ndarray) else True, name


def field_by_field(kind: str) -> Iterator[Case]:
    draw = source("constructors", kind)
    for _ in range(count("constructors", len(KINDS))):
        base = KINDS[kind](int(draw.integers(20)))
        fields = dataclasses.fields(base)
        name = fields[int(draw.integers(len(fields)))].name
        right = getattr(base, name)
        number = isinstance(right, np.ndarray | float | int)
        same = refused = False
        if number and draw.random() < 0.6:
            label, value, refused = spoiled(right, draw)
            same = label.startswith("same")
        else:
            value = value_for(draw)
            label = shown(value)
        hash_of = base.fingerprint() if same and hasattr(base, "fingerprint") else None
        yield Case(
            f"{kind}: {name} {label}",
            lambda base=base, name=name, value=value: uses(
                dataclasses.replace(base, **{name: value})
            ),
            refused,
            right=lambda found, h=hash_of: h is None or found.fingerprint() == h,
        )


@pytest.mark.parametrize("kind", KINDS)
def test_fields(kind):
    check(field_by_field(kind))
