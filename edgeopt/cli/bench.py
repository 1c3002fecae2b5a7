"""``edgeopt bench``: solvers and policies of anybody on named instances."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from edgeopt.cli import show
from edgeopt.cli.choose import ForceOption, separated
from edgeopt.errors import OptionError

if TYPE_CHECKING:
    from edgeopt.collection import Bench


def bench(
    check: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[check FILE...]",
            help="Examine submissions instead: form, data, bounds, and each certificate.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for results, profile, page and finished jobs.")
    ] = None,
    offline: Annotated[
        list[str] | None, typer.Option(help="Solvers by name, or auto; commas or repeated.")
    ] = None,
    online: Annotated[
        list[str] | None,
        typer.Option(help="Policies by name or pattern, published, or module:Class."),
    ] = None,
    instances: Annotated[
        str, typer.Option(help="Instances: s, m, l, all, or names with commas.")
    ] = "s",
    programs: Annotated[
        Path | None,
        typer.Option(help="Folder of MPS, LP and MATLAB files to solve instead of instances."),
    ] = None,
    time_limit: Annotated[float, typer.Option(help="Seconds of an offline problem.")] = 60.0,
    gap: Annotated[
        str, typer.Option(help="Relative gap of an offline problem; several with commas.")
    ] = "1e-2,1e-4,1e-6",
    runs: Annotated[
        int, typer.Option(min=2, help="Scenarios on which policies are compared.")
    ] = 200,
    workers: Annotated[
        int, typer.Option("--workers", "--jobs", help="Processes; -1 takes all cores.")
    ] = 1,
    cluster: Annotated[
        str | None, typer.Option(help="Address of a Dask scheduler whose workers compute instead.")
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="With check: run policies that can be had here again.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say how long it would take, and stop.")
    ] = False,
    force: ForceOption = False,
    wide: show.WideOption = False,
) -> int:
    """Benchmark solvers and policies on named instances (resumable).

    Times are those of this machine: compare them within one run only. `edgeopt bench check FILE`
    examines a submission to the scoreboard, which every run writes for each competitor; its exit
    code is 0 if nothing is wrong, 1 if something is, and 2 if a file cannot be read. With
    --programs, solvers are compared on your own files, and their answers held against each other.
    """
    from edgeopt.collection.compare import carried_out, forecast, planned
    from edgeopt.studies.wording import duration

    if check:
        return _check(check, again=again)
    if again:
        raise OptionError("--again: goes with check FILE")
    if cluster is not None and workers != 1:
        raise OptionError("--workers and --cluster cannot be used together")
    sets = separated([instances]) or []
    solvers, policies = separated(offline) or [], separated(online) or []
    gaps = [_number(one) for one in separated([gap]) or []]
    if programs is not None:
        from edgeopt.collection.programs import bench_programs, programs_in

        _refuse_beside(programs, policies, sets, dry_run)
        programs_in(programs)
        folder = _begun(out, force)
        found = bench_programs(
            programs, solvers or ["highs"], time_limit=time_limit, gap=gaps, workers=workers,
            cluster=cluster, store=folder / "jobs",
        )  # fmt: skip
        return _told(found, folder, force=force, wide=wide)
    plan = planned(sets, solvers, policies, time_limit, gaps, runs)  # before anything is written
    if dry_run:
        rows = forecast(plan)
        whole, many = (duration(sum(row[name] for row in rows)) for name in ("sum", "of_1000"))
        show.note(
            f"{len(plan.jobs)} jobs take about {whole} of one core, and {many} on 1,000 scenarios, "
            "if they take as long as those measured."
        )
        show.table(
            "",
            ["", "system", "size", "jobs", "one of them", "all", "all, on 1,000 scenarios"],
            [
                [
                    row["part"], row["system"], row["size"], str(row["jobs"]),
                    *(duration(row[name]) for name in ("seconds", "sum", "of_1000")),
                ]
                for row in rows
            ],
            left=3,
            most=show.MOST,
            wide=wide,
        )  # fmt: skip
        return 0
    folder = _begun(out, force)
    found = carried_out(plan, workers=workers, cluster=cluster, store=folder / "jobs")
    return _told(found, folder, force=force, wide=wide)


def _refuse_beside(programs: Path, policies: list[str], sets: list[str], dry_run: bool) -> None:
    """Refuse what does not go with a folder of programs."""
    for option, given in (
        ("--online", policies), ("--instances", sets != ["s"]), ("--dry-run", dry_run)
    ):  # fmt: skip
        if given:
            raise OptionError(f"{option}: does not go with --programs {programs}")


def _begun(out: Path | None, force: bool) -> Path:
    """Return the folder to write to, which is edgeopt's now."""
    from edgeopt.writing import Folder

    if out is None:
        raise OptionError("--out: name the folder to write to, or give --dry-run")
    Folder(out, "bench", force=force).begin()
    return out


def _told(found: "Bench", out: Path, *, force: bool, wide: bool) -> int:
    """Save a comparison, print a sentence and a table per group, and what is wrong."""
    from edgeopt.collection.comparison_page import ends_said, sentence
    from edgeopt.studies.progress import at_work
    from edgeopt.studies.wording import counted, number

    with at_work("report"):
        page = found.save(out, force=force)
    for group in found.groups:
        heading = "time (s)" if group.startswith("offline") else "mean gap to bound"
        show.note(sentence(found, group))
        show.table(
            "",
            ["competitor", heading, "95 % interval", "place", "violated", "failures"],
            [
                [
                    str(name), number(row["mean"]), ends_said(row), str(row["place"]),
                    counted(row["violated"]), str(row["failures"]),
                ]
                for name, row in found.ranking(group).iterrows()
            ],
            most=show.MOST,
            wide=wide,
        )  # fmt: skip
    wrong = found.results[found.results["failed"].str.startswith("wrong")]
    for row in wrong.to_dict("records"):
        show.note(f"{row['competitor']} on {row['instance']}: {row['failed']}")
    show.note(f"Report: {out / page.name}")
    return 0


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise OptionError(f"--gap {text}: is no number; several are written 1e-2,1e-4") from None


def _check(words: list[str], *, again: bool) -> int:
    """Examine submissions, say what is wrong and what is new, and return the exit code."""
    from edgeopt.collection.submission import examined, read_submission

    action, *files = words
    if action != "check" or not files:
        raise OptionError(f"{' '.join(words)}: write edgeopt bench check FILE, or options alone")
    contents = [read_submission(Path(file)) for file in files]
    worst = 0
    for file, content in zip(files, contents, strict=True):
        found = examined(content, again=again)
        for line in found.faults:
            show.note(f"{file}: {line}")
        worst = max(worst, bool(found.faults))
        for line in found.improved:
            show.note(f"{file}: improves on {line}")
        if not found.faults:
            said = f"{found.results} results, {found.certificates} certificates"
            show.note(f"{file}: valid: {said}")
    return worst
