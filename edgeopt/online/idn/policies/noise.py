"""Disturbances of the gradients that INFIDA learns from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.options import check_real

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.arrays import Floats
    from edgeopt.models.idn.gain import Pairs


@dataclass(frozen=True)
class MessageLoss:
    r"""Control messages that are lost: those of a type in a slot, with probability q.

    Messages that arrive count :math:`1/(1-q)`, so that gradients are right on average given the
    past.

    Parameters
    ----------
    probability
        q, in [0, 1).

    Raises
    ------
    OptionError
        If the probability is not in [0, 1).

    Notes
    -----
    Si Salem et al., Toward inference delivery networks, section IV-B, whose statement needs two
    conditions. *Statement.* Let the noise :math:`\xi_t` on the gradients be unbiased given the
    past, :math:`E[\xi_t \mid y_1, \dots, y_t, r, l] = 0`, and let
    :math:`E\,\mathrm{range}_m(\xi^v_t / s^v)^2 \le \nu_v^2 < \infty` at every node. With rates from
    :math:`\sigma_v + \nu_v` in place of :math:`\sigma_v`, the expected regret keeps its bound, with
    the same change of its constant. *Proof.* As :math:`y_t` does not depend on
    :math:`\xi_t`, :math:`E\,g_t (y_* - y_t) = E\,(g_t + \xi_t)(y_* - y_t)`. The bound of the right
    side holds for every sequence and is quadratic in the range of :math:`(g_t + \xi_t) / s`, whose
    second moment is at most :math:`(\sigma_v + \nu_v)^2` by Minkowski's inequality. Here the whole
    range is at most :math:`\sigma_v / (1-q)`. Losses that are more frequent for some types without
    being made up for are biased, and their regret may grow linearly.

    Examples
    --------
    >>> from edgeopt.instances.idn import small
    >>> from edgeopt.online import simulate
    >>> from edgeopt.online.idn import IdnEnvironment, Infida, MessageLoss
    >>> simulate(IdnEnvironment(small(1)), Infida(noise=MessageLoss(0.2)), runs=5)
    IdnTrajectory(INFIDA, 5 scenarios, 4 slots, mean reward 1.69712)
    """

    probability: float

    def __post_init__(self) -> None:
        check_real("probability", self.probability, "[0, 1)")

    def weights(self, types: int, rng: np.random.Generator) -> Floats:
        """Draw what the messages of each type count, shape [R]."""
        arrives = rng.random(types) >= self.probability
        return np.where(arrives, 1.0 / (1.0 - self.probability), 0.0)

    def disturb(self, pairs: Pairs, gradient: Floats, rng: np.random.Generator) -> None:
        """Leave the gradient as it is."""

    def reach(self, reach: Floats, models: NDArray[np.int64]) -> Floats:
        """Return what bounds the range of noisy gradients per MB in the mean square, shape [V]."""
        return reach / (1.0 - self.probability)


@dataclass(frozen=True)
class Gaussian:
    r"""Normal noise on every gradient entry, on the scale of the node's largest gain per MB.

    .. math:: \xi_{vm} = z\, s_{vm} \max_{m'} \frac{g_{vm'}}{s_{vm'}}\; N(0, 1)

    Parameters
    ----------
    scale
        z, at least 0.

    Raises
    ------
    OptionError
        If the scale is negative or not finite.

    Notes
    -----
    The scale is known before the noise is drawn, so that it is unbiased given the past. The range
    of n normal numbers has a second moment of at most :math:`\min(2(n-1), 8 + 8 \log 2n)`; with z
    :math:`\sigma_v` times its root as :math:`\nu_v` the statement at `MessageLoss` holds.

    Examples
    --------
    >>> from edgeopt.instances.idn import small
    >>> from edgeopt.online import simulate
    >>> from edgeopt.online.idn import Gaussian, IdnEnvironment, Infida
    >>> simulate(IdnEnvironment(small(1)), Infida(noise=Gaussian(0.1)), runs=5)
    IdnTrajectory(INFIDA, 5 scenarios, 4 slots, mean reward 1.69712)
    """

    scale: float

    def __post_init__(self) -> None:
        check_real("scale", self.scale, "[0, inf)")

    def weights(self, types: int, rng: np.random.Generator) -> Floats:
        """Let all messages count once."""
        return np.ones(types)

    def disturb(self, pairs: Pairs, gradient: Floats, rng: np.random.Generator) -> None:
        """Add noise in place."""
        drawn = self.scale * rng.standard_normal(gradient.size)
        for v in np.flatnonzero(pairs.free):
            mine = slice(pairs.first[v], pairs.first[v + 1])
            drawn[mine] *= pairs.size[mine] * (gradient[mine] / pairs.size[mine]).max()
        gradient += np.where(np.repeat(pairs.free, np.diff(pairs.first)), drawn, 0.0)

    def reach(self, reach: Floats, models: NDArray[np.int64]) -> Floats:
        """Return what bounds the range of noisy gradients per MB in the mean square, shape [V]."""
        # range^2 <= 2 sum (x - mean)^2, and range <= 2 max |x| with E max^2 <= 2 log 2n + 2.
        count = np.maximum(models, 1)
        second = np.minimum(2.0 * (count - 1), 8.0 + 8.0 * np.log(2.0 * count))
        return np.asarray(reach * (1.0 + self.scale * np.sqrt(second)))
