"""Claims on a terminal: tables that fit it, and counterexamples in words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from edgeopt.cli.show import console_of
from edgeopt.studies.claims.counterexample import digits
from edgeopt.studies.pages.rendering import in_text
from edgeopt.studies.wording import number, plural
from edgeopt.writing import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from edgeopt.studies import Checked, CheckedClaim

_WIDE: Final = 400
"""Columns when standard output is no terminal: a line per claim."""

_HEADINGS: Final = (
    "claim",
    "source",
    "verdict",
    "measured",
    "guaranteed",
    "slack",
    "tightest instance",
)

_TONES: Final = {"good": "green", "expected": "yellow", "bad": "bold red", "soft": "dim"}


def table(system: str, claims: Sequence[CheckedClaim], *, drawn: bool) -> None:
    """Print the claims of a system, each with the instance that has the least slack."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    console = console_of(_WIDE)
    shown = Table(
        title=Text(system, "bold"),
        title_justify="left",
        header_style="bold",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
    rows = [[printable(cell) for cell in _cells(one, system, drawn=drawn)] for one in claims]
    headings = [*_HEADINGS, *["drawn"] * drawn]
    widest = [max(map(len, column)) for column in zip(headings, *rows, strict=True)]
    widths = _fitting(widest, console.width)
    for heading, width in zip(headings, widths, strict=True):
        numeric = heading in ("measured", "guaranteed", "slack")
        shown.add_column(heading, justify="right" if numeric else "left", width=width)
    for one, row in zip(claims, rows, strict=True):
        cells = [Text(_broken(text, width)) for text, width in zip(row, widths, strict=True)]
        cells[2].stylize(_TONES[one.tone])
        shown.add_row(*cells)
    console.print(shown)


def _cells(one: CheckedClaim, system: str, *, drawn: bool) -> list[str]:
    found = one.verdict
    cells = [
        found.claim.removeprefix(f"{system}."),
        found.source.number,
        found.words,
        number(found.measured, 4),
        number(found.guaranteed, 4),
        number(one.slack, 2),
        found.instance if one.decided else found.reason,
    ]
    # The page and the JSON document say why there is none.
    return [*cells, one.drawn_in_words.partition(":")[0] if one.drawn else "none"][: 7 + drawn]


def _fitting(widest: Sequence[int], width: int) -> list[int]:
    """Return widths of columns that fit: long texts are wrapped, numbers are not."""
    gap = 2
    spare = width - 2 - gap * len(widest)
    numbers = widest[2:6]
    texts = [widest[0], widest[1], *widest[6:]]
    spare -= sum(numbers)
    # The widest column is narrowed first.
    while sum(texts) > max(spare, 10 * len(texts)):
        texts[texts.index(max(texts))] -= 1
    return [*texts[:2], *numbers, *texts[2:]]


def _broken(text: str, width: int) -> str:
    """Break a text into lines behind a blank, a dot, a comma or a bracket where one is near."""
    lines = []
    while len(text) > width:
        head = text[: width + 1]
        end = head.rfind(" ") + 1
        if end <= width // 2:
            # No line breaks at the dot of a number.
            marks = re.finditer(r"[_,(=/]|\.(?!\d)", text[:width])
            end = max([end, *(mark.end() for mark in marks)])
        cut = end if end > width // 3 else width
        lines.append(text[:cut].rstrip())
        text = text[cut:].lstrip()
    return "\n".join([*lines, text])


def counterexamples(checked: Checked) -> None:
    """Print the claims that fail as published, each with a small counterexample."""
    from rich.padding import Padding
    from rich.text import Text

    console = console_of(100)
    failing = [one for one in checked.claims if one.published and one.refutation is not None]
    for one in failing:
        found = one.refutation
        assert found is not None
        console.print(
            Text.assemble((one.claim.id, "bold"), f"  {one.claim.source.number}"), soft_wrap=True
        )
        against = f"{one.relation} {digits(found.verdict.guaranteed)}"
        lines = [
            Text(printable(in_text(one.claim.statement))),
            Text.assemble(
                f"Counterexample {found.verdict.instance}: it is ",
                (digits(found.verdict.measured), "bold"),
                f", but the claim says {against}. {printable(' '.join(found.words.split()))}",
            ),
        ]
        if found.numbers:
            written = "; ".join(f"{name} = {content}" for name, content in found.numbers)
            size = plural(found.size, "number")
            lines.append(Text(f"{size}: {written}", "dim"))
        lines.append(Text(f"corrected by {', '.join(one.claim.corrected_by)}"))
        for line in lines:
            console.print(Padding(line, (0, 0, 0, 2)))
        console.print()
    others = sum(one.refuted and not one.published for one in checked.claims)
    if others:
        also = plural(others, "other plausible form")
        console.print(Text(f"{also} also fail{'s' * (others == 1)}; the page of --out shows them."))
