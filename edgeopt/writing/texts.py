"""Texts of strangers, such as names of policies and instances, made harmless to show."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["printable"]

_CONTROLS: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)
"""What moves a cursor, changes colours or the direction of reading, or is no part of XML."""


def printable(text: str) -> str:
    r"""Return a text in which control characters stand as Python spells them.

    Blanks, tabs and line feeds are left alone.

    Parameters
    ----------
    text
        The text.

    Examples
    --------
    >>> print(printable("\x1b[31mred"))
    \x1b[31mred
    """
    return _CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)
