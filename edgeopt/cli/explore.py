"""``edgeopt explore``: a live page of a system, in a browser on this machine."""

import sys
from pathlib import Path

from edgeopt.cli import show
from edgeopt.cli.choose import (
    InstanceOption,
    NoBrowserOption,
    PortOption,
    SystemArgument,
    chosen_system,
)


def explore(
    system: SystemArgument,
    instance: InstanceOption = None,
    port: PortOption = None,
    no_browser: NoBrowserOption = False,
) -> int:
    """Move the numbers of an instance with sliders, and see policies and bound change.

    The page is reachable from this machine alone, with the token in its address. Ctrl-C ends it.
    """
    from edgeopt.explore.server import end, require_marimo, serve
    from edgeopt.studies.live import instance_of

    record = chosen_system(system)
    require_marimo("edgeopt explore")
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
