"""OINC in mathematical notation: all slots at once in Pyomo and CVXPY, inference in CVXPY.

These programs are the specification and the way to the solvers that Pyomo and CVXPY know; the
compiled forms stand with the slot. Constraints carry the tags of the paper's equations, or the
name of what they say where the paper has nothing like it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.checked import checked
from edgeopt.errors import InputError, OptionError
from edgeopt.models.oinc.slot.resource_shares import own_site

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from edgeopt.arrays import Floats
    from edgeopt.instances.oinc import OincInstance
    from edgeopt.models.oinc.slot import SlotProblem


def enough_slots(instance: OincInstance) -> int:
    """Return a number of slots within which all jobs can be done without taking from requests.

    After the last slot with requests, one job after the other is served at its slowest site.

    Parameters
    ----------
    instance
        What is given.

    Returns
    -------
    Number of slots.

    Examples
    --------
    >>> from edgeopt.instances.oinc import small
    >>> from edgeopt.models.oinc import enough_slots
    >>> enough_slots(small(1))
    7
    """
    longest = np.ceil(instance.work / instance.speed.min())
    return instance.slots + int(longest.sum())


@checked(slots=1)
def joint(
    instance: OincInstance,
    *,
    relax: bool = False,
    objectives: bool = True,
    slots: int | None = None,
) -> Any:
    r"""Build problem (1) with convex latencies.

    .. math::

       \min\ & \sum_{tij} \frac{\alpha_t}{N_\mathrm{inf}}
           \left(A_{ij}^t p_{ij}^t + E_{ij}^t q_{ij}^t\right)
           + \sum_k \frac{\beta_k}{N_\mathrm{ret}} b_k \\
       \text{(cone)}\ & (y_{ij}^t)^2 \le p_{ij}^t v_{ij}^t, \quad
           (y_{ij}^t)^2 \le q_{ij}^t z_{ij}^t \\
       \text{(1a)}\ & A_{ij}^t p_{ij}^t + E_{ij}^t q_{ij}^t \le S_i^t y_{ij}^t \\
       \text{(1b)}\ & \textstyle\sum_j y_{ij}^t = 1 \\
       \text{(1c)}\ & \textstyle\sum_i v_{ij}^t \le 1, \quad v_{ij}^t \le y_{ij}^t \\
       \text{(1d)}\ & \textstyle\sum_j x_{kj} = 1, \quad
           u_{kj}^t \le r_{kj}^t \le x_{kj} \\
       \text{(1e)}\ & \textstyle\sum_{t \ge a_k} \sum_j f_j u_{kj}^t \ge w_k \\
       \text{(1f)}\ & \textstyle\sum_i z_{ij}^t + \sum_k u_{kj}^t \le 1, \quad
           z_{ij}^t \le y_{ij}^t \\
       \text{(completion)}\ & b_k \ge (t + 1) \textstyle\sum_j r_{kj}^t \\
       \text{(1g), (1h)}\ & y, x, r \in \{0, 1\}, \qquad v, z, u \ge 0

    A job is complete at the end of the last slot in which it runs. Deadlines are not
    constraints. Pairs without a link are left out. A device that reaches no site in a slot is
    refused there: it has no variables, and the objective counts what that costs.

    Parameters
    ----------
    instance
        What is given.
    relax
        Let y, x and r take all values in [0, 1]: the model is convex and its optimum a lower bound.
    objectives
        Whether every request has to be answered within its objective; it may be impossible.
    slots
        Number of slots in which jobs may run, those of the instance at least; `enough_slots` by
        default.

    Returns
    -------
    A Pyomo `ConcreteModel` with the variables ``y``, ``v``, ``z``, ``p``, ``q`` by (slot, device,
    site), p and q only where there is something to send and to compute, ``x[k, j]``, ``run`` and
    ``u`` by (job, site, slot), and ``b[k]``; objective ``weighted_sum``; constraints ``eq_1a`` to
    ``eq_1f``, ``cone_band``, ``cone_cpu``, ``band_of_chosen``, ``cpu_of_chosen``, ``runs_at_home``,
    ``cpu_of_running`` and ``completion``.

    Raises
    ------
    OptionError
        If there are fewer slots than the instance has.

    Notes
    -----
    Zeng et al., problem (1). In print (1a) and (1b) sum over devices; (1d) asks for one site in
    every slot, which would let jobs move; and a job is complete when it has not been served.

    Examples
    --------
    >>> from edgeopt.instances.oinc import small
    >>> from edgeopt.models.oinc import joint
    >>> from edgeopt.solvers import solve
    >>> solve(joint(small(1), relax=True)).quality.value
    'optimal'
    """
    import pyomo.environ as pyo

    last = _slots(instance, slots)
    sites, jobs = range(instance.sites), range(instance.jobs)
    linked = (instance.rate > 0) & instance.active[:, :, None]
    asked = [(t, i) for t, i in np.argwhere(linked.any(axis=2)).tolist()]
    pairs = [(t, i, j) for t, i, j in np.argwhere(linked).tolist()]
    sends = _seconds(pairs, instance.transmission_seconds)
    computes = _seconds(pairs, instance.computation_seconds)
    runs = [(k, j, t) for k in jobs for j in sites for t in range(int(instance.arrival[k]), last)]
    whole = pyo.UnitInterval if relax else pyo.Binary

    model = pyo.ConcreteModel("OINC")
    model.y = pyo.Var(pairs, domain=whole)
    model.v = pyo.Var(pairs, domain=pyo.UnitInterval)
    model.z = pyo.Var(pairs, domain=pyo.UnitInterval)
    model.p = pyo.Var(list(sends), domain=pyo.NonNegativeReals)
    model.q = pyo.Var(list(computes), domain=pyo.NonNegativeReals)
    model.x = pyo.Var(jobs, sites, domain=whole)
    model.run = pyo.Var(runs, domain=whole)
    model.u = pyo.Var(runs, domain=pyo.UnitInterval)
    model.b = pyo.Var(jobs, domain=pyo.NonNegativeReals, bounds=(0, last))

    def latency(*pair: int) -> Any:
        sending = sends[pair] * model.p[pair] if pair in sends else 0.0
        return sending + (computes[pair] * model.q[pair] if pair in computes else 0.0)

    weight = [float(a) / instance.latency_scale for a in instance.request_weight]
    urgency = [float(b) / instance.completion_scale for b in instance.weight]
    model.weighted_sum = pyo.Objective(
        expr=pyo.quicksum(weight[pair[0]] * latency(*pair) for pair in pairs)
        + pyo.quicksum(urgency[k] * model.b[k] for k in jobs)
        + _cut_off(instance)
    )

    def in_time(model: Any, t: int, i: int, j: int) -> Any:
        if (t, i, j) not in sends and (t, i, j) not in computes:
            return pyo.Constraint.Skip
        return latency(t, i, j) <= float(instance.slo[t, i]) * model.y[t, i, j]

    here: dict[tuple[int, int], list[int]] = {}
    for t, i, j in pairs:
        here.setdefault((t, j), []).append(i)

    def cpu(model: Any, j: int, t: int) -> Any:
        requests = pyo.quicksum(model.z[t, i, j] for i in here.get((t, j), []))
        known = [k for k in jobs if instance.arrival[k] <= t]
        if not known and (t, j) not in here:
            return pyo.Constraint.Skip
        return requests + pyo.quicksum(model.u[k, j, t] for k in known) <= 1

    def work_done(model: Any, k: int) -> Any:
        served = pyo.quicksum(
            float(instance.speed[j]) * model.u[o, j, t] for o, j, t in runs if o == k
        )
        return served >= float(instance.work[k])

    def complete_after(model: Any, k: int, t: int) -> Any:
        if t < instance.arrival[k]:
            return pyo.Constraint.Skip
        return model.b[k] >= (t + 1) * pyo.quicksum(model.run[k, j, t] for j in sites)

    y, v, z = model.y, model.v, model.z
    if objectives:
        model.eq_1a = pyo.Constraint(pairs, rule=in_time)
    model.eq_1b = pyo.Constraint(
        asked,
        rule=lambda _, t, i: pyo.quicksum(y[t, i, j] for j in np.flatnonzero(linked[t, i])) == 1,
    )
    model.eq_1c = pyo.Constraint(
        list(here), rule=lambda _, t, j: pyo.quicksum(v[t, i, j] for i in here[t, j]) <= 1
    )
    model.eq_1d = pyo.Constraint(
        jobs, rule=lambda m, k: pyo.quicksum(m.x[k, j] for j in sites) == 1
    )
    model.eq_1e = pyo.Constraint(jobs, rule=work_done)
    model.eq_1f = pyo.Constraint(sites, range(last), rule=cpu)
    model.cone_band = pyo.Constraint(
        list(sends), rule=lambda m, *pair: y[pair] ** 2 <= m.p[pair] * v[pair]
    )
    model.cone_cpu = pyo.Constraint(
        list(computes), rule=lambda m, *pair: y[pair] ** 2 <= m.q[pair] * z[pair]
    )
    model.band_of_chosen = pyo.Constraint(pairs, rule=lambda _, *pair: v[pair] <= y[pair])
    model.cpu_of_chosen = pyo.Constraint(pairs, rule=lambda _, *pair: z[pair] <= y[pair])
    model.runs_at_home = pyo.Constraint(runs, rule=lambda m, k, j, t: m.run[k, j, t] <= m.x[k, j])
    model.cpu_of_running = pyo.Constraint(
        runs, rule=lambda m, k, j, t: m.u[k, j, t] <= m.run[k, j, t]
    )
    model.completion = pyo.Constraint(jobs, range(last), rule=complete_after)
    return model


def _cut_off(instance: OincInstance) -> float:
    """Return what requests that reach no site add to the weighted sum."""
    refused = (instance.active & ~(instance.rate > 0).any(axis=2)).sum(axis=1)
    per_request = instance.refusal_latency / instance.latency_scale
    return float(instance.request_weight @ refused) * per_request


def _seconds(pairs: list[tuple[int, int, int]], seconds: Any) -> dict[tuple[int, int, int], float]:
    """Return the times of the pairs for which there is something to do."""
    return {pair: float(seconds[pair]) for pair in pairs if seconds[pair] > 0}


@checked(room="[0, inf)")
def allocation_program(
    transmission: ArrayLike,
    computation: ArrayLike,
    slo: ArrayLike | None = None,
    *,
    room: float = 1.0,
    weight: ArrayLike | None = None,
) -> Any:
    r"""Build the allocation of one site's band and CPU to the requests that it serves.

    .. math::

       \min_{v, z}\ & \sum_i \alpha_i \left(\frac{A_i}{v_i} + \frac{E_i}{z_i}\right) \\
       \text{(1a)}\ & A_i / v_i + E_i / z_i \le S_i \\
       \text{(1c)}\ & \textstyle\sum_i v_i \le 1 \\
       \text{(3a)}\ & \textstyle\sum_i z_i \le \varphi, \qquad v, z \ge 0

    Parameters
    ----------
    transmission
        Time to send each request with the whole band, A >= 0, s, shape [n].
    computation
        Time to compute it with the whole CPU, E >= 0, s, shape [n].
    slo
        Longest latency of each request, positive, s, infinity for none, shape [n]; None for none.
    room
        Share of the CPU that requests may use, in (0, 1].
    weight
        Weight of each latency, positive, shape [n]; 1 by default.

    Returns
    -------
    A CVXPY `Problem` with the variables ``band`` and ``cpu``, shape [n], and constraints ``eq_1a``
    (requests with an objective, if there are any), ``eq_1c`` and ``eq_3a``.

    Raises
    ------
    InputError
        If a shape or an entry breaks these rules.

    Notes
    -----
    Zeng et al., problem (3) with the assignment given.

    Examples
    --------
    >>> from edgeopt.models.oinc import allocation_program
    >>> from edgeopt.solvers import solve
    >>> round(solve(allocation_program([1.0, 1.0], [1.0, 1.0])).objective, 4)
    8.0
    """
    import cvxpy

    cp: Any = cvxpy
    send, compute, limit, weights, room = own_site(transmission, computation, slo, weight, room)
    if send.size == 0:
        raise InputError("transmission", "needs at least one request", value="none")
    band = cp.Variable(send.size, nonneg=True, name="band")
    cpu = cp.Variable(send.size, nonneg=True, name="cpu")
    # Nothing to send takes no time, even without a share: such terms are left out.
    sends, computes = np.flatnonzero(send > 0), np.flatnonzero(compute > 0)
    sending = _scatter(sends, send) @ cp.inv_pos(band[sends]) if sends.size else np.zeros(send.size)
    computing = (
        _scatter(computes, compute) @ cp.inv_pos(cpu[computes])
        if computes.size
        else np.zeros(send.size)
    )
    latency: Any = sending + computing
    constraints = [
        (cp.sum(band) <= 1.0).set_label("eq_1c"),
        (cp.sum(cpu) <= float(room)).set_label("eq_3a"),
    ]
    limited = np.flatnonzero(np.isfinite(limit) & ((send > 0) | (compute > 0)))
    if limited.size:
        constraints.append((latency[limited] <= limit[limited]).set_label("eq_1a"))
    return cp.Problem(cp.Minimize(weights @ latency), constraints)


@checked()
def slot_misocp(problem: SlotProblem, *, objectives: bool = True, relax: bool = False) -> Any:
    r"""Build the inference of a slot: one site for every request, and shares of band and CPU there.

    .. math::

       \min\ & \sum_{ij} \alpha_i (A_{ij}\, p_{ij} + E_{ij}\, q_{ij}) \\
       \text{(cone)}\ & y_{ij}^2 \le p_{ij}\, v_{ij}, \quad y_{ij}^2 \le q_{ij}\, z_{ij} \\
       \text{(1a)}\ & A_{ij}\, p_{ij} + E_{ij}\, q_{ij} \le S_i\, y_{ij} \\
       \text{(1b)}\ & \textstyle\sum_j y_{ij} = 1 \\
       \text{(1c)}\ & \textstyle\sum_i v_{ij} \le 1, \quad v_{ij} \le y_{ij} \\
       \text{(3a)}\ & \textstyle\sum_i z_{ij} \le \varphi_j, \quad z_{ij} \le \varphi_j\, y_{ij} \\
       \text{(1g)}\ & y_{ij} \in \{0, 1\}, \qquad v, z \ge 0

    The cones are the perspectives of 1/v and 1/z: with whole y they say :math:`p \ge y / v`, and
    no other convex conditions on a single pair allow less between. Without a link y is 0, and a
    request that reaches no site is left out of (1b).

    Parameters
    ----------
    problem
        The requests.
    objectives
        Whether every request has to be answered within its objective.
    relax
        Allow requests to be split: :math:`0 \le y \le 1`. The optimum is a lower bound.

    Returns
    -------
    A CVXPY `Problem` with the variables ``y``, ``band`` and ``cpu``, shape [n, J], and
    ``sending`` and ``computing``, the p and q of the pairs that send and that compute; constraints
    are labelled ``eq_1a``, ``eq_1b``, ``eq_1c``, ``eq_3a``, ``band_of_chosen``, ``cpu_of_chosen``,
    ``cone_band``, ``cone_cpu`` and, where a link is missing, ``no_link``.

    Raises
    ------
    InputError
        If there are no requests.

    Notes
    -----
    Zeng et al., problem (3), where (1a) and (1b) sum over requests instead of sites.

    Examples
    --------
    >>> from edgeopt.instances.oinc import small
    >>> from edgeopt.models.oinc import slot_misocp
    >>> from edgeopt.models.oinc.slot import slot_problem
    >>> slot_misocp(slot_problem(small(1), 0), relax=True).is_dcp()
    True
    """
    import cvxpy

    cp: Any = cvxpy
    if problem.requests == 0:
        raise InputError("problem", "must have requests: there is nothing to decide")
    cost, cpu, constraints = _requests(
        problem.transmission,
        problem.computation,
        problem.slo if objectives else np.full(problem.requests, np.inf),
        problem.weight,
        problem.room,
        gather=lambda share: cp.sum(share, axis=0),
        relax=relax,
    )
    constraints.append((cp.sum(cpu, axis=0) <= problem.room).set_label("eq_3a"))
    return cp.Problem(cp.Minimize(cost), constraints)


@checked(slots=1)
def joint_misocp(
    instance: OincInstance,
    *,
    relax: bool = False,
    objectives: bool = True,
    slots: int | None = None,
) -> Any:
    """Build the problem of `joint` for solvers of cones.

    Its relaxation goes to a conic solver, whose duals prove the bound.

    Parameters
    ----------
    instance
        What is given.
    relax
        Let y, x and run take all values in [0, 1]: the optimum is a lower bound.
    objectives
        Whether every request has to be answered within its objective; it may be impossible.
    slots
        Number of slots in which jobs may run, those of the instance at least; `enough_slots` by
        default.

    Returns
    -------
    A CVXPY `Problem` with the variables ``y``, ``band`` and ``cpu``, one row for each request in
    the order of slots and devices, one column for each site; ``sending`` and ``computing``, the p
    and q of the pairs that send and that compute; ``x``, shape [K, J], ``run`` and ``u``, by job,
    site and slot from the arrival on, and ``b``, shape [K]. Constraints have the labels of `joint`.
    Parts without a request, or without a job, are missing; ``no_link`` fixes y to 0 without one.

    Raises
    ------
    OptionError
        If there are fewer slots than the instance has.

    Notes
    -----
    Zeng et al., problem (1); see `joint` for the formulas.

    Examples
    --------
    >>> from edgeopt.instances.oinc import small
    >>> from edgeopt.models.oinc import joint_misocp
    >>> joint_misocp(small(1), relax=True).is_dcp()
    True
    """
    import cvxpy
    from scipy import sparse

    cp: Any = cvxpy
    last = _slots(instance, slots)
    sites, jobs = instance.sites, instance.jobs
    slot, device = np.nonzero(instance.active)
    cost: Any = _cut_off(instance)
    cpu_used: Any = np.zeros((last, sites))
    constraints: list[Any] = []
    if slot.size:
        at = sparse.csr_array((np.ones(slot.size), (slot, np.arange(slot.size))), (last, slot.size))
        latency, cpu, constraints = _requests(
            instance.transmission_seconds[slot, device],
            instance.computation_seconds[slot, device],
            instance.slo[slot, device] if objectives else np.full(slot.size, np.inf),
            instance.request_weight[slot] / instance.latency_scale,
            np.ones(sites),
            gather=lambda share: at @ share,
            relax=relax,
        )
        cost, cpu_used = cost + latency, at @ cpu
    if jobs:
        waits = np.arange(last) >= instance.arrival[:, None]
        k, j, t = np.nonzero(np.repeat(waits[:, None], sites, axis=1))
        each = np.arange(k.size)
        domain = {"bounds": [0, 1]} if relax else {"boolean": True}
        x = cp.Variable((jobs, sites), name="x", **domain)
        run = cp.Variable(k.size, name="run", **domain)
        u = cp.Variable(k.size, name="u", bounds=[0, 1])
        b = cp.Variable(jobs, name="b", bounds=[0, last])
        place = sparse.csr_array((np.ones(k.size), (t * sites + j, each)), (last * sites, k.size))
        work = sparse.csr_array((instance.speed[j], (k, each)), (jobs, k.size))
        ends = sparse.csr_array((t + 1.0, (k * last + t, each)), (jobs * last, k.size))
        job, known = np.nonzero(waits)
        cpu_used = cpu_used + cp.reshape(place @ u, (last, sites), order="C")
        constraints += [
            (cp.sum(x, axis=1) == 1.0).set_label("eq_1d"),
            (work @ u >= instance.work).set_label("eq_1e"),
            (run <= cp.vec(x, order="C")[k * sites + j]).set_label("runs_at_home"),
            (u <= run).set_label("cpu_of_running"),
            (b[job] >= ends[job * last + known] @ run).set_label("completion"),
        ]
        cost = cost + (instance.weight / instance.completion_scale) @ b
    if slot.size or jobs:
        constraints.append((cpu_used <= 1.0).set_label("eq_1f"))
    return cp.Problem(cp.Minimize(cost), constraints)


def _slots(instance: OincInstance, slots: int | None) -> int:
    """Return the number of slots in which jobs may run."""
    last = enough_slots(instance) if slots is None else slots
    if last < instance.slots:
        raise OptionError(f"slots = {slots}: must be at least those of the instance")
    return last


def _requests(
    transmission: Floats,
    computation: Floats,
    slo: Floats,
    weight: Floats,
    room: Floats,
    *,
    gather: Any,
    relax: bool,
) -> tuple[Any, Any, list[Any]]:
    """Return cost, CPU and constraints of requests; the CPU's limit is left to the caller.

    The times have the shape [n, J]; `gather` adds the shares of requests that compete at a site.
    """
    import cvxpy

    cp: Any = cvxpy
    shape, linked = transmission.shape, np.isfinite(transmission)
    transmission = np.where(linked, transmission, 0.0)
    domain = {"bounds": [0, 1]} if relax else {"boolean": True}
    y = cp.Variable(shape, name="y", **domain)
    band = cp.Variable(shape, nonneg=True, name="band")
    cpu = cp.Variable(shape, nonneg=True, name="cpu")
    chosen = cp.vec(y, order="C")
    latency: Any = 0.0
    constraints = [
        (cp.sum(y, axis=1) == linked.any(axis=1).astype(float)).set_label("eq_1b"),
        (gather(band) <= 1.0).set_label("eq_1c"),
        (band <= y).set_label("band_of_chosen"),
        (cpu <= cp.multiply(np.tile(room, (shape[0], 1)), y)).set_label("cpu_of_chosen"),
    ]
    if not linked.all():
        constraints.append((y[~linked] == 0.0).set_label("no_link"))
    for seconds, share, name, label in (
        (transmission.ravel(), cp.vec(band, order="C"), "sending", "cone_band"),
        (computation.ravel(), cp.vec(cpu, order="C"), "computing", "cone_cpu"),
    ):
        pairs = np.flatnonzero(seconds > 0)
        if not pairs.size:
            continue
        per_share = cp.Variable(pairs.size, nonneg=True, name=name)
        ends = cp.vstack([2.0 * chosen[pairs], per_share - share[pairs]])
        constraints.append(cp.SOC(per_share + share[pairs], ends, axis=0).set_label(label))
        latency = latency + _scatter(pairs, seconds) @ per_share
    if isinstance(latency, float):
        return 0.0, cpu, constraints
    limit = np.repeat(slo, shape[1])
    limited = np.flatnonzero(np.isfinite(limit))
    if limited.size:
        within = latency[limited] <= cp.multiply(limit[limited], chosen[limited])
        constraints.append(within.set_label("eq_1a"))
    return np.repeat(weight, shape[1]) @ latency, cpu, constraints


def _scatter(at: NDArray[np.int64], seconds: Floats) -> Any:
    """Return the matrix that puts what a unit at some places takes into its place among all."""
    from scipy import sparse

    return sparse.csr_array((seconds[at], (at, np.arange(at.size))), shape=(seconds.size, at.size))
