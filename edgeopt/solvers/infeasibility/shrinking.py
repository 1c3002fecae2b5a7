"""Deletion filters: from a set with a property to a smallest one that still has it."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["is_irreducible", "shrink"]

Member = TypeVar("Member")


def shrink(
    members: Sequence[Member], conflicting: Callable[[Sequence[Member]], bool]
) -> list[Member]:
    """Delete members until every one that is left is needed.

    Blocks are tried first and halved when they turn out to be needed, so that k members out of n
    take about k log(n / k) tests instead of n.
    """
    needed: list[Member] = []
    blocks = [list(members)] if members else []
    while blocks:
        block = blocks.pop()
        rest = [member for other in blocks for member in other]
        if conflicting(needed + rest):
            continue
        if len(block) == 1:
            needed += block
            continue
        middle = len(block) // 2
        blocks += [block[:middle], block[middle:]]
    return needed


def is_irreducible(
    members: Sequence[Member], conflicting: Callable[[Sequence[Member]], bool]
) -> bool:
    """Return whether a set conflicts, and does so no more when any one member is dropped."""
    if not conflicting(members):
        return False
    return not any(
        conflicting([*members[:position], *members[position + 1 :]])
        for position in range(len(members))
    )
