"""One network twice: as the package holds it, and as the oracles do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import strategies as st

from tests.idn import draw as own
from tests.oracles.idn import Plain, plain
from tests.oracles.idn.programs import Slot
from tests.strategies import idn_instances

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hypothesis.strategies import DrawFn
    from numpy.typing import NDArray

    from edgeopt.instances.idn import IdnInstance


@dataclass(frozen=True)
class Case:
    """An instance, its data in rationals, and a stream for whatever else is to be drawn."""

    instance: IdnInstance
    plain: Plain
    seed: int

    @property
    def rng(self) -> np.random.Generator:
        return np.random.default_rng(self.seed)

    def per_option(self, table: Sequence[Sequence[Any]]) -> NDArray[np.float64]:
        """Bring a table of the oracles, one row per type, into the order of the ranking."""
        ranking = self.instance.ranking
        values = np.full(ranking.node.size, np.nan)
        for rho in range(self.plain.R):
            mine = {o.cell: v for o, v in zip(self.plain.options(rho), table[rho], strict=True)}
            place = ranking.options(rho)
            cells = zip(ranking.node[place], ranking.model[place], strict=True)
            values[place] = [float(mine[int(v), int(m)]) for v, m in cells]
        return values

    def by_type(self, values: NDArray[np.float64], number: Any = float) -> list[list[Any]]:
        """Bring numbers in the order of the ranking into a table of the oracles."""
        ranking = self.instance.ranking
        table = []
        for rho in range(self.plain.R):
            place = ranking.options(rho)
            cells = zip(ranking.node[place], ranking.model[place], values[place], strict=True)
            mine = {(int(v), int(m)): number(float(x)) for v, m, x in cells}
            table.append([mine[o.cell] for o in self.plain.options(rho)])
        return table

    def slots(self, rng: np.random.Generator) -> list[Slot]:
        """Return the slots of the instance with potential capacities of an adversary."""
        share = self.plain.number(1) / self.plain.T
        return [Slot(r, own.adversary(self.plain, r, rng), share) for r in self.plain.requests]


@st.composite
def cases(draw: DrawFn, *, nodes: int = 4, models: int = 5, slots: int = 2) -> Case:
    """Draw a network: some shrink well, most come from a stream of their own, with more choice."""
    seed = draw(st.integers(0, 2**32 - 1))
    # examples with more to draw are drawn more often: this makes them about a quarter
    if seed % 16 != 7:
        network = own.network(seed, nodes=nodes, models=models, slots=slots)
        return Case(own.instance_of(network), network, seed)
    instance = draw(idn_instances(nodes=nodes, models=models, horizon=slots, cost=None))
    return Case(instance, plain(instance), seed)


def array(nested: Sequence[Sequence[Any]]) -> NDArray[np.float64]:
    """Return a table of rationals as floats."""
    return np.array([[float(v) for v in row] for row in nested])
