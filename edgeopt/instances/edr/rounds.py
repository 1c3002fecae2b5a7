"""How many rounds of training a model needs to reach an accuracy."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np

from edgeopt.errors import OptionError
from edgeopt.instances.validate import real_numbers
from edgeopt.options import check_choice, check_real, check_room, check_whole

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

RoundsBound: TypeAlias = Literal["published", "corrected"]
"""The bound as printed, or as it follows from the analysis that it cites."""


_POSITIVE = "[1e-15, 1e15]"
# Constants of the analysis; beyond, the bound means nothing and its powers leave the numbers.


def rounds_needed(
    *,
    sites: int,
    clients: int,
    accuracy: float = 0.01,
    local_steps: int = 5,
    smoothness: float = 1.0,
    convexity: float = 1.0,
    deviation: ArrayLike = 1.0,
    gradient: float = 0.01,
    rounds_bound: RoundsBound = "published",
) -> int:
    r"""Return the rounds that bring a federated model within an accuracy of its best loss.

    As printed, with smoothness :math:`L`, strong convexity :math:`\mu`, local steps :math:`E`,
    accuracy :math:`\epsilon`, standard deviations :math:`\sigma_j` of the stochastic gradients,
    bound :math:`G` on their norm, and clients :math:`A` out of :math:`J` sites,

    .. math:: Q = \Bigl\lceil \frac{2 L v}{\mu^2 \epsilon} - \max(L / \mu, E) \Bigr\rceil, \quad
              v = \sum_{j=1}^{J} \frac{\sigma_j^2}{j^2} + 8 (E - 1)^2 G^2
                  + \frac{4 (J - |A|)}{|A| (J - 1)} E^2 G^2 + 8 L G^2.

    Three things differ in the analysis that it rests on: each site has the weight :math:`1/J`, so
    :math:`\sigma_j^2 / J^2` stands in place of :math:`\sigma_j^2 / j^2`; the shift is
    :math:`\max(8 L / \mu, E)`; and the bound counts local steps, of which a round makes :math:`E`.

    Parameters
    ----------
    sites
        Number of sites J.
    clients
        Number of clients of the task, at most J.
    accuracy
        Distance from the least loss.
    local_steps
        Local steps of a client in a round.
    smoothness, convexity
        Constants of the loss.
    deviation
        Standard deviations of the sites' gradients, one for all or shape [J].
    gradient
        Bound on the norm of a stochastic gradient.
    rounds_bound
        ``"published"``, or ``"corrected"`` in the three points above.

    Returns
    -------
    Whole rounds, at least 1: at the default constants 317, 323 and 327 among 20, 50 and 1000 sites
    with up to 30 clients as printed, and 1 where corrected.

    Raises
    ------
    OptionError
        If a number is out of range or the bound is unknown.

    Notes
    -----
    Zhu et al., section II, the number of global iterations; after Li et al., On the convergence of
    FedAvg on non-IID data, theorem 3.
    """
    check_choice("rounds_bound", rounds_bound, get_args(RoundsBound))
    for name, value in (("sites", sites), ("clients", clients), ("local_steps", local_steps)):
        check_whole(name, value, 1)
    if not 1 <= clients <= sites:
        raise OptionError(f"needs 1 <= clients <= sites, got {clients} of {sites}")
    constants = (("accuracy", accuracy), ("smoothness", smoothness), ("convexity", convexity))
    for name, number in constants:
        check_real(name, number, _POSITIVE)
    check_real("gradient", gradient, "[0, 1e15]")
    check_room("sites", sites)
    spread = real_numbers("deviation", deviation)
    if spread.shape not in ((), (sites,)) or not (np.abs(spread) <= 1e15).all():
        raise OptionError(f"deviation must be a number or {sites} of them, at most 1e15")
    spread = np.broadcast_to(spread, (sites,)) ** 2
    weight = (
        np.arange(1.0, sites + 1) if rounds_bound == "published" else np.full(sites, float(sites))
    )
    left_out = 4 * (sites - clients) / (clients * (sites - 1)) if clients < sites else 0.0
    variance = (
        float((spread / weight**2).sum())
        + gradient**2
        * (8 * (local_steps - 1) ** 2 + left_out * local_steps**2 + 8 * smoothness)
    )  # fmt: skip
    steps = 2 * smoothness * variance / (convexity**2 * accuracy)
    if rounds_bound == "published":
        needed = steps - max(smoothness / convexity, local_steps)
    else:
        needed = (steps - max(8 * smoothness / convexity, local_steps)) / local_steps
    if not needed < 2**53:
        raise OptionError(f"these constants ask for {needed:g} rounds, more than can be counted")
    # What is whole but for rounding is not rounded up.
    return max(1, math.ceil(needed - 1e-12 * steps))
