"""One instance twice: as the package holds it, and as the oracles do."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import strategies as st

from tests.edr import draw as own
from tests.oracles.edr import Plain, plain
from tests.strategies import edr_instances

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn

    from edgeopt.instances.edr import EdrInstance


@dataclass(frozen=True)
class Case:
    """An instance and a stream for whatever else is to be drawn."""

    instance: EdrInstance
    seed: int

    @cached_property
    def exact(self) -> Plain:
        """Return the data in rationals."""
        return plain(self.instance)

    @cached_property
    def plain(self) -> Plain:
        """Return the data in floats."""
        return plain(self.instance, float)

    @property
    def rng(self) -> np.random.Generator:
        return np.random.default_rng(self.seed)


@st.composite
def cases(draw: DrawFn, **sizes: Any) -> Case:
    """Draw an instance: some shrink well, most come from a stream of their own."""
    seed = draw(st.integers(0, 2**32 - 1))
    # examples with more to draw are drawn more often: this makes them about a tenth
    if seed % 64 != 7:
        return Case(own.sites(seed, **sizes), seed)
    shared = {name: size for name, size in sizes.items() if name not in ("rounds", "ample")}
    instance = draw(edr_instances(**shared))
    if sizes.get("ample"):
        instance = instance.replace(capacity=np.full(instance.sites, 256.0))
    return Case(instance, seed)
