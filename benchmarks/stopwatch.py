"""Parts of a call, timed apart."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Stopwatch"]


class Stopwatch:
    """Adds up the seconds of each phase: ``with watch("build"): ...``.

    Attributes
    ----------
    phases
        Seconds by name, in the order in which the phases began.
    """

    def __init__(self) -> None:
        self.phases: dict[str, float] = {}

    @contextmanager
    def __call__(self, phase: str) -> Iterator[None]:
        began = time.perf_counter()
        yield
        self.phases[phase] = self.phases.get(phase, 0.0) + time.perf_counter() - began
