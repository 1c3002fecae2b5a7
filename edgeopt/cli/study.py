"""``edgeopt study``: compare the policies of a system, and write a page."""

import math
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
    from collections.abc import Mapping

    from edgeopt.studies import Case, Comparison, Study


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

    record = case.system
    constrained = record.constraint.count(case.instance) > 0
    told = any(case.told.values())
    show.table(
        f"{record.title}; instance {case.name}, {case.settings.runs} runs",
        [
            "policy",
            *(["told"] if told else []),
            uncapitalised(GAP),
            uncapitalised(record.objective.heading),
            record.objective.over(case.label),
            f"{ends_heading(case)}, over {case.settings.runs} runs on this instance",
            *([f"{record.constraint.verb[1]} {record.constraint.name}s"] if constrained else []),
            *(uncapitalised(metric.title) for metric in record.reporting.metrics),
            "µs per decision",
        ],
        (
            [
                case.title(row),
                *([row["told"]] if told else []),
                gap_said(row, ends=True),
                number(row["value"], 5),
                record.objective.ratio(row["ratio"]),
                beside(row, "ratio", share=record.objective.sense == "max", digits=4),
                *(
                    [f"{number(row['violated'], 3)} ({percent(row['violated_share'])})"]
                    if constrained
                    else []
                ),
                *(
                    percent(row[metric.name]) if metric.percent else number(row[metric.name], 3)
                    for metric in record.reporting.metrics
                ),
                number(row["decision_us"], 2),
            ]
            for row in case.rows.values()
        ),
        left=1 + told,
        apart=len(case.entries) - len(case.causal),
    )
    for sentence in sentences(case):
        show.note(sentence)
    for policy, origins in case.trained.items():
        show.note(f"{case.entries[policy].title} was trained: {'; '.join(origins)}.")


def _print_comparisons(result: "Study") -> None:
    for comparison in result.comparisons:
        _print_comparison(result, comparison)


def _print_comparison(result: "Study", comparison: "Comparison") -> None:
    from edgeopt.studies.wording import beside, number, percent, plural, spreads_said, uncapitalised

    def cell(row: "Mapping[Any, Any]", name: str) -> str:
        share = name in comparison.percent
        if name in comparison.absent and math.isnan(row[name]):
            return comparison.absent[name]
        text = percent(row[name]) if share else number(row[name], 4)
        more = beside(row, name, share=share)
        return f"{text} ({more})" if more else text

    rows = result.comparison(comparison.name)
    told = "told" in rows and any(rows["told"])
    show.table(
        f"{comparison.title}; {plural(len(result.cases), 'instance')}",
        [
            "policy",
            *(["told"] if told else []),
            *(uncapitalised(heading) for heading in comparison.columns.values()),
        ],
        (
            [
                row["title"],
                *([row["told"]] if told else []),
                *(cell(row, name) for name in comparison.columns),
            ]
            for row in rows.to_dict("records")
        ),
        left=1 + told,
    )
    show.note(spreads_said(rows.to_dict("records"), result.settings.confidence))
