"""``edgeopt solvers``: what is installed and what it can do."""

from edgeopt.cli import show
from edgeopt.cli.choose import JsonOption


def solvers(as_json: JsonOption = False) -> None:
    """List the solvers that can be reached, and what each of them takes."""
    from edgeopt.solvers.registry import backends

    found = backends()
    if as_json:
        show.document(
            [
                {
                    "name": backend.name,
                    "installed": backend.installed,
                    "version": backend.version if backend.installed else None,
                    "problems": list(backend.problems),
                }
                for backend in found
            ]
        )
        return
    show.table(
        "Solvers",
        ["solver", "version", "problems"],
        (
            [
                backend.name,
                (backend.version or "") if backend.installed else "not installed",
                ", ".join(backend.problems),
            ]
            for backend in found
        ),
        left=3,
    )
