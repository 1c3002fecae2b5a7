r"""What a slot costs, and what an allocation saves against repositories alone.

Request type :math:`\rho` ranks the options (node, model) on its path by cost :math:`\gamma^k_\rho`;
an option serves up to its potential capacity :math:`z^k = x\,l` before the next one is asked, so
:math:`Z^k = \min(r_\rho, \sum_{k' \le k} z^{k'})` requests are served by the first k options.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from edgeopt.errors import OptionError
from edgeopt.models.idn import kernels
from edgeopt.models.idn.checks import checked_allocation, checked_amounts

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from edgeopt.instances.idn import IdnInstance

__all__ = ["GainForm", "gain", "serving_cost"]

GainForm: TypeAlias = Literal["difference", "ranked", "uncovered"]

_KERNELS = {
    "difference": kernels.gain_kernel,
    "ranked": kernels.ranked_gain_kernel,
    "uncovered": kernels.uncovered_gain_kernel,
}


def serving_cost(
    instance: IdnInstance, requests: ArrayLike, potential: ArrayLike, allocation: ArrayLike
) -> float:
    r"""Return what serving the requests of one slot costs.

    .. math:: C(r, l, x) = \sum_\rho \sum_k \gamma^k_\rho\, (Z^k_\rho - Z^{k-1}_\rho)

    Parameters
    ----------
    instance
        The network.
    requests
        Requests of each type, shape [R].
    potential
        Potential capacity of each option of the ranking, requests, shape [P].
    allocation
        What every node hosts, whole or fractional, shape [V, M].

    Returns
    -------
    Cost summed over all requests that can be served, ms.

    Raises
    ------
    InputError
        If an array has another shape or a number that is not allowed.

    Notes
    -----
    Si Salem et al., Toward inference delivery networks, equation (12).
    """
    ranking = instance.ranking
    return float(
        kernels.serving_cost_kernel(
            ranking.first,
            ranking.cell,
            ranking.cost,
            checked_amounts("requests", requests, (instance.types,)),
            checked_amounts("potential", potential, ranking.cell.shape),
            checked_allocation(instance, allocation).ravel(),
        )
    )


def gain(
    instance: IdnInstance,
    requests: ArrayLike,
    potential: ArrayLike,
    allocation: ArrayLike,
    *,
    form: GainForm = "difference",
) -> float:
    r"""Return what an allocation saves in one slot against repositories alone.

    .. math::

       \text{(13)}\quad & C(r, l, \omega) - C(r, l, x) \\
       \text{(16)}\quad & \sum_\rho \sum_{k < K} (\gamma^{k+1}_\rho - \gamma^k_\rho)
                          \big(Z^k_\rho(x) - Z^k_\rho(\omega)\big) \\
       \text{(118)}\quad & \sum_{\rho:\, r_\rho > 0} \sum_{k < K}
                          (\gamma^{k+1}_\rho - \gamma^k_\rho)\, Z^k_\rho(x)\,
                          \mathbf{1}\{Z^k_\rho(\omega) = 0\}

    Parameters
    ----------
    instance
        The network.
    requests
        Requests of each type, shape [R].
    potential
        Potential capacity of each option of the ranking, requests, shape [P].
    allocation
        What every node hosts, whole or fractional, shape [V, M].
    form
        ``"difference"`` for (13), ``"ranked"`` for (16), ``"uncovered"`` for (118).

    Returns
    -------
    The gain, ms summed over requests.

    Raises
    ------
    InputError
        If an array has another shape or a number that is not allowed.
    OptionError
        If the form is unknown.

    Notes
    -----
    Si Salem et al., Toward inference delivery networks, equations (13), (16) and (118). The first
    two agree when the repositories of every type can serve all its requests together, all three
    when every repository model can do so alone: its potential capacity equals the requests.
    """
    if form not in _KERNELS:
        raise OptionError(f"form is {form!r}; it must be one of {', '.join(get_args(GainForm))}")
    ranking = instance.ranking
    return float(
        _KERNELS[form](
            ranking.first,
            ranking.cell,
            ranking.cost,
            ranking.permanent,
            checked_amounts("requests", requests, (instance.types,)),
            checked_amounts("potential", potential, ranking.cell.shape),
            checked_allocation(instance, allocation).ravel(),
        )
    )
