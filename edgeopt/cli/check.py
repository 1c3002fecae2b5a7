"""``edgeopt check``: the claims of the papers and their verdicts."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from edgeopt.cli import complete, show
from edgeopt.cli.choose import ForceOption, JsonOption, SeedOption
from edgeopt.writing import Folder

if TYPE_CHECKING:
    from edgeopt.studies import Checked


def check(
    claim: Annotated[
        list[str] | None,
        typer.Argument(
            help="Claims, patterns or systems; all by default.",
            show_default=False,
            autocompletion=complete.claims,
        ),
    ] = None,
    instances: Annotated[
        int, typer.Option(min=0, help="Random small instances to draw for each system.")
    ] = 0,
    seed: SeedOption = 0,
    published: Annotated[
        bool,
        typer.Option(
            "--published", help="Show the published claims that fail, with counterexamples."
        ),
    ] = False,
    workers: Annotated[int, typer.Option(help="Processes; -1 takes all cores.")] = 1,
    out: Annotated[Path | None, typer.Option(help="Folder for the page and claims.json.")] = None,
    force: ForceOption = False,
    wide: show.WideOption = False,
    as_json: JsonOption = False,
) -> int:
    """Check claims on their named instances; exit code 1 if one that should hold is violated.

    Claims that are known to be false, as published or in another plausible form, are expected to be
    violated; the claims that correct them are checked too. For each claim, the instance with the
    least slack is shown. One is loose, or cannot fail here, if even there its guarantee could be
    more than twice as strong.
    """
    from edgeopt.bounds.registry import resolve
    from edgeopt.studies import check_all

    if out is not None:
        # Fail before the claims are checked if the folder cannot be written to.
        resolve(claim or None)
        Folder(out, "check", force=force)
    checked = check_all(claim or None, instances=instances, rng=seed, workers=workers)
    page = None if out is None else checked.page(out, force=force)
    if as_json:
        show.document(checked.as_dict())
    else:
        _print(checked, published=published, wide=wide)
        if page:
            show.note(f"Report: {page}")
    return 1 if checked.broken else 0


def _print(checked: "Checked", *, published: bool, wide: bool) -> None:
    from edgeopt.cli.claims import counterexamples, table

    said = checked.sentences()
    answer = said.pop(-1 if checked.broken else 0)
    show.note(answer)
    print()
    if published:
        counterexamples(checked)
    else:
        table(checked, wide=wide)
    show.note(" ".join(said))
