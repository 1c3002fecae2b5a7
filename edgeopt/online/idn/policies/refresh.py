"""When a policy that learns in every slot deploys anew."""

from __future__ import annotations

from dataclasses import dataclass

from edgeopt.options import check_whole

__all__ = ["Stretching"]


@dataclass(frozen=True)
class Stretching:
    """A refresh period that grows linearly.

    Parameters
    ----------
    initial, target
        First and last period, slots.
    over
        Slots until the last period is reached.

    Raises
    ------
    OptionError
        If a period is below 1, or `over` is not positive.
    """

    initial: int = 1
    target: int = 32
    over: int = 60

    def __post_init__(self) -> None:
        check_whole("initial", self.initial, 1)
        check_whole("target", self.target, 1)
        check_whole("over", self.over, 1)

    def period(self, slot: int) -> int:
        """Return the period in force at a slot."""
        part = min(1.0, slot / self.over)
        return round(self.initial + (self.target - self.initial) * part)
