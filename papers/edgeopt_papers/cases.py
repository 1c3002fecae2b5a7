"""What is known of the paper of a system, by the name of the system: found by entry points.

Other packages offer the figures of their own papers in the same groups.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, Final

from edgeopt import plugins
from edgeopt.errors import OptionError
from edgeopt.writing import checked_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from edgeopt_papers.claims.errata import Erratum
    from edgeopt_papers.figures.paper_figure import PaperFigure
    from edgeopt_papers.releases import Release
    from edgeopt_papers.tuning import Tuning

GROUP: Final = "edgeopt_papers"


@cache
def _found(kind: str) -> dict[str, Any]:
    return {point.name: point for point in entry_points(group=f"{GROUP}.{kind}")}


def _part(kind: str, system: str, missing: Any) -> Any:
    point = _found(kind).get(system)
    return missing if point is None else plugins.load(point, object)


def figures(system: str) -> Sequence[PaperFigure]:
    """Return the figures and tables of a system's paper; none if nobody offers them."""
    found: Sequence[PaperFigure] = _part("figures", system, ())
    return checked(system, found)


def checked(system: str, found: Sequence[PaperFigure]) -> Sequence[PaperFigure]:
    """Return figures, refused where two have the same number."""
    names = [checked_name(one.name) for one in found]
    if len(set(names)) < len(names):
        raise OptionError(f"system {system!r}: two figures have the same number: {names}")
    return found


def releases(system: str) -> Sequence[Release]:
    """Return the files that training makes for a system."""
    found: Sequence[Release] = _part("releases", system, ())
    return found


def tuning(system: str) -> Tuning:
    """Return how the policies of a system are tuned."""
    found: Tuning | None = _part("tuning", system, None)
    if found is None:
        raise OptionError(f"{system} has no policies to tune; {', '.join(_found('tuning'))} has")
    return found


def errata(system: str) -> dict[str, Erratum]:
    """Return the errata of a system's paper, with their examples evaluated, by identifier."""
    found = _part("errata", system, None)
    if found is None:
        known = ", ".join(_found("errata"))
        raise OptionError(f"system {system!r} has no errata; those that do: {known}")
    return {one.id: one for one in found()}
