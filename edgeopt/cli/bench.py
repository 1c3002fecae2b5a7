"""``edgeopt bench``: solvers and policies of anybody on named instances."""

from pathlib import Path
from typing import Annotated

import typer

from edgeopt.cli import show
from edgeopt.cli.choose import ForceOption, separated
from edgeopt.errors import OptionError


def bench(
    out: Annotated[
        Path | None, typer.Option(help="Folder for results, profile, page and finished cells.")
    ] = None,
    offline: Annotated[
        list[str] | None, typer.Option(help="Solvers by name, or auto; commas or repeated.")
    ] = None,
    online: Annotated[
        list[str] | None,
        typer.Option(help="Policies by name or pattern, published, or module:Class."),
    ] = None,
    instances: Annotated[
        str, typer.Option("--set", help="Instances: s, m, l, all, or names with commas.")
    ] = "s",
    time_limit: Annotated[float, typer.Option(help="Seconds of an offline problem.")] = 60.0,
    gap: Annotated[float, typer.Option(help="Relative gap of an offline problem.")] = 1e-6,
    runs: Annotated[
        int, typer.Option(min=2, help="Scenarios on which policies are compared.")
    ] = 200,
    workers: Annotated[
        int, typer.Option("--workers", "--jobs", help="Processes; -1 takes all cores.")
    ] = 1,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say how long it would take, and stop.")
    ] = False,
    force: ForceOption = False,
) -> None:
    """Compare solvers and policies on named instances; a run that is interrupted goes on.

    Times are those of this machine: compare them within one run only.
    """
    from edgeopt.collection.comparing import bench as compare
    from edgeopt.collection.comparing import forecast, planned
    from edgeopt.studies.wording import duration, number
    from edgeopt.writing import Folder

    sets = separated([instances]) or []
    solvers, policies = separated(offline) or [], separated(online) or []
    plan = planned(sets, solvers, policies, time_limit, gap, runs)  # before anything is written
    if dry_run:
        rows = forecast(plan, runs)
        show.table(
            f"{len(plan)} cells",
            ["", "size", "cells", "one of them", "all", "all, on 1,000 scenarios"],
            [
                [
                    row["part"], row["size"], str(row["cells"]), duration(row["seconds"]),
                    duration(row["sum"]), duration(row["of_1000"]),
                ]
                for row in rows
            ],
            left=2,
        )  # fmt: skip
        whole = sum(row["sum"] for row in rows)
        show.note(f"About {duration(whole)} of one core, if cells take as long as those measured.")
        return
    if out is None:
        raise OptionError("--out: name the folder to write to, or give --dry-run")
    Folder(out, "bench", force=force).begin()
    found = compare(
        sets, offline=solvers, online=policies, time_limit=time_limit, gap=gap, runs=runs,
        workers=workers, store=out / "cells",
    )  # fmt: skip
    page = found.save(out, force=force)
    for group in found.groups:
        heading = "seconds" if group == "offline" else "mean gap"
        show.table(
            f"{group}: {len(found.group(group).instances)} instances",
            ["", heading, "95 % interval", "95 % of ranks", "failures"],
            [
                [
                    str(name), number(row["mean"]),
                    f"{number(row['low'])} to {number(row['high'])}",
                    f"{row['rank'][0]} to {row['rank'][1]}", str(row["failures"]),
                ]
                for name, row in found.ranking(group).iterrows()
            ],
        )  # fmt: skip
    wrong = found.results[found.results["failed"].str.startswith("wrong")]
    for row in wrong.to_dict("records"):
        show.note(f"{row['competitor']} on {row['instance']}: {row['failed']}")
    show.note(f"page: {page}")
