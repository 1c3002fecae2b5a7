"""Plans and solutions as tables: every number stands at the labels of its position."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

import edgeopt
from edgeopt.errors import InputError, OptionError, ProblemTypeError, SolverError
from edgeopt.instances import edr, idn, oinc, rescue
from edgeopt.models.edr import OfflinePlan, colocation
from edgeopt.models.idn import Demand, PlacementSolution, cooperative_placement, placement_matrix
from edgeopt.models.oinc import SlotProgram
from edgeopt.models.rescue import P1Solution, p1_lp
from edgeopt.solvers import LinearProgram
from edgeopt.studies import find_system


def names(axis: str, count: int) -> list[str]:
    """Return labels whose order in the alphabet is another one than theirs."""
    return [f"{axis}-{(7 * n + 3) % 11:02d}-{n}" for n in range(count)][:count]


def with_names(instance: Any) -> Any:
    counts = {axis: instance._length(axis) for axis in instance._along()}
    return instance.with_labels(
        {axis: names(axis, count) for axis, count in counts.items()
         if count and not instance.called(axis)}
    )  # fmt: skip


def served(variables: Any) -> list[Any]:
    return [variables["y"].sum() <= 100.0]


def of_rescue() -> tuple[Any, str, Any]:
    instance = with_names(rescue.generate(servers=3, devices=4, profiles=2, horizon=12, rng=0))
    plan = P1Solution.of(p1_lp(instance), instance)
    return plan, "probability", plan.y


def of_idn() -> tuple[Any, str, Any]:
    instance = with_names(idn.generate(topology=2, horizon=4, rng=0))
    demand = Demand.of(instance, normalised=True)
    program = cooperative_placement(instance, demand, relax=True)
    plan = PlacementSolution.of(program, instance, demand)
    return plan, "share", np.asarray(plan.allocation, dtype=float)


def of_edr() -> tuple[Any, str, Any]:
    instance = with_names(edr.generate(sites=2, tasks=3, frames=3, slots=2, rng=0))
    plan = OfflinePlan.of(colocation(instance, relax=True), instance)
    return plan, "rounds", plan.rounds


PLANS = {"rescue": of_rescue, "idn": of_idn, "edr": of_edr}


@pytest.mark.parametrize("name", PLANS)
def test_every_number_of_a_plan_stands_at_its_labels(name: str) -> None:
    plan, main, expected = PLANS[name]()
    called = plan.instance.labels
    found = plan.to_xarray()[main]
    assert set(found.dims) & set(called), "a plan of entries without labels shows nothing"
    places = {dim: called.get(dim) or range(found.sizes[dim]) for dim in found.dims}
    for index in np.ndindex(expected.shape):
        where = {dim: places[dim][n] for dim, n in zip(found.dims, index, strict=True)}
        assert float(found.sel(where)) == expected[index]
    rows = plan.to_frame()
    index = tuple([list(places[dim]).index(one) for one in rows[dim]] for dim in found.dims)
    assert rows[main].tolist() == expected[index].tolist()
    assert rows[main].sum() == pytest.approx(expected.sum())
    # Other labels move the numbers with them.
    dim = next(dim for dim in found.dims if dim in called and len(called[dim]) > 1)
    other = {**called, dim: called[dim][::-1]}
    moved = plan.to_xarray(other)[main]
    assert moved.sel({dim: called[dim][0]}).equals(
        found.sel({dim: called[dim][-1]}).assign_coords({dim: called[dim][0]})
    )
    assert plan.to_frame(other)[dim].tolist() == [
        called[dim][::-1][called[dim].index(one)] for one in rows[dim]
    ]


def test_a_sparse_plan_has_a_row_for_each_entry_with_the_same_labels() -> None:
    plan, _, y = of_rescue()
    T, J = y.shape[:2]
    made = edgeopt.solvers.solution.replace(plan, y=sparse.csr_array(y.reshape(T * J, -1)))
    assert made.to_frame().equals(plan.to_frame())
    entries = made.to_xarray()
    assert entries["probability"].to_numpy().tolist() == plan.to_frame()["probability"].tolist()
    for axis in ("slot", "device", "server", "profile"):
        assert entries[f"entry_{axis}"].to_numpy().tolist() == plan.to_frame()[axis].tolist()


def test_labels_that_do_not_fit_are_refused() -> None:
    plan = of_idn()[0]
    with pytest.raises(InputError, match="along 'node'"):
        plan.to_xarray({"node": ["one"]})
    with pytest.raises(InputError, match="fewer than there are entries"):
        plan.to_frame({"node": ["one"]})


def test_the_least_latency_of_a_slot_program_stands_in_its_slot() -> None:
    plan = SlotProgram.of(oinc.generate(slots=3, jobs=1, devices=3, sites=2, rng=0), served)
    assert plan.to_frame()["latency"].tolist() == plan.latency.tolist()
    assert plan.to_xarray()["latency"].attrs["units"] == "s"


def test_a_bound_with_a_plan_has_its_tables_and_one_without_says_so() -> None:
    record = find_system("tapfinger")
    instance = with_names(record.instances.random_small(3))
    found = record.offline.solve(instance)
    stored = found.to_xarray()
    assert stored.attrs["bound"] == found.bound
    for place, task in enumerate(instance.called("task")):
        one, schedule = stored.sel(task=task), found.plan.schedule
        assert int(one["start"]) == schedule.start[place]
        assert str(one["cluster"].item()) == instance.called("cluster")[schedule.cluster[place]]
    assert found.to_frame()["task"].tolist() == list(instance.called("task"))
    with pytest.raises(OptionError, match="no plan"):
        edgeopt.solvers.solution.replace(found, plan=None).to_frame()


def test_a_solution_is_a_table_by_label_and_a_block_an_array() -> None:
    instance = with_names(idn.generate(topology=2, horizon=2, rng=0))
    program = placement_matrix(instance, Demand.of(instance), relax=True)
    solution = edgeopt.solve(program)
    table = solution.to_frame()
    assert table["values"].tolist() == solution.values.tolist()
    x = solution.to_xarray("x")
    block = next(one for one in program.column_names.blocks if one.name == "x")
    for place, (node, model) in enumerate(block.index.tolist()):
        where = {"node": instance.called("node")[node], "model": instance.called("model")[model]}
        said = f"x[node={where['node']}, model={where['model']}]"
        assert float(x.sel(where)) == solution.block("x")[place] == table["values"].loc[said]
    assert int(x.notnull().sum()) == len(block)
    duals = solution.to_frame("duals")
    assert duals["duals"].tolist() == solution.duals.tolist()
    rows = program.row_names.blocks[0]
    assert solution.to_xarray(rows.name, "duals").sizes[rows.dims[0]] >= 1
    with pytest.raises(InputError, match="there is none"):
        solution.to_xarray("nothing")


def test_a_solution_of_a_model_is_a_table_and_one_without_a_point_says_so() -> None:
    instance = rescue.generate(servers=2, devices=2, profiles=1, horizon=8, rng=0)
    solution = edgeopt.solve(p1_lp(instance))
    assert solution.to_frame()["values"].to_dict() == solution.values
    with pytest.raises(ProblemTypeError):
        solution.to_xarray("y")
    broken = edgeopt.solve(LinearProgram([1.0], [[1.0]], 2.0, 3.0, 0.0, 1.0), raises=False)
    with pytest.raises(SolverError, match="no values"):
        broken.to_frame()
