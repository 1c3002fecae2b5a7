r"""What a retraining run earns: profit models that are computed slot by slot instead of stored.

The physical model multiplies a device's weight, the gap between its current and its best accuracy,
and a logarithmic resource-to-performance function of the work done,

.. math::

    \mathrm{profit}_{jkl}(t, d) = w_j
        \Bigl[1 - \frac{\alpha_j(t)}{\alpha_{\max}}\Bigr]^+ F_j\bigl(U_k(t, d)\bigr)
        \quad \text{if } d \le \bar d_{jk}, \text{ else } 0,

with :math:`F_j(U) = a_j \ln(1 + b_j U)` and :math:`U_k(t, d) = \sum_{\tau=t}^{t+d-1} c_k(\tau)`.
Its expectation over the duration is equation (1) of Huang, Liu, Shan: RESCUE: Opportunistic Online
Scheduling of Model Retraining on Underutilized Edges.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import fields
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

import numpy as np

from edgeopt.errors import InstanceError
from edgeopt.instances.fields import Floats, Integers, field
from edgeopt.instances.records import Record
from edgeopt.instances.validate import frozen_array, require_positive
from edgeopt.kernels import compiled
from edgeopt.options import ENTRIES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike


_LEAST_DECAY = 100.0
# Before its last retraining a model is taken to be the better the earlier it is: up to no gap.


def slot_range(slots: slice, horizon: int) -> tuple[int, int]:
    """Resolve a slice of slots to its first slot and the one after its last."""
    first, stop, step = slots.indices(horizon)
    if step != 1:
        raise ValueError(f"a block of slots must be contiguous, got step {step}")
    return first, max(first, stop)


@compiled(writes="out", fastmath={"contract", "reassoc"}, nogil=True)
def log_profit_expectation(
    first: int,
    factor: Floats,
    curvature: Floats,
    capacity: Floats,
    budget: Integers,
    duration: Floats,
    drop: bool,
    out: Floats,
) -> None:
    r"""Fill ``out[t, j, k, l]`` with expected profits (compiled).

    .. math:: f_j(t) \sum_{d \le \bar d_{jk}} q_l(d) \ln(1 + b_j U_k(t, d))
    """
    slots, devices = factor.shape
    servers, horizon = capacity.shape
    profiles, longest = duration.shape
    weight = np.ascontiguousarray(duration.T)
    work = np.empty(longest, dtype=np.float64)
    for n in range(slots):
        slot = first + n
        reach = min(longest, horizon - slot) if drop else longest
        for k in range(servers):
            total = 0.0
            for d in range(reach):
                total += capacity[k, min(slot + d, horizon - 1)]
                work[d] = total
            for j in range(devices):
                row = out[n, j, k]
                row[:] = 0.0
                for d in range(min(reach, budget[j, k])):
                    gain = math.log1p(curvature[j] * work[d])
                    for m in range(profiles):
                        row[m] += weight[d, m] * gain
                for m in range(profiles):
                    row[m] *= factor[n, j]


@compiled
def log_profit(scale: float, gain: float, curvature: float, work: float) -> float:
    """Return what a run earns that leaves enough time for transmission."""
    return gain * math.log1p(curvature * work) * scale


@compiled(writes="out")
def _fill(
    scale: Floats, gain: Floats, curvature: Floats, budget: Integers, work: Floats, out: Floats
) -> None:
    for n in range(out.shape[0]):
        for j in range(out.shape[1]):
            for k in range(out.shape[2]):
                for d in range(out.shape[4]):
                    worth = 0.0
                    if d < budget[j, k]:
                        worth = log_profit(scale[n, j], gain[j], curvature[j], work[n, k, d])
                    out[n, j, k, 0, d] = worth


class ProfitModel(ABC):
    """Profits by formula, for sizes that must not exist in memory.

    A model is a frozen dataclass whose fields are its parameters: arrays, numbers or text. It is
    saved and fingerprinted by them, and rebuilt by passing them to its constructor.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> from edgeopt.instances.rescue import ProfitModel
    >>> @dataclass(frozen=True)
    ... class PerSlot(ProfitModel):
    ...     rate: float
    ...     shape = (1, 1, 1, 1, 3)
    ...     def block(self, slots):
    ...         return self.rate * np.arange(1.0, 4.0).reshape(1, 1, 1, 1, 3)
    ...
    >>> PerSlot(0.5).block(slice(0, 1)).ravel(), PerSlot(0.5).parameters()
    (array([0.5, 1. , 1.5]), {'rate': 0.5})
    """

    dimensions: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    """Names of the axes of the array parameters, for labelled files (optional)."""

    units: ClassVar[Mapping[str, str]] = {}
    """Units of the parameters, for labelled files (optional)."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int, int, int, int]:
        """Lengths of the axes [T, J, K, L, D]; 1 where the profit does not depend on the axis."""

    @abstractmethod
    def block(self, slots: slice) -> Floats:
        """Compute the profits of runs accepted in a range of slots.

        Parameters
        ----------
        slots
            Contiguous slots, n of them.

        Returns
        -------
        Profit of a run of device j on server k with profile l that lasts d slots, shape
        [n, J, K, L, D], axes of size 1 as in `shape`. Runs may last beyond the horizon here:
        the instance cuts them off if it is set to.
        """

    def expected(self, slots: slice, duration: Floats, *, drop: bool) -> Floats | None:
        """Compute expected profits faster than through `block`, if the model knows how.

        Parameters
        ----------
        slots
            Contiguous slots, n of them.
        duration
            Probability of each duration under each profile, shape [L, D].
        drop
            Whether runs that last beyond the horizon earn nothing.

        Returns
        -------
        Shape [n, J, K, L], or None to let the instance sum over `block`.
        """
        return None

    def parameters(self) -> dict[str, Any]:
        """Return the parameters by name, in the order of the constructor."""
        return {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]


