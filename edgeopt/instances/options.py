"""Checks that generators make of their options, beside those of `edgeopt.options`."""

from __future__ import annotations

from edgeopt.errors import OptionError
from edgeopt.options import check_real, check_whole, refused

__all__ = ["check_sizes", "check_span"]


def check_sizes(**sizes: int) -> None:
    """Check that numbers of things are whole and at least 1."""
    for name, value in sizes.items():
        check_whole(name, value, 1)


def check_span(name: str, limits: object, span: str = "(0, inf)") -> None:
    """Check that an option is a pair of numbers in ascending order within an interval."""
    rule = f"must be a range within {span}: two numbers, the smaller one first"
    if not isinstance(limits, tuple | list) or len(limits) != 2:
        raise refused(name, limits, rule)
    try:
        for end in limits:
            check_real(name, end, span)
    except OptionError:
        raise refused(name, limits, rule) from None
    if limits[0] > limits[1]:
        raise refused(name, limits, rule)
