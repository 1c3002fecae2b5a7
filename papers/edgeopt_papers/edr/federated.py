"""Federated averaging of small networks on digits: the table of losses behind figure 4e.

It needs the extra ``rl``: policies and figures only read the table.

The pictures are the 1,797 handwritten digits of 8 x 8 pixels that scikit-learn carries, as MNIST
and CIFAR-10 cannot be bundled. LeNet-5 gets them enlarged to the sizes of those two data sets, so
that it has the weights of the instances' tasks; the small network gets them as they are. Where a
user has MNIST or CIFAR-10, networks learn from these (see `edgeopt_papers.edr.data`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from edgeopt.errors import MissingDependencyError
from edgeopt_papers.edr import data

if TYPE_CHECKING:
    import pandas as pd

try:
    import torch
    from torch import nn
except ImportError as error:
    raise MissingDependencyError("training needs PyTorch: install edgeopt[rl]") from error

CLIENTS: Final = 4
STEPS: Final = 5
BATCH: Final = 32
RATE: Final = 0.05
SEEDS: Final = (0, 1, 2)
ROUNDS: Final = 330
SHOWN: Final = (*range(20), *range(20, ROUNDS + 1, 10))
"""Rounds after which the loss is measured."""


class Kind(NamedTuple):
    """A network and the pictures that it sees."""

    name: str
    net: str
    side: int
    colours: int
    data: str = "digits"


KINDS: Final = (
    Kind("LeNet-5, 28 x 28 digits", "lenet", 28, 1),
    Kind("LeNet-5, 32 x 32 coloured digits", "lenet", 32, 3),
    Kind("CNN, 8 x 8 digits", "cnn", 8, 1),
    Kind("CNN, 8 x 8 coloured digits", "cnn", 8, 3),
)
"""In the order of the tasks' models."""

CHUNK: Final = 2000
"""Pictures whose loss is measured at once."""


def kinds() -> tuple[Kind, ...]:
    """Return the networks with the data sets that are there; without any, `KINDS`."""
    sets = {1: ("MNIST", 28), 3: ("CIFAR-10", 32)}
    return tuple(
        Kind(f"{kind.name.partition(',')[0]}, {name}", kind.net, side, kind.colours, name)
        if data.found(name)
        else kind
        for kind in KINDS
        for name, side in [sets[kind.colours]]
    )


def network(kind: Kind) -> nn.Sequential:
    """Return a network with the weights that PyTorch gives it, drawn from its seed."""
    if kind.net == "lenet":
        inside = kind.side if kind.side == 32 else kind.side + 4
        parts = [
            nn.Conv2d(kind.colours, 6, 5, padding=(inside - kind.side) // 2), nn.ReLU(),
            nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
            nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10),
        ]  # fmt: skip
    else:
        parts = [
            nn.Conv2d(kind.colours, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
            nn.Linear(32 * (kind.side // 4) ** 2, 10),
        ]  # fmt: skip
    return nn.Sequential(*parts)


def pictures(kind: Kind, rng: np.random.Generator) -> tuple[Any, Any]:
    """Return pictures, shape [n, colours, side, side], and the digits that they show."""
    paths = None if kind.data == "digits" else data.found(kind.data)
    if paths is not None:
        shown = data.mnist(*paths) if kind.data == "MNIST" else data.cifar(paths)
        return torch.from_numpy(shown.pictures), torch.from_numpy(shown.label)
    from sklearn.datasets import load_digits

    found = load_digits()
    grey = torch.tensor(found.images / 16.0, dtype=torch.float32)[:, None]
    if kind.side != grey.shape[-1]:
        size = (kind.side, kind.side)
        grey = nn.functional.interpolate(grey, size, mode="bilinear", align_corners=False)
    if kind.colours > 1:
        # One colour for all pixels of a picture.
        shade = rng.uniform(0.25, 1.0, (len(grey), kind.colours, 1, 1))
        grey = grey * torch.tensor(shade, dtype=torch.float32)
    return grey, torch.tensor(found.target)


def losses(kind: Kind, seed: int, rounds: int = ROUNDS) -> list[float]:
    """Train by federated averaging; return the mean loss over all clients' data by round.

    Every client does a few steps of stochastic gradient descent from the common weights; the new
    common weights are the mean of the clients', weighted by how much data each has.
    """
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    seen, shown = pictures(kind, rng)
    owner = rng.integers(CLIENTS, size=len(seen))
    held = [np.flatnonzero(owner == client) for client in range(CLIENTS)]
    model = network(kind)
    weights = list(model.parameters())
    common = [part.detach().clone() for part in weights]
    found = []
    for done in range(rounds + 1):
        if done in SHOWN:
            found.append(_loss(model, seen, shown))
        mean = [torch.zeros_like(part) for part in common]
        for mine in held:
            _set(weights, common)
            for _ in range(STEPS):
                batch = torch.from_numpy(rng.choice(mine, BATCH))
                loss = nn.functional.cross_entropy(model(seen[batch]), shown[batch])
                slopes = torch.autograd.grad(loss, weights)
                with torch.no_grad():
                    for part, slope in zip(weights, slopes, strict=True):
                        part -= RATE * slope
            share = len(mine) / len(seen)
            with torch.no_grad():
                for total, part in zip(mean, weights, strict=True):
                    total += share * part
        common = mean
        _set(weights, common)
    return found


def _loss(model: nn.Sequential, seen: Any, shown: Any) -> float:
    """Return the mean loss over all pictures."""
    parts = zip(seen.split(CHUNK), shown.split(CHUNK), strict=True)
    with torch.no_grad():
        sums = [nn.functional.cross_entropy(model(x), y, reduction="sum").item() for x, y in parts]
    return float(sum(sums)) / len(seen)


def _set(weights: list[Any], values: list[Any]) -> None:
    """Overwrite the weights of a network."""
    with torch.no_grad():
        for part, value in zip(weights, values, strict=True):
            part.copy_(value)


def table() -> pd.DataFrame:
    """Train all networks from all seeds; return losses by kind and round, a column per seed."""
    import pandas as pd

    found = []
    for kind in kinds():
        columns = np.array([losses(kind, seed) for seed in SEEDS])
        found += [
            (kind.name, done, *(float(f"{value:.5g}") for value in row))
            for done, row in zip(SHOWN, columns.T, strict=True)
        ]
    return pd.DataFrame(found, columns=["kind", "rounds", *(f"seed_{seed}" for seed in SEEDS)])
