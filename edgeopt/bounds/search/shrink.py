"""Making a find simple: numbers are brought to plain values as long as nothing of it is lost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from edgeopt.bounds.search.family import Parameter, Point
    from edgeopt.bounds.search.looker import Looker

__all__ = ["shrunk"]

_LOSS: Final = 1e-4
"""Relative slack that a tight find may lose altogether for the sake of plain numbers."""

_KEPT: Final = 0.5
"""Part of a violation that has to be left: one that can hardly be seen teaches nothing."""


def shrunk(looker: Looker, found: Point) -> Point:
    """Bring numbers to their simple values, half the way there, or at least to few digits."""
    violated = looker.violates(found)
    most = _KEPT * looker.slack(found) if violated else looker.slack(found) + _LOSS
    here, changed, been = found, True, {found}
    while changed and not looker.over:
        changed = False
        for place, parameter in enumerate(looker.family.parameters):
            for value in _plainer(parameter, here[place]):
                there = (*here[:place], value, *here[place + 1 :])
                fine = looker.slack(there) <= most and looker.violates(there) == violated
                if fine and there not in been:
                    been.add(there)
                    here, changed = there, True
                    break
    return here


def _plainer(parameter: Parameter, value: float) -> Iterator[float]:
    """Yield simpler values: the simplest one, then half the way there, then fewer digits."""
    target = parameter.target
    half = (value + target) / 2
    wanted = [target, _short(half, 1), _short(half, 2)]
    wanted += [_short(value, digits) for digits in (1, 2, 3)]
    for plain in map(parameter.settled, wanted):
        nearer = abs(plain - target) < abs(value - target)
        if plain != value and (nearer or _length(plain) < _length(value)):
            yield plain


def _short(value: float, digits: int) -> float:
    return float(f"{value:.{digits}g}")


def _length(value: float) -> int:
    return len(f"{value:.12g}".strip("-0.").replace(".", ""))
