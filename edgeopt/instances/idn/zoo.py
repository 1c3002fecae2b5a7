"""A catalogue of measured models: image classifiers, their accuracy and speed on two GPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np

from edgeopt.errors import InstanceError
from edgeopt.instances.idn.catalogue import Catalogue
from edgeopt.instances.traces import read_columns, read_fields

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from edgeopt.instances.traces import Rule

__all__ = ["FAST", "SLOW", "Classifiers", "read_classifiers", "to_catalogue"]

FAST: Final = "RTX 5090"
SLOW: Final = "RTX 3090"
"""The two GPUs that both speeds are known of: the nearest to the paper's fast and slow one."""

MEGABYTES_PER_MILLION: Final = 4.0
"""Memory per million parameters, MB: weights in single precision. What a model needs beside its
weights has not been measured and is not counted."""

Key: TypeAlias = tuple[str, int]
"""An architecture and the size of its input, pixels."""

_RESULTS: Final = "timm_results-imagenet.csv"
_SPEEDS: Final = {
    FAST: "timm_benchmark-infer-amp-nchw-pt291-cu130-5090.csv",
    SLOW: "timm_benchmark-infer-amp-nchw-pt240-cu124-rtx3090.csv",
}


class Classifiers(NamedTuple):
    """Measurements of n classifiers, fastest first.

    Attributes
    ----------
    names
        Name and size of the input in pixels, such as ``resnet50@224``.
    accuracy
        Share of ImageNet pictures classified correctly, percent, shape [n].
    parameters
        Number of parameters, millions, shape [n].
    fast, slow
        Pictures per second on the two GPUs, shape [n].
    """

    names: tuple[str, ...]
    accuracy: NDArray[np.float64]
    parameters: NDArray[np.float64]
    fast: NDArray[np.float64]
    slow: NDArray[np.float64]


def to_catalogue(models: Classifiers) -> Catalogue:
    """Turn measurements into a catalogue: memory by parameters, one picture being one request."""
    return Catalogue(
        names=models.names,
        accuracy=models.accuracy,
        size=MEGABYTES_PER_MILLION * models.parameters,
        frames=np.column_stack((models.fast, models.slow)),
        gpus=(FAST, SLOW),
    )


def read_classifiers(folder: Path, count: int = 10) -> Classifiers:
    """Read accuracies and speeds that the timm project publishes, and pick some models.

    Of all models measured on both GPUs at the size of input at which their accuracy is known, those
    are kept that no other beats in accuracy and in speed on the slower GPU; of these, ``count``
    are picked at equal distances in the order of their speed.
    """
    accuracy = _accuracies(folder / _RESULTS)
    fast, slow = (_speeds(folder / _SPEEDS[gpu]) for gpu in (FAST, SLOW))
    everywhere = accuracy.keys() & fast.keys() & slow.keys()
    frontier: list[Key] = []
    for key in sorted(everywhere, key=lambda key: (-slow[key][0], -accuracy[key], key)):
        if not frontier or accuracy[key] > accuracy[frontier[-1]]:
            frontier.append(key)
    if len(frontier) < count:
        raise InstanceError(
            str(folder), f"must have {count} models that no other beats", value=len(frontier)
        )
    kept = [frontier[k] for k in np.linspace(0, len(frontier) - 1, count).round().astype(int)]
    return Classifiers(
        names=tuple(f"{name}@{pixels}" for name, pixels in kept),
        accuracy=np.array([accuracy[key] for key in kept]),
        parameters=np.array([slow[key][1] for key in kept]),
        fast=np.array([fast[key][0] for key in kept]),
        slow=np.array([slow[key][0] for key in kept]),
    )


_POSITIVE: Final[Rule] = (lambda x: x > 0, "must be positive")
_PIXELS: Final[Rule] = (lambda x: x >= 1 and x == int(x), "must be a number of pixels")
_PERCENT: Final[Rule] = (lambda x: 0 <= x <= 100, "must be a percentage in 0..100")


def _named(path: Path, rules: Mapping[str, Rule]) -> list[tuple[str, list[float]]]:
    columns = read_columns(path, {**rules})
    names = read_fields(path, ("model",)).texts["model"]
    numbers = np.column_stack([columns[name] for name in rules]).tolist()
    return list(zip(names, numbers, strict=True))


def _accuracies(path: Path) -> dict[Key, float]:
    """Accuracy by architecture and input; of several trainings, the best."""
    table: dict[Key, float] = {}
    for name, (pixels, top1) in _named(path, {"img_size": _PIXELS, "top1": _PERCENT}):
        # Behind the dot stands how the weights were trained, which does not change the speed.
        architecture = name.partition(".")[0]
        if not architecture.startswith("test_"):  # toys for tests of the library
            key = architecture, int(pixels)
            table[key] = max(top1, table.get(key, 0.0))
    return table


def _speeds(path: Path) -> dict[Key, tuple[float, float]]:
    """Pictures per second and millions of parameters by architecture and input."""
    rules = {
        "infer_img_size": _PIXELS,
        "infer_samples_per_sec": _POSITIVE,
        "param_count": _POSITIVE,
    }
    return {
        (name.partition(".")[0], int(pixels)): (speed, parameters)
        for name, (pixels, speed, parameters) in _named(path, rules)
    }
