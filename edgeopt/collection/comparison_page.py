"""The folder of a comparison: tables as CSV, the profile as a picture, and one page."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.collection.comparison import of_solvers
from edgeopt.collection.submission import submissions
from edgeopt.studies.pages.rendering import render
from edgeopt.studies.pictures.canvas import (
    blank,
    in_style,
    inline_svg,
    standalone_svg,
    styles,
    svg,
)
from edgeopt.studies.wording import counted, number, plural
from edgeopt.writing import Folder

if TYPE_CHECKING:
    import os

    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from edgeopt.collection.comparison import Bench
    from edgeopt.studies.pictures.canvas import Style

_HEADINGS: Final = [
    "",
    "mean",
    "95 % interval",
    "place",
    "violated",
    "failures",
]
_DRAWN: Final = 8
"""Most policies of a system that are drawn."""


def write(found: Bench, out: str | os.PathLike[str], *, force: bool) -> Path:
    """Write all files of a comparison, and return the page."""
    import pandas as pd

    folder = Folder(out, "bench", force=force)
    folder.begin()
    folder.write("results.csv", found.results.to_csv(index=False))
    gaps = {name: found.gaps(name) for name in found.groups}
    folder.write("gaps.csv", pd.concat(gaps, names=["group", "competitor"]).to_csv())
    drawing = svg(figure(found))
    folder.write("profile.svg", standalone_svg(drawing, _heading(found)))
    if not found.folder:
        kept = Folder(folder.path / "submissions", "bench", force=force)
        kept.begin()
        for competitor, submitted in submissions(found).items():
            content = json.dumps(submitted, indent=1, allow_nan=False)
            kept.write(f"{re.sub('[^A-Za-z0-9+._-]', '_', competitor)}.json", content)
    return folder.write("index.html", _page(found, drawing))


def figure(found: Bench) -> Figure:
    """Draw the profile of solvers, and the share of instances within a gap of policies."""
    return in_style(lambda: _figure(found))


def _figure(found: Bench) -> Figure:
    groups = _drawn(found)
    drawn = blank(height=3.4 * max(len(groups), 1))
    every = np.atleast_1d(drawn.subplots(len(groups))) if groups else ()
    for axes, name in zip(every, groups, strict=True):
        if of_solvers(name):
            _profile(axes, found, name)
        else:
            _within(axes, found, name)
        axes.set_ylim(0.0, 1.03)
        axes.set_ylabel("share of instances")
        axes.legend(loc="lower right")
    return drawn


def _drawn(found: Bench) -> list[str]:
    """Return the groups that a picture says something of: one solver alone is always the best."""
    return [
        name
        for name in found.groups
        if not of_solvers(name) or len(found.group(name).competitors) > 1
    ]


def _profile(axes: Axes, found: Bench, group: str) -> None:
    profiles = found.profile(_gap(found, group))
    most = max(float(one.factor[-1]) for one in profiles.values())
    for (name, one), style in zip(profiles.items(), styles(profiles).values(), strict=True):
        factor = np.append(one.factor, most * 1.2)
        share = np.append(one.share, one.share[-1])
        label = f"{name} (ends at {one.solved:.0%})"
        _step(axes, np.log2(factor), share, style, label)
    axes.set_xlabel("log2 of the time in terms of the best")
    axes.set_title(_title(found, group), loc="left")


def _step(axes: Axes, x: Any, y: Any, style: Style, label: str) -> None:
    axes.step(x, y, where="post", color=style.colour, linestyle=style.dashes, label=label)


def _gap(found: Bench, group: str) -> float:
    return next(gap for gap in found.targets if found.solvers(gap) == group)


def _title(found: Bench, group: str) -> str:
    if of_solvers(group):
        return f"Solvers: processor seconds to a proven gap of {_gap(found, group):g}"
    return f"Policies of {group}: gap to the bound"


def _within(axes: Axes, found: Bench, name: str) -> None:
    group = found.group(name)
    most = max(1.0, float(group.gap[np.isfinite(group.gap)].max(initial=0.0)))
    for competitor, style in styles(found.ranking(name).index[:_DRAWN]).items():
        row = np.maximum(group.gap[group.competitors.index(competitor)], 0.0)
        order = np.argsort(row)
        order = order[np.isfinite(row[order])]
        gaps = np.append(np.append(min(0.0, *row[order], 0.0), row[order]), most)
        share = np.append(0.0, np.cumsum(group.weight[order]))
        _step(axes, gaps, np.append(share, share[-1]), style, competitor)
    axes.set_xlim(float(group.gap[np.isfinite(group.gap)].min(initial=0.0)), most)
    axes.set_xlabel("gap of the mean to the proven bound")
    axes.set_title(f"Policies of {name}", loc="left")


def _page(found: Bench, drawing: str) -> str:
    """Write the page: a sentence per group, the picture, tables, notes."""
    groups: list[dict[str, Any]] = [
        {
            "title": _title(found, name),
            "sentence": sentence(found, name),
            "tables": [
                _ranking(found, name),
                _framed(
                    "Share of instances on which a row beats a column", found.wins(name), ".0%"
                ),
                _framed("Gaps to bound", found.gaps(name), ".4g"),
            ],
        }
        for name in found.groups
    ]
    failed = found.results[found.results["failed"] != ""]
    if len(failed):
        rows = failed[["instance", "competitor", "failed"]].astype(str).to_numpy().tolist()
        table = {"title": "Why", "columns": ["instance", "competitor", "why"], "rows": rows}
        said = f"{plural(len(failed), 'result')} failed."
        groups.append({"title": "Failures", "sentence": said, "tables": [table]})
    label = " ".join(group["sentence"] for group in groups)
    shown = inline_svg(drawing, prefix="profile-", label=label) if _drawn(found) else ""
    kinds = {of_solvers(name) for name in _drawn(found)}
    caption = " ".join(said for solvers, said in _CAPTIONS.items() if solvers in kinds)
    return render(
        "bench.html.j2",
        heading=_heading(found),
        groups=groups,
        svg=shown,
        caption=caption,
        files=bool(found.folder),
    )


_CAPTIONS: Final = {
    True: "Solvers: share of instances proven within a multiple of the time of the fastest.",
    False: "Policies: share of instances on which the gap to the bound is at most so large.",
}


def _heading(found: Bench) -> str:
    count = found.results["instance"].nunique()
    if found.folder:
        return f"Comparison on {plural(count, 'program')} of {Path(found.folder).resolve().name}"
    return f"Comparison on {plural(count, 'named instance')}"


def sentence(found: Bench, name: str) -> str:
    """Say who is first in a group, and whether alone; who violates nothing goes before others."""
    ranking, count = found.ranking(name), plural(len(found.group(name).instances), "instance")
    first = ranking.iloc[0]
    mean = number(first["mean"])
    value = f"time of {mean} s" if of_solvers(name) else f"mean gap to bound of {mean}"
    alone = "" if str(first["place"]) == "1" else f"; place {first['place']} of {len(ranking)}"
    if found.folder:
        others = found.results["instance"].nunique() - len(found.group(name).instances)
        programs = plural(len(found.group(name).instances), "program")
        left_out = f" ({plural(others, 'other')} not taken by all)" if others else ""
        count = f"{programs}{left_out}"
    return f"{name}, {count}: {ranking.index[0]} comes first, with a {value}{alone}."


def _ranking(found: Bench, name: str) -> dict[str, Any]:
    rows = []
    for competitor, row in found.ranking(name).iterrows():
        rows.append([
            str(competitor), f"{row['mean']:.4g}", ends_said(row), str(row["place"]),
            counted(row["violated"]), str(row["failures"]),
        ])  # fmt: skip
    shift = f"shifted by {found.shift:g} s, failures at {found.time_limit:g} s"
    said = (
        f"Geometric mean of seconds, {shift}"
        if of_solvers(name)
        else "Mean gap, failures at the largest of the instance, at least 1"
    )
    return {"title": said, "columns": _HEADINGS, "rows": rows}


def ends_said(row: Any) -> str:
    """Write the ends of a mean over instances: ``0.1 to 0.2``, ``range 0.1 to 0.3``."""
    if not np.isfinite(row["low"]):
        return "" if row["spread"] == "one" else str(row["spread"])
    said = f"{row['low']:.4g} to {row['high']:.4g}"
    return f"range {said}" if row["spread"] == "range" else said


def _framed(said: str, table: pd.DataFrame, form: str) -> dict[str, Any]:
    rows = [
        [str(name), *(format(value, form) for value in row)] for name, *row in table.itertuples()
    ]
    return {"title": said, "columns": ["", *map(str, table.columns)], "rows": rows}
