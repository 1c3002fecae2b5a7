"""Constraints of your own on the programs of four systems: bounds, and policies that follow."""

import cvxpy as cp
from pyomo import environ as pyo

from edgeopt.instances import edr, idn, oinc, rescue
from edgeopt.models.edr import OfflinePlan, colocation, served_cap
from edgeopt.models.idn import Demand, PlacementSolution, cooperative_placement
from edgeopt.models.oinc import SlotProgram
from edgeopt.models.rescue import P1Solution, p1_lp


def fairness(instance):
    """RESCUE: half of the tasks of every device are retrained."""
    model = p1_lp(instance)
    floor = 0.5 * instance.arrival.sum(axis=0)
    model.fair = pyo.Constraint(model.devices, rule=lambda m, j: of_device(m, j) >= floor[j])
    return P1Solution.of(model, instance)


def quota(instance):
    """RESCUE: at most a quarter of a run is expected of every device."""
    model = p1_lp(instance)
    model.quota = pyo.Constraint(model.devices, rule=lambda m, j: of_device(m, j) <= 0.25)
    return P1Solution.of(model, instance)


def of_device(model, device):
    """Return the expected number of runs of a device."""
    return pyo.quicksum(model.y[key] for key in model.y if key[1] == device)


def licences(instance):
    """IDN: the vendor of the large models grants six licences."""
    demand = Demand.of(instance, normalised=True)
    model = cooperative_placement(instance, demand)
    large = [key for key in model.x if instance.size[key] > 200]
    model.licences = pyo.Constraint(expr=pyo.quicksum(model.x[key] for key in large) <= 6)
    return PlacementSolution.of(model, instance, demand, gap=1e-3, time_limit=60)


def egress(instance):
    """EDR: a fifth of the requests of a site may be served elsewhere."""
    cap, asked = served_cap(instance), instance.requests.sum(axis=(0, 1, 3))
    model = colocation(instance, cap=cap)
    away = {j: [k for k in model.y if k[2] == j != k[3]] for j in range(instance.sites)}
    rule = lambda m, j: pyo.quicksum(m.y[k] for k in away[j]) <= 0.2 * float(asked[j])  # noqa: E731
    model.egress = pyo.Constraint(range(instance.sites), rule=rule)
    return OfflinePlan.of(model, instance, cap=cap, gap=1e-6)


def vendor(slot):
    """OINC: the first site answers a quarter of the requests of a slot."""
    return [cp.sum(slot["y"][:, 0]) <= max(1, int(0.25 * slot["y"].shape[0]))]


def plans():
    """Return the five plans on small instances."""
    factory = rescue.generate(servers=2, devices=4, profiles=2, horizon=20, reserved=3, rng=3)
    sites = edr.generate(sites=3, tasks=3, frames=6, slots=3, rng=1)
    slots = oinc.generate(slots=6, jobs=2, devices=8, sites=3, rng=2)
    return {
        "fairness": fairness(factory),
        "quota": quota(factory),
        "licences": licences(idn.generate(horizon=5, rng=0)),
        "egress": egress(sites),
        "vendor": SlotProgram.of(slots, vendor),
    }


if __name__ == "__main__":
    for name, plan in plans().items():
        print(f"{name:8} bound {plan.bound:.6g} for {plan.scope}")
