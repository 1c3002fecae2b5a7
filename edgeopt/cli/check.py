"""``edgeopt check``: the claims of the papers, each with a verdict."""

from typing import Annotated

import typer

from edgeopt.cli import show
from edgeopt.cli.choose import JsonOption

__all__ = ["check"]


def check(
    claim: Annotated[
        list[str] | None,
        typer.Argument(help="Claims, patterns or systems; all if left out.", show_default=False),
    ] = None,
    as_json: JsonOption = False,
) -> int:
    """Check claims on their own instances; exit code 1 if one that should hold is violated.

    A claim that is known to be false, such as one that stands as its paper prints it, is expected
    to be violated; the claims that correct it are checked beside it.
    """
    from edgeopt.bounds import check as verdicts_of
    from edgeopt.studies.claims import known_false
    from edgeopt.studies.wording import number

    verdicts = verdicts_of(claim or None)
    false = known_false()
    broken = [
        verdict
        for verdict in verdicts
        if verdict.verdict == "violated" and verdict.claim not in false
    ]
    if as_json:
        show.document([verdict.as_dict() for verdict in verdicts])
    else:
        show.table(
            "Claims",
            ["claim", "source", "verdict", "measured", "guaranteed", "slack"],
            (
                [
                    verdict.claim,
                    verdict.source.number,
                    str(verdict.verdict),
                    number(verdict.measured, 6),
                    number(verdict.guaranteed, 6),
                    number(verdict.slack, 3),
                ]
                for verdict in verdicts
            ),
            left=3,
        )
        if broken:
            show.note(f"violated: {', '.join(verdict.claim for verdict in broken)}")
    return 1 if broken else 0
