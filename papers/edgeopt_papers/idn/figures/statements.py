"""Table S1: which statements about Figures 5 to 10 hold under which interpretation of the text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.studies.comparison import mean_columns
from edgeopt.studies.pictures.canvas import blank
from edgeopt.studies.wording import beside, listed, plural
from edgeopt_papers.figures import PaperFigure
from edgeopt_papers.figures.drawing import rows_of_bars
from edgeopt_papers.idn.figures.gains import EVALUATIONS
from edgeopt_papers.idn.figures.hosts import FIGURE_5
from edgeopt_papers.idn.figures.setting import ATTACHMENTS, OPEN, WEAKER, pairs, verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd
    from matplotlib.figure import Figure

    from edgeopt.studies.sweeps import Job
    from edgeopt_papers.idn.figures.setting import Check, Evaluation, Statement

_EVALUATIONS: Final = (FIGURE_5, *EVALUATIONS)

_STRONG: Final = "strong"

_INTERPRETATIONS: Final = {**ATTACHMENTS, _STRONG: "two common stations, stronger baselines"}


def _attachments(evaluation: Evaluation) -> Sequence[str]:
    """Return the interpretations in which the network of a figure differs."""
    return list(ATTACHMENTS) if evaluation.topology == 1 else ["common"]


def _jobs(quick: bool) -> list[Job]:
    return [
        job
        for one in _EVALUATIONS
        for attachment in _attachments(one)
        for job in one.jobs(quick, attachment)
    ]


def _under(own: pd.DataFrame, evaluation: Evaluation, interpretation: str) -> pd.DataFrame:
    """Return the jobs of a figure in an interpretation, baselines of statements named alike."""
    attachment = interpretation if interpretation in _attachments(evaluation) else "common"
    own = own[own["attachment"] == attachment]
    if interpretation == _STRONG:
        own = own[~own["policy"].isin(WEAKER.values())]
        own = own.assign(policy=own["policy"].replace(WEAKER))
    return own.dropna(axis="columns", how="all")


def checked(table: pd.DataFrame, evaluations: Sequence[Evaluation] = _EVALUATIONS) -> pd.DataFrame:
    """Check every statement on every draw, one row per statement."""
    import pandas as pd

    rows = []
    for evaluation in evaluations:
        figure = evaluation.paper_figure
        own = table[table["figure"] == figure.number]
        drawn = {
            interpretation: {
                draw: figure.rows(under[under["draw"] == draw]) for draw in under["draw"].unique()
            }
            for interpretation in _INTERPRETATIONS
            for under in [_under(own, evaluation, interpretation)]
        }
        for statement in evaluation.statements:
            row: dict[str, Any] = {
                "figure": statement.place,
                "instances": max(len(draws) for draws in drawn.values()),
                "what": statement.what,
                "printed": statement.printed
                if isinstance(statement.printed, str)
                else statement.amount(statement.printed),
                "met": statement.met,
            }
            for interpretation, draws in drawn.items():
                checks = {draw: statement.check(part) for draw, part in draws.items()}
                row |= _summary(interpretation, statement, list(checks.values()))
                if interpretation == "common" and evaluation.topology == 1:
                    row["stations"] = _by_stations(statement, checks)
            rows.append(row)
    return pd.DataFrame(rows).fillna({"stations": ""})


def _summary(interpretation: str, statement: Statement, checks: Sequence[Check]) -> dict[str, Any]:
    """Return the verdict in words, the share of the cases, and the number with its interval."""
    held, of = (sum(getattr(check, name) for check in checks) for name in ("held", "of"))
    # A lead can be negative; counts, times and sizes are not.
    name, lead = f"{interpretation}_value", statement.unit == "%"
    found = mean_columns(name, np.array([check.value for check in checks]))
    words = verdict(held, of)
    if np.isfinite(found[name]):
        words += f"; {statement.amount(found[name])}"
    if more := beside(found, name, share=lead):
        words += f" ({more})"
    return {interpretation: words, f"{interpretation}_held": held / of, **found}


def _by_stations(statement: Statement, checks: Mapping[int, Check]) -> str:
    """Write the number of a statement for each kind of pair of stations."""
    kinds: dict[str, list[float]] = {}
    for draw, kind in pairs().items():
        if draw in checks:
            kinds.setdefault(kind, []).append(checks[draw].value)
    means = {kind: float(np.mean(values)) for kind, values in kinds.items()}
    if not np.isfinite(list(means.values())).all():
        return ""
    return ", ".join(f"{kind} {statement.amount(value)}" for kind, value in means.items())


def _met(rows: pd.DataFrame, interpretation: str) -> int:
    return int((rows[f"{interpretation}_held"] == 1.0).sum())


def _both(rows: pd.DataFrame) -> list[str]:
    """Return the interpretations under which all statements about Figures 5 and 9 hold."""
    needed = rows[rows["figure"].str.startswith(("5", "9"))]
    return [
        title for name, title in _INTERPRETATIONS.items() if (needed[f"{name}_held"] == 1.0).all()
    ]


def _takeaway(rows: pd.DataFrame) -> str:
    counts = [f"{_met(rows, name)} ({title})" for name, title in _INTERPRETATIONS.items()]
    fitting = _both(rows)
    those = f"under {listed(fitting)}" if fitting else "under no interpretation"
    return (
        f"Of {plural(len(rows), 'statement')} hold on all draws: {listed(counts)}; those about "
        f"Figures 5 and 9 hold together {those}"
    )


def _draw(rows: pd.DataFrame) -> Figure:
    """Draw a table of interpretations, shaded by how often each statement holds."""
    from textwrap import fill

    from matplotlib.colors import LinearSegmentedColormap

    figure = blank(height=0.9 + 0.22 * len(rows))
    axes = figure.subplots()
    shades = LinearSegmentedColormap.from_list("held", ["#f0c4a8", "#ffffff", "#8fcfc0"])
    held = rows[[f"{name}_held" for name in _INTERPRETATIONS]].to_numpy(dtype=float)
    axes.imshow(held, cmap=shades, vmin=0.0, vmax=1.0, aspect="auto")
    for place, row in enumerate(rows.to_dict("records")):
        for column, name in enumerate(_INTERPRETATIONS):
            words, _, value = row[name].split(" (")[0].partition("; ")
            axes.text(column, place, value or words, ha="center", va="center", fontsize=8)
    axes.set_xticks(
        range(len(_INTERPRETATIONS)), [fill(one, 14) for one in _INTERPRETATIONS.values()]
    )
    axes.xaxis.tick_top()
    rows_of_bars(axes, [f"{row['figure']}  {row['what']}" for row in rows.to_dict("records")])
    axes.tick_params(length=0, labelsize=8)
    axes.grid(visible=False)
    return figure


TABLE_S1: Final = PaperFigure(
    kind="table",
    number="S1",
    title="statements of the paper about Figures 5 to 10, under each interpretation of its text",
    jobs=_jobs,
    rows=checked,
    columns={
        "figure": "Figure", "what": "What", "printed": "Printed", "met": "Counts as met",
        **{name: title.capitalize() for name, title in _INTERPRETATIONS.items()},
        "stations": "Two common stations, by kind",
    },
    draw=_draw,
    takeaway=_takeaway,
    caveats=OPEN,
    caption="Green where a statement holds on every draw, red where on none, paler where on some. "
    "The number is over draws: what the statement is about, or the least lead over several "
    "values of alpha. The table has the share of draws, steps or values of alpha on which it "
    "holds. Baselines are OLAG as printed and static greedy for the mean demand "
    "until all is served; in the last column they are OLAG "
    "of requests seen, and static greedy for every slot.",
)  # fmt: skip
