"""``edgeopt search``: the instance that leaves a claim the least slack."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from edgeopt.cli import complete, show
from edgeopt.cli.choose import ForceOption, JsonOption
from edgeopt.errors import OptionError
from edgeopt.writing import atomic_write, target_of

if TYPE_CHECKING:
    from edgeopt.bounds.search import Found


def search(
    claim: Annotated[
        str,
        typer.Argument(
            help="Identifier of the claim.", show_default=False, autocompletion=complete.claims
        ),
    ],
    space: Annotated[
        str | None,
        typer.Option(
            help="Parameter space to search; by default all that fit the claim.",
            autocompletion=complete.spaces,
        ),
    ] = None,
    budget: Annotated[
        int,
        typer.Option(min=1, help="Most instances to check in each space; not the sum over spaces."),
    ] = 800,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the search.")] = 0,
    out: Annotated[
        Path | None, typer.Option(help="File for the instance (.nc) or for its parameters (.json).")
    ] = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> int:
    """Search for a counterexample to a claim: the instance that leaves it the least slack.

    Stops at the first instance that violates the claim, and simplifies it, by checks beyond the
    budget. Exit code 1 if the claim should hold.
    """
    from edgeopt.bounds import search as least_slack
    from edgeopt.bounds.search.space import fitting, known_claim
    from edgeopt.studies.progress import progress_bar
    from edgeopt.studies.wording import plural

    chosen = known_claim(claim)
    places = fitting(chosen, space)
    if out is not None:
        if out.suffix not in (".nc", ".json"):
            raise OptionError(f"--out {out}: the name must end in .nc or .json")
        target_of(out, force=force)
    with progress_bar(len(places) * budget + budget // 2) as step:
        found = least_slack(chosen, space, budget, seed, step=step)
    if out is not None:
        with atomic_write(out, force=force) as draft:
            found.save(draft)
    violated = found.verdict.verdict == "violated"
    if as_json:
        show.document(
            {
                **found.verdict.as_dict(),
                "relation": chosen.relation.value,
                "relative_slack": found.relative_slack,
                "evaluations": found.evaluations,
                "space": found.space.name,
                "instance": dict(found.parameters),
                "file": None if out is None else str(out),
                "spaces": [one.name for one in places],
                "known_false": bool(chosen.corrected_by),
                "corrected_by": list(chosen.corrected_by),
            }
        )
    else:
        _print(found, chosen.relation.value)
        show.note(
            f"Searched {plural(len(places), 'parameter space')} "
            f"({', '.join(one.name for one in places)}): at most {budget} instances in each, "
            f"{len(places) * budget} in all, and others to simplify what is shown."
        )
        if chosen.corrected_by:
            shown = "violates it, too" if violated else "found no violation of it"
            show.note(
                f"{chosen.id} is known to be false; this search {shown}. Corrected by "
                f"{' and '.join(chosen.corrected_by)}. edgeopt check {chosen.id} --published shows "
                "a small counterexample."
            )
        if out is not None:
            show.note(f"instance: {out}")
    return 1 if violated and not chosen.corrected_by else 0


def _print(found: "Found", relation: str) -> None:
    from edgeopt.studies.wording import number

    verdict = found.verdict
    show.table(
        verdict.claim,
        ["", "value"],
        [
            ["verdict", str(verdict.verdict)],
            ["measured", number(verdict.measured, 6)],
            [relation, number(verdict.guaranteed, 6)],
            ["relative slack", number(found.relative_slack, 3)],
            ["instances checked", str(found.evaluations)],
        ],
    )
    show.table(
        found.space.name,
        ["parameter", "value"],
        ([name, f"{value:.6g}"] for name, value in found.parameters.items()),
    )
