"""What a progress bar says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numba.core.caching import NullCache

from edgeopt.kernels import compiled
from edgeopt.studies.progress import COMPILING, progress_bar

if TYPE_CHECKING:
    import pytest


def test_a_bar_says_that_kernels_are_compiled(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    @compiled
    def doubled(value: float) -> float:
        return 2.0 * value

    monkeypatch.setattr(doubled, "_cache", NullCache())  # an earlier run has kept it
    monkeypatch.setenv("FORCE_COLOR", "1")
    for number, argument in enumerate((1.0, 2.0, 1)):
        with progress_bar(1, show=True):
            assert doubled(argument) == 2.0 * argument
        assert (COMPILING in capsys.readouterr().err) == (number != 1)
