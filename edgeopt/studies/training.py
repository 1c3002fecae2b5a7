"""Training a learner from several seeds: its curve over gradient steps, beside others' figures."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.errors import OptionError
from edgeopt.options import check_choice, check_real, check_whole
from edgeopt.studies.comparison import mean_columns
from edgeopt.studies.drawing import Curve, Curves
from edgeopt.studies.files import csv_text, plain
from edgeopt.studies.learners import find_learner
from edgeopt.studies.pages.rendering import render
from edgeopt.studies.pictures.canvas import in_style, inline_svg, standalone_svg, styles, svg
from edgeopt.studies.pictures.figure import figure
from edgeopt.studies.wording import beside, duration, listed, number, plural, uncapitalised
from edgeopt.writing import Folder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pandas as pd

    from edgeopt.learning import Training
    from edgeopt.studies.learners import LearnerEntry
    from edgeopt.studies.system import System


@dataclass(frozen=True)
class Trainings:
    """Trainings of one learner from several seeds.

    Parameters
    ----------
    system, entry
        What was trained.
    by_seed
        What came out, by seed.
    references
        Figures of other policies and of bounds on the same validation seeds, by title.
    """

    system: System
    entry: LearnerEntry
    by_seed: Mapping[int, Training]
    references: Mapping[str, float]

    def curve(self) -> pd.DataFrame:
        """Return the figure with its interval or range, over the updates that all seeds did."""
        import pandas as pd

        tables = [
            {int(row["updates"] or 0): (row[one.figure], row["steps"]) for row in one.rows}
            for one in self.by_seed.values()
        ]
        shared = sorted(set.intersection(*(set(table) for table in tables)))
        rows = []
        for updates in shared:
            values, steps = np.array([table[updates] for table in tables], dtype=float).T
            columns = mean_columns("figure", values)
            counted = {"updates": updates, "steps": steps.mean(), "instances": len(values)}
            rows.append(counted | columns)
        return pd.DataFrame(rows)

    def sentence(self) -> str:
        """Say what the weights that are kept reach, in terms of the other policies and bounds."""
        values = np.array([one.best[one.figure] for one in self.by_seed.values()], dtype=float)
        kept = mean_columns("figure", values)
        spread = beside(kept, "figure", digits=4)
        after = sorted({one.checkpoint.kept or 0 for one in self.by_seed.values()})
        seconds = max(one.seconds for one in self.by_seed.values())
        seeds = len(self.by_seed)
        done = max(one.checkpoint.updates for one in self.by_seed.values())
        steps = max(int(one.rows[-1]["steps"] or 0) for one in self.by_seed.values())
        taken = "" if steps == done else f" ({plural(steps, 'gradient step')})"
        most, each = (
            ("at most ", f"for each of {seeds} seeds") if seeds > 1 else ("", "from 1 seed")
        )
        heading = uncapitalised(self.entry.heading)
        said = (
            f"After {plural(done, 'update')} and {most}{duration(seconds)} of processor "
            f"time {each}{taken}, {self.entry.title} has with the weights that are kept, those "
            f"after {listed([str(one) for one in after])}, on the validation seeds, which chose "
            "them: "
            f"{heading} {number(kept['figure'], 4)}" + (f" ({spread})" if spread else "")
        )
        others = [f"{title} {number(value, 4)}" for title, value in self.references.items()]
        stopped = [seed for seed, one in self.by_seed.items() if one.checkpoint.stopped]
        early = f" Seeds {listed([str(one) for one in stopped])} stopped early." if stopped else ""
        return said + (f"; {listed(others)}" if others else "") + "." + early


def trained(
    system: System,
    learner: str | None = None,
    *,
    seeds: Sequence[int] = (0, 1, 2),
    updates: int | None = None,
    minutes: float | None = None,
    out: str | Path,
    force: bool = False,
    options: Mapping[str, str] | None = None,
    report: Callable[[int, Mapping[str, float | None]], None] | None = None,
) -> Trainings:
    """Train a learner of a system from several seeds, one after the other, and write a page.

    A training that was interrupted goes on where it was, if it is started again with the same
    folder and settings.
    """
    from edgeopt.learning import train

    entry = find_learner(system, learner)
    chosen = dict(options or {})
    for name, value in chosen.items():
        if name not in entry.options:
            known = ", ".join(entry.options) or "none"
            raise OptionError(f"{system.name} {entry.name} takes no {name}; it takes: {known}")
        check_choice(name, value, entry.options[name])
    if not seeds or len(set(seeds)) < len(seeds):
        raise OptionError(f"--seeds {', '.join(map(str, seeds))}: name at least one, each once")
    for seed in seeds:
        check_whole("--seeds", seed, 0)
    check_real("--minutes", minutes, "(0, inf)", none=True)
    folder = Folder(out, "train", force=force)
    planned = entry.updates if updates is None else updates
    check_whole("--updates", planned, 1)
    found: dict[int, Training] = {}
    references: Mapping[str, float] = {}
    for seed in seeds:
        made = entry.make(seed=seed, updates=planned, **chosen)
        folder.begin()
        references = references or entry.references(made)
        found[seed] = train(
            made,
            Path(out) / f"seed-{seed}",
            updates=planned,
            every=min(entry.every, planned),
            minutes=minutes,
            report=None if report is None else partial(report, seed),
        )
    result = Trainings(system, entry, found, references)
    write(result, folder)
    return result


def write(result: Trainings, folder: Folder) -> None:
    """Write the page, the curve and its picture."""
    curve = result.curve()
    drawing = svg(in_style(lambda: figure(_drawn(result, curve))))
    sentence = result.sentence()
    shown = inline_svg(drawing, prefix="curve-", label=sentence)
    folder.write("curve.svg", standalone_svg(drawing, sentence))
    folder.write("curve.csv", csv_text(curve.drop(columns=["figure_each"], errors="ignore")))
    record = {
        "system": result.system.name, "learner": result.entry.name, "sentence": sentence,
        "references": dict(result.references), "curve": curve.to_dict("records"),
        "seeds": {
            str(seed): {
                "updates": one.checkpoint.updates, "planned": one.checkpoint.planned,
                "kept": one.checkpoint.kept, "seconds": one.seconds, "rows": list(one.rows),
            }
            for seed, one in result.by_seed.items()
        },
    }  # fmt: skip
    folder.write("training.json", json.dumps(plain(record), indent=2, allow_nan=False) + "\n")
    folder.write(
        "index.html", render("training.html.j2", found=result, sentence=sentence, svg=shown)
    )


def _drawn(result: Trainings, curve: pd.DataFrame) -> Curves:
    """Describe the band over the seeds, and a line for every other policy and bound."""
    title, x = result.entry.title, curve["steps"]
    style = styles([title, *result.references])
    low, high = curve["figure_low"], curve["figure_high"]
    return Curves(
        "gradient steps",
        uncapitalised(result.entry.heading),
        [
            Curve(title, x, curve["figure"], *style[title][:2], low=low, high=high),
            *(
                Curve(f"{name}, {number(value, 4)}", x, np.full(len(x), value), *style[name][:2])
                for name, value in result.references.items()
            ),
        ],
    )
