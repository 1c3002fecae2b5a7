"""Slots of an instance to be routed, with training, a budget and a price: for tests of routing."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from edgeopt.models.edr.routing import conditions, routing_problem
from tests.edr.cases import Case, cases
from tests.oracles.edr import routing as oracle

if TYPE_CHECKING:
    from tests.oracles.edr import Plain

INFINITY = float("inf")


@dataclass(frozen=True)
class Query:
    """Slots of one frame with training, a budget and a price."""

    case: Case
    frame: int
    slots: tuple[int, ...]
    training: tuple[float, ...]
    budget: float
    split: str
    elastic: str
    energy_price: float

    @property
    def price(self) -> float:
        return float(self.case.instance.price[self.frame])

    @cached_property
    def problem(self) -> Any:
        return self.changed()

    def changed(self, **changes: Any) -> Any:
        instance = self.case.instance
        given = {
            "price": self.price,
            "training": self.training,
            "budget": self.budget,
            "split": self.split,
            "energy_price": self.energy_price,
        }
        shown = [conditions(instance, self.frame, slot) for slot in self.slots]
        return routing_problem(instance, shown, **(given | changes))

    def given(self, **changes: Any) -> dict[str, Any]:
        own = {"training": list(self.training), "budget": self.budget, "split": self.split}
        return own | {"nu": self.energy_price} | changes

    def penalised(self, **changes: Any) -> oracle.Routed:
        penalties = self.problem.penalties(self.elastic)
        return oracle.penalised(
            self.case.plain, self.frame, self.slots, self.price,
            unserved=[penalties.unserved] * self.case.plain.N,
            excess=penalties.excess, **self.given(**changes),
        )  # fmt: skip

    def in_order(self) -> oracle.Routed:
        return oracle.lexicographic(
            self.case.plain, self.frame, self.slots, self.price,
            elastic=self.elastic, **self.given(),
        )  # fmt: skip


def without_limits(plain: Plain, frame: int, slots: tuple[int, ...]) -> tuple[float, float]:
    """Return the least energy and that of the cheapest routes if sites had room for everything."""
    least, free = 0.0, 0.0
    for tau in slots:
        options: dict[tuple[int, int], list[tuple[float, float]]] = {}
        for j, k, n in plain.routes(frame, tau):
            unit = plain.unit(frame, tau, j, k, n, plain.price[frame])
            options.setdefault((j, n), []).append((unit, plain.d(k, n)))
        for (j, n), known in options.items():
            least += plain.requests[frame][tau][j][n] * min(d for _, d in known)
            free += plain.requests[frame][tau][j][n] * min(known)[1]
    return least, free


@st.composite
def queries(draw: Any, *, whole: bool = False) -> Query:
    """Draw slots; budgets are absent, zero, negative, met exactly or tight, sites may be full.

    With `whole`, all slots of a frame, over which training is spread evenly.
    """
    case = draw(cases(frames=2, tasks=1))
    plain, rng = case.plain, case.rng
    frame = int(rng.integers(plain.T))
    split = "even" if whole else str(rng.choice(["even", "free"]))
    every = tuple(range(plain.D))
    together = whole or split == "free" or rng.random() < 0.5
    slots = every if together else (int(rng.integers(plain.D)),)
    share = rng.choice([0.0, 0.0, 0.25, 0.5, 0.9, 1.0], plain.J)
    training = tuple(float(s * plain.D * C) for s, C in zip(share, plain.capacity, strict=True))
    least, free = without_limits(plain, frame, slots)
    theta = rng.uniform()
    budgets = [INFINITY, 0.0, -1.0, least, least + theta * (free - least), theta * least, free]
    budget = float(rng.choice(budgets, p=[0.2, 0.05, 0.05, 0.1, 0.25, 0.25, 0.1]))
    # The oracles' solver leaves a billionth of energy open, which would be dear as an excess.
    budget = budget if budget == INFINITY else round(budget * 2**20) / 2**20
    return Query(
        case, frame, slots, training, budget, split,
        elastic=str(rng.choice(["soft", "shed"])),
        energy_price=float(rng.choice([0.0, 0.0, 0.5, 3.0])),
    )  # fmt: skip
