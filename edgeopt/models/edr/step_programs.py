r"""The macro step of the training rounds as problems for general solvers.

Two more ways to the step that `take_step` takes in closed form: a convex program, and a smooth one
for Ipopt, with which the paper solves it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.models.edr.training import check_step, step_data
from edgeopt.solvers import CasadiNlp, LabelBlock

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["step_nlp", "step_program"]


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