_AXES: Final = {"device": "J", "server": "K", "slot": "T"}


class LogProfit(Record, ProfitModel, prefix="profit.", axes=_AXES):
    """Accuracy gap times a logarithm of the work done, zero past the time budget.

    Examples
    --------
    >>> from edgeopt.instances.rescue import LogProfit
    >>> profit = LogProfit(
    ...     weight=[2.0], accuracy=[0.5], best_accuracy=0.9, decay=[0.1], trained=[-1],
    ...     gain=[0.3], curvature=[1.0], capacity=[[1.0, 1.0, 1.0]], budget=[[2]],
    ...     max_duration=3,
    ... )
    >>> profit.block(slice(0, 1)).ravel().round(3)
    array([0.207, 0.328, 0.   ])
    """

    weight: Floats = field(
        "device", unit="profit", symbol="w_j", least=0,
        doc="Priority of a device. Profit per unit of relative accuracy.",
    )  # fmt: skip
    accuracy: Floats = field(
        "device", symbol=r"\alpha_j(t_0)", least=0, most=1,
        doc="Accuracy right after the last retraining. A fraction.",
    )  # fmt: skip
    best_accuracy: float = field(
        symbol=r"\alpha_{\max}", above=0, most=1, message="must lie in (0, 1]",
        doc="Highest accuracy that can be reached. A fraction.",
    )  # fmt: skip
    decay: Floats = field(
        "device", unit="1/slot", symbol=r"\gamma_j", least=0, doc="Rate at which accuracy decays."
    )
    trained: Integers = field(
        "device", unit="slot", symbol="t_0", of="slot",
        doc="Slot of the last retraining. Possibly negative: -1 is the slot before the horizon. It "
        "is data: retraining within the horizon does not move it, or profits would depend on "
        "decisions.",
    )  # fmt: skip
    gain: Floats = field("device", symbol="a_j", least=0, doc="Factor of the logarithm.")
    curvature: Floats = field(
        "device", unit="1/TMAC", symbol="b_j", least=0, doc="Factor of work in the logarithm."
    )
    capacity: Floats = field(
        "server", "slot", unit="TMAC/slot", symbol="c_k(t)", least=0,
        doc="Work that a server does per slot. That of the last slot is held beyond the horizon.",
    )  # fmt: skip
    budget: Integers = field(
        "device", "server", unit="slot", symbol=r"\bar d_{jk}", least=0,
        doc="Slots left for retraining once data and model are transmitted. Longer runs earn "
        "nothing.",
    )  # fmt: skip
    max_duration: int = field(
        unit="slot", symbol="D", least=1, most=ENTRIES,
        message=f"must be at least 1 and at most {ENTRIES}", doc="Longest duration.",
    )  # fmt: skip

    @property
    def shape(self) -> tuple[int, int, int, int, int]:
        """Lengths of the axes [T, J, K, 1, D]: the profile matters only through the duration."""
        servers, horizon = self.capacity.shape
        return horizon, self.weight.size, servers, 1, self.max_duration

    def accuracy_gap(self, slots: slice = slice(None)) -> Floats:
        """Return the relative distance to the best accuracy, between 0 and 1, shape [n, J]."""
        first, stop = slot_range(slots, self.shape[0])
        age = np.arange(first, stop)[:, None] - self.trained
        left = np.exp(np.minimum(-self.decay * age, _LEAST_DECAY))
        return np.maximum(0.0, 1.0 - self.accuracy * left / self.best_accuracy)

    def block(self, slots: slice) -> Floats:
        """Compute the profits of runs accepted in a range of slots, shape [n, J, K, 1, D]."""
        scale, work = self.factors(slots)
        out = np.empty((*scale.shape, self.capacity.shape[0], 1, self.max_duration))
        _fill(scale, self.gain, self.curvature, self.budget, work, out)
        return out

    def factors(self, slots: slice) -> tuple[Floats, Floats]:
        """Return weight times accuracy gap, [n, J], and the work done in d slots, [n, K, D]."""
        first, stop = slot_range(slots, self.shape[0])
        scale = self.weight * self.accuracy_gap(slice(first, stop))
        until = stop + self.max_duration - 1
        columns = np.minimum(np.arange(first, until), self.shape[0] - 1)
        windows = np.lib.stride_tricks.sliding_window_view(
            self.capacity[:, columns], self.max_duration, axis=1
        )
        return scale, np.ascontiguousarray(np.cumsum(windows, axis=2).transpose(1, 0, 2))

    def expected(self, slots: slice, duration: Floats, *, drop: bool) -> Floats:
        """Compute expected profits by a compiled kernel that stores no axis of durations."""
        first, stop = slot_range(slots, self.shape[0])
        factor = self.weight * self.accuracy_gap(slice(first, stop)) * self.gain
        out = np.empty((stop - first, self.weight.size, self.capacity.shape[0], duration.shape[0]))
        log_profit_expectation(
            first, factor, self.curvature, self.capacity, self.budget, duration, drop, out
        )
        return out


