"""Raw files and the tables measured from them: what comes back, and what is refused by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from edgeopt.errors import InstanceError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from types import ModuleType


def entries(measured: Any) -> Iterator[Any]:
    """Go through the arrays and texts of nested named tuples."""
    if hasattr(measured, "_fields"):
        for part in measured:
            yield from entries(part)
    else:
        yield measured


def check_tables(
    measurements: ModuleType, raw: Path, out: Path, own: list[str], **given: str
) -> None:
    """Write what a folder of raw files holds as tables and read it back, with given files."""
    measured = measurements.measure(raw)
    out.mkdir()
    measurements.write_tables(measured, out)
    assert sorted(path.name for path in out.iterdir()) == own
    for name, text in given.items():
        (out / f"{name}.csv").write_text(text)
    back = measurements.read_tables(out)
    for one, other in zip(entries(back), entries(measured), strict=True):
        np.testing.assert_array_equal(one, other)


def check_bad_file(
    build: Callable[[Path], Any],
    raw: Path,
    path: Path,
    change: tuple[str, str],
    column: str,
    line: int,
    rule: str | None = None,
) -> None:
    """Replace a text in a file, then leave the file out."""
    text = path.read_text()
    assert change[0] in text
    path.write_text(text.replace(*change, 1))
    with pytest.raises(InstanceError, match=rule) as caught:
        build(raw)
    assert caught.value.field == f"{path}:{column}"
    assert caught.value.index == (line,)
    path.unlink()
    with pytest.raises(InstanceError, match="no such file"):
        build(raw)
