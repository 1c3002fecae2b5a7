"""``edgeopt reproduce``: figures and tables of a paper, compared with the published ones."""

from pathlib import Path
from typing import Annotated

import typer

from edgeopt.cli import show
from edgeopt.cli.choose import ForceOption, JsonOption, SystemArgument, separated
from edgeopt.errors import OptionError


def reproduce(
    system: SystemArgument,
    figure: Annotated[
        list[str] | None,
        typer.Option(
            help="Numbers of figures, comma-separated or repeated; by default all figures and "
            "tables."
        ),
    ] = None,
    table: Annotated[
        list[str] | None, typer.Option(help="Numbers of tables, comma-separated or repeated.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for the page, pictures, tables and finished jobs."),
    ] = None,
    force: ForceOption = False,
    quick: Annotated[bool, typer.Option("--quick", help="Compute few and small jobs.")] = False,
    workers: Annotated[
        int | None, typer.Option(help="Processes on this machine; by default all cores.")
    ] = None,
    cluster: Annotated[
        str | None, typer.Option(help="Address of a Dask scheduler to compute on instead.")
    ] = None,
    train: Annotated[
        bool,
        typer.Option("--train", help="Train anew, at full length, the series that figures show."),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Reproduce figures and tables of a system's paper, and compare them with the published ones.

    An interrupted run continues where it stopped if it is started again with the same --out.
    """
    import json

    from edgeopt.studies.wording import plural
    from edgeopt_papers.figures import reproduce as compute
    from edgeopt_papers.figures.report import in_words, record

    if cluster is not None and workers is not None:
        raise OptionError("--workers and --cluster cannot be used together")
    found = compute(
        system,
        figure=separated(figure),
        table=separated(table),
        out=out,
        force=force,
        quick=quick,
        workers=-1 if workers is None else workers,
        cluster=cluster,
        train=train,
    )
    if as_json:
        print(json.dumps(record(found), indent=2, ensure_ascii=False, allow_nan=False))
        return
    for outcome in found.outcomes:
        paper_figure = outcome.paper_figure
        lines = outcome.lines
        if lines:
            more = ["setting"] if any(line["setting"] for line in lines) else []
            show.table(
                f"{paper_figure.heading}: {paper_figure.title}",
                ["what", *more, "published", "computed", "verdict"],
                (
                    [line["what"], *(line[name] for name in more), *in_words(line), line["verdict"]]
                    for line in lines
                ),
                left=4 + len(more),
            )
        else:
            show.note(f"{paper_figure.heading}: {paper_figure.title}")
        show.note(outcome.takeaway)
        own = dict.fromkeys(f"{line['what']}: {line['why']}" for line in lines if line["why"])
        for sentence in (*own, *(one for one in outcome.caveats if one not in found.shared)):
            show.note(f"- may differ: {sentence}")
        show.note("")
    for sentence, meant in found.shared.items():
        show.note(f"- may differ in {meant}: {sentence}")
    jobs = plural(sum(outcome.jobs for outcome in found.outcomes), "job")
    where = f"Report: {out / 'index.html'}" if out else "Add --out FOLDER for pictures and tables"
    if len(found.lines):
        show.note(found.verdict)
    show.note(f"{jobs}. {where}")
