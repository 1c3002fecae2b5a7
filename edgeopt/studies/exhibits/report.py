"""Exhibits on paper: a page, and beside it their pictures and rows as files."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from edgeopt.studies.pages.rendering import render
from edgeopt.studies.pictures.canvas import entitle, in_style, inline_svg, standalone_svg
from edgeopt.studies.plain import plain
from edgeopt.studies.spreadsheet import csv_text
from edgeopt.studies.wording import interval, number, percent
from edgeopt.writing import Folder

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from matplotlib.figure import Figure

    from edgeopt.studies.exhibits.reproduce import Outcome, Reproduction

__all__ = ["figure", "in_words", "record", "write"]


def write(found: Reproduction, out: str | Path, *, force: bool = False) -> Path:
    """Write the page, and for every exhibit its picture, its rows and the printed lines."""
    folder = Folder(out, "reproduce", force=force)
    shown = []
    for outcome in found.outcomes:
        exhibit, notice = outcome.exhibit, outcome.notice
        drawing = figure(outcome)
        svg = inline_svg(drawing, prefix=f"{exhibit.name}-", label=notice)
        entitle(drawing, notice)
        folder.write(f"{exhibit.name}.svg", standalone_svg(drawing))
        folder.write(f"{exhibit.name}.csv", csv_text(outcome.rows))
        shown.append(
            {
                "exhibit": exhibit,
                "notice": notice,
                "svg": svg,
                "rows": outcome.rows.to_dict("records"),
                "cells": outcome.cells,
                "lines": [(line, *in_words(line)) for line in outcome.lines],
                "own_reasons": any(line["why"] for line in outcome.lines),
                "differs": [one for one in exhibit.differs if one not in found.shared],
            }
        )
    folder.write("printed.csv", csv_text(found.lines))
    document = json.dumps(record(found), indent=2, ensure_ascii=False, allow_nan=False)
    folder.write("reproduction.json", document + "\n")
    return folder.write("index.html", render("reproduction.html.j2", found=found, shown=shown))


def figure(outcome: Outcome) -> Figure:
    """Draw an exhibit in the common style, without title."""
    return in_style(lambda: outcome.exhibit.draw(outcome.rows))


def in_words(line: Mapping[str, Any]) -> tuple[str, str]:
    """Return the printed figure of a line and ours, with its interval, as people read them."""

    def said(value: Any) -> str:
        if isinstance(value, str):
            return value
        return percent(value) if line["percent"] else number(float(value), 4)

    ours = said(line["ours"])
    if not math.isnan(line["low"]):
        ours += f" ({interval(line['low'], line['high'], share=line['percent'], digits=3)})"
    return said(line["printed"]), ours


def record(found: Reproduction) -> dict[str, Any]:
    """Return everything that is printed, in what JSON knows."""
    return {
        "system": found.system.name,
        "version": found.version,
        "quick": found.quick,
        "exhibits": [
            {
                "kind": outcome.exhibit.kind,
                "number": outcome.exhibit.number,
                "title": outcome.exhibit.title,
                "cells": outcome.cells,
                "differs": list(outcome.exhibit.differs),
                "printed": plain(
                    [
                        {name: line[name] for name in line if name != "exhibit"}
                        for line in outcome.lines
                    ]
                ),
                "rows": plain(outcome.rows.to_dict("records")),
            }
            for outcome in found.outcomes
        ],
    }
