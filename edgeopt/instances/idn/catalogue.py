"""Models and requests of IDN: the published catalogue, and popularity by Zipf's law."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from edgeopt.errors import OptionError
from edgeopt.instances.validate import frozen_array
from edgeopt.options import check_real, check_room, check_whole, refused
from edgeopt.representation import brief

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray


_TITAN, _GTX = "Titan RTX", "GeForce GTX 980"
_TABLE: Final = (
    ("608p", 65.7, 1577, 41.7, 14.2),
    ("512p", 64.9, 1185, 55.5, 18.9),
    ("416p", 62.8, 1009, 73.8, 25.1),
    ("320p", 57.3, 805, 100, 34.1),
    ("3.99", 55.1, 395, 209, 71),
    ("8.09", 51.4, 195, 329, 112),
    ("10.10", 50.9, 156, 371, 126),
    ("14.02", 49.0, 112, 488, 166),
    ("tiny-416", 38.7, 187, 888, 302),
    ("tiny-288", 34.4, 160, 1272, 433),
)


@brief
class Catalogue(NamedTuple):
    """The models that serve one task.

    Attributes
    ----------
    names
        Name of each of n models.
    accuracy
        Mean average precision, percent, shape [n].
    size
        GPU memory, MB, shape [n].
    frames
        Frames per second on each kind of GPU, shape [n, kinds].
    gpus
        Name of each kind of GPU.
    """

    names: tuple[str, ...]
    accuracy: NDArray[np.float64]
    size: NDArray[np.float64]
    frames: NDArray[np.float64]
    gpus: tuple[str, ...]


def catalogue() -> Catalogue:
    """Return the paper's ten variants of YOLOv4: input sizes, pruned and tiny networks.

    Returns
    -------
    Accuracy, memory and speed on the two GPUs, as printed.

    Notes
    -----
    Si Salem et al., Toward inference delivery networks, Table II.
    """
    names, accuracy, size, titan, gtx = zip(*_TABLE, strict=True)
    return Catalogue(
        names=names,
        accuracy=np.array(accuracy, dtype=np.float64),
        size=np.array(size, dtype=np.float64),
        frames=np.column_stack((titan, gtx)).astype(np.float64),
        gpus=(_TITAN, _GTX),
    )


class Spread(NamedTuple):
    """A catalogue spread over nodes, tasks and replicas, as an instance wants it."""

    # size, delay, capacity: MB, ms and requests per slot at each node, shape [V, M]
    size: NDArray[np.float64]
    delay: NDArray[np.float64]
    capacity: NDArray[np.float64]
    accuracy: NDArray[np.float64]  # percent, shape [M]
    task: NDArray[np.int64]  # shape [M]


def spread(
    models: Catalogue,
    gpu: Sequence[str],
    *,
    tasks: int,
    replicas: int,
    slot_seconds: float,
) -> Spread:
    """Give every task its own copy of a catalogue, with replicas, at nodes with these GPUs."""
    if tasks < 1 or replicas < 1 or not slot_seconds > 0:
        raise OptionError(
            "tasks and replicas must be at least 1 and slot_seconds positive, got "
            f"{tasks}, {replicas} and {slot_seconds}"
        )
    unknown = sorted(set(gpu) - set(models.gpus))
    if unknown:
        raise OptionError(
            f"the catalogue knows {', '.join(models.gpus)}, but not {', '.join(unknown)}"
        )
    speed = models.frames[:, [models.gpus.index(kind) for kind in gpu]].T
    # A product such as 60 * 14.2 may fall short of a whole number by rounding only.
    frames = np.floor(slot_seconds * speed * (1 + 1e-12))

    def copies(array: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.tile(np.repeat(array, replicas, axis=-1), tasks)

    return Spread(
        size=np.tile(copies(models.size), (len(gpu), 1)),
        delay=copies(1000.0 / speed),
        capacity=copies(frames),
        accuracy=copies(models.accuracy),
        task=np.repeat(np.arange(tasks), models.accuracy.size * replicas),
    )


_MOVES = 10**7  # most moves of a popularity that are worked out one by one


def zipf_shares(tasks: int, exponent: float = 1.2) -> NDArray[np.float64]:
    r"""Return Zipf's law :math:`p_i \propto (i + 1)^{-s}` over tasks, shape [tasks].

    Parameters
    ----------
    tasks
        Number of tasks, at least 1.
    exponent
        The exponent s, at least 0 (all tasks alike).

    Raises
    ------
    OptionError
        If an argument is out of range.
    """
    check_whole("tasks", tasks, 1)
    check_room("tasks", tasks)
    check_real("exponent", exponent, "[0, inf)")
    weight = np.arange(1.0, tasks + 1) ** -exponent
    shares: NDArray[np.float64] = weight / weight.sum()
    return shares


def sliding_shares(
    base: NDArray[np.float64], horizon: int, per_slot: int, every: int, by: int
) -> NDArray[np.float64]:
    r"""Let popularity move on by some tasks whenever a number of requests has come.

    Request number :math:`l` is for task i with the share that ``base`` gives to task :math:`(i +
    \mathrm{by} \lfloor l / \mathrm{every} \rfloor) \bmod N`; a slot in which popularity moves
    gets the mixture.

    Parameters
    ----------
    base
        Shares at the beginning, shape [N].
    horizon, per_slot
        Number of slots and of requests in each.
    every
        Requests between two moves.
    by
        Tasks that popularity moves on by.

    Returns
    -------
    Shares of each slot, shape [horizon, N].

    Raises
    ------
    OptionError
        If ``every`` is below 1.
    """
    for name, value, least in (
        ("horizon", horizon, 1), ("per_slot", per_slot, 0), ("shift_every", every, 1),
        ("shift_by", by, 0),
    ):  # fmt: skip
        check_whole(name, value, least)
    base = frozen_array("base", base, ("task",))
    tasks = base.size
    check_room("horizon * tasks", horizon, tasks)
    moves = int(horizon) * int(per_slot) // int(every)
    if moves > _MOVES:
        raise refused("shift_every", every, f"popularity would move {moves} times, not {_MOVES}")
    shares = np.zeros((horizon, tasks))
    if per_slot == 0:
        return shares + base
    for slot in range(horizon):
        first = slot * per_slot
        stop = first + per_slot
        while first < stop:
            period = first // every
            end = min(stop, (period + 1) * every)
            turned = base[(np.arange(tasks) + by * period % tasks) % tasks]
            shares[slot] += (end - first) / per_slot * turned
            first = end
    return shares


def largest_remainder(shares: ArrayLike, total: int) -> NDArray[np.int64]:
    """Divide a number of requests in given shares, to whole numbers with an exact total.

    Each share gets its quota rounded down; what is left goes, one by one, to the largest
    remainders, among equals to the first.

    Parameters
    ----------
    shares
        Shares, not negative, not all zero, shape [n].
    total
        What to divide.

    Returns
    -------
    Whole numbers that sum to ``total``, shape [n].

    Raises
    ------
    OptionError
        If the total is out of range, or no share is positive.
    InstanceError
        If a share is no number.
    """
    check_whole("total", total, 0, 2**53)
    share = frozen_array("shares", shares, ("share",))
    if not (share >= 0).all() or not share.sum() > 0:
        raise OptionError("shares must be not negative and not all zero")
    quota = total * (share / share.sum())
    count: NDArray[np.int64] = np.floor(quota).astype(np.int64)
    left = total - int(count.sum())
    if left < 0:  # rounding has carried a quota over the next whole number
        count[np.argmax(count)] += left
        left = 0
    # Equal shares have equal remainders but for rounding: do not let its last digits decide.
    order = np.lexsort((np.arange(share.size), -np.round(quota - count, 6)))
    count[order[:left]] += 1
    return count
