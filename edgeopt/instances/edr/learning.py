"""The learning models that tasks train and requests ask for."""

from __future__ import annotations

from typing import Final, NamedTuple

__all__ = ["BATCH", "LEARNING_MODELS", "STEP_FACTOR", "WEIGHT_BITS", "LearningModel"]


class LearningModel(NamedTuple):
    """A small network for pictures.

    Attributes
    ----------
    name
        Network and data set.
    forward
        Computation of one inference, GFLOP.
    parameters
        Number of weights.
    input_bits
        Size of a picture, bit.
    """

    name: str
    forward: float
    parameters: int
    input_bits: int


LEARNING_MODELS: Final = (
    LearningModel("LeNet-5 on MNIST", 0.833e-3, 61_706, 6_272),
    LearningModel("LeNet-5 on CIFAR-10", 1.304e-3, 62_006, 24_576),
    LearningModel("CNN on MNIST", 2.064e-3, 20_490, 6_272),
    LearningModel("CNN on CIFAR-10", 3.284e-3, 25_578, 24_576),
)
"""LeNet-5, and two convolutions of 3 x 3 with 16 and 32 channels before a full layer."""

STEP_FACTOR: Final = 3.0
"""Computation of training on a picture, forward and backward, in inferences."""

BATCH: Final = 64
"""Pictures in a local step."""

WEIGHT_BITS: Final = 32
"""Bits of a weight."""
