"""``{solver_table}``: what each installed backend of `edgeopt.solvers` does, as measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from docutils import nodes
from kept import kept
from shown import paragraph, table
from sphinx.util.docutils import SphinxDirective

if TYPE_CHECKING:
    from sphinx.application import Sphinx

SHOWN = {"passed": "yes", "not offered": "-"}


class SolverTable(SphinxDirective):
    """Table of backends by feature, as `features` measures it."""

    def run(self) -> list[nodes.Node]:
        from edgeopt.solvers import backends

        installed = {
            one.name: f"{one.distribution} {one.version}" for one in backends(installed=True)
        }
        measured = kept(["solver table", installed], lambda: measure(list(installed)))
        columns = list(next(iter(measured.values())))
        rows = [
            [paragraph(nodes.literal("", name)), installed[name]]
            + [SHOWN.get(found[column], found[column]) for column in columns]
            for name, found in measured.items()
        ]
        absent = ", ".join(one.name for one in backends(installed=False))
        caption = "Measured when this page was built, on small problems with known answers."
        if absent:
            caption += f" Not installed where it was built: {absent}."
        made = table(["solver", "package", *columns], rows, left=2, classes=["made"])
        return [made, paragraph(caption, classes=["made-caption"])]


def measure(names: list[str]) -> dict[str, dict[str, str]]:
    from solver_features import features

    return {name: features(name) for name in names}


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("solver_table", SolverTable)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
