"""Instances by parameters: a box of numbers, and what is built from a point of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

__all__ = ["Family", "Parameter"]


@dataclass(frozen=True)
class Parameter:
    """A number that an instance is built from.

    Parameters
    ----------
    name
        Its name.
    low, high
        Its range, both ends included.
    whole
        Whether it is a whole number.
    simple
        The value that it takes in the simplest instance, towards which a find is shrunk; the lower
        end by default.

    Raises
    ------
    OptionError
        If the range is empty, or the simple value lies outside it.
    """

    name: str
    low: float
    high: float
    whole: bool = False
    simple: float | None = None

    def __post_init__(self) -> None:
        if not self.low <= self.high:
            raise OptionError(
                f"parameter {self.name}: the range {self.low} to {self.high} is empty"
            )
        if self.simple is not None and not self.low <= self.simple <= self.high:
            raise OptionError(f"parameter {self.name}: the simple value lies outside the range")

    @property
    def target(self) -> float:
        """Value in the simplest instance."""
        return self.low if self.simple is None else self.simple

    def settled(self, value: float) -> float:
        """Return the allowed value nearest to a number."""
        value = min(max(float(value), self.low), self.high)
        return (
            float(min(max(np.rint(value), np.ceil(self.low)), np.floor(self.high)))
            if (self.whole)
            else value
        )


@dataclass(frozen=True)
class Family:
    """Instances that depend on a few numbers.

    Parameters
    ----------
    name
        Name of the family.
    parameters
        The numbers.
    build
        Returns the instance for the numbers by name, whole ones as ``int``. It may raise an
        `InstanceError` where there is none.

    Raises
    ------
    OptionError
        If there is no parameter, or two have one name.
    """

    name: str
    parameters: tuple[Parameter, ...]
    build: Callable[[Mapping[str, Any]], Any]

    def __post_init__(self) -> None:
        names = [parameter.name for parameter in self.parameters]
        if not names or len(set(names)) < len(names):
            raise OptionError(f"family {self.name}: needs parameters, each of a name of its own")

    def settled(self, point: NDArray[np.float64]) -> tuple[float, ...]:
        """Return the allowed point nearest to a point."""
        return tuple(
            parameter.settled(value)
            for parameter, value in zip(self.parameters, point, strict=True)
        )

    def named(self, point: tuple[float, ...]) -> dict[str, Any]:
        """Return the numbers of a point by name."""
        return {
            parameter.name: int(value) if parameter.whole else value
            for parameter, value in zip(self.parameters, point, strict=True)
        }

    def drawn(self, rng: np.random.Generator) -> tuple[float, ...]:
        """Draw a point: three of four values anywhere, the others at an end of their range."""
        low = np.array([parameter.low for parameter in self.parameters])
        high = np.array([parameter.high for parameter in self.parameters])
        inside = rng.uniform(low, high)
        ends = np.where(rng.random(low.size) < 0.5, low, high)
        return self.settled(np.where(rng.random(low.size) < 0.75, inside, ends))
