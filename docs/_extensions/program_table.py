"""``{program_table}``: what solvers make of public programs, as `make programs` has stored it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from kept import HERE
from shown import paragraph, sentence, table
from sphinx.util.docutils import SphinxDirective

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.application import Sphinx

FOLDER = HERE.parent / "_static" / "programs"


class ProgramTable(SphinxDirective):
    """Numbers of programs by set, solver and verdict, with processor seconds."""

    def run(self) -> list[nodes.Node]:
        found: list[nodes.Node] = []
        reports = {path: json.loads(path.read_text()) for path in sorted(FOLDER.glob("*.json"))}
        # What has less time for the same programs comes after them.
        for path, report in sorted(reports.items(), key=lambda item: -item[1]["time_limit"]):
            self.env.note_dependency(str(path))
            rows = [[str(value) for value in row.values()] for row in report["table"]]
            found.append(table(list(report["table"][0]), rows, left=2, classes=["made"]))
            versions = ", ".join(f"{name} {said}" for name, said in report["versions"].items())
            caption = (
                f"Up to {report['time_limit']:g} s for each program; edgeopt {report['edgeopt']}, "
                f"{versions}. Every program: `docs/_static/programs/{path.name}`."
            )
            found.append(paragraph(sentence(caption), classes=["made-caption"]))
        return found


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("program_table", ProgramTable)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