def check_broadcastable(shape: tuple[int, ...], full: tuple[int, ...]) -> None:
    """Check that profits of this shape spread over all of [T, J, K, L, D]."""
    if len(shape) != len(full) or any(
        n not in (1, whole) for n, whole in zip(shape, full, strict=True)
    ):
        raise InstanceError(
            "profit",
            f"must be broadcastable to [slot, device, server, profile, duration] = {full}",
            value=f"shape {shape}",
        )


def check_block(block: Floats, full: tuple[int, ...], first: int) -> None:
    """Check the profits that a model yields for the slots from ``first`` on."""
    check_broadcastable(block.shape, full)
    sound = np.isfinite(block) & (block >= 0)
    if not sound.all():
        slot, *rest = (int(i) for i in np.argwhere(~sound)[0])
        raise InstanceError(
            "profit",
            "must be finite and not negative",
            index=(first + slot, *rest),
            value=block[slot, *rest].item(),
        )


class LogFit(NamedTuple):
    r"""A fit of :math:`a \ln(1 + b U)`.

    Attributes
    ----------
    gain
        a, in the unit of the gains.
    curvature
        b, in the inverse unit of the work.
    squared_error
        Sum of squared residuals.
    at_bound
        Whether b ended at an end of its interval, where only the product of a and b (lower end:
        the data are linear in the work) or nothing but a level (upper end) is identified.

    Examples
    --------
    >>> import numpy as np
    >>> from edgeopt.instances.rescue import fit_log_profile
    >>> work = np.array([1.0, 2.0, 4.0, 8.0])
    >>> fit = fit_log_profile(work, 3 * np.log1p(0.5 * work))
    >>> round(float(fit.gain), 3), round(float(fit.curvature), 3), fit.at_bound
    (3.0, 0.5, False)
    """

    gain: float
    curvature: float
    squared_error: float
    at_bound: bool


_CURVATURES: Final = np.geomspace(1e-4, 1e2, 200)
_GOLDEN: Final = (np.sqrt(5.0) - 1.0) / 2.0


def fit_log_profile(work: ArrayLike, gain: ArrayLike) -> LogFit:
    r"""Fit the resource-to-performance function :math:`F(U) = a \ln(1 + b U)` to measured points.

    For fixed b the best :math:`a \ge 0` is a non-negative least-squares problem in one unknown
    with a closed form; b is found between 1e-4 and 1e2 on a logarithmic grid of 200 points and
    then by golden section on ln b.

    Parameters
    ----------
    work
        Work done :math:`U_n > 0`, TMAC, shape [N]; at least two different values.
    gain
        Accuracy gained :math:`\Delta\alpha_n`, shape [N].

    Returns
    -------
    The fit. If no gain is positive, a = 0.

    Raises
    ------
    InstanceError
        If shapes differ, an entry is not finite, a work is not positive, or all are equal.

    Examples
    --------
    >>> from edgeopt.instances.rescue import fit_log_profile
    >>> fit = fit_log_profile([1.0, 2.0, 4.0, 8.0], [0.7, 1.1, 1.6, 2.2])
    >>> round(float(fit.gain), 3), round(float(fit.curvature), 3)
    (0.996, 1.008)
    """
    u = frozen_array("work", work, ("point",))
    y = frozen_array("gain", gain, ("point",), {"point": u.size})
    require_positive("work", u)
    if np.unique(u).size < 2:
        raise InstanceError("work", "needs at least two different values", value=u[0])

    def best(log_b: float) -> tuple[float, float]:
        h = np.log1p(np.exp(log_b) * u)
        a = max(0.0, float(h @ y) / float(h @ h))
        residual = y - a * h
        return float(residual @ residual), a

    logs = np.log(_CURVATURES)
    if not (y > 0).any():
        return LogFit(0.0, float(_CURVATURES[0]), float(y @ y), True)
    errors = [best(x)[0] for x in logs]
    centre = int(np.argmin(errors))
    low, high = logs[max(centre - 1, 0)], logs[min(centre + 1, logs.size - 1)]
    for _ in range(60):
        left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        if best(left)[0] <= best(right)[0]:
            high = right
        else:
            low = left
    candidates = [0.5 * (low + high), logs[centre]]
    log_b = min(candidates, key=lambda x: best(x)[0])
    error, a = best(log_b)
    edge = 1e-6  # golden section approaches an end without reaching it
    at_bound = log_b - logs[0] < edge or logs[-1] - log_b < edge
    return LogFit(a, float(np.exp(log_b)), error, bool(at_bound))
