"""The parameter spaces that are searched, by system.

`known_claim` imports the table of claims when called: claims are pickled by their names there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from edgeopt import plugins, registry
from edgeopt.bounds.search.space import ParameterSpace
from edgeopt.errors import OptionError
from edgeopt.options import check_kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from edgeopt.bounds.claim import Claim


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
    known = spaces(claim.id.partition(".")[0])
    fit = [one for one in known.values() if one.fits(claim)]
    if space is None:
        if not fit:
            raise OptionError(
                f"claim {claim.id}: no parameter space holds instances to which it applies"
            )
        return fit
    if space not in {one.name for one in fit}:
        listed = ", ".join(one.name for one in fit) or "none"
        raise OptionError(
            f"parameter space {space!r} does not fit claim {claim.id}; these do: {listed}"
        )
    return [known[space]]


def _add(found: dict[str, ParameterSpace], offered: Iterable[Any], origin: str) -> None:
    for space in offered:
        if not isinstance(space, ParameterSpace):
            found_instead = type(space).__name__
            raise OptionError(f"{origin}: must hold ParameterSpace objects, not a {found_instead}")
        if space.name in found:
            raise OptionError(f"{origin}: parameter space {space.name} is already taken")
        found[space.name] = space
