"""``edgeopt reproduce``: figures and tables of a paper, compared with the published ones."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from edgeopt.cli import show
from edgeopt.cli.choose import ForceOption, JsonOption, SystemArgument, separated
from edgeopt.errors import OptionError

if TYPE_CHECKING:
    from edgeopt_papers.figures.reproduce import Reproduction


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
    wide: show.WideOption = False,
    as_json: JsonOption = False,
) -> None:
    """Reproduce figures and tables of a system's paper, and compare them with the published ones.

    An interrupted run continues where it stopped if it is started again with the same --out.
    """
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
        show.document(record(found))
        return
    answer, _, rest = found.verdict.partition(". ") if len(found.lines) else ("", "", "")
    show.note(f"{answer.rstrip('.') or f'{system}: nothing published is judged'}.")
    print()
    if not wide:
        _print_lines(found)
    for outcome in found.outcomes if wide else ():
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
                wide=True,
            )
        else:
            show.note(f"{paper_figure.heading}: {paper_figure.title}")
        show.note(outcome.takeaway)
        own = dict.fromkeys(f"{line['what']}: {line['why']}" for line in lines if line["why"])
        for sentence in (*own, *(one for one in outcome.caveats if one not in found.shared)):
            show.note(f"- may differ: {sentence}")
        show.note("")
    for sentence, meant in found.shared.items() if wide else ():
        show.note(f"- may differ in {meant}: {sentence}")
    jobs = plural(sum(outcome.jobs for outcome in found.outcomes), "job")
    where = f"Report: {out / 'index.html'}" if out else "Add --out FOLDER for pictures and tables"
    if rest:
        show.note(rest)
    show.note(f"{jobs}. {where}")


def _print_lines(found: "Reproduction") -> None:
    """Print what was published and computed, first what differs."""
    from edgeopt_papers.figures.paper_figure import UNRESOLVED
    from edgeopt_papers.figures.report import in_words

    lines = [(one.paper_figure.heading, line) for one in found.outcomes for line in one.lines]
    order = {"differs": 0, UNRESOLVED: 1, "agrees": 2}
    lines.sort(key=lambda pair: order.get(pair[1]["verdict"], 3))
    # Rows that differ in their setting alone would look the same.
    more = ["setting"] if any(line["setting"] for _, line in lines) else []
    show.table(
        "",
        ["what", "figure", "verdict", "published", "computed", *more],
        (
            [line["what"], heading, line["verdict"]]
            + [said.partition(" (")[0] for said in in_words(line)]
            + [line[name] for name in more]
            for heading, line in lines
        ),
        left=3,
        most=show.MOST,
    )
