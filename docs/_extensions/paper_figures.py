"""``{paper_figure} SYSTEM figure N ...``: figures computed at quick size, and published values.

Figures that are named together share the jobs that they have in common.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from docutils import nodes
from kept import kept
from shown import paragraph, picture, table
from sphinx.util.docutils import SphinxDirective

if TYPE_CHECKING:
    from edgeopt_papers.figures.reproduce import Outcome
    from sphinx.application import Sphinx


class FigureDirective(SphinxDirective):
    """Figures or tables of a paper's evaluation, computed by the build at quick size."""

    required_arguments = 3
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        system, kind, numbers = self.arguments
        known = ["paper_figure", system, kind, numbers]
        found = kept(known, lambda: compute(system, kind, numbers.split()))
        return [part for made in found for part in self.shown(made)]

    def shown(self, made: dict[str, Any]) -> list[nodes.Node]:
        result: list[nodes.Node] = [paragraph(nodes.strong(made["heading"], made["heading"]))]
        if made["lines"]:
            result.append(table(made["headings"], made["lines"], left=1, classes=["made"]))
        caveats = nodes.bullet_list()
        for sentence in made["caveats"]:
            caveats += nodes.list_item("", paragraph(sentence))
        if made["caveats"]:
            result += [paragraph("Caveats:"), caveats]
        return [*result, *picture(made["svg"], made["takeaway"], made["caption"])]


def compute(system: str, kind: str, numbers: list[str]) -> list[dict[str, Any]]:
    from edgeopt_papers.figures import reproduce

    chosen: dict[str, Any] = {kind: numbers}
    found = reproduce(system, **chosen, quick=True, progress=False).outcomes
    by_number = {n: one for n in numbers for one in found if one.paper_figure.is_called(kind, n)}
    return [content(system, kind, n, one) for n, one in by_number.items()]


def content(system: str, kind: str, number: str, outcome: Outcome) -> dict[str, Any]:
    from edgeopt_papers.figures.report import figure, in_words

    from edgeopt.studies.pictures.canvas import inline_svg, svg

    paper_figure, takeaway = outcome.paper_figure, outcome.paper_figure.takeaway(outcome.rows)
    lines = outcome.lines
    more = [name for name in ("setting", "verdict", "why") if any(line[name] for line in lines)]
    return {
        "heading": f"{paper_figure.heading}: {paper_figure.title}.",
        "headings": ["what", "published", "computed", *more],
        "lines": [
            [line["what"], *in_words(line), *(line[name] for name in more)] for line in lines
        ],
        "caveats": list(outcome.caveats),
        "takeaway": takeaway,
        "svg": inline_svg(
            svg(figure(outcome)), prefix=f"{system}-{paper_figure.name}-", label=takeaway
        ),
        "caption": (
            f"{outcome.caption} Computed from {outcome.jobs} small jobs when this page was "
            f"built; edgeopt reproduce {system} --{kind} {number} uses the paper's sizes."
        ).strip(),
    }


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("paper_figure", FigureDirective)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
