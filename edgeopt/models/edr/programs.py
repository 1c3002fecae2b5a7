"""Problems of EDR for general solvers: training and routing over all frames, and the macro step.

The Pyomo model of all frames is the specification and the way to every solver that Pyomo knows;
`colocation_matrix` is its compiled form. Constraints carry the tags of the paper's equations. The
step that `take_step` takes in closed form is also a convex program, and a smooth one for Ipopt,
which the paper uses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.checked import checked
from edgeopt.models.edr.matrix import colocation_columns
from edgeopt.models.edr.penalties import check_cap, late_price, unserved_price
from edgeopt.models.edr.training import check_step, step_data
from edgeopt.solvers import CasadiNlp, LabelBlock

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from edgeopt.instances.edr import EdrInstance


@checked()
def colocation(instance: EdrInstance, *, cap: ArrayLike | None = None, relax: bool = False) -> Any:
    r"""Build problem P.

    .. math::

       \min\ & \sum_{t, i} c_i^t x_i^t + \sum_i p_i m_i
           + \sum_{t\tau jkn} (w_E r^t d_{kn} + w_D \delta^t_{jkn\tau}) y^t_{jkn\tau}
           + \sum_{t\tau jn} P_n u^t_{jn\tau} \\
       \text{(1a)}\ & \sum_t x_i^t + m_i = Q_i \\
       \text{(1b)}\ & \sum_{\tau jkn} d_{kn} y^t_{jkn\tau} + \sum_i e_i^t x_i^t \le R^t \\
       \text{(1d)}\ & \sum_k y^t_{jkn\tau} + u^t_{jn\tau} = w^t_{jn\tau} \\
       \text{(1f)}\ & z_k^t = \sum_i \zeta_{ik} x_i^t \\
       \text{(1g)}\ & z_k^t = \sum_\tau z_{k\tau}^t \\
       \text{(1h)}\ & z_{k\tau}^t + \sum_{jn} S_n y^t_{jkn\tau} \le C_k \\
       & x \in \mathbb{Z}_{\ge 0}, \quad m, y, u, z \ge 0

    Routes to incapable sites (1c) and beyond the objective (1e) have no variables, nor have rounds
    outside the window of their task, or in a frame in which it is not linked. The paper has no
    missing rounds m and no unserved requests u; they are priced by `late_price` and
    `unserved_price`, so that there always is a solution.

    Parameters
    ----------
    instance
        What is given.
    cap
        Energy of each frame, Wh, infinity where there is no cap, shape [T]; the instance's by
        default.
    relax
        Allow parts of rounds.

    Returns
    -------
    A Pyomo `ConcreteModel` with variables ``x[t, i]``, ``missing[i]``, ``y[t, s, j, k, n]``,
    ``unserved[t, s, j, n]``, ``z[t, k]`` and ``z_slot[t, s, k]``, objective ``cost`` and
    constraints ``eq_1a[i]``, ``eq_1b[t]``, ``eq_1d[t, s, j, n]``, ``eq_1f[t, k]``, ``eq_1g[t, k]``
    and ``eq_1h[t, s, k]``.

    Raises
    ------
    InputError
        If a cap is negative or no number, or there is not one per frame.

    Notes
    -----
    Zhu et al., problem P. Rounds are done and requests are served once, neither less nor more: with
    negative prices more would pay.

    Examples
    --------
    >>> from edgeopt.instances.edr import small
    >>> from edgeopt.models.edr import colocation
    >>> from edgeopt.solvers import solve
    >>> solve(colocation(small(1))).quality.value
    'optimal'
    """
    import pyomo.environ as pyo

    limit, late, lost = check_cap(instance, cap), late_price(instance), unserved_price(instance)
    frames, slots, sites = (range(n) for n in (instance.frames, instance.slots, instance.sites))
    weight, per_second = instance.energy_weight, instance.delay_weight
    columns = colocation_columns(instance)
    pairs, asked, routes = (
        list(map(tuple, part.tolist())) for part in (columns.rounds, columns.asked, columns.route)
    )
    seconds = {(t, s): instance.request_seconds(t, s) for t in frames for s in slots}
    here = {(t, k): [i for f, i in pairs if f == t and instance.round_work[i, k] > 0]
            for t in frames for k in sites}  # fmt: skip
    trains = [pair for pair in here if here[pair]]
    serves: dict[tuple[int, int, int], list[tuple[int, ...]]] = {}
    answers: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
    spends: dict[int, list[tuple[int, ...]]] = {t: [] for t in frames}
    for route in routes:
        t, s, j, k, n = route
        serves.setdefault((t, s, k), []).append(route)
        answers.setdefault((t, s, j, n), []).append(route)
        spends[t].append(route)

    model = pyo.ConcreteModel("colocation")
    domain = pyo.NonNegativeReals if relax else pyo.NonNegativeIntegers
    rounds = [int(q) for q in instance.rounds]
    real = pyo.NonNegativeReals
    model.x = pyo.Var(pairs, domain=domain, bounds=lambda _, t, i: (0, rounds[i]))
    model.missing = pyo.Var(range(instance.tasks), domain=real, bounds=lambda _, i: (0, rounds[i]))
    model.y = pyo.Var(routes, domain=real)
    model.unserved = pyo.Var(
        asked, domain=real, bounds=lambda _, *key: (0, float(instance.requests[key]))
    )
    model.z = pyo.Var(trains, domain=real)
    spread = [(t, s, k) for t, k in trains for s in slots]
    model.z_slot = pyo.Var(spread, domain=real)

    energy, price = instance.request_energy.tolist(), instance.price.tolist()
    model.cost = pyo.Objective(
        expr=pyo.quicksum(float(instance.round_cost[t, i]) * model.x[t, i] for t, i in pairs)
        + pyo.quicksum(float(late[i]) * model.missing[i] for i in range(instance.tasks))
        + pyo.quicksum(
            (weight * price[t] * energy[k][n] + per_second * float(seconds[t, s][j, k, n]))
            * model.y[t, s, j, k, n]
            for t, s, j, k, n in routes
        )
        + pyo.quicksum(float(lost[key[3]]) * model.unserved[key] for key in asked)
    )

    def all_rounds(model: Any, i: int) -> Any:
        done = pyo.quicksum(model.x[t, o] for t, o in pairs if o == i)
        return done + model.missing[i] == rounds[i]

    def within_cap(model: Any, t: int) -> Any:
        served = pyo.quicksum(energy[key[3]][key[4]] * model.y[key] for key in spends[t])
        trained = pyo.quicksum(
            float(instance.round_energy[f, i]) * model.x[f, i] for f, i in pairs if f == t
        )
        return served + trained - float(limit[t]) <= 0

    def all_served(model: Any, *key: int) -> Any:
        served = pyo.quicksum(model.y[route] for route in answers.get(key, []))
        return served + model.unserved[key] == float(instance.requests[key])

    def training(model: Any, t: int, k: int) -> Any:
        done = pyo.quicksum(float(instance.round_work[i, k]) * model.x[t, i] for i in here[t, k])
        return model.z[t, k] - done == 0

    def spread_out(model: Any, t: int, k: int) -> Any:
        return model.z[t, k] - pyo.quicksum(model.z_slot[t, s, k] for s in slots) == 0

    def within_capacity(model: Any, t: int, s: int, k: int) -> Any:
        load = pyo.quicksum(
            float(instance.request_work[route[4]]) * model.y[route]
            for route in serves.get((t, s, k), [])
        )
        own = model.z_slot[t, s, k] if here[t, k] else 0.0
        return own + load <= float(instance.capacity[k])

    model.eq_1a = pyo.Constraint(range(instance.tasks), rule=all_rounds)
    # A cap on nothing is no constraint.
    busy = {t for t, _ in pairs} | {route[0] for route in routes}
    capped = [t for t in frames if np.isfinite(limit[t]) and t in busy]
    model.eq_1b = pyo.Constraint(capped, rule=within_cap)
    model.eq_1d = pyo.Constraint(asked, rule=all_served)
    model.eq_1f = pyo.Constraint(trains, rule=training)
    model.eq_1g = pyo.Constraint(trains, rule=spread_out)
    model.eq_1h = pyo.Constraint(sorted({*serves, *spread}), rule=within_capacity)
    return model


def step_program(
    point: ArrayLike,
    gradient: ArrayLike,
    energy: ArrayLike,
    cap: float,
    upper: ArrayLike,
    step: float,
) -> Any:
    r"""Build the step as a CVXPY problem.

    .. math:: \min_X\ c^\top X + \tfrac{1}{2\alpha} \lVert X - x \rVert^2
        \quad \text{s.t.} \quad 0 \le X \le u, \quad e^\top X \le R

    Parameters
    ----------
    point, gradient, energy, cap, upper, step
        As for `take_step`.

    Returns
    -------
    A CVXPY `Problem` with the variable ``rounds``; its constraint, where there is a cap, has the
    label ``cap``.

    Raises
    ------
    InputError
        As `take_step`.

    Notes
    -----
    Zhu et al., equation (7).

    Examples
    --------
    >>> from edgeopt.models.edr import step_program
    >>> from edgeopt.solvers import solve
    >>> point, gradient, energy = [1.0, 1.0], [1.0, 3.0], [1.0, 1.0]
    >>> program = step_program(point, gradient, energy, 2.0, [2.0, 2.0], 0.5)
    >>> solve(program).quality.value
    'optimal'
    """
    import cvxpy

    cp: Any = cvxpy
    vectors = x, c, e, u = step_data(point, gradient, energy, upper)
    check_step(vectors, cap, step)
    rounds = cp.Variable(x.size, name="rounds", bounds=[0, u])
    value = c @ rounds + cp.sum_squares(rounds - x) / (2 * step)
    constraints = []
    if np.isfinite(cap):
        constraints.append((e @ rounds <= float(cap)).set_label("cap"))
    return cp.Problem(cp.Minimize(value), constraints)


def step_nlp(
    point: ArrayLike,
    gradient: ArrayLike,
    energy: ArrayLike,
    cap: float,
    upper: ArrayLike,
    step: float,
) -> CasadiNlp:
    """Build the step as a smooth nonlinear program over CasADi expressions; see `step_program`.

    Parameters
    ----------
    point, gradient, energy, cap, upper, step
        As for `take_step`.

    Returns
    -------
    The program; its columns are ``rounds[task=...]``, its row, where there is a cap, is ``cap``.

    Raises
    ------
    InputError
        As `take_step`.

    Notes
    -----
    Zhu et al., equation (7).

    Examples
    --------
    >>> from edgeopt.models.edr import step_nlp
    >>> from edgeopt.solvers import solve
    >>> point, gradient, energy = [1.0, 1.0], [1.0, 3.0], [1.0, 1.0]
    >>> solve(step_nlp(point, gradient, energy, 2.0, [2.0, 2.0], 0.5)).quality.value
    'optimal'
    """
    import casadi

    vectors = x, c, e, u = step_data(point, gradient, energy, upper)
    check_step(vectors, cap, step)
    rounds = casadi.SX.sym("rounds", x.size)
    capped = bool(np.isfinite(cap))
    return CasadiNlp(
        rounds,
        casadi.dot(c, rounds) + casadi.sumsqr(rounds - x) / (2 * step),
        casadi.dot(e, rounds) if capped else None,
        row_upper=float(cap),
        lower=0.0,
        upper=u,
        start=np.clip(x, 0.0, u),
        convex=True,
        row_names=["cap"] if capped else None,
        column_names=[LabelBlock("rounds", ("task",), (x.size,))],
    )
