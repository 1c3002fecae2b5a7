"""Small studies, and figures of papers at quick size: sentences, tables and pictures.

``study SYSTEM`` takes the options ``source`` (a named source of the system) or ``settings`` (of
its generator), ``seed``, ``draws`` (instances), ``runs``, ``policies`` and ``pictures``, lists
separated by blanks, ``comparison`` (a table over all instances instead of that of one), and the
word ``silent`` (no sentences). ``figure SYSTEM figure N ...`` computes figures together that share
jobs.
jobs.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fill.markdown import Asked, caption, picture, plain, table

if TYPE_CHECKING:
    from edgeopt.studies import Study


def study(asked: Asked) -> str:
    """A study with its sentences, table and pictures."""
    [system, *silent] = asked.words
    return _study(asked, system, not silent, **asked.options)


def _study(
    asked: Asked,
    system: str,
    spoken: bool,
    *,
    source: str | None = None,
    settings: str = "",
    seed: str = "0",
    draws: str = "1",
    runs: str | None = None,
    policies: str | None = None,
    pictures: str = "",
    comparison: str | None = None,
) -> str:
    from edgeopt.studies import find_system
    from edgeopt.studies import study as compare
    from edgeopt.studies.pages.study import pictures_of
    from edgeopt.studies.pictures.canvas import standalone_svg, svg
    from edgeopt.studies.pictures.figure import draw
    from edgeopt.studies.sentences import sentences

    record = find_system(system)
    given = dict(pair.split("=") for pair in settings.split())
    keywords = {name: value_of(text) for name, text in given.items()}
    make = record.instances.sources[source].make if source else record.instances.generate
    assert make is not None
    first, many = int(seed), int(draws)
    instances = {f"seed {one}": make(rng=one, **keywords) for one in range(first, first + many)}
    ran = compare(
        instances,
        None if policies is None else policies.split(),
        system=replace(record, claims=None),
        runs=None if runs is None else int(runs),
        rng=first,
        progress=False,
    )
    case = ran.cases[0]
    wanted = pictures.split()
    unknown = set(wanted) - {one.name for one in pictures_of(case)}
    if unknown:
        raise ValueError(f"{system} has no pictures {sorted(unknown)}")
    headings, rows = compared(ran, comparison) if comparison else single(ran)
    sizes = ", ".join(f"{name} = {text}" for name, text in given.items())
    where = f"the source {source}" if source else "the generator"
    where += f" with {sizes}" if sizes else " with its defaults"
    seeds = f"seed {first}" if many == 1 else f"seeds {first} to {first + many - 1}"
    label, bound = case.label, record.offline.bounds[record.offline.reference]
    below = (
        f"{record.title}: {where}, {seeds}, {ran.settings.runs} runs per policy. "
        f"{beside_means(ran, comparison)} The reference bound is {label}, which bounds "
        f"{bound.scope}."
    )
    parts = [plain(one) for one in sentences(case if many == 1 else ran)] if spoken else []
    cells = [[plain(one) for one in row] for row in rows]
    parts += [table(headings, cells), caption(below)]
    for one in (one for one in pictures_of(case) if one.name in wanted):
        drawn, title = svg(draw(one, case)), one.title(case)
        name = "-".join(part for part in (system, source, one.name) if part)
        parts.append(picture(standalone_svg(drawn, title), name, title, keep=asked.keep))
        if one.caption:
            parts.append(caption(one.caption))
    return "\n\n".join(parts)


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
    from edgeopt.studies.wording import gap_said, number, percent, violated_said

    [case] = ran.cases
    system = ran.system
    headings = ["policy", GAP, system.objective.heading]
    constrained = system.constraint.count(case.instance)
    if constrained:
        headings.append(f"{system.constraint.name}s {system.constraint.verb[1]}")
    headings += [metric.title for metric in system.reporting.metrics]
    rows = []
    for row in case.rows.values():
        error = f" ± {number(row['value_se'], 2)}" if row["spread"] == "interval" else ""
        cells = [
            case.title(row),
            gap_said(row, ends=True),
            f"{number(row['value'])}{error}",
        ]
        if constrained:
            cells.append(violated_said(row["violated"], constrained))
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


def figure(asked: Asked) -> str:
    """Figures or tables of a paper's evaluation at quick size, beside the published values."""
    from edgeopt_papers.figures import reproduce

    system, kind, *numbers = asked.arguments
    chosen: dict[str, Any] = {kind: numbers}
    found = reproduce(system, **chosen, quick=True, progress=False).outcomes
    by_number = {n: one for n in numbers for one in found if one.paper_figure.is_called(kind, n)}
    parts = [_outcome(asked, system, kind, number, one) for number, one in by_number.items()]
    return "\n\n".join(parts)


def _outcome(asked: Asked, system: str, kind: str, number: str, outcome: Any) -> str:
    from edgeopt_papers.figures.report import figure, in_words

    from edgeopt.studies.pictures.canvas import standalone_svg, svg

    paper_figure, takeaway = outcome.paper_figure, outcome.paper_figure.takeaway(outcome.rows)
    lines = outcome.lines
    more = [name for name in ("setting", "verdict", "why") if any(line[name] for line in lines)]
    rows = [[line["what"], *in_words(line), *(line[name] for name in more)] for line in lines]
    for row, line, before in zip(rows[1:], lines[1:], lines, strict=False):
        if more[-1:] == ["why"] and line["why"] == before["why"]:
            row[-1] = ""
    parts = [f"**{plain(f'{paper_figure.heading}: {paper_figure.title}.')}**"]
    if rows:
        cells = [[plain(str(one)) for one in row] for row in rows]
        parts.append(table(["what", "published", "computed", *more], cells, left=9))
    if outcome.caveats:
        parts.append("\n".join(["Caveats:", "", *(f"- {plain(one)}" for one in outcome.caveats)]))
    drawn = standalone_svg(svg(figure(outcome)), takeaway)
    below = (
        f"{outcome.caption} Computed from {outcome.jobs} small jobs; "
        f"edgeopt reproduce {system} --{kind} {number} uses the paper's sizes."
    ).strip()
    name = f"{system}-{paper_figure.name}"
    return "\n\n".join([*parts, picture(drawn, name, takeaway, keep=asked.keep), caption(below)])
