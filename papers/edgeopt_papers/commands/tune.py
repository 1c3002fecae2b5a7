"""``edgeopt tune``: the options with which policies do best on instances for tuning."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from edgeopt.cli import complete, show
from edgeopt.cli.choose import ForceOption, JsonOption, SystemArgument, separated
from edgeopt.writing import target_of, write_file

if TYPE_CHECKING:
    from edgeopt_papers.tuning import Tuned


def tune(
    system: SystemArgument,
    policies: Annotated[
        list[str] | None,
        typer.Option(
            help="Policies to tune: names, comma-separated or repeated.",
            autocompletion=complete.policies,
        ),
    ] = None,
    modes: Annotated[
        list[str] | None,
        typer.Option(help="Kinds of instances (edr: group, none), comma-separated or repeated."),
    ] = None,
    budget: Annotated[
        int | None, typer.Option(help="Evaluations of a policy for a kind of instances.")
    ] = None,
    test: Annotated[
        bool, typer.Option("--test", help="Test the choice on the instances for tests, too.")
    ] = False,
    workers: Annotated[int, typer.Option(help="Processes; -1 takes all cores.")] = 1,
    out: Annotated[Path | None, typer.Option(help="File (.json) for all evaluations.")] = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Tune the parameters of policies, each with the same number of evaluations.

    An evaluation is the mean over instances that serve nothing else. The package holds what was
    found for edr; this command does not change that.
    """
    from edgeopt_papers.tuning import tune as tuned_policies
    from edgeopt_papers.tuning.stored import table_of, text_of

    if out is not None:
        target_of(out, force=force)
    found = tuned_policies(
        system, separated(policies), modes=separated(modes), budget=budget, test=test,
        workers=workers,
    )  # fmt: skip
    if out is not None:
        write_file(out, text_of(found))
    if as_json:
        show.document(table_of(found))
        return
    _print(found, test=test)
    if out is not None:
        show.note(f"evaluations: {out}")


def _print(found: "list[Tuned]", *, test: bool) -> None:
    from statistics import fmean

    from edgeopt.studies.wording import number

    columns = ["policy", "mode", "evaluations", "best options", "by default", "best"]
    rows = []
    for one in found:
        options = ", ".join(f"{name} = {number(at, 3)}" for name, at in one.options.items())
        default = dict(one.evaluations)[(0.0,) * len(one.parameters)]
        row = [
            one.policy, one.mode, str(len(one.evaluations)), options or "as by default",
            number(default), number(one.best.value),
        ]  # fmt: skip
        if test:
            row += [number(fmean(one.untouched)), number(fmean(one.tested))]
        rows.append(row)
    tests = ["test, by default", "test, best"] if test else []
    show.table("Mean value against the reference bound", [*columns, *tests], rows, left=4)
    for one in found:
        if one.edges:
            show.note(
                f"{one.policy}, {one.mode}: the best {' and '.join(one.edges)} is the least or the "
                "largest that was tried"
            )
