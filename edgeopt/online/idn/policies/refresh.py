"""When a policy that learns in every slot deploys anew."""

from __future__ import annotations

from dataclasses import dataclass

from edgeopt.errors import OptionError

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
        for name in ("initial", "target", "over"):
            if getattr(self, name) < 1:
                raise OptionError(f"{name} = {getattr(self, name)}: must be at least 1 slot")

    def period(self, slot: int) -> int:
        """Return the period in force at a slot."""
        part = min(1.0, slot / self.over)
        return round(self.initial + (self.target - self.initial) * part)
