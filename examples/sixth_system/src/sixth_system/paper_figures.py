"""Figure 1: the cost of each policy as bursts grow."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from edgeopt_papers.figures import InstanceSpec, PaperFigure, Published, means, said, swept
from edgeopt_papers.figures.aggregates import overall
from edgeopt_papers.figures.drawing import curves

from sixth_system.instance import generate

if TYPE_CHECKING:
    from edgeopt.studies.sweeps import Job

TITLES = {"balance": "Balance", "random": "Random balance", "timer": "Timer", "alone": "At once"}


def _jobs(quick: bool) -> list[Job]:
    def spec(seed: int, burst: int) -> InstanceSpec:
        return InstanceSpec.of(generate, burst=burst, slots=60 if quick else 300, rng=seed)

    over = {"burst": (1, 20) if quick else (1, 2, 5, 10, 20, 40)}
    return swept("sixth", spec, TITLES, over, range(4 if quick else 10), runs=10)


WORST = overall("max", "ratio", policy="balance")

FIGURE_1 = PaperFigure(
    number="1",
    title="cost in terms of the optimum over the size of bursts",
    jobs=_jobs,
    rows=partial(means, metrics=("ratio",), by=("burst", "policy")),
    columns={"burst": "Burst", "policy": "Policy", "ratio": "Cost / OPT"},
    draw=partial(
        curves, x="burst", metrics={"ratio": "cost / optimal cost"},
        xlabel="requests per burst", titles=TITLES,
    ),
    takeaway=said(
        "Balance costs at most {worst:4} times the optimum on average, Timer up to {timer:4} times",
        worst=WORST,
        timer=overall("max", "ratio", policy="timer"),
    ),
    published=[Published("Balance, worst mean ratio", "at most 2", WORST,
                         rule=lambda rows: WORST(rows) <= 2)],
    caveats=["The ratio 2 is proven for the worst day; the days here are drawn."],
    caption="Means over drawn days; bands are 95 % intervals.",
)  # fmt: skip

PAPER_FIGURES = (FIGURE_1,)
