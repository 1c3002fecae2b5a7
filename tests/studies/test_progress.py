"""What a progress bar says."""

from __future__ import annotations

import builtins
import sys
from contextlib import nullcontext
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from numba.core.caching import NullCache

from edgeopt.kernels import compiled
from edgeopt.studies import find_system, study
from edgeopt.studies.progress import COMPILING, progress_bar


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


class ZMQInteractiveShell:
    """A kernel of Jupyter, as libraries recognise it."""


class _Output(nullcontext[None]):
    """A widget that shows what is displayed while it is open."""

    closed = False

    def clear_output(self, *, wait: bool) -> None:
        pass

    def close(self) -> None:
        self.closed = True


@pytest.mark.parametrize("widgets", [True, False])
def test_a_study_in_a_notebook_shows_its_stages_below_the_cell_and_clears_them(
    widgets: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    displayed: list[Any] = []
    shell = ZMQInteractiveShell()
    monkeypatch.setattr(builtins, "get_ipython", lambda: shell, raising=False)
    for name, content in {
        "IPython": {"get_ipython": lambda: shell},
        "IPython.display": {"display": displayed.append},
        "ipywidgets": {"Output": _Output, "__spec__": SimpleNamespace()},
    }.items():
        module = ModuleType(name)
        vars(module).update(content)
        monkeypatch.setitem(sys.modules, name, module)
    if not widgets:
        monkeypatch.setitem(sys.modules, "ipywidgets", None)
    record = find_system("rescue")
    assert record.instances.random_small is not None
    study(record.instances.random_small(0), ["rescue+guard", "random+guard"], runs=2, claims=False)
    assert capsys.readouterr() == ("", "")
    if not widgets:
        assert displayed == []
        return
    [widget] = [one for one in displayed if isinstance(one, _Output)]
    assert widget.closed
    shown = [one._repr_mimebundle_((), ()) for one in displayed if one is not widget]
    assert any("safe bound" in one["text/plain"] for one in shown)
    assert any("policy Random" in one["text/html"] for one in shown)
    assert not any("\x1b" in one["text/html"] for one in shown)
