"""Families of small instances that are searched: parameters, spaces, and those of each system."""

from __future__ import annotations

import inspect
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt import plugins, registry
from edgeopt.errors import OptionError
from edgeopt.options import check_kind
from edgeopt.representation import compact_repr, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from numpy.typing import NDArray

    from edgeopt.bounds.claim import Claim


__all__ = ["Parameter", "ParameterSpace", "of_seeds"]


def row(name: str, count: int, low: float, high: float, **options: Any) -> tuple[Parameter, ...]:
    """Return several parameters of one kind."""
    return tuple(Parameter(f"{name}_{place}", low, high, **options) for place in range(count))


def values(point: Mapping[str, Any], name: str) -> list[Any]:
    """Return the numbers of a row."""
    found: list[Any] = []
    while f"{name}_{len(found)}" in point:
        found.append(point[f"{name}_{len(found)}"])
    return found


Point = tuple[float, ...]

_DIGITS = 6
"""Numbers have so many digits of the size of their range: smaller ones only upset the solvers."""

_SEEDS = 99999
"""The largest seed."""


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
    log
        Whether it ranges over orders of magnitude: it is drawn and moved by its logarithm.
    count
        Whether it counts entities, such as servers, tasks or slots; a whole number. The fewer, the
        smaller a counterexample.

    Raises
    ------
    OptionError
        If the range is empty or holds no whole number, the simple value lies outside it, it is to
        range over orders of magnitude and reaches down to 0, or counts and is not whole.

    Examples
    --------
    >>> from edgeopt.bounds.search.space import Parameter
    >>> Parameter("servers", 1, 5, whole=True)
    Parameter(name='servers', low=1, high=5, whole=True, simple=None, log=False, count=False)
    """

    name: str
    low: float
    high: float
    whole: bool = False
    simple: float | None = None
    log: bool = False
    count: bool = False

    def __post_init__(self) -> None:
        said = f"parameter {self.name}:"
        ends = (self.low, self.high)
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low <= self.high):
            raise OptionError(f"{said} the range {self.low} to {self.high} is empty or infinite")
        if self.whole and math.ceil(self.low) > math.floor(self.high):
            raise OptionError(f"{said} no whole number lies in {self.low} to {self.high}")
        if self.log and (self.low <= 0.0 or self.whole):
            raise OptionError(f"{said} a logarithmic range {ends} must be positive and not whole")
        if self.simple is not None and not self.low <= self.simple <= self.high:
            raise OptionError(f"{said} the simple value lies outside the range")
        if self.count and not self.whole:
            raise OptionError(f"{said} a number of entities must be whole")

    @property
    def target(self) -> float:
        """Value in the simplest instance."""
        return self.nearest(self.low if self.simple is None else self.simple)

    def nearest(self, value: float) -> float:
        """Return the allowed value nearest to a number."""
        value = min(max(float(value), self.low), self.high)
        if self.whole:
            return float(min(max(np.rint(value), math.ceil(self.low)), math.floor(self.high)))
        if self.log:
            return value
        # Decimals, so that plain numbers stay plain.
        decimals = _DIGITS - math.floor(math.log10(self.high - self.low or 1.0))
        return min(max(round(value, decimals), self.low), self.high)

    def at(self, share: float) -> float:
        """Return the allowed value at a share of the range, from 0 at its low end to 1."""
        if self.log:
            return self.nearest(self.low * math.exp(share * math.log(self.high / self.low)))
        return self.nearest(self.low + share * (self.high - self.low))

    def share(self, value: float) -> float:
        """Return the share of the range at which a value stands."""
        if self.low == self.high:
            return 0.0
        if self.log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


@compact_repr
@dataclass(frozen=True)
class ParameterSpace:
    """Instances that depend on a few numbers.

    Parameters
    ----------
    name
        Name of the space.
    parameters
        The numbers.
    build
        Called with one mapping, the numbers by name, ``{"x": 0.5, "n": 3}``, whole ones as ``int``;
        returns the instance. It may raise an `EdgeOptError` where there is none. A class that takes
        the numbers by name is ``lambda numbers: Mine(**numbers)``.
    instance_type
        Type of the instances, by which claims of one's own find the space; by default it fits any
        claim, but only where it is given or of the claim's system.

    Raises
    ------
    OptionError
        If there is no parameter, two have one name, or `build` cannot be called with one mapping.

    Examples
    --------
    >>> from edgeopt.bounds.search.space import Parameter, ParameterSpace
    >>> from edgeopt.instances.idn import generate
    >>> space = ParameterSpace(
    ...     "short", (Parameter("horizon", 1, 9, whole=True),),
    ...     lambda numbers: generate(**numbers),
    ... )
    >>> space.nearest([2.7]), space.build({"horizon": 3}).horizon
    ((3.0,), 3)
    """

    name: str
    parameters: tuple[Parameter, ...]
    build: Callable[[Mapping[str, Any]], Any]
    instance_type: type = object

    def __post_init__(self) -> None:
        names = [parameter.name for parameter in self.parameters]
        if not names or len(set(names)) < len(names):
            raise OptionError(
                f"parameter space {self.name}: needs parameters, each of a name of its own"
            )
        _require_build(self.name, self.build, names)

    def fits(self, claim: Claim) -> bool:
        """Return whether a claim applies to instances of this type."""
        wanted = claim.instance_type
        several = wanted if isinstance(wanted, tuple) else (wanted,)
        return self.instance_type is object or issubclass(self.instance_type, several)

    def nearest(self, point: Iterable[float]) -> Point:
        """Return the allowed point nearest to a point."""
        return tuple(
            parameter.nearest(value)
            for parameter, value in zip(self.parameters, point, strict=True)
        )

    def at(self, shares: NDArray[np.float64]) -> Point:
        """Return the allowed point at shares of the ranges."""
        return tuple(
            parameter.at(min(max(share, 0.0), 1.0))
            for parameter, share in zip(self.parameters, shares.tolist(), strict=True)
        )

    def shares(self, point: Point) -> NDArray[np.float64]:
        """Return the shares of the ranges at which a point stands."""
        return np.array(
            [
                parameter.share(value)
                for parameter, value in zip(self.parameters, point, strict=True)
            ]
        )

    def named(self, point: Point) -> dict[str, Any]:
        """Return the numbers of a point by name."""
        return {
            parameter.name: int(value) if parameter.whole else value
            for parameter, value in zip(self.parameters, point, strict=True)
        }

    def drawn(self, rng: np.random.Generator) -> Point:
        """Draw a point: three of four values anywhere, the others at an end of their range."""
        count = len(self.parameters)
        inside = rng.random(count)
        ends = np.where(rng.random(count) < 0.5, 0.0, 1.0)
        return self.at(np.where(rng.random(count) < 0.75, inside, ends))


def _require_build(space: str, build: Any, names: list[str]) -> None:
    """Check that instances can be built by a call with one mapping, and say so where not."""
    if not callable(build):
        raise OptionError(f"parameter space {space}: build must be callable, not {shown(build)}")
    try:
        signature = inspect.signature(build)
    except (TypeError, ValueError):  # not written in Python
        return
    try:
        signature.bind({})
    except TypeError:
        numbers = ", ".join(f"{name!r}: ..." for name in names)
        raise OptionError(
            f"parameter space {space}: build takes {signature} but is called with one mapping, "
            f"{{{numbers}}}"
        ) from None


def of_seeds(name: str, draw: Callable[[int], Any], kind: type) -> ParameterSpace:
    """Return a space whose instances are drawn at random, one per seed.

    Parameters
    ----------
    name
        Of the space.
    draw
        Draws an instance from a seed.
    kind
        Class of the instances.

    Returns
    -------
    A space with the seed as its parameter.

    Examples
    --------
    >>> from edgeopt.bounds.search.space import of_seeds
    >>> from edgeopt.instances.rescue import RescueInstance, small
    >>> of_seeds("small", small, RescueInstance)
    ParameterSpace(name='small', parameters=1 value, build=partial,
    instance_type=RescueInstance)
    """
    parameters = (Parameter("seed", 0, _SEEDS, whole=True),)
    return ParameterSpace(name, parameters, partial(_drawn, draw), kind)


def _drawn(draw: Callable[[int], Any], point: Mapping[str, Any]) -> Any:
    return draw(point["seed"])


def spaces(system: str) -> Mapping[str, ParameterSpace]:
    """Return the parameter spaces of a system by name, in the order in which they are searched.

    Of a system that another package adds, its name is that of the entry point.
    """
    found: dict[str, ParameterSpace] = {}
    for point in registry.offered(registry.PARAMETER_SPACES):
        if point.name == system:
            offered: Sequence[Any] = plugins.load(point, Sequence)  # type: ignore[type-abstract]
            _add(found, offered, point.value)
    return found


def known_claim(name: str) -> Claim:
    """Return the claim of an identifier."""
    from edgeopt.bounds.registry import claims

    chosen = claims(name)
    if len(chosen) > 1:
        first = ", ".join(list(chosen)[:3])
        raise OptionError(f"{name!r} are {len(chosen)} claims, {first} and so on; name one")
    return next(iter(chosen.values()))


def fitting(claim: Claim, space: str | ParameterSpace | None = None) -> list[ParameterSpace]:
    """Return the spaces to search for a claim, or the one that is named."""
    if space is not None and not isinstance(space, str):
        check_kind("space", space, ParameterSpace)
        return [space]
    fit = [one for one in reachable(claim.id) if one.fits(claim)]
    if not spaces(_prefix(claim.id)):  # by type, so a space or a claim of any type tells nothing
        typed = claim.instance_type is not object
        fit = [one for one in fit if typed and one.instance_type is not object]
    if space is None:
        if not fit:
            raise OptionError(
                f"claim {claim.id}: no parameter space holds instances to which it applies; give "
                "one, space=ParameterSpace(...)"
            )
        return fit
    return [named_space(space, fit, f"does not fit claim {claim.id}; these do")]


def reachable(claim: str) -> list[ParameterSpace]:
    """Return the spaces of the system that a claim is of by its identifier; if of none, all."""
    own = spaces(_prefix(claim))
    if own:
        return list(own.values())
    systems = dict.fromkeys(point.name for point in registry.offered(registry.PARAMETER_SPACES))
    return [one for system in systems for one in spaces(system).values()]


def named_space(name: str, known: Sequence[ParameterSpace], otherwise: str) -> ParameterSpace:
    """Return the only space of a name; `otherwise` begins the list of those that there are."""
    found = [one for one in known if one.name == name]
    if not found:
        listed = ", ".join(one.name for one in known) or "none"
        raise OptionError(f"parameter space {name!r} {otherwise}: {listed}")
    if len(found) > 1:
        raise OptionError(f"parameter space {name!r}: {len(found)} systems have one; give it")
    return found[0]


def _prefix(claim: str) -> str:
    return claim.partition(".")[0]


def _add(found: dict[str, ParameterSpace], offered: Iterable[Any], origin: str) -> None:
    for space in offered:
        if not isinstance(space, ParameterSpace):
            found_instead = type(space).__name__
            raise OptionError(f"{origin}: must hold ParameterSpace objects, not a {found_instead}")
        if space.name in found:
            raise OptionError(f"{origin}: parameter space {space.name} is already taken")
        found[space.name] = space
