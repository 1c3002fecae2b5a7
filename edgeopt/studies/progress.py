"""Progress bars on terminals and in notebooks."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator

COMPILING: Final = "compiling once, about 20 s"
"""What a bar says from the first kernel that is compiled to the end of the job."""


class Step(Protocol):
    """Called after each finished job, and before one to say what is at work."""

    def __call__(self, doing: str, advance: int = 1) -> None:
        """Advance by so many jobs; `doing` names the stage, or the job."""


@contextmanager
def progress_bar(total: int, *, show: bool | None = None) -> Iterator[Step]:
    """Show a bar while the block runs: on standard error, or below the cell of a notebook.

    Between jobs, what is at work and the time go on.
    """
    notebook = _in_notebook()
    if not ((notebook or sys.stderr.isatty()) if show is None else show):
        yield lambda doing, advance=1: None
        return
    from numba.core.event import Listener, install_listener
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
    )

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description:<30}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=not notebook), transient=True) as bar:
        task = bar.add_task("starting", total=total)

        def step(doing: str, advance: int = 1) -> None:
            bar.update(task, advance=advance, description=escape(doing), refresh=True)

        class Compiling(Listener):
            def on_start(self, event: Any) -> None:
                bar.update(task, description=COMPILING, refresh=True)

            def on_end(self, event: Any) -> None:
                pass  # the next step says what goes on

        with install_listener("numba:compile", Compiling()):
            yield step


@contextmanager
def at_work(doing: str, *, show: bool | None = None) -> Iterator[None]:
    """Say what is at work, and for how long, while the block runs."""
    with progress_bar(1, show=show) as step:
        step(doing, 0)
        yield


def _in_notebook() -> bool:
    """Tell whether a cell of a notebook is at work that can show what changes."""
    if "IPython" not in sys.modules:
        return False
    from rich.console import Console

    return Console().is_jupyter and find_spec("ipywidgets") is not None
