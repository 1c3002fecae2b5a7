"""Figure 6: six clusters under fewer and fewer arrivals."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from edgeopt.studies.exhibits import Exhibit, Printed, found
from edgeopt.studies.pictures.canvas import BAND, INK, PAPER, blank, colours
from edgeopt.studies.tapfinger.exhibits.completion import COLUMNS, RUNS_SAID
from edgeopt.studies.tapfinger.exhibits.lived import unfolded
from edgeopt.studies.tapfinger.exhibits.recorded import RECORDED
from edgeopt.studies.tapfinger.exhibits.synthetic import OPEN, SIX
from edgeopt.studies.wording import number

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from edgeopt.studies.exhibits import Estimate
    from edgeopt.studies.sweeps import Cell

__all__ = ["RATES"]

_SETTINGS: Final = {
    rate: replace(SIX, recorded=name, options={**SIX.options, "rate": float(rate)})
    for rate, name in {2: "six, rate 2", 3: "six, rate 3", 4: "six"}.items()
}
_DRAWN: Final = {"waiting": "mean tasks in the system", "mean": "mean completion time (slots)"}


def _cells(quick: bool) -> list[Cell]:
    return [cell for rate, one in _SETTINGS.items() for cell in one.cells(quick, rate=rate)]


def _at(rows: pd.DataFrame, rate: int, policy: str, part: str) -> Estimate:
    return found("value", rate=rate, policy=policy, part=part)(rows)


def _draw(rows: pd.DataFrame) -> Figure:
    from matplotlib.lines import Line2D

    figure = blank(height=4.2)
    shades = colours(SIX.policies)
    rates = list(_SETTINGS)
    hollow: dict[str, Any] = {
        "markersize": 5.5,
        "linestyle": "none",
        "markerfacecolor": PAPER,
        "zorder": 4,
    }
    for axes, (part, label) in zip(figure.subplots(1, 2), _DRAWN.items(), strict=True):
        for name, shade in shades.items():
            mean, low, high = zip(*(_at(rows, rate, name, part) for rate in rates), strict=True)
            axes.plot(rates, mean, "o-", markersize=4, color=shade)
            axes.fill_between(rates, low, high, color=shade, alpha=BAND, linewidth=0)
            if name in SIX.baselines:
                theirs = SIX.baselines[name]
                recorded = [getattr(RECORDED[_SETTINGS[r].recorded][theirs], part) for r in rates]
                axes.plot(rates, recorded, marker="o", color=shade, **hollow)
        learner = [getattr(RECORDED[_SETTINGS[r].recorded]["tapfinger"], part) for r in rates]
        axes.plot(rates, learner, marker="D", color=INK, **hollow)
        axes.set_xticks(rates)
        axes.set_ylim(bottom=0)
        axes.set_xlabel("arrivals per slot")
        axes.set_ylabel(label)
    handles = [Line2D([], [], color=shade, label=SIX.policies[n]) for n, shade in shades.items()]
    for mark, what in (("o", "recorded"), ("D", "TapFinger, recorded")):
        handles.append(Line2D([], [], marker=mark, color=INK, label=what, **hollow))
    figure.legend(handles=handles, loc="outside lower center", ncols=3)
    return figure


def _notice(rows: pd.DataFrame) -> str:
    said = []
    for rate in (4, 2):
        waiting = {name: _at(rows, rate, name, "waiting").value for name in SIX.policies}
        best, worst = (choose(waiting, key=lambda name: waiting[name]) for choose in (min, max))
        said.append(
            f"at {rate} arrivals per slot between {number(waiting[best], 3)} tasks "
            f"({SIX.policies[best]}) and {number(waiting[worst], 3)} ({SIX.policies[worst]})"
        )
    return f"In the system are {' and '.join(said)} on average"


def _lighter(rows: pd.DataFrame, *, policy: str) -> str:
    """Tell how a policy does under a light load, against Random, which never preempts."""
    heavy, light = (_at(rows, rate, policy, "mean").value for rate in (4, 2))
    chance = _at(rows, 2, "random", "mean").value
    side = "more" if light > chance else "no more"
    return (
        f"{number(heavy, 3)} slots at rate 4, {number(light, 3)} at rate 2, {side} than Random's "
        f"{number(chance, 3)}"
    )


RATES = Exhibit(
    kind="figure",
    number="6",
    title="six clusters under different arrival rates",
    cells=_cells,
    rows=partial(unfolded, by=["rate"]),
    columns={"rate": "Arrivals per slot", **COLUMNS},
    draw=_draw,
    notice=_notice,
    printed=[
        *(
            Printed(
                what=f"{title} in lighter workloads",
                value="degrades: preemptions cost progress",
                ours=partial(_lighter, policy=policy),
            )
            for policy, title in (("optimus+swapped", "Optimus"), ("tiresias", "Tiresias"))
        ),
        *(
            line
            for rate, setting in _SETTINGS.items()
            for line in setting.lines(("mean", "waiting"), f", rate {rate}", rate=rate)
        ),
    ],
    differs=[
        RUNS_SAID,
        *OPEN,
        f"In full size means over {SIX.draws} draws of tasks, {SIX.runs} runs of each.",
    ],
    caption="Mean over draws with interval; hollow marks: recorded by the authors, at full size.",
)
