"""Progress bars on terminals."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator


class Step(Protocol):
    """Called after each finished job."""

    def __call__(self, doing: str) -> None:
        """Advance by one; `doing` names the stage of the job."""


@contextmanager
def progress_bar(total: int, *, show: bool | None = None) -> Iterator[Step]:
    """Show a bar on standard error while the block runs."""
    if not (sys.stderr.isatty() if show is None else show):
        yield lambda doing: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description:<22}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting", total=total)

        def step(doing: str) -> None:
            bar.update(task, advance=1, description=doing)

        yield step
