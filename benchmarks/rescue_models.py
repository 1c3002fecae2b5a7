"""RESCUE's relaxation as users of general modelling layers would write it, array by array.

Both hold the program of `p1_lp`; each is in the form that its layer builds fastest among those
tried. Reserved tasks have a share in every slot, which is at most 0 outside their windows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from scipy.linalg import toeplitz

if TYPE_CHECKING:
    from edgeopt.instances.rescue import RescueInstance

__all__ = ["in_cvxpy", "in_linopy"]


def windows(instance: RescueInstance) -> np.ndarray[Any, Any]:
    """Return 1 where a reserved task may be served, shape [n, T]."""
    slot, reserved = np.arange(instance.horizon), instance.reserved
    return (reserved.start[:, None] <= slot) & (slot <= reserved.end[:, None])


def in_cvxpy(instance: RescueInstance) -> Any:
    """Build the relaxation as a CVXPY problem with one variable y[t, j, k, l]."""
    import cvxpy as cp

    profit, reserved = instance.expected_profit, instance.reserved
    slots, _, servers, _ = profit.shape
    y = cp.Variable(profit.shape, nonneg=True)
    began = cp.sum(y, axis=1)
    # Row t: the probabilities that what began in slot t' <= t still runs.
    busy = sum(
        sparse.csr_array(toeplitz(_padded(row, slots), np.zeros(slots))) @ began[:, :, m]
        for m, row in enumerate(instance.survival)
    )
    rows = [cp.sum(y, axis=(2, 3)) <= instance.arrival]
    if len(reserved):
        x = cp.Variable((len(reserved), slots), nonneg=True)
        of_server = sparse.csr_array(reserved.server == np.arange(servers)[:, None], dtype=float)
        busy = busy + (of_server @ x).T
        served = cp.multiply(instance.capacity[reserved.server], x)
        rows += [x <= windows(instance), cp.sum(served, axis=1) >= reserved.demand]
    return cp.Problem(cp.Maximize(cp.sum(cp.multiply(profit, y))), [*rows, busy <= 1.0])


def in_linopy(instance: RescueInstance) -> Any:
    """Build the relaxation as a linopy model over labelled axes."""
    import linopy
    import xarray as xr

    linopy.options["semantics"] = "v1"
    slots, devices, servers, profiles = instance.expected_profit.shape
    reserved, axes = instance.reserved, ("slot", "device", "server", "profile")
    profit = xr.DataArray(instance.expected_profit, dims=axes)
    arrival = xr.DataArray(instance.arrival, dims=("slot", "device"))
    survival = xr.DataArray(instance.survival, dims=("profile", "age"))
    model = linopy.Model()
    sizes = [range(size) for size in (slots, devices, servers, profiles)]
    y = model.add_variables(lower=0.0, coords=sizes, dims=axes, name="y")
    model.add_constraints(y.sum(["server", "profile"]) <= arrival, name="eq_3a")

    ages = np.arange(instance.survival.shape[1])
    begun = xr.DataArray(
        np.subtract.outer(np.arange(slots), ages), dims=("now", "age"), coords={"now": range(slots)}
    )
    running = (survival * (begun >= 0)) * y.isel(slot=begun.clip(min=0))
    busy = running.sum(["age", "device", "profile"])
    if len(reserved):
        tasks = [range(len(reserved)), range(slots)]
        x = model.add_variables(
            lower=0.0,
            upper=xr.DataArray(windows(instance).astype(float), dims=("task", "now")),
            coords=tasks,
            dims=("task", "now"),
            name="x",
        )
        server = xr.DataArray(reserved.server, dims="task", name="server")
        served = (1.0 * x).groupby(server).sum()
        busy = busy + served.reindex(server=range(servers), fill_value=0)
        capacity = xr.DataArray(instance.capacity[reserved.server], dims=("task", "now"))
        demand = xr.DataArray(reserved.demand, dims="task")
        model.add_constraints((capacity * x).sum("now") >= demand, name="eq_2d")
    model.add_constraints(busy <= 1.0, name="eq_3b")
    model.add_objective((profit * y).sum(), sense="max")
    return model


def _padded(row: np.ndarray[Any, Any], length: int) -> np.ndarray[Any, Any]:
    """Cut or fill up with zeros."""
    padded = np.zeros(length)
    padded[: row.size] = row[:length]
    return padded
