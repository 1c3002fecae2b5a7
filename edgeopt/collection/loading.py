"""Named instances as data: drawn by name, or read from a copy where drawing gives others."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from edgeopt import registry
from edgeopt.collection.entries import drawn, row_of
from edgeopt.errors import CollectionError, EdgeOptError

if TYPE_CHECKING:
    from collections.abc import Mapping

COPIES: Final = Path(__file__).with_name("copies")
CERTIFICATES: Final = Path(__file__).with_name("certificates")
LARGEST: Final = 64_000
"""Most bytes of a copy, and of a certificate with its program."""

LARGEST_PRICES: Final = 128_000
"""Most bytes of a certificate that is kept without its program."""


def load(name: str) -> Any:
    """Return a named instance, the same on every processor.

    It is drawn and compared with the fingerprint of its entry. Where a processor or a version of
    NumPy draws differently, the copy that comes with the package is read.

    Parameters
    ----------
    name
        One of `edgeopt.collection.names`.

    Returns
    -------
    A validated instance of its system.

    Raises
    ------
    OptionError
        If there is no instance of that name.
    CollectionError
        If other data are drawn here, and the package has no copy.

    Examples
    --------
    >>> from edgeopt.collection import load
    >>> load("rescue-paper-k2-t30").horizon
    30
    """
    row = row_of(name)
    found, wanted = made(row), row["fingerprint"]
    if found is not None and found.fingerprint() == wanted:
        return found
    if copy_of(row).exists():
        kept = stored(row)
        if kept.fingerprint() == wanted:
            return kept
        raise CollectionError(
            f"{name}: the copy in the package has fingerprint {kept.fingerprint()[:12]}... instead "
            f"of {wanted[:12]}...; install edgeopt anew"
        )
    here = "cannot be drawn" if found is None else f"have fingerprint {found.fingerprint()[:12]}..."
    raise CollectionError(
        f"{name}: drawn data {here} instead of {wanted[:12]}...; this processor or NumPy draws "
        f"differently; get the file by edgeopt.collection.load({name!r}).save(...) with the "
        "versions of constraints.txt, and read it here"
    )


def made(row: Mapping[str, Any]) -> Any | None:
    """Draw an instance; None where other data are drawn that break a rule."""
    try:
        return drawn(row)
    except EdgeOptError:
        return None


def copy_of(row: Mapping[str, Any]) -> Path:
    """Return the file of the copy, whether there is one or not."""
    return COPIES / f"{row['name']}.zip"


def certificate_of(row: Mapping[str, Any]) -> Path:
    """Return the file of the certificate, whether the package has it or not."""
    return CERTIFICATES / f"{row['name']}.json.gz"


def stored(row: Mapping[str, Any]) -> Any:
    """Read the copy of an instance."""
    kind: Any = registry.built_in(registry.INSTANCES)[row["system"]].load()
    return kind.load(copy_of(row))
