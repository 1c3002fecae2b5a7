"""``edgeopt reproduce``: figures and tables of a paper's evaluation, beside what is printed."""

from pathlib import Path
from typing import Annotated

import typer

from edgeopt.cli import show
from edgeopt.cli.choose import ForceOption, JsonOption, SystemArgument
from edgeopt.errors import OptionError


def reproduce(
    system: SystemArgument,
    figure: Annotated[
        str | None, typer.Option(help="Number of the figure; all figures and tables if left out.")
    ] = None,
    table: Annotated[str | None, typer.Option(help="Number of the table.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Directory for page, pictures, tables and the finished cells."),
    ] = None,
    force: ForceOption = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Few and small cells, for a first look.")
    ] = False,
    workers: Annotated[
        int | None, typer.Option(help="Processes on this machine; all cores if left out.")
    ] = None,
    cluster: Annotated[
        str | None, typer.Option(help="Address of a Dask scheduler whose workers compute instead.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Reproduce the evaluation of a system's paper: picture, table, and printed beside ours.

    A run that is interrupted goes on where it stopped when it is started again with the same --out.
    """
    import json

    from edgeopt.studies.figures import reproduce as compute
    from edgeopt.studies.figures.report import in_words, record
    from edgeopt.studies.wording import plural

    if cluster is not None and workers is not None:
        raise OptionError("--workers and --cluster: give one of them")
    found = compute(
        system,
        figure=figure,
        table=table,
        out=out,
        force=force,
        quick=quick,
        workers=-1 if workers is None else workers,
        cluster=cluster,
    )
    if as_json:
        print(json.dumps(record(found), indent=2, ensure_ascii=False, allow_nan=False))
        return
    for outcome in found.outcomes:
        paper_figure = outcome.paper_figure
        lines = outcome.lines
        if lines:
            show.table(
                f"{paper_figure.heading}: {paper_figure.title}",
                ["what", "published", "computed"],
                ([line["what"], *in_words(line)] for line in lines),
                left=3,
            )
        else:
            show.note(f"{paper_figure.heading}: {paper_figure.title}")
        show.note(outcome.takeaway)
        own = (f"{line['what']}: {line['why']}" for line in lines if line["why"])
        for sentence in (*own, *(one for one in paper_figure.caveats if one not in found.shared)):
            show.note(f"- may differ: {sentence}")
        show.note("")
    for sentence, meant in found.shared.items():
        show.note(f"- may differ in {meant}: {sentence}")
    cells = plural(sum(outcome.cells for outcome in found.outcomes), "cell")
    where = f"page: {out / 'index.html'}" if out else "add --out DIR for pictures and tables"
    show.note(f"{cells}; {where}")
