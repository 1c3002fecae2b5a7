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

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from edgeopt.errors import InstanceError
from edgeopt.instances.rescue.kernels import log_profit_expectation
from edgeopt.instances.validate import (
    frozen_array,
    frozen_integers,
    frozen_number,
    require,
    require_positive,
)
from edgeopt.options import ENTRIES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

__all__ = ["LogProfit", "ProfitModel", "expected_from_block", "mask_beyond", "slot_range"]


_LEAST_DECAY = 100.0
# Before its last retraining a model is taken to be the better the earlier it is: up to no gap.


def slot_range(slots: slice, horizon: int) -> tuple[int, int]:
    """Resolve a slice of slots to its first slot and the one after its last."""
    first, stop, step = slots.indices(horizon)
    if step != 1:
        raise ValueError(f"a block of slots must be contiguous, got step {step}")
    return first, max(first, stop)


class ProfitModel(ABC):
    """Profits by formula, for sizes that must not exist in memory.

    A model is a frozen dataclass whose fields are its parameters: arrays, numbers or text. It is
    saved and fingerprinted by them, and rebuilt by passing them to its constructor.
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
    def block(self, slots: slice) -> NDArray[np.float64]:
        """Compute the profits of runs accepted in a range of slots.

        Parameters
        ----------
        slots
            Contiguous slots, n of them.

        Returns
        -------
        Profit of a run of device j on server k with profile l that lasts d slots, shape
        [n, J, K, L, D], axes of size 1 as in `shape`. Runs may last beyond the horizon here:
        the instance cuts them off where it is told to.
        """

    def expected(
        self, slots: slice, duration: NDArray[np.float64], *, drop: bool
    ) -> NDArray[np.float64] | None:
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


@dataclass(frozen=True, eq=False)
class LogProfit(ProfitModel):
    r"""Accuracy gap times a logarithm of the work done, zero past the time budget.

    Parameters
    ----------
    weight
        Priority :math:`w_j` of each device, profit per unit of relative accuracy, shape [J].
    accuracy
        Accuracy :math:`\alpha_j(t_0)` right after the last retraining, fraction, shape [J].
    best_accuracy
        Highest accuracy :math:`\alpha_{\max}` that can be reached, fraction.
    decay
        Rate :math:`\gamma_j` at which accuracy decays, 1/slot, shape [J].
    trained
        Slot :math:`t_0` of the last retraining, counted from 0 and possibly negative, shape [J];
        -1 is the slot before the horizon. It is data: retraining within the horizon does not
        move it, or profits would depend on decisions.
    gain
        :math:`a_j \ge 0` of :math:`F_j`, fraction, shape [J].
    curvature
        :math:`b_j \ge 0` of :math:`F_j`, 1/TMAC, shape [J].
    capacity
        Work :math:`c_k(t)` that each server does per slot, TMAC, shape [K, T]; the last slot's
        value is held beyond the horizon.
    budget
        Slots :math:`\bar d_{jk}` left for retraining once data and model are transmitted,
        shape [J, K]; longer runs earn nothing.
    max_duration
        Longest duration D, slots.

    Raises
    ------
    InstanceError
        If a shape is wrong or an entry leaves its range.
    """

    weight: NDArray[np.float64]
    accuracy: NDArray[np.float64]
    best_accuracy: float
    decay: NDArray[np.float64]
    trained: NDArray[np.int64]
    gain: NDArray[np.float64]
    curvature: NDArray[np.float64]
    capacity: NDArray[np.float64]
    budget: NDArray[np.int64]
    max_duration: int

    dimensions: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "weight": ("device",),
        "accuracy": ("device",),
        "decay": ("device",),
        "trained": ("device",),
        "gain": ("device",),
        "curvature": ("device",),
        "capacity": ("server", "slot"),
        "budget": ("device", "server"),
    }
    units: ClassVar[Mapping[str, str]] = {
        "weight": "profit",
        "accuracy": "1",
        "best_accuracy": "1",
        "decay": "1/slot",
        "trained": "slot",
        "gain": "1",
        "curvature": "1/TMAC",
        "capacity": "TMAC/slot",
        "budget": "slot",
        "max_duration": "slot",
    }

    def __post_init__(self) -> None:
        sizes: dict[str, int] = {}
        for name, axes in self.dimensions.items():
            freeze = frozen_integers if name in ("trained", "budget") else frozen_array
            array: NDArray[Any] = freeze(f"profit.{name}", getattr(self, name), axes, sizes)
            sizes.update(zip(axes, array.shape, strict=True))
            if name != "trained":
                require(f"profit.{name}", array >= 0, array, "must not be negative")
            object.__setattr__(self, name, array)
        require("profit.accuracy", self.accuracy <= 1, self.accuracy, "must be at most 1")
        require_positive("profit.capacity", self.capacity)
        best = frozen_number("profit.best_accuracy", self.best_accuracy)
        require_positive("profit.best_accuracy", best, "must lie in (0, 1]")
        require("profit.best_accuracy", best <= 1, np.asarray(best), "must lie in (0, 1]")
        object.__setattr__(self, "best_accuracy", best)
        longest = int(frozen_integers("profit.max_duration", self.max_duration, ()))
        if not 1 <= longest <= ENTRIES:
            rule = f"must be at least 1 and at most {ENTRIES}"
            raise InstanceError("profit.max_duration", rule, value=longest)
        object.__setattr__(self, "max_duration", longest)

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), tuple(self.parameters().values())

    @property
    def shape(self) -> tuple[int, int, int, int, int]:
        """Lengths of the axes [T, J, K, 1, D]: the profile matters only through the duration."""
        servers, horizon = self.capacity.shape
        return horizon, self.weight.size, servers, 1, self.max_duration

    def accuracy_gap(self, slots: slice = slice(None)) -> NDArray[np.float64]:
        """Return the relative distance to the best accuracy, between 0 and 1, shape [n, J]."""
        first, stop = slot_range(slots, self.shape[0])
        age = np.arange(first, stop)[:, None] - self.trained
        left = np.exp(np.minimum(-self.decay * age, _LEAST_DECAY))
        return np.maximum(0.0, 1.0 - self.accuracy * left / self.best_accuracy)

    def block(self, slots: slice) -> NDArray[np.float64]:
        """Compute the profits of runs accepted in a range of slots, shape [n, J, K, 1, D]."""
        first, stop = slot_range(slots, self.shape[0])
        duration = np.arange(1, self.max_duration + 1)
        work = self._work(first, stop)[:, None]
        gain = self.gain[:, None, None] * np.log1p(self.curvature[:, None, None] * work)
        gain *= duration <= self.budget[:, :, None]
        gain *= (self.weight * self.accuracy_gap(slice(first, stop)))[:, :, None, None]
        return gain[:, :, :, None, :]

    def _work(self, first: int, stop: int) -> NDArray[np.float64]:
        """Work done in the d slots from t on, shape [n, K, D]."""
        until = stop + self.max_duration - 1
        columns = np.minimum(np.arange(first, until), self.shape[0] - 1)
        windows = np.lib.stride_tricks.sliding_window_view(
            self.capacity[:, columns], self.max_duration, axis=1
        )
        work: NDArray[np.float64] = np.cumsum(windows, axis=2).transpose(1, 0, 2)
        return work

    def expected(
        self, slots: slice, duration: NDArray[np.float64], *, drop: bool
    ) -> NDArray[np.float64]:
        """Compute expected profits by a compiled kernel that stores no axis of durations."""
        first, stop = slot_range(slots, self.shape[0])
        factor = self.weight * self.accuracy_gap(slice(first, stop)) * self.gain
        out = np.empty((stop - first, self.weight.size, self.capacity.shape[0], duration.shape[0]))
        log_profit_expectation(
            first, factor, self.curvature, self.capacity, self.budget, duration, drop, out
        )
        return out


def mask_beyond(
    profit: NDArray[np.float64], first: int, stop: int, horizon: int, longest: int
) -> NDArray[np.float64]:
    """Set the profits of runs that last beyond the horizon to zero."""
    inside = np.arange(first, stop)[:, None] + np.arange(1, longest + 1) <= horizon
    return profit * inside[:, None, None, None, :]


def expected_from_block(
    block: NDArray[np.float64], duration: NDArray[np.float64], shape: tuple[int, int, int, int]
) -> NDArray[np.float64]:
    """Take the expectation of profits over the duration."""
    wide = np.broadcast_to(block, (*block.shape[:3], *duration.shape))
    expected = np.einsum("tjkld,ld->tjkl", wide, duration)
    return np.ascontiguousarray(np.broadcast_to(expected, shape))
