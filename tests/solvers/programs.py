"""Programs that several tests of this room share."""

from __future__ import annotations

import numpy as np

from edgeopt.solvers import LabelBlock, LinearProgram


def glass() -> LinearProgram:
    """The Wyndor Glass example of Hillier and Lieberman: optimum 36 at (2, 6)."""
    return LinearProgram(
        [3, 5],
        [[1, 0], [0, 2], [3, 2]],
        -np.inf,
        [4, 12, 18],
        sense="max",
        row_names=[LabelBlock("hours", ("plant",), (3,))],
        column_names=["door", "window"],
    )


def market_split(rows: int = 4, columns: int = 30) -> LinearProgram:
    """A market split problem: points are easy to find, the bound stays at 0 for a very long time.

    Cornuejols, Dawande: A class of hard small 0-1 programs, IPCO 1998.
    """
    shares = np.random.default_rng(0).integers(0, 100, (rows, columns))
    half = shares.sum(axis=1) // 2
    slack = np.eye(rows)
    count = columns + 2 * rows
    split = np.arange(count) < columns
    return LinearProgram(
        np.where(split, 0.0, 1.0),
        np.hstack([shares, slack, -slack]),
        half,
        half,
        0.0,
        np.where(split, 1.0, np.inf),
        split,
    )


def crowded(rows: int = 60, columns: int = 300) -> LinearProgram:
    """A packing program that takes the simplex method a few hundred iterations."""
    rng = np.random.default_rng(1)
    matrix = rng.random((rows, columns)) * (rng.random((rows, columns)) < 0.3)
    matrix[0] += 0.1
    return LinearProgram(rng.random(columns), matrix, -np.inf, 1.0, sense="max")
