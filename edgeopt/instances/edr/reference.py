"""What an instance would use if requests were served anywhere and tasks trained at an even rate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.edr.instance import EdrInstance

POINTS: Final = 1000.0
"""Cost that calibrated weights give to the energy, and to the delay, of the reference."""

REQUEST_SECONDS: Final = 0.15  # delay of a request that calibrated weights reckon with, s


class Reference(NamedTuple):
    """Energy and delay of the reference.

    Attributes
    ----------
    inference
        Energy of all requests of a frame at the mean of the sites that can serve them, Wh,
        shape [T].
    training
        Energy of the even rates of the tasks that may train in a frame, Wh, shape [T].
    seconds
        Delay of all requests and rounds of the horizon, s.
    """

    inference: NDArray[np.float64]
    training: NDArray[np.float64]
    seconds: float


def reference(instance: EdrInstance) -> Reference:
    """Return energy and delay of serving at average sites and of training at even rates.

    Parameters
    ----------
    instance
        The instance; prices, caps and weights do not matter.
    """
    capable = instance.capable
    mean = (instance.request_energy * capable).sum(axis=0) / capable.sum(axis=0)
    asked = instance.requests.sum(axis=(1, 2))
    pace = instance.active * instance.even_rate
    return Reference(
        inference=asked @ mean,
        training=(pace * instance.round_energy).sum(axis=1),
        seconds=float(REQUEST_SECONDS * asked.sum() + (pace * instance.round_seconds).sum()),
    )


def calibrated_weights(instance: EdrInstance) -> tuple[float, float]:
    """Return the weights at which energy and delay of the reference each cost about 1000.

    Parameters
    ----------
    instance
        The instance; its own weights do not matter.

    Returns
    -------
    Weight of a dollar, 1/$, and of a second of delay, 1/s. Negative prices count by their size, so
    that they do not blow the weight up. A weight is 1 where nothing could be calibrated.
    """
    usual = reference(instance)
    dollars = float(np.abs(instance.price) @ (usual.inference + usual.training))
    energy = POINTS / dollars if dollars > 0 else 1.0
    return energy, POINTS / usual.seconds if usual.seconds > 0 else 1.0
