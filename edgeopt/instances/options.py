"""Checks that generators make of their options."""

from __future__ import annotations

from edgeopt.errors import OptionError

__all__ = ["check_sizes"]


def check_sizes(**sizes: int) -> None:
    """Check that numbers of things are at least 1.

    Parameters
    ----------
    **sizes
        Numbers by the name of the option.

    Raises
    ------
    OptionError
        Naming the first one that is not.
    """
    for name, value in sizes.items():
        if value < 1:
            raise OptionError(f"{name} must be at least 1, got {value}")
