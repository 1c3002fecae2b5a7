"""How a part that is wrong on purpose is tested: it fails its check and those implied."""

from __future__ import annotations

from typing import Any

import pytest

from edgeopt.testing import CheckError


def assert_fails(check: Any, *arguments: Any, own: str, implied: Any = (), **options: Any) -> None:
    """A part fails its own check and those implied, and the lines shown for its own fail too."""
    report = check(*arguments, raises=False, **options)
    assert set(report.failed) == {own, *implied}, str(report)
    lines = report[own].example
    assert len(lines.splitlines()) == 3
    with pytest.raises(CheckError, match=own):
        exec(lines, {})
