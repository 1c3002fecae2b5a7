"""One facility-location problem in five modelling layers: lines, and seconds where they run.

All hand the same mixed-integer program to HiGHS, on one thread, to the same gap, and return the
same table. What a layer needs before it can align data by label is counted with it.
"""

import ast
import inspect
import time

import highspy
import numpy as np
import pandas as pd

GAP = 1e-6


def data(sites: int, towns: int, seed: int = 0) -> tuple[pd.DataFrame, pd.Series, pd.Series]:
    """Return what a unit costs from site to town, what a site costs, and its room."""
    draw = np.random.default_rng(seed)
    site = pd.Index([f"S{n}" for n in range(sites)], name="site")
    town = pd.Index([f"T{n}" for n in range(towns)], name="town")
    here, there = draw.random((sites, 1, 2)), draw.random((1, towns, 2))
    cost = pd.DataFrame(np.linalg.norm(here - there, axis=2), site, town)
    fixed = pd.Series(draw.uniform(1.0, 2.0, sites), site)
    return cost, fixed.sample(frac=1.0, random_state=seed), pd.Series(towns / 3.0, site)


def in_edgeopt(cost, fixed, room):
    from edgeopt.solvers import LinearProgram, solve

    build = LinearProgram.build()
    build.columns("open", {"site": cost.index}, cost=fixed, upper=1, integer=True)
    build.columns("flow", {"site": cost.index, "town": cost.columns}, cost=cost)
    build.rows("served", ["town"], {"flow": 1}, equal=1)
    build.rows("within", ["site"], {"flow": 1, "open": -room}, upper=0)
    build.rows("built", ["site", "town"], {"flow": 1, "open": -1}, upper=0)
    solution = solve(build.program(), threads=1, gap=GAP)
    return solution.objective, solution.to_frame(name="flow")


def in_linopy(cost, fixed, room):
    import linopy

    model = linopy.Model()
    fixed, room = fixed.reindex(cost.index), room.reindex(cost.index)
    opened = model.add_variables(coords=[cost.index], name="open", binary=True)
    flow = model.add_variables(lower=0, coords=[cost.index, cost.columns], name="flow")
    model.add_constraints(flow.sum("site") == 1, name="served")
    model.add_constraints(flow.sum("town") - opened * room <= 0, name="within")
    model.add_constraints(flow - opened <= 0, name="built")
    model.add_objective((flow * cost).sum() + (opened * fixed).sum())
    options = {"threads": 1, "mip_rel_gap": GAP, "mip_abs_gap": 0.0, "output_flag": False}
    model.solve("highs", io_api="direct", progress=False, **options)
    return model.objective.value, flow.solution.to_pandas()


def in_pyomo(cost, fixed, room):
    from pyomo import environ as pyo
    from pyomo.contrib.solver.common.factory import SolverFactory

    model = pyo.ConcreteModel()
    model.site = pyo.Set(initialize=list(cost.index))
    model.town = pyo.Set(initialize=list(cost.columns))
    model.open = pyo.Var(model.site, domain=pyo.Binary)
    model.flow = pyo.Var(model.site, model.town, domain=pyo.NonNegativeReals)
    model.served = pyo.Constraint(
        model.town, rule=lambda m, t: sum(m.flow[s, t] for s in m.site) == 1
    )
    model.within = pyo.Constraint(
        model.site, rule=lambda m, s: sum(m.flow[s, t] for t in m.town) <= room[s] * m.open[s]
    )
    model.built = pyo.Constraint(
        model.site, model.town, rule=lambda m, s, t: m.flow[s, t] <= m.open[s]
    )
    units = sum(cost.at[s, t] * model.flow[s, t] for s in model.site for t in model.town)
    model.cost = pyo.Objective(expr=units + sum(fixed[s] * model.open[s] for s in model.site))
    options = {"threads": 1, "mip_rel_gap": GAP, "mip_abs_gap": 0.0}
    SolverFactory("highs").solve(model, solver_options=options)
    values = {key: one.value for key, one in model.flow.items()}
    return pyo.value(model.cost), pd.Series(values).unstack().loc[cost.index, cost.columns]


def in_cvxpy(cost, fixed, room):
    import cvxpy as cp

    fixed, room = fixed.reindex(cost.index), room.reindex(cost.index)
    opened = cp.Variable(len(cost.index), boolean=True)
    flow = cp.Variable(cost.shape, nonneg=True)
    total = cp.sum(cp.multiply(cost.to_numpy(), flow)) + fixed.to_numpy() @ opened
    rows = [
        cp.sum(flow, axis=0) == 1,
        cp.sum(flow, axis=1) <= cp.multiply(room.to_numpy(), opened),
        flow <= cp.reshape(opened, (len(cost.index), 1), order="F"),
    ]
    problem = cp.Problem(cp.Minimize(total), rows)
    problem.solve(solver=cp.HIGHS, threads=1, mip_rel_gap=GAP, mip_abs_gap=0.0)
    return problem.value, pd.DataFrame(flow.value, cost.index, cost.columns)


JUMP = """
using JuMP, HiGHS, DataFrames
site, town = names(cost, 1), names(cost, 2)    # of a NamedArray
model = Model(HiGHS.Optimizer)
set_attribute(model, "threads", 1)
set_attribute(model, "mip_rel_gap", GAP)
@variable(model, open[site], Bin)
@variable(model, flow[site, town] >= 0)
@constraint(model, served[t in town], sum(flow[:, t]) == 1)
@constraint(model, within[s in site], sum(flow[s, :]) <= room[s] * open[s])
@constraint(model, built[s in site, t in town], flow[s, t] <= open[s])
@objective(model, Min, sum(cost[s, t] * flow[s, t] for s in site, t in town) +
                       sum(fixed[s] * open[s] for s in site))
optimize!(model)
plan = Containers.rowtable(value, flow; header = [:site, :town, :flow]) |> DataFrame
"""
"""Not run here: Julia is no package of Python."""

LAYERS = {"edgeopt": in_edgeopt, "linopy": in_linopy, "CVXPY": in_cvxpy, "Pyomo": in_pyomo}


def lines_of(function) -> int:
    """Count the lines of a body as a formatter sets them, without blank ones."""
    body = ast.parse(inspect.getsource(function)).body[0].body
    text = inspect.getsource(function).splitlines()[body[0].lineno - 1 :]
    return sum(bool(line.strip()) for line in text)


def compared(sites: int, towns: int, runs: int = 3) -> pd.DataFrame:
    """Return lines, and the least seconds of the processor over some runs, without imports."""
    given, found = data(sites, towns), {}
    small = data(4, 3)
    for name, function in LAYERS.items():
        # HiGHS keeps the number of threads that it has started with, whoever started it.
        highspy.Highs.resetGlobalScheduler(True)
        function(*small)  # imports
        seconds = []
        for _ in range(runs):
            began = time.process_time()
            objective, plan = function(*given)
            seconds.append(time.process_time() - began)
        assert list(plan.index) == list(given[0].index)
        found[name] = lines_of(function), f"{min(seconds):.2f} s", round(objective, 4)
    found["JuMP"] = sum(bool(line.strip()) for line in JUMP.splitlines()), "not run here", ""
    return pd.DataFrame(found, index=["lines", "processor", "cost"]).T


if __name__ == "__main__":
    print(compared(10, 30))
