"""``edgeopt study``: compare the policies of a system, and write a page."""

import math
import sys
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
from edgeopt.errors import OptionError
from edgeopt.writing import Folder

ALL_CONTROLS = 40
"""From so many runs on, all exactly known policies take luck out of the others."""

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Literal

    from edgeopt.studies import Case, Comparison, Metric, Study, System
    from edgeopt.studies.standings import Standing

    Row = Mapping[Any, Any]
    Column = tuple[str, Callable[[Row], str]]


def study(
    system: SystemArgument,
    instance: InstanceOption = None,
    data: DataOption = None,
    runs: Annotated[
        str | None,
        typer.Option(
            metavar="COUNT|auto",
            help="Simulated runs per policy where anything is random; the default depends on the "
            "system. With auto the study stops when more runs are not worth it.",
        ),
    ] = None,
    until: Annotated[
        int | None, typer.Option(min=2, help="Most runs with --runs auto; 1600 by default.")
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
    bound_time: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="Limit of every bound; what is in hand then counts."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the page, its tables and pictures.")
    ] = None,
    force: ForceOption = False,
    wide: show.WideOption = False,
    as_json: JsonOption = False,
) -> None:
    """Compare the policies of a system on one instance, or on several drawn instances."""
    from edgeopt.studies import study as compare
    from edgeopt.studies.progress import at_work
    from edgeopt.studies.run import MOST

    count = _runs(runs)
    if until is not None and count != "auto":
        raise OptionError("--until needs --runs auto")
    record = chosen_system(system)
    if out is not None:
        Folder(out, "study", force=force)
    chosen = chosen_instances(record, instance, data, seed, draws, settings or ())
    _foresee(record, separated(policies), [one.instance for one in chosen], count)
    result = compare(
        {one.name: one.instance for one in chosen},
        separated(policies),
        system=record,
        runs=count,
        until=MOST if until is None else until,
        rng=seed,
        workers=workers,
        reference=reference,
        claims=not no_claims,
        bound_time=bound_time,
        provenance=chosen[0].provenance,
    )
    page = None
    if out is not None:
        with at_work("report"):
            page = result.page(out, force=force)
    if as_json:
        print(result.to_json())
        return
    _print_answer(result, table=not wide)
    if wide:
        for case in result.detailed:
            _print(case)
        _print_comparisons(result)
        _print_words(result)
    if len(result.cases) == 1:
        more = "; --draws N compares over many" if chosen[0].drawn else ""
        show.note(f"Results hold for this instance{more}.")
        if _would_sharpen(result.cases[0]):
            show.note("With --runs 400, policies that are known exactly make the others sharper.")
    show.note(f"Report: {page}" if page else "Add --out FOLDER for a report with pictures.")


def _runs(given: str | None) -> "int | Literal['auto'] | None":
    if given is None or given == "auto":
        return given  # type: ignore[return-value]
    if not given.isdecimal() or int(given) < 2:
        raise typer.BadParameter(
            f"{given!r} is neither auto nor a whole number from 2 on", param_hint="'--runs'"
        )
    return int(given)


def _foresee(
    record: "System",
    policies: "Sequence[str] | None",
    instances: "Sequence[Any]",
    runs: int | str | None,
) -> None:
    """Say on standard error what so few instances or runs cannot tell, before anything runs."""
    from edgeopt.studies.registry import choose
    from edgeopt.studies.sentences import foreseen

    entrants = sum(entry.causal for entry in choose(record, policies))
    said = foreseen(entrants, len(instances), "instances")
    alike = getattr(record.policies.environment(instances[0]), "alike", False)
    if len(instances) == 1 and isinstance(runs, int) and not alike:
        said = foreseen(entrants, runs, "runs")
    if said:
        print(f"edgeopt: {said}", file=sys.stderr)


def _would_sharpen(case: "Case") -> bool:
    """Tell whether there are exactly known policies, but too few runs to use them."""
    return bool(case.controls) and case.sampled and case.runs < ALL_CONTROLS


