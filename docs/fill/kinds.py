"""What can stand in a region, by kind: functions from what is asked to Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fill import claims, running, studies, tables, tutorial

if TYPE_CHECKING:
    from collections.abc import Callable

    from fill.markdown import Asked

QUICK: Final[dict[str, Callable[[Asked], str]]] = {
    "claims": claims.claims,
    "refuted": claims.refuted,
    "errata": claims.errata,
    "finding": claims.finding,
    "measured": claims.measured,
    "count": claims.count,
    "command": tables.command,
    "commands": tables.commands,
    "full": tables.full,
    "programs": tables.programs,
    "releases": tables.releases,
    "scoreboard": tables.scoreboard,
    "sliders": tables.sliders,
    "tutorials": tables.tutorials,
}
"""Kinds that take no more than a second; a test makes them anew."""

SLOW: Final[dict[str, Callable[[Asked], str]]] = {
    "example": running.example,
    "figure": studies.figure,
    "output": running.output,
    "solvers": tables.solvers,
    "study": studies.study,
    "tutorial": tutorial.tutorial,
}

KINDS: Final = QUICK | SLOW
