"""``edgeopt study``: compare the policies of a system and write a page."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from edgeopt.cli import show
from edgeopt.cli.choose import (
    DataOption,
    InstanceOption,
    JsonOption,
    SeedOption,
    SystemArgument,
    chosen_instance,
    chosen_system,
)

if TYPE_CHECKING:
    from edgeopt.studies import Case

__all__ = ["study"]


def study(
    system: SystemArgument,
    instance: InstanceOption = None,
    data: DataOption = None,
    runs: Annotated[
        int | None,
        typer.Option(min=2, help="Simulated runs per policy; the system's own choice if left out."),
    ] = None,
    seed: SeedOption = 0,
    workers: Annotated[int, typer.Option(help="Processes; -1 takes all cores.")] = 1,
    policies: Annotated[
        list[str] | None,
        typer.Option(help="Policies to compare: names or patterns, with commas or repeated."),
    ] = None,
    reference: Annotated[
        str | None, typer.Option(help="Policy that differences are taken to.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Directory for the page and its table.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Compare the policies of a system on one instance."""
    from edgeopt.studies import study as compare

    record = chosen_system(system)
    chosen = chosen_instance(record, instance, data, seed)
    names = [name for given in policies or () for name in given.split(",") if name]
    result = compare(
        {chosen.name: chosen.instance},
        names or None,
        system=record,
        runs=runs,
        rng=seed,
        workers=workers,
        reference=reference,
        provenance=chosen.provenance,
    )
    page = None if out is None else result.page(out)
    if as_json:
        print(result.to_json())
        return
    _print(result.cases[0])
    show.note(f"page: {page}" if page else "Add --out DIR for a page with pictures and claims.")


def _print(case: "Case") -> None:
    from edgeopt.studies.summary import sentences
    from edgeopt.studies.wording import interval, number, percent, uncapitalised

    record = case.system
    show.table(
        f"{record.title}; instance {case.name}, {case.settings.runs} runs",
        [
            "policy",
            uncapitalised(record.heading),
            f"share of {case.label}",
            "interval",
            f"{record.broken[1]} {record.obligation}s",
            *(uncapitalised(measure.title) for measure in record.measures),
            "µs per decision",
        ],
        (
            [
                case.entries[row["policy"]].title,
                f"{number(row['value'], 5)} ± {number(row['value_se'], 2)}",
                percent(row["ratio"]),
                interval(row["ratio_low"], row["ratio_high"], share=True),
                f"{number(row['violated'], 3)} ({percent(row['violated_share'])})",
                *(
                    percent(row[measure.name]) if measure.percent else number(row[measure.name], 3)
                    for measure in record.measures
                ),
                number(row["decision_us"], 2),
            ]
            for row in case.table.to_dict("records")
        ),
    )
    for sentence in sentences(case):
        show.note(sentence)
