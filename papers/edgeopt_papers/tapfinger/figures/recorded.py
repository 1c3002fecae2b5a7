"""The runs that the authors recorded, which the paper's figures show."""

from __future__ import annotations

from typing import Final, NamedTuple

LEARNED: Final = {
    "tapfinger": "TapFinger",
    "no_han": "TapFinger without HAN",
    "no_pointer": "TapFinger without pointer",
    "vanilla": "Vanilla MARL",
}
"""Titles of the recorded policies that are learned."""


class Recorded(NamedTuple):
    """One run of the authors, which the paper's figures show.

    Slots to completion, the mean number of tasks in the system, and the mean CPU cores and GPUs in
    use on a cluster, after tasks that ended have released theirs.
    """

    mean: float
    median: float
    p95: float
    waiting: float
    cpu: float
    gpu: float


RECORDED: Final = {
    ("three", "tapfinger"): Recorded(6.417, 5.0, 14.0, 12.04, 8.63, 7.1),
    ("three", "vanilla"): Recorded(16.234, 13.5, 33.4, 24.13, 10.39, 8.65),
    ("three", "optimus"): Recorded(8.562, 7.0, 16.0, 15.33, 13.08, 12.88),
    ("three", "tiresias"): Recorded(14.661, 15.0, 30.4, 20.82, 13.95, 5.3),
    ("three", "random"): Recorded(12.839, 10.0, 33.4, 18.79, 10.3, 8.24),
    ("three", "min"): Recorded(12.745, 13.0, 25.0, 19.09, 10.05, 5.02),
    ("six", "tapfinger"): Recorded(7.312, 6.0, 17.8, 25.51, 8.89, 7.49),
    ("six", "optimus"): Recorded(9.203, 7.0, 16.8, 32.11, 12.36, 12.38),
    ("six", "tiresias"): Recorded(15.047, 15.0, 31.7, 45.12, 13.68, 5.73),
    ("six", "random"): Recorded(13.99, 11.0, 31.0, 43.31, 10.67, 8.55),
    ("six", "min"): Recorded(15.201, 15.0, 31.0, 45.94, 10.87, 5.43),
    ("six, rate 3", "tapfinger"): Recorded(4.984, 5.0, 10.0, 13.66, 7.5, 5.62),
    ("six, rate 3", "optimus"): Recorded(7.607, 6.0, 14.8, 20.7, 10.51, 10.19),
    ("six, rate 3", "tiresias"): Recorded(13.755, 14.0, 27.0, 33.21, 14.0, 4.97),
    ("six, rate 3", "random"): Recorded(7.354, 6.0, 19.0, 17.86, 8.76, 6.76),
    ("six, rate 3", "min"): Recorded(13.328, 14.0, 25.0, 31.78, 9.04, 4.52),
    ("six, rate 2", "tapfinger"): Recorded(4.25, 4.0, 6.8, 8.11, 5.53, 4.46),
    ("six, rate 2", "optimus"): Recorded(6.984, 6.0, 13.0, 14.33, 8.13, 7.94),
    ("six, rate 2", "tiresias"): Recorded(13.674, 15.0, 27.8, 22.82, 12.99, 3.47),
    ("six, rate 2", "random"): Recorded(6.932, 5.0, 18.0, 13.23, 7.59, 5.79),
    ("six, rate 2", "min"): Recorded(12.891, 14.0, 26.0, 24.99, 7.33, 3.67),
    ("test-bed three, 1000", "tapfinger"): Recorded(4.658, 4.0, 8.0, 6.63, 8.39, 4.31),
    ("test-bed three, 1000", "optimus"): Recorded(5.395, 5.0, 9.0, 7.77, 4.0, 8.96),
    ("test-bed three, 1000", "tiresias"): Recorded(5.574, 5.0, 9.0, 8.34, 20.44, 2.13),
    ("test-bed three, 1000", "random"): Recorded(5.033, 4.0, 9.0, 7.62, 12.38, 6.28),
    ("test-bed three, 1000", "min"): Recorded(4.917, 4.0, 8.0, 7.5, 3.43, 1.72),
    ("test-bed six, 2000", "tapfinger"): Recorded(4.732, 4.0, 8.0, 13.97, 11.4, 5.36),
    ("test-bed six, 2000", "optimus"): Recorded(5.28, 5.0, 9.0, 15.23, 3.95, 8.48),
    ("test-bed six, 2000", "tiresias"): Recorded(5.576, 5.0, 9.0, 16.89, 20.26, 2.21),
    ("test-bed six, 2000", "random"): Recorded(4.965, 4.0, 9.0, 14.32, 11.77, 6.05),
    ("test-bed six, 2000", "min"): Recorded(4.83, 4.0, 8.0, 14.12, 3.26, 1.63),
    ("test-bed six, 4000", "tapfinger"): Recorded(4.742, 4.0, 8.0, 14.11, 11.4, 5.34),
    ("test-bed six, 4000", "optimus"): Recorded(5.267, 5.0, 9.0, 15.49, 3.98, 8.51),
    ("test-bed six, 4000", "tiresias"): Recorded(5.558, 5.0, 9.0, 16.76, 19.89, 2.19),
    ("test-bed six, 4000", "random"): Recorded(5.011, 4.0, 9.0, 14.97, 12.21, 6.26),
    ("test-bed six, 4000", "min"): Recorded(4.861, 4.0, 8.0, 14.57, 3.34, 1.67),
    ("test-bed six, 8000", "tapfinger"): Recorded(4.781, 4.0, 8.0, 14.31, 11.39, 5.36),
    ("test-bed six, 8000", "optimus"): Recorded(5.294, 5.0, 9.0, 15.68, 4.03, 8.62),
    ("test-bed six, 8000", "tiresias"): Recorded(5.542, 5.0, 9.0, 16.69, 19.87, 2.18),
    ("test-bed six, 8000", "random"): Recorded(5.017, 4.0, 9.0, 14.9, 12.32, 6.24),
    ("test-bed six, 8000", "min"): Recorded(4.874, 4.0, 8.0, 14.62, 3.34, 1.67),
    ("several", "tapfinger"): Recorded(4.292, 4.0, 9.4, 10.93, 8.05, 6.94),
    ("several", "no_han"): Recorded(5.875, 4.0, 17.9, 12.63, 7.04, 7.82),
    ("several", "optimus"): Recorded(7.734, 6.0, 15.0, 21.16, 13.28, 13.12),
    ("several", "tiresias"): Recorded(7.552, 7.0, 13.0, 19.03, 11.98, 11.96),
    ("several", "random"): Recorded(15.12, 11.0, 36.4, 27.88, 11.29, 8.57),
    ("several", "min"): Recorded(28.818, 25.0, 57.0, 45.32, 12.62, 6.31),
    ("mixed", "tapfinger"): Recorded(4.87, 4.0, 10.0, 22.17, 7.82, 7.09),
    ("mixed", "optimus"): Recorded(8.125, 5.0, 15.0, 29.64, 8.92, 8.8),
    ("mixed", "tiresias"): Recorded(10.792, 7.0, 33.8, 33.09, 7.02, 7.02),
    ("mixed", "random"): Recorded(23.573, 14.5, 57.0, 62.37, 9.02, 6.91),
    ("mixed", "min"): Recorded(33.456, 26.0, 74.7, 95.81, 11.66, 5.83),
    ("pointer", "tapfinger"): Recorded(8.057, 3.5, 22.4, 16.07, 9.83, 9.65),
    ("pointer", "no_pointer"): Recorded(13.229, 12.0, 30.0, 27.87, 11.32, 11.1),
    ("pointer", "optimus"): Recorded(13.333, 11.0, 47.3, 27.19, 12.48, 12.48),
    ("pointer", "tiresias"): Recorded(35.786, 36.5, 81.8, 50.49, 13.29, 13.24),
    ("pointer", "random"): Recorded(52.974, 61.0, 93.9, 65.59, 10.37, 10.73),
    ("pointer", "min"): Recorded(12.604, 12.0, 26.4, 28.09, 11.51, 11.51),
    ("containers", "tapfinger"): Recorded(23.12, 19.5, 51.1, 15.11, 10.23, 3.49),
    ("containers", "optimus"): Recorded(30.97, 23.0, 67.3, 20.04, 6.53, 3.83),
    ("containers", "tiresias"): Recorded(26.765, 24.5, 57.0, 18.39, 9.05, 4.02),
    ("containers", "random"): Recorded(55.265, 49.5, 127.1, 29.55, 10.28, 3.79),
    ("containers", "min"): Recorded(67.87, 56.5, 147.0, 37.49, 4.45, 4.45),
}
"""By setting and policy; one draw of tasks each."""
