"""How code is counted: what is neither blank, nor comment, nor docstring, nor import."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.size import GOALS, ROOT, figures, size_of

if TYPE_CHECKING:
    from pathlib import Path

TEXT = '''"""What it is."""

from __future__ import annotations

import math  # a comment behind an import

# a comment


def half(x: float) -> float:
    """Return a half,

    of a number.
    """
    from math import (
        pi,
    )

    return (
        x / 2  # two
    )


LIMIT = "a text"
"""What it limits."""
'''


def test_code_is_counted_by_lines(tmp_path: Path) -> None:
    package = tmp_path / "one"
    (package / "inner").mkdir(parents=True)
    (package / "half.py").write_text(TEXT)
    (package / "inner" / "__init__.py").write_text(
        'from one.half import half as whole\n\n__all__ = ["whole"]\n'
    )
    (package / "__init__.py").write_text(
        'from one.inner import whole\n\nLATE = {"x": "one.late"}\n__all__ = ["whole", "x"]\n'
    )
    found = size_of(package)
    # The head of the function, three lines of its return, and the constant; then three of packages.
    assert (found.files, found.code, found.comments) == (3, 5 + 3, 1)
    assert found.exported == {"one.half.half", "one.x"}


def test_figures_are_those_of_the_goals() -> None:
    found = figures(ROOT)
    assert list(found) == list(GOALS)
    assert found["code lines of both"] > found["code lines of the toolkit"] > 10_000
    assert 100 < found["modules that a RESCUE study loads"] < 200
