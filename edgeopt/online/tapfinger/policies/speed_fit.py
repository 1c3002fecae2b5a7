"""How long a task is expected to take with a bundle, by the formula that Optimus fits to speeds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, get_args

import numpy as np

from edgeopt.instances.tapfinger.laws import SLOWING
from edgeopt.options import check_choice

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.tapfinger import TapFingerInstance

    Floats = NDArray[np.float64]

__all__ = ["Fit", "check_fit", "fitted_slots"]

Fit = Literal["correct", "printed"]
"""How the formula is fitted: properly, or as in the program behind the paper's figures."""

NOTHING: Final = 1e-3
"""What the fit behind the paper's figures takes for no CPU core and no GPU."""


def check_fit(fit: str) -> None:
    """Check the name of a fit."""
    check_choice("fit", fit, get_args(Fit))


def fitted_slots(instance: TapFingerInstance, fit: Fit = "correct") -> Floats:
    r"""Return how many slots a whole task would take at its first speed, by a fitted formula.

    With :math:`w` GPUs and :math:`p` CPU cores that is

    .. math:: \theta_0 / w + \theta_1 + \theta_2 w / p + \theta_3 w + \theta_4 p .

    The baseline "Optimus" of Li et al., section V-A. A kind of task that slows down is measured
    when it begins.
    """
    check_fit(fit)
    assert instance.slowing is not None
    factor = np.where(instance.slowing, np.sqrt(SLOWING), 1.0)
    gain = instance.speed * factor[:, np.newaxis, np.newaxis]
    slots = np.empty(gain.shape)
    known: dict[bytes, Floats] = {}
    for n, k in np.ndindex(gain.shape[:2]):
        key = gain[n, k].tobytes()
        if key not in known:
            known[key] = _printed(gain[n, k]) if fit == "printed" else _correct(gain[n, k])
        slots[n, k] = known[key]
    return slots


def _terms(cpu: Floats, gpu: Floats) -> Floats:
    """Return what the coefficients are multiplied with, shape [points, 5]."""
    return np.stack([1.0 / gpu, np.ones_like(gpu), gpu / cpu, gpu, cpu], axis=-1)


def _correct(gain: Floats) -> Floats:
    from scipy.optimize import nnls

    with np.errstate(divide="ignore"):
        slots = 1.0 / gain
    cpu, gpu = np.nonzero(gain)
    inside = (cpu > 0) & (gpu > 0)
    cpu, gpu = cpu[inside], gpu[inside]
    if cpu.size:
        terms = _terms(cpu.astype(np.float64), gpu.astype(np.float64))
        # Columns of one length each leave the optimum where it is and help the method.
        length = np.linalg.norm(terms, axis=0)
        coefficients, _ = nnls(terms / length, slots[cpu, gpu])
        slots[cpu, gpu] = terms @ (coefficients / length)
    return slots


def _printed(gain: Floats) -> Floats:
    from scipy.optimize import least_squares

    cpus, gpus = gain.shape
    cpu = np.maximum(np.arange(cpus, dtype=np.float64), NOTHING)
    gpu = np.maximum(np.arange(gpus, dtype=np.float64), NOTHING)
    believed = _terms(np.tile(cpu, gpus), np.repeat(gpu, cpus))
    speeds = gain.ravel()

    def excess(coefficients: Floats) -> Floats:
        return np.asarray(1.0 / (believed @ coefficients) - speeds)

    def slope(coefficients: Floats) -> Floats:
        return np.asarray(-believed / (believed @ coefficients)[:, np.newaxis] ** 2)

    start = np.ones(believed.shape[1])
    # Where the usual tolerances stop, differs from version to version in the fifth digit.
    close = dict.fromkeys(("ftol", "xtol", "gtol"), 1e-14)
    # The usual method wants as many bundles as coefficients.
    method = "lm" if speeds.size >= start.size else "trf"
    coefficients = least_squares(excess, start, slope, method=method, **close).x
    true = _terms(np.repeat(cpu, gpus), np.tile(gpu, cpus))
    return np.asarray(true @ coefficients).reshape(gain.shape)
