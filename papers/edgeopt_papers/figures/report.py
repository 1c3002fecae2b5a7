"""The page of a reproduction, with pictures and rows as files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from edgeopt.studies.files import csv_text, plain
from edgeopt.studies.pages.rendering import render
from edgeopt.studies.pictures.canvas import in_style, inline_svg, standalone_svg, svg
from edgeopt.studies.wording import beside, number, percent
from edgeopt.writing import Folder
from edgeopt_papers.figures.paper_figure import AGREES, DIFFERS, JUDGED, UNRESOLVED
from edgeopt_papers.figures.verdicts import reasons, settings_of, statements

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from matplotlib.figure import Figure

    from edgeopt_papers.figures.reproduce import Outcome, Reproduction


MOST_REASONS: Final = 5
"""Reasons that stand at the beginning of a page; all stand with their figures."""


def write(found: Reproduction, out: str | Path, *, force: bool = False) -> Path:
    """Write the page, the picture and rows of every figure, and the published values."""
    folder = Folder(out, "reproduce", force=force)
    shown = []
    for outcome in found.outcomes:
        name, drawing = outcome.paper_figure.name, svg(figure(outcome))
        shown.append((outcome, inline_svg(drawing, prefix=f"{name}-", label=outcome.takeaway)))
        folder.write(f"{name}.svg", standalone_svg(drawing, outcome.takeaway))
        folder.write(f"{name}.csv", csv_text(outcome.rows))
    folder.write("published.csv", csv_text(found.lines))
    folder.write("caveats.csv", csv_text(found.caveats))
    document = json.dumps(record(found), indent=2, ensure_ascii=False, allow_nan=False)
    folder.write("reproduction.json", document + "\n")
    page = render(
        "reproduction.html.j2",
        package="edgeopt_papers",
        found=found,
        shown=shown,
        settings=settings_of(line for one in found.outcomes for line in one.lines),
        settings_of=settings_of,
        statements=statements,
        reasons=reasons(found.outcomes),
        in_words=in_words,
        judged=JUDGED,
        most=MOST_REASONS,
        tones={AGREES: "good", DIFFERS: "bad", UNRESOLVED: "expected"},
    )
    return folder.write("index.html", page)


def figure(outcome: Outcome) -> Figure:
    """Draw a figure in the common style, without title."""
    return in_style(lambda: outcome.paper_figure.draw(outcome.rows))


def in_words(line: Mapping[str, Any]) -> tuple[str, str]:
    """Return the published and the computed value of a line, with its interval, in words."""

    def said(value: Any) -> str:
        if isinstance(value, str):
            return value
        return percent(value) if line["percent"] else number(float(value), 4)

    ends = {f"computed_{name}": line[name] for name in ("low", "high", "spread", "finding")}
    more = beside(ends, "computed", share=line["percent"])
    computed = said(line["computed"]) + (f" ({more})" if more else "")
    return said(line["published"]), computed


def record(found: Reproduction) -> dict[str, Any]:
    """Return the results as JSON data."""
    return {
        "system": found.system.name,
        "version": found.version,
        "quick": found.quick,
        "verdict": found.verdict,
        "paper_figures": [
            {
                "kind": outcome.paper_figure.kind,
                "number": outcome.paper_figure.number,
                "title": outcome.paper_figure.title,
                "jobs": outcome.jobs,
                "caveats": list(outcome.caveats),
                "published": plain(
                    [
                        {name: line[name] for name in line if name != "paper_figure"}
                        for line in outcome.lines
                    ]
                ),
                "rows": plain(outcome.rows.to_dict("records")),
            }
            for outcome in found.outcomes
        ],
    }
