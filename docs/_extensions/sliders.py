"""``{sliders} SYSTEM``: what can be moved on the live page of a system."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shown import table
from sphinx.util.docutils import SphinxDirective

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.application import Sphinx


class Sliders(SphinxDirective):
    """Table of sliders with their ranges, from the record of the system."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        from edgeopt.explore.controls import sliders
        from edgeopt.studies import find_system
        from edgeopt.studies.live import live_of

        record = find_system(self.arguments[0])
        rows = [
            [one.title, f"{one.low:g} to {one.high:g}", f"{one.start:g}"]
            for one in sliders(record, live_of(record).source)
        ]
        return [table(["slider", "range", "at first"], rows, left=1, classes=["made"])]


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("sliders", Sliders)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
