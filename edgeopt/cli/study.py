"""``edgeopt study``: compare the policies of a system, and write a page."""

import math
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from edgeopt.cli import complete, show
from edgeopt.cli.choose import (
    DataOption,
    DrawsOption,
    ForceOption,
    InstanceOption,
    JsonOption,
    SeedOption,
    SettingsOption,
    SystemArgument,
    chosen_instances,
    chosen_system,
    separated,
)
from edgeopt.writing import Folder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from edgeopt.studies import Case, Comparison, Metric, Study

    Row = Mapping[Any, Any]
    Column = tuple[str, Callable[[Row], str]]


def study(
    system: SystemArgument,
    instance: InstanceOption = None,
    data: DataOption = None,
    runs: Annotated[
        int | None,
        typer.Option(min=2, help="Simulated runs per policy; the default depends on the system."),
    ] = None,
    seed: SeedOption = 0,
    draws: DrawsOption = None,
    settings: SettingsOption = None,
    workers: Annotated[int, typer.Option(help="Processes; -1 takes all cores.")] = 1,
    policies: Annotated[
        list[str] | None,
        typer.Option(
            help="Policies, comma-separated or repeated: names, patterns or all; learned, "
            "learned:NAME or learned:PATH for what was trained. By default at most eight.",
            autocompletion=complete.policies,
        ),
    ] = None,
    reference: Annotated[
        str | None,
        typer.Option(help="Policy to which differences are taken.", autocompletion=complete.policy),
    ] = None,
    no_claims: Annotated[
        bool, typer.Option("--no-claims", help="Do not check the claims of the system.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the page, its tables and pictures.")
    ] = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Compare the policies of a system on one instance, or on several drawn instances."""
    from edgeopt.studies import study as compare
    from edgeopt.studies.sentences import sentences

    record = chosen_system(system)
    if out is not None:
        Folder(out, "study", force=force)
    chosen = chosen_instances(record, instance, data, seed, draws, settings or ())
    result = compare(
        {one.name: one.instance for one in chosen},
        separated(policies),
        system=record,
        runs=runs,
        rng=seed,
        workers=workers,
        reference=reference,
        claims=not no_claims,
        provenance=chosen[0].provenance,
    )
    page = None if out is None else result.page(out, force=force)
    if as_json:
        print(result.to_json())
        return
    if len(result.cases) > 1:
        for sentence in sentences(result):
            show.note(sentence)
        _print_comparisons(result)
    for case in result.detailed:
        _print(case)
    if len(result.cases) == 1:
        _print_comparisons(result)
        more = "; --draws N compares policies over N of them" if chosen[0].drawn else ""
        show.note(
            "Intervals, better and worse are over the runs on one instance and say nothing about "
            f"other instances{more}."
        )
    show.note(f"page: {page}" if page else "Add --out FOLDER for a page with pictures and claims.")


def _print(case: "Case") -> None:
    from edgeopt.studies.comparison import GAP
    from edgeopt.studies.sentences import ends_heading, sentences
    from edgeopt.studies.wording import beside, gap_said, number, percent, uncapitalised

    record, runs = case.system, case.settings.runs
    objective, constraint = record.objective, record.constraint

    def violated(row: "Row") -> str:
        return f"{number(row['violated'], 3)} ({percent(row['violated_share'])})"

    def measured(metric: "Metric") -> "Callable[[Row], str]":
        said = percent if metric.percent else partial(number, digits=3)
        return lambda row: said(row[metric.name])

    columns: list[Column] = [
        (uncapitalised(GAP), partial(gap_said, ends=True)),
        (uncapitalised(objective.heading), lambda row: number(row["value"], 5)),
        (objective.over(case.label), lambda row: objective.ratio(row["ratio"])),
        (
            f"{ends_heading(case)}, over {runs} runs on this instance",
            partial(beside, name="ratio", share=objective.sense == "max", digits=4),
        ),
    ]
    if constraint.count(case.instance) > 0:
        columns.append((f"{constraint.verb[1]} {constraint.name}s", violated))
    columns += [(uncapitalised(one.title), measured(one)) for one in record.reporting.metrics]
    columns.append(("µs per decision", lambda row: number(row["decision_us"], 2)))
    rows = [{**row, "title": case.title(row)} for row in case.rows.values()]
    title = f"{record.title}; instance {case.name}, {runs} runs"
    _table(title, columns, rows, apart=len(case.entries) - len(case.causal))
    for sentence in sentences(case):
        show.note(sentence)
    for policy, origins in case.trained.items():
        show.note(f"{case.entries[policy].title} was trained: {'; '.join(origins)}.")


def _table(
    title: str, columns: "Sequence[Column]", rows: "Sequence[Row]", *, apart: int = 0
) -> None:
    """Print a row for each policy, with its information if that differs."""
    leading: list[Column] = [("policy", itemgetter("title"))]
    if any(row.get("information") for row in rows):
        leading.append(("information", itemgetter("information")))
    every = [*leading, *columns]
    show.table(
        title,
        [heading for heading, _ in every],
        ([cell(row) for _, cell in every] for row in rows),
        left=len(leading),
        apart=apart,
    )


def _print_comparisons(result: "Study") -> None:
    for comparison in result.comparisons:
        _print_comparison(result, comparison)


def _print_comparison(result: "Study", comparison: "Comparison") -> None:
    from edgeopt.studies.wording import beside, number, percent, plural, spreads_said, uncapitalised

    def cell(name: str, row: "Row") -> str:
        share = name in comparison.percent
        if name in comparison.absent and math.isnan(row[name]):
            return comparison.absent[name]
        text = percent(row[name]) if share else number(row[name], 4)
        more = beside(row, name, share=share)
        return f"{text} ({more})" if more else text

    rows = result.comparison(comparison.name).to_dict("records")
    title = f"{comparison.title}; {plural(len(result.cases), 'instance')}"
    headings = comparison.columns.items()
    _table(title, [(uncapitalised(said), partial(cell, name)) for name, said in headings], rows)
    show.note(spreads_said(rows, result.settings.confidence))
