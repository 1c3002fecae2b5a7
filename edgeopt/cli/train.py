"""``edgeopt train``: train the learner of a system, with a curve and a page."""

import math
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from edgeopt.cli import show
from edgeopt.cli.choose import ForceOption, SystemArgument, chosen_system
from edgeopt.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_LEVELS = "▁▂▃▄▅▆▇█"
_SHOWN = 40


def train(
    system: SystemArgument,
    learner: Annotated[
        str | None, typer.Argument(help="Learner of the system; by default its first one.")
    ] = None,
    preset: Annotated[str | None, typer.Option(help="Size of the network.")] = None,
    starts: Annotated[
        str | None, typer.Option(help="tapfinger: several starts in a slot, or a single one.")
    ] = None,
    teacher: Annotated[str | None, typer.Option(help="tapfinger: policy to imitate.")] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="Another option of the learner; can be repeated."
        ),
    ] = None,
    seeds: Annotated[str, typer.Option(help="Seeds, comma-separated.")] = "0,1,2",
    updates: Annotated[
        int | None, typer.Option(min=1, help="Updates of the schedule; fixes the result.")
    ] = None,
    minutes: Annotated[
        float | None, typer.Option(help="Processor time per seed after which to stop early.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for weights, curve and page.")] = None,
    force: ForceOption = False,
) -> None:
    """Train the learner of a system, and write its weights, a curve over seeds and a page.

    An interrupted training goes on where it was if it is started again with the same --out.
    """
    from edgeopt.studies import find_system, systems
    from edgeopt.studies.learners import find_learner
    from edgeopt.studies.training import trained

    record = chosen_system(system)
    if not record.learners:
        having = ", ".join(name for name in systems() if find_system(name).learners)
        raise OptionError(f"{record.name} has no learner; {having} have one")
    entry = find_learner(record, learner)
    try:
        wanted = [int(seed) for seed in seeds.split(",")]
    except ValueError:
        raise OptionError(f"--seeds {seeds}: must be whole numbers, such as 0,1,2") from None
    given = {"preset": preset, "starts": starts, "teacher": teacher}
    options = {name: value for name, value in given.items() if value is not None}
    for setting in settings or ():
        name, equals, value = setting.partition("=")
        if not equals:
            raise OptionError(f"--set {setting}: write it as name=value")
        options[name] = value
    folder = Path(f"{record.name}-{entry.name}") if out is None else out
    with _live(len(wanted), entry.updates if updates is None else updates) as report:
        found = trained(
            record,
            entry.name,
            seeds=wanted,
            updates=updates,
            minutes=minutes,
            out=folder,
            force=force,
            options=options,
            report=report,
        )
    show.note(found.sentence())
    for seed, one in found.by_seed.items():
        show.note(f"seed {seed}: {one.path}")
    show.note(f"Report: {folder / 'index.html'}")


@contextmanager
def _live(
    seeds: int, updates: int
) -> "Iterator[Callable[[int, Mapping[str, float | None]], None] | None]":
    """Show a bar on a terminal, with the latest figure and its course."""
    import sys

    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=20),
        TimeElapsedColumn(),
        TextColumn("{task.fields[course]}"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting", total=seeds * updates, course="")
        done: dict[int, int] = {}
        values: list[float] = []

        def report(seed: int, row: "Mapping[str, float | None]") -> None:
            """Move the bar, and add a value to the course."""
            if seed not in done:
                values.clear()
            done[seed] = int(row["updates"] or 0)
            name = next(one for one in row if one not in ("updates", "steps", "seconds"))
            value = row[name]
            values.append(math.nan if value is None else value)
            bar.update(
                task,
                completed=sum(done.values()),
                description=f"seed {seed}, {name} {values[-1]:.4g}",
                course=course(values),
            )

        yield report


def course(values: "list[float]") -> str:
    """Draw the latest values as a line of bars."""
    shown = values[-_SHOWN:]
    finite = [value for value in shown if math.isfinite(value)]
    if not finite:
        return ""
    low, high = min(finite), max(finite)
    scale = (len(_LEVELS) - 1) / (high - low) if high > low else 0.0
    return "".join(
        _LEVELS[round((value - low) * scale)] if math.isfinite(value) else " " for value in shown
    )
