"""The exact optimum with demands met on average, by a linear program over strategies."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from edgeopt_papers.rescue.claims.exhaustive.scenario import SIZE_LIMIT, Scenario, ServerStates

if TYPE_CHECKING:
    from edgeopt.instances import RescueInstance


def optimum_in_expectation(instance: RescueInstance, *, limit: int = SIZE_LIMIT) -> float:
    r"""Return the optimum over strategies under rows (2b) and (2d) in expectation.

    The strategies that know the arrivals form one linear program in the probabilities
    :math:`f_\omega(t, s, s')` of going from states s to states s' by the decisions of slot t
    under arrival sequence :math:`\omega`:

    .. math::
        \max\ & \sum_\omega \Pr(\omega) \sum_{t,s,s'} f_\omega(t,s,s')\, r_\omega(t,s,s') \\
        \text{s.t. } & f_\omega \text{ is a flow along the slots}, \\
        & \Pr(k \text{ is busy at } t) + \sum_{i} x_i(t) \le 1, \quad
          \sum_t c_k(t) x_i(t) \ge \phi_i .
    """
    scenario = Scenario(instance, reserved=True, limit=limit)
    # Half a second, which an instance that is too large does not take.
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    rows = _Rows(scenario)
    equal, coupled = (
        csr_array((value, (row, column)), shape=(count, len(rows.cost)))
        for value, row, column, count in (rows.flow(), rows.shared())
    )
    cost = np.array(rows.cost)
    largest = float(cost.max()) or 1.0  # the solver's tolerances are absolute
    solved = linprog(
        -cost / largest,
        A_ub=coupled,
        b_ub=np.array(rows.shared_side),
        A_eq=equal,
        b_eq=np.array(rows.flow_side),
        bounds=(0, None),
        method="highs",
    )
    return -float(solved.fun) * largest if solved.success else -math.inf


class _Rows:
    """Rows of the program, gathered sequence by sequence."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.cost: list[float] = []
        self.flow_side: list[float] = []
        self._flow: list[tuple[float, int, int]] = []
        occupied = scenario.servers * scenario.horizon
        self._shared: list[tuple[float, int, int]] = []
        self.shared_side = [1.0] * occupied + [-1.0] * len(scenario.tasks)
        for chance, arrivals in scenario.sequences():
            self._follow(chance, arrivals)
        for i, (k, start, end, demand) in enumerate(scenario.tasks):
            for t in range(start, end + 1):
                column = self._column(0.0)
                self._shared.append((1.0, k * scenario.horizon + t, column))
                self._shared.append((-scenario.capacity[k][t] / demand, occupied + i, column))

    def flow(self) -> tuple[list[float], list[int], list[int], int]:
        return *_columns(self._flow), len(self.flow_side)

    def shared(self) -> tuple[list[float], list[int], list[int], int]:
        return *_columns(self._shared), len(self.shared_side)

    def _column(self, cost: float) -> int:
        self.cost.append(cost)
        self.scenario.require(len(self.cost))
        return len(self.cost) - 1

    def _follow(self, chance: float, arrivals: tuple[tuple[int, ...], ...]) -> None:
        """Add the flow of one arrival sequence, slot after slot."""
        scenario = self.scenario
        row_of = {scenario.idle: self._row(1.0)}
        for t, waiting in enumerate(arrivals):
            next_row: dict[ServerStates, int] = {}
            for states, row in row_of.items():
                for run, reward in self._decisions(t, waiting, states).items():
                    column = self._column(chance * reward)
                    self._flow.append((1.0, row, column))
                    self._shared += [
                        (chance, k * scenario.horizon + t, column)
                        for k, state in enumerate(run)
                        if state is not None
                    ]
                    if t + 1 == scenario.horizon:
                        continue
                    for share, after in scenario.advance(run):
                        if after not in next_row:
                            next_row[after] = self._row(0.0)
                        self._flow.append((-share, next_row[after], column))
            row_of = next_row

    def _row(self, side: float) -> int:
        self.flow_side.append(side)
        return len(self.flow_side) - 1

    def _decisions(
        self, slot: int, waiting: tuple[int, ...], states: ServerStates
    ) -> dict[ServerStates, float]:
        """Map every reachable assignment of the waiting tasks to its best expected profit."""
        reached = {states: 0.0}
        for device in waiting:
            for before, earned in list(reached.items()):
                for reward, run in self.scenario.assignments(slot, device, before):
                    reached[run] = max(reached.get(run, -math.inf), earned + reward)
        return reached


def _columns(
    entries: list[tuple[float, int, int]],
) -> tuple[list[float], list[int], list[int]]:
    return [e[0] for e in entries], [e[1] for e in entries], [e[2] for e in entries]