def _print_answer(result: "Study", *, table: bool = True) -> None:
    """Print which policy is the first, and a table of the policies as they are ranked."""
    from edgeopt.studies.comparison import GAP
    from edgeopt.studies.sentences import sentence
    from edgeopt.studies.standings import gap_row
    from edgeopt.studies.wording import (
        NO_BOUND,
        counted,
        gap_said,
        number,
        uncapitalised,
        violated_said,
    )

    case, several = result.cases[0], len(result.cases) > 1
    compared = result if several else case
    found, constraint = compared.standings, case.constraint
    show.note(sentence(compared))
    print()
    if not table:
        return
    narrow = show.width() < 100

    def failed(one: "Standing") -> str:
        if several:
            return counted(one.violated)
        said = violated_said(one.violated, case.constraints)
        return said.partition(" (")[0] if narrow else said

    headings = ["rank", "policy", uncapitalised(found.objective.heading), uncapitalised(GAP)]
    rows = [
        [
            one.place, one.title, number(one.value),
            gap_said(gap_row(one), ends=True) if one.bounded else NO_BOUND,
            *[failed(one)] * found.constrained,
        ]
        for one in found.rows
    ]  # fmt: skip
    headings += [f"{constraint.verb[1]} {constraint.name}s"] * found.constrained
    apart = sum(not one.causal for one in found.rows)
    show.table("", headings, rows, left=2, apart=apart, most=show.MOST)


def _print_words(result: "Study") -> None:
    """Print all that is said of the policies, and how trained ones were trained."""
    from edgeopt.studies.sentences import sentences

    every: list[Study | Case] = [result] if len(result.cases) > 1 else []
    for compared in (*every, *result.detailed):
        for said in sentences(compared):
            show.note(said)
    for case in result.detailed:
        for policy, origins in case.trained.items():
            show.note(f"{case.entries[policy].title} was trained: {'; '.join(origins)}.")


def _print(case: "Case") -> None:
    from edgeopt.studies.comparison import GAP
    from edgeopt.studies.wording import (
        gap_said,
        number,
        percent,
        plural,
        uncapitalised,
        value_said,
        violated_said,
    )

    record = case.system
    objective, constraint = record.objective, record.constraint

    def violated(row: "Row") -> str:
        return violated_said(row["violated"], case.constraints)

    def measured(metric: "Metric") -> "Callable[[Row], str]":
        said = percent if metric.percent else partial(number, digits=3)
        return lambda row: said(row[metric.name])

    columns: list[Column] = [
        ("place", itemgetter("place")),
        (uncapitalised(GAP), partial(gap_said, ends=True)),
        (uncapitalised(objective.heading), lambda row: value_said(row, objective, 5)),
        ("how", itemgetter("how")),
    ]
    if constraint.count(case.instance) > 0:
        columns.append((f"{constraint.verb[1]} {constraint.name}s", violated))
    columns += [(uncapitalised(one.title), measured(one)) for one in record.reporting.metrics]
    columns.append(("µs per decision", lambda row: number(row["decision_us"], 2)))
    rows = [{**row, "title": case.title(row)} for row in case.rows.values()]
    title = f"{record.title}; instance {case.name}, {plural(case.runs, 'run')}"
    _table(title, columns, rows, apart=len(case.entries) - len(case.causal))


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
        wide=True,
    )


def _print_comparisons(result: "Study") -> None:
    for comparison in result.comparisons:
        _print_comparison(result, comparison)


def _print_comparison(result: "Study", comparison: "Comparison") -> None:
    from edgeopt.studies.wording import beside, number, percent, plural, spreads_said, uncapitalised

    def cell(name: str, row: "Row") -> str:
        if isinstance(row[name], str):
            return str(row[name])
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
    show.note(spreads_said(rows, result.settings.confidence, drawn=result.settings.drawn))
