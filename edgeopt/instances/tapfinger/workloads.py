"""Kinds of tasks: how small their bundles may be, and how fast they are with which."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import numpy as np

from edgeopt.errors import OptionError
from edgeopt.options import check_choice, check_room, check_whole, refused
from edgeopt.representation import brief

if TYPE_CHECKING:
    from numpy.typing import NDArray

Law = Literal["sqrt", "constant"]

LARGEST: Final = (16, 16)  # CPU cores and GPUs that a made-up task is given at most
INSENSITIVE: Final = 0.25
"""Progress per slot of a task that more than the smallest bundle does not help."""

SATURATION: Final = 16.0  # GPUs g of a sensitive task enter its speed as tanh(g / 16)
_SMALLEST: Final = (2, 1)
_POINTER: Final = (3, 3)
_POINTER_SLOTS: Final = (1, 10)


@brief
class Workload(NamedTuple):
    """Kinds of tasks.

    Attributes
    ----------
    minimum
        Smallest bundle of each kind, shape [K, 2].
    speed
        Progress per slot of each kind with each bundle at the start, shape [K, A, B].
    slowing
        Whether the progress of a kind slows down, shape [K].
    kinds
        Name of each kind.
    """

    minimum: NDArray[np.int64]
    speed: NDArray[np.float64]
    slowing: NDArray[np.bool_]
    kinds: tuple[str, ...]


def synthetic_workload(law: Law = "sqrt", largest: tuple[int, int] = LARGEST) -> Workload:
    r"""Return the two kinds of made-up tasks: one takes 4 slots with any bundle, one wants GPUs.

    The speed of the second kind with g GPUs is :math:`\tanh(g / 16)`. CPU cores beyond the smallest
    bundle help neither.

    Parameters
    ----------
    law
        ``"sqrt"``: the progress of the second kind slows down by
        :math:`\sqrt{1.2 - \mathrm{progress}}`, so that it takes 21 slots with one GPU, 10, 7, 5, 4,
        4, 3, 3, 3 with two to nine, and 2 with more. ``"constant"``: it does not, and takes 17, 9,
        6, 5, 4, 3, 3, 3, and 2 from nine on: the 2 to 17 slots of the paper.
    largest
        CPU cores and GPUs that a task is given at most.

    Raises
    ------
    OptionError
        If there is no such law, or the largest bundle is below the smallest one, (2, 1).

    Notes
    -----
    Li et al., section V-A. The histograms of the authors' recorded runs show the durations of
    ``"sqrt"``.
    """
    check_choice("law", law, ("sqrt", "constant"))
    cpus, gpus = _table(largest, _SMALLEST)
    speed = np.full((2, cpus, gpus), INSENSITIVE)
    speed[1] = np.tanh(np.arange(gpus) / SATURATION)
    return Workload(
        minimum=np.array([_SMALLEST, _SMALLEST]),
        speed=speed,
        slowing=np.array([False, law == "sqrt"]),
        kinds=("insensitive", "sensitive"),
    )


def pointer_workload(largest: tuple[int, int] = LARGEST) -> Workload:
    """Return two kinds of tasks that only the choice of the next one matters for.

    Both need 3 CPU cores and 3 GPUs and gain nothing from more; one takes 1 slot, one 10.

    Parameters
    ----------
    largest
        CPU cores and GPUs that a task is given at most.

    Raises
    ------
    OptionError
        If the largest bundle is below (3, 3).

    Notes
    -----
    Li et al., section V-D, where it shows what the pointer network is good for.
    """
    shape = _table(largest, _POINTER)
    return Workload(
        minimum=np.array([_POINTER, _POINTER]),
        speed=np.stack([np.full(shape, 1.0 / slots) for slots in _POINTER_SLOTS]),
        slowing=np.zeros(2, dtype=bool),
        kinds=("short", "long"),
    )


def _table(largest: tuple[int, int], smallest: tuple[int, int]) -> tuple[int, int]:
    if not isinstance(largest, tuple | list) or len(largest) != 2:
        raise refused("largest", largest, "must be a pair of numbers: CPU cores and GPUs")
    cpus, gpus = largest
    for name, value in (("largest[0]", cpus), ("largest[1]", gpus)):
        check_whole(name, value)
    check_room("CPU cores * GPUs", 2, 1 + cpus, 1 + gpus)
    if cpus < smallest[0] or gpus < smallest[1]:
        raise OptionError(
            f"largest must be at least the smallest bundle, {smallest}, got {largest}"
        )
    return int(cpus) + 1, int(gpus) + 1
