"""``edgeopt check``: the claims of the papers, each with a verdict."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from edgeopt.cli import show
from edgeopt.cli.choose import ForceOption, JsonOption, SeedOption
from edgeopt.writing import Folder

if TYPE_CHECKING:
    from edgeopt.studies import Checked


def check(
    claim: Annotated[
        list[str] | None,
        typer.Argument(help="Claims, patterns or systems; all if left out.", show_default=False),
    ] = None,
    instances: Annotated[
        int,
        typer.Option(min=0, help="Small instances to draw for each system, beside the named ones."),
    ] = 0,
    seed: SeedOption = 0,
    published: Annotated[
        bool,
        typer.Option("--published", help="Show what fails as printed: counterexample, correction."),
    ] = False,
    workers: Annotated[int, typer.Option(help="Processes; -1 takes all cores.")] = 1,
    out: Annotated[
        Path | None, typer.Option(help="Directory for the page and claims.json.")
    ] = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> int:
    """Check claims on their own instances; exit code 1 if one that should hold is violated.

    A claim that is known to be false, such as one that stands as its paper prints it, is expected
    to be violated; the claims that correct it are checked beside it. Of each claim the instance is
    shown that leaves least room.
    """
    from edgeopt.bounds.registry import resolve
    from edgeopt.studies import check_all

    if out is not None:
        # A folder that cannot be written to is told of before the claims are checked.
        resolve(claim or None)
        Folder(out, "check", force=force)
    checked = check_all(claim or None, instances=instances, rng=seed, workers=workers)
    page = None if out is None else checked.page(out, force=force)
    if as_json:
        show.document(checked.as_dict())
    else:
        _print(checked, published=published)
        if page:
            show.note(f"page: {page}")
    return 1 if checked.broken else 0


def _print(checked: "Checked", *, published: bool) -> None:
    from edgeopt.cli.claims import counterexamples, table

    if published:
        counterexamples(checked)
    else:
        for system, claims in checked.by_system.items():
            table(system, claims, drawn=checked.instances > 0)
    show.note(" ".join(checked.sentences()))
