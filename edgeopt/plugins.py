"""Plugins of other packages, found through entry points: loaded, checked, or refused.

A broken plugin must not stop unrelated work: if it is requested by name it raises an `OptionError`,
otherwise it is left out with a `PluginWarning`.
"""

from __future__ import annotations

import signal
import threading
import warnings
from collections.abc import Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from edgeopt.errors import EdgeOptError, OptionError, PluginWarning

if TYPE_CHECKING:
    from collections.abc import Iterator
    from importlib.metadata import EntryPoint
    from types import FrameType

OfferedT = TypeVar("OfferedT")


def described(point: EntryPoint) -> str:
    """Describe an entry point: its name, group and package, if known."""
    package = getattr(point, "dist", None)
    owner = f" of the package {package.name}" if package is not None else ""
    return f"entry point {point.name!r} = {point.value!r} in {point.group}{owner}"


def refusal(point: EntryPoint, why: str) -> OptionError:
    """Return the error that says which entry point is wrong, and why."""
    return OptionError(f"{described(point)}: {why}")


def load(point: EntryPoint, kind: type[OfferedT]) -> OfferedT:
    """Load what an entry point offers."""
    with _interrupts() as interrupted:
        try:
            offered: Any = point.load()
            if kind is Sequence and isinstance(offered, Sequence):
                offered = list(offered)
        # A foreign module may raise anything while it is imported, or exit.
        except BaseException as error:
            if interrupted:
                raise KeyboardInterrupt from None
            why = " ".join(f"{type(error).__name__}: {error}".split())
            raise refusal(point, f"cannot be loaded, {why}") from error
    if not isinstance(offered, kind):
        found = offered.__name__ if isinstance(offered, type) else type(offered).__name__
        shown = f"the class {found}" if isinstance(offered, type) else f"a {found}"
        raise refusal(point, f"must be a {kind.__name__}, not {shown}")
    return offered


@contextmanager
def _interrupts() -> Iterator[list[int]]:
    """Record interrupts by the user in a list, and handle them as usual."""
    recorded: list[int] = []
    usual = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(usual):
        # Signals reach the main thread only, and no handler if they are ignored.
        yield recorded
        return

    def record(number: int, frame: FrameType | None) -> None:
        recorded.append(number)
        usual(number, frame)

    signal.signal(signal.SIGINT, record)
    try:
        yield recorded
    finally:
        signal.signal(signal.SIGINT, usual)


def only(points: list[EntryPoint]) -> EntryPoint:
    """Return the one entry point of a name."""
    if len(points) > 1:
        others = "; ".join(described(point) for point in points[1:])
        raise refusal(points[0], f"the name is offered more than once: {others}; remove one")
    return points[0]


def leave_out(why: EdgeOptError) -> None:
    """Warn that a broken plugin is left out."""
    # One place for all warnings, so that Python shows each text only once.
    warnings.warn(f"left out: {why}", PluginWarning, stacklevel=1)
