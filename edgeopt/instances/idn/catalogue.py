"""Catalogues: which models there are for a task, how good, how large and how fast they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from edgeopt.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

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
