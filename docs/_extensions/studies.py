"""Small studies that the build runs: sentences, a table, pictures.

``{study} SYSTEM`` takes the options ``source`` (a named source of the system) or ``settings`` (of
its generator), ``seed``, ``draws`` (instances), ``runs``, ``policies`` and ``pictures``, lists
separated by blanks, ``comparison`` (a table over all instances instead of that of one), and
``silent`` (no sentences).
"""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from docutils.parsers.rst import directives
from kept import kept
from shown import paragraph, picture, table
from sphinx.util.docutils import SphinxDirective

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.application import Sphinx

    from edgeopt.studies import Study


class StudyDirective(SphinxDirective):
    """A study with its sentences, table and pictures."""

    required_arguments = 1
    option_spec: ClassVar[dict[str, Any]] = {
        "source": directives.unchanged_required,
        "settings": directives.unchanged_required,
        "seed": directives.nonnegative_int,
        "draws": directives.positive_int,
        "runs": directives.positive_int,
        "policies": directives.unchanged_required,
        "pictures": directives.unchanged,
        "comparison": directives.unchanged_required,
        "silent": directives.flag,
    }

    def run(self) -> list[nodes.Node]:
        [system] = self.arguments
        options = {name: value for name, value in self.options.items() if name != "silent"}
        made = kept(["study", system, options], lambda: compute(system, **options))
        result: list[nodes.Node] = []
        if "silent" not in self.options:
            result += [paragraph(one) for one in made["sentences"]]
        result.append(table(made["headings"], made["rows"], classes=["made"]))
        result.append(paragraph(made["caption"], classes=["made-caption"]))
        for one in made["pictures"]:
            result += picture(**one)
        return result


def compute(
    system: str,
    *,
    source: str | None = None,
    settings: str = "",
    seed: int = 0,
    draws: int = 1,
    runs: int | None = None,
    policies: str | None = None,
    pictures: str = "",
    comparison: str | None = None,
) -> dict[str, Any]:
    from edgeopt.studies import find_system, study
    from edgeopt.studies.pages.study import pictures_of
    from edgeopt.studies.pictures.canvas import inline_svg, svg
    from edgeopt.studies.pictures.figure import draw
    from edgeopt.studies.sentences import sentences

    record = find_system(system)
    given = dict(pair.split("=") for pair in settings.split())
    keywords = {name: value_of(text) for name, text in given.items()}
    make = record.instances.sources[source].make if source else record.instances.generate
    assert make is not None
    instances = {f"seed {one}": make(rng=one, **keywords) for one in range(seed, seed + draws)}
    chosen = None if policies is None else policies.split()
    ran = study(
        instances, chosen, system=replace(record, claims=None), runs=runs, rng=seed, progress=False
    )
    case = ran.cases[0]
    wanted = pictures.split()
    unknown = set(wanted) - {one.name for one in pictures_of(case)}
    if unknown:
        raise ValueError(f"{system} has no pictures {sorted(unknown)}")
    drawn = []
    for place, one in enumerate(one for one in pictures_of(case) if one.name in wanted):
        prefix = f"{system}{source or ''}{place}-"
        shown = inline_svg(svg(draw(one, case)), prefix=prefix, label=one.title(case))
        drawn.append({"svg": shown, "title": one.title(case), "caption": one.caption})
    headings, rows = compared(ran, comparison) if comparison else single(ran)
    sizes = ", ".join(f"{name} = {text}" for name, text in given.items())
    where = f"the source {source}" if source else "the generator"
    where += f" with {sizes}" if sizes else " with its defaults"
    seeds = f"seed {seed}" if draws == 1 else f"seeds {seed} to {seed + draws - 1}"
    label, bound = case.label, record.offline.bounds[record.offline.reference]
    caption = (
        f"{record.title}: {where}, {seeds}, {ran.settings.runs} runs per policy. "
        f"{beside_means(ran, comparison)} The reference bound is {label}, which bounds "
        f"{bound.scope}. Computed when this page was built."
    )
    return {
        "sentences": sentences(case if draws == 1 else ran),
        "headings": headings,
        "rows": rows,
        "caption": caption,
        "pictures": drawn,
    }


def value_of(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return text


def beside_means(ran: Study, comparison: str | None) -> str:
    """Say what the intervals of a table are over."""
    from edgeopt.studies.sentences import ends_heading
    from edgeopt.studies.wording import spreads_said

    if comparison:
        rows = ran.comparison(comparison).to_dict("records")
        return spreads_said(rows, ran.settings.confidence)
    return f"In brackets: {ends_heading(ran.cases[0])}, over the runs on this instance."


def single(ran: Study) -> tuple[list[str], list[list[str]]]:
    """The policies of one instance, as on the page of a study."""
    from edgeopt.studies.comparison import GAP
    from edgeopt.studies.wording import beside, gap_said, number, percent

    [case] = ran.cases
    system = ran.system
    headings = ["policy", GAP, system.objective.heading, system.objective.over(case.label)]
    constrained = system.constraint.count(case.instance)
    if constrained:
        headings.append(f"{system.constraint.name}s {system.constraint.verb[1]}, of {constrained}")
    headings += [metric.title for metric in system.reporting.metrics]
    rows = []
    for row in case.rows.values():
        error = f" ± {number(row['value_se'], 2)}" if row["spread"] == "interval" else ""
        ratio = system.objective.ratio(row["ratio"])
        ends = beside(row, "ratio", share=system.objective.sense == "max", digits=4)
        cells = [
            case.title(row),
            gap_said(row, ends=True),
            f"{number(row['value'])}{error}",
            f"{ratio} ({ends})" if ends else ratio,
        ]
        if constrained:
            cells.append(number(row["violated"], 3))
        for metric in system.reporting.metrics:
            value = row[metric.name]
            cells.append(percent(value) if metric.percent else number(value, 3))
        rows.append(cells)
    return headings, rows


def compared(ran: Study, name: str) -> tuple[list[str], list[list[str]]]:
    """A table over all instances of a study, as its page shows it."""
    from edgeopt.studies.wording import beside, number, percent

    [known] = [one for one in ran.system.reporting.comparisons if one.name == name]
    rows = []
    for row in ran.comparison(name).to_dict("records"):
        cells = [str(row["title"])]
        for column in known.columns:
            figure = row[column]
            if isinstance(figure, str):
                cells.append(figure)
                continue
            if figure is None or figure != figure:
                cells.append(known.absent.get(column, "\N{EN DASH}"))
                continue
            share = column in known.percent
            text = percent(figure) if share else number(figure, 3)
            more = beside(row, column, share=share)
            cells.append(f"{text} ({more})" if more else text)
        rows.append(cells)
    return ["policy", *known.columns.values()], rows


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("study", StudyDirective)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
