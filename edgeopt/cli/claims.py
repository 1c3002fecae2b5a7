"""Claims on a terminal: tables that fit it, and counterexamples in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgeopt.cli import show
from edgeopt.studies.claims.counterexample import digits
from edgeopt.studies.pages.rendering import in_text
from edgeopt.studies.wording import number, plural
from edgeopt.writing import printable

if TYPE_CHECKING:
    from edgeopt.studies import Checked


def table(checked: Checked, *, wide: bool) -> None:
    """Print the claims, violated ones first, each with the instance that has the least slack."""
    drawn = ["drawn"] * (checked.instances > 0)
    claims = sorted(checked.claims, key=lambda one: one.tone != "bad")
    show.table(
        "",
        ["claim", "verdict", "tightest instance", "slack", "measured", "guaranteed", *drawn,
         *["source"] * wide],
        [
            [
                one.claim.id, one.verdict.words,
                one.verdict.instance if one.decided else one.verdict.reason,
                number(one.slack, 2), number(one.verdict.measured, 4),
                number(one.verdict.guaranteed, 4),
                # The page and the JSON document say why there is none.
                *[one.drawn_in_words.partition(":")[0] if one.drawn else "none"] * len(drawn),
                *[one.verdict.source.number] * wide,
            ]
            for one in claims
        ],
        left=3,
        most=show.MOST,
        wide=wide,
    )  # fmt: skip


def counterexamples(checked: Checked) -> None:
    """Print the claims that fail as published, each with a small counterexample."""
    failing = [one for one in checked.claims if one.published and one.refutation is not None]
    for one in failing:
        found = one.refutation
        assert found is not None
        against = f"{one.relation} {digits(found.verdict.guaranteed)}"
        words = printable(" ".join(found.words.split()))
        show.note(f"{one.claim.id}  {one.claim.source.number}")
        show.note(printable(in_text(one.claim.statement)))
        show.note(
            f"Counterexample {found.verdict.instance}: it is {digits(found.verdict.measured)}, but "
            f"the claim says {against}. {words}"
        )
        if found.numbers:
            written = "; ".join(f"{name} = {content}" for name, content in found.numbers)
            show.note(f"{plural(found.size, 'number')}: {written}")
        show.note(f"corrected by {', '.join(one.claim.corrected_by)}")
        print()
    others = sum(one.refuted and not one.published for one in checked.claims)
    if others:
        also = plural(others, "other plausible form")
        show.note(f"{also} also fail{'s' * (others == 1)}; the page of --out shows them.")
