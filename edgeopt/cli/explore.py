"""``edgeopt explore``: a live page of a system, in a browser on this machine."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from edgeopt.cli import show
from edgeopt.cli.choose import InstanceOption, SystemArgument, chosen_system


def explore(
    system: SystemArgument,
    instance: InstanceOption = None,
    port: Annotated[
        int | None, typer.Option(min=1, max=65535, help="Port; any free one by default.")
    ] = None,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Only print the address.")
    ] = False,
) -> int:
    """Move the numbers of an instance with sliders, and see policies and bound change.

    The page is reachable from this machine alone, with the token in its address. Ctrl-C ends it.
    """
    from edgeopt.explore.server import end, require_marimo, serve
    from edgeopt.studies.live import instance_of

    record = chosen_system(system)
    require_marimo()
    source = instance or ""
    if source and source not in record.instances.sources:
        source = str(Path(source).resolve())
    instance_of(record, source)
    served = serve(record.name, source, port, browser=not no_browser)
    show.note(served.address)
    sys.stdout.flush()
    try:
        return served.process.wait()
    finally:
        end(served.process)
