"""A fixed split of the CPU of all sites, busy or idle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from edgeopt.online.naming import named
from edgeopt.options import check_real

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.oinc import OincInstance
    from edgeopt.online.oinc.events import Slot

    Floats = NDArray[np.float64]

__all__ = ["StaticShares"]

_MOST: Final = 0.95
"""Largest share that weights may lead to: a request needs some CPU."""


@dataclass(frozen=True, eq=False)
class StaticShares:
    r"""Keep the same share of the CPU of all sites for jobs, in all slots.

    Parameters
    ----------
    share
        The share, in [0, 1). By default :math:`\beta / (\alpha + \beta)` with the mean weights of
        slots and of the jobs that arrive first; before any job has arrived their weight counts as
        1.

    Raises
    ------
    OptionError
        If the share is out of range.

    Notes
    -----
    Zeng et al., section V: how the CPU is split in all combinations but their own.
    """

    title: ClassVar[str] = "StaticShares"

    share: float | None = None

    def __post_init__(self) -> None:
        check_real("share", self.share, "[0, 1)", none=True)

    @property
    def name(self) -> str:
        """Short name for tables and pictures."""
        return named(self.title, self)

    def start(self, instance: OincInstance) -> tuple[float, float, bool]:
        """Remember the weight of requests and of jobs, and whether a job has been seen."""
        assert instance.request_weight is not None
        return float(instance.request_weight.mean()), 1.0, False

    def reserve(
        self, memory: tuple[float, float, bool], slot: Slot, share: Floats
    ) -> tuple[Floats, tuple[float, float, bool]]:
        """Return the fixed shares, and the weights after the slot."""
        of_requests, of_jobs, seen = memory
        if not seen and slot.jobs.job.size:
            of_jobs, seen = float(slot.jobs.weight.mean()), True
        part = self.share
        if part is None:
            both = of_requests + of_jobs
            # Requests without any weight still need something to run on.
            part = min(of_jobs / both, _MOST) if both > 0 else 0.5
        return np.full(share.size, part), (of_requests, of_jobs, seen)
