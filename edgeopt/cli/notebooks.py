"""``edgeopt explore`` and ``edgeopt tutorial``: live pages and tutorials in a browser."""

import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from edgeopt.cli import complete, show
from edgeopt.cli.choose import (
    ForceOption,
    InstanceOption,
    NoBrowserOption,
    PortOption,
    SystemArgument,
    chosen_system,
)
from edgeopt.writing import atomic_write, target_of

if TYPE_CHECKING:
    from edgeopt.explore.server import Served


def explore(
    system: SystemArgument,
    instance: InstanceOption = None,
    port: PortOption = None,
    no_browser: NoBrowserOption = False,
) -> int:
    """Explore an instance with sliders.

    The page is reachable from this machine alone, with the token in its address. Ctrl-C ends it.
    """
    from edgeopt.explore.server import require_marimo, serve
    from edgeopt.studies.live import instance_of

    record = chosen_system(system)
    require_marimo("edgeopt explore")
    source = instance or ""
    if source and Path(source).exists() and source not in record.instances.sources:
        source = str(Path(source).resolve())
    instance_of(record, source)
    return _ended(serve(record.name, source, port, browser=not no_browser))


def _ended(served: "Served", *notes: str) -> int:
    """Say where a page is served, and wait until its server ends, or end it."""
    from edgeopt.explore.server import end

    for note in (served.address, *notes):
        show.note(note)
    sys.stdout.flush()
    try:
        return served.process.wait()
    finally:
        end(served.process)


def tutorial(
    number: Annotated[
        int | None,
        typer.Argument(
            help="Number of the tutorial to open; without one they are listed.",
            autocompletion=complete.tutorials,
        ),
    ] = None,
    copy: Annotated[
        Path | None,
        typer.Option(help="Folder to copy the tutorial to, or all of them, instead of opening it."),
    ] = None,
    port: PortOption = None,
    no_browser: NoBrowserOption = False,
    force: ForceOption = False,
) -> int:
    """List the tutorials, open one in a browser to run and change it, or copy them.

    A tutorial is a notebook of marimo that also runs as a script. What is opened is a temporary
    copy, reachable from this machine alone with the token in its address.
    """
    from edgeopt.tutorials import find_tutorial, tutorials

    chosen = tutorials() if number is None else [find_tutorial(number)]
    if copy is not None:
        copy.mkdir(parents=True, exist_ok=True)
        files = {one.path: copy / one.path.name for one in chosen}
        for target in files.values():
            target_of(target, force=force)
        for source, target in files.items():
            with atomic_write(target, force=force) as draft:
                draft.write_bytes(source.read_bytes())
            show.note(f"{target}: run it with 'python {target}' or 'marimo edit {target}'")
        return 0
    if number is None:
        for one in chosen:
            show.note(f"{one.number}  {one.title}: {one.text}")
        show.note("edgeopt tutorial NUMBER opens one, --copy DIR copies it")
        return 0
    from edgeopt.explore.server import require_marimo, serve_notebook

    require_marimo("edgeopt tutorial")
    with tempfile.TemporaryDirectory(prefix="edgeopt-tutorial-") as folder:
        notebook = Path(shutil.copy(chosen[0].path, folder))
        served = serve_notebook(notebook, port, browser=not no_browser)
        return _ended(served, "The button at the bottom right runs all cells; Ctrl-C here ends it.")
