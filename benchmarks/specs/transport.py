"""How fast is a transportation problem of 400 sources and as many sinks solved?

Places lie at random in a square and a unit costs its distance. Amounts and costs are whole numbers,
which the peers require. Each peer gets its network before the clock starts where it can be kept;
edgeopt's call reads the table, solves it and proves the bound.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.record import Benchmark, Candidate, Goal, Ladder, Reading

if TYPE_CHECKING:
    from collections.abc import Mapping

    Array = np.ndarray[Any, Any]

FINENESS = 10_000
"""Cost across the side of the square."""


def draw(places: int) -> tuple[Array, Array, Array]:
    """Draw supplies, capacities a tenth larger in sum, and costs."""
    rng = np.random.default_rng(0)
    supply, capacity = (rng.integers(1, 100, places) for _ in range(2))
    capacity = np.ceil(capacity * 1.1 * supply.sum() / capacity.sum()).astype(int)
    source, sink = rng.random((2, places, 2))
    distance = np.hypot(*(source[:, None] - sink[None]).transpose(2, 0, 1))
    return supply, capacity, np.rint(FINENESS * distance).astype(int)


def networkx(supply: Array, capacity: Array, cost: Array) -> Candidate:
    """Return NetworkX's network simplex; what is not needed leaves through a last node."""
    import networkx as nx

    sources, sinks = cost.shape
    graph = nx.DiGraph()
    for s in range(sources):
        graph.add_node(s, demand=-int(supply[s]))
        graph.add_edges_from(
            (s, sources + k, {"weight": int(cost[s, k]), "capacity": int(supply[s])})
            for k in range(sinks)
        )
    end = sources + sinks
    graph.add_node(end, demand=int(supply.sum()))
    for k in range(sinks):
        graph.add_edge(sources + k, end, weight=0, capacity=int(capacity[k]))

    def peer(_: float | None) -> Reading:
        return Reading(objective=float(nx.network_simplex(graph)[0]))

    return peer


def ortools(supply: Array, capacity: Array, cost: Array) -> Candidate:
    """Return OR-Tools' cost scaling on the same network, loaded by arrays in every call.

    Kept, it would go on from its last answer.
    """
    from edgeopt.solvers.backend import or_tools

    try:
        or_tools.load("ortools.graph.python.min_cost_flow")
    except ImportError:
        return lambda _: Reading(finished=False)
    from ortools.graph.python.min_cost_flow import SimpleMinCostFlow

    sources, sinks = cost.shape
    end = sources + sinks
    tail = np.concatenate((np.repeat(np.arange(sources), sinks), np.arange(sources, end)))
    head = np.concatenate((np.tile(np.arange(sources, end), sources), np.full(sinks, end)))
    most = np.concatenate((np.repeat(supply, sinks), capacity))
    unit = np.concatenate((cost.ravel(), np.zeros(sinks, int)))
    nodes = np.arange(end + 1)
    amount = np.concatenate((supply, np.zeros(sinks, int), [-supply.sum()]))

    def peer(_: float | None) -> Reading:
        flow = SimpleMinCostFlow()
        flow.add_arcs_with_capacity_and_unit_cost(tail, head, most, unit)
        flow.set_nodes_supplies(nodes, amount)
        assert flow.solve() == flow.OPTIMAL
        return Reading(objective=float(flow.optimal_cost()))

    return peer


def build(size: Mapping[str, Any], candidate: str) -> Candidate:
    """Draw the places."""
    from edgeopt.solvers.network_simplex import transport

    supply, capacity, cost = draw(**size)
    if candidate != BENCHMARK.subject:
        return {"NetworkX": networkx, "OR-Tools": ortools}[candidate](supply, capacity, cost)

    def run(_: float | None) -> Reading:
        plan = transport(supply, capacity, cost)
        return Reading(objective=plan.objective, gap=plan.gap)

    return run


BENCHMARK = Benchmark(
    name="transport",
    question="A transportation problem of 400 sources and 400 sinks, 160,000 routes",
    build=build,
    sizes={"full": {"places": 400}, "smoke": {"places": 12}},
    subject="edgeopt",
    peers=("OR-Tools", "NetworkX"),
    goals=(Goal("ratio", at_least=2.0), Goal("gap", at_most=1e-9)),
    tolerance=1e-9,
    peer_repeats=3,
    peer_warm=False,
    processor=True,
    ladder=Ladder.over("places", (50, 100, 200)),
)
