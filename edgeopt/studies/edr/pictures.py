"""Pictures of EDR, and what its live page shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.errors import CertificateError
from edgeopt.solvers.tolerance import relative_gap
from edgeopt.studies.drawing import Bar, Bars, Lanes, Line, Span, shown_of
from edgeopt.studies.edr.tables import capped, cost_parts, simulated
from edgeopt.studies.entries import Picture
from edgeopt.studies.live import Live, Slider
from edgeopt.studies.pictures.canvas import INK, MUTED, colours, lead
from edgeopt.studies.wording import distinct, number, percent, plural

if TYPE_CHECKING:
    from collections.abc import Callable

    from edgeopt.instances.edr import EdrInstance
    from edgeopt.solvers import Certificate
    from edgeopt.studies.results import Case


_COST_COLOURS: Final = colours(
    [
        "inference energy",
        "training energy",
        "inference delay",
        "training exchange",
        "late training",
        "unserved requests",
    ]
)


_ROWS: Final = 8
"""Most policies in a picture."""


def _parts(case: Case) -> dict[str, dict[str, float]]:
    """Mean over the runs of every part, by policy."""
    return {
        name: {
            part: float(runs.mean()) for part, runs in cost_parts(case.instance, trajectory).items()
        }
        for name, trajectory in simulated(case).items()
    }


def _cost_title(case: Case) -> str:
    name = lead(case)
    parts = _parts(case)
    total, title = sum(parts[name].values()), case.entries[name].title
    if not total > 0:
        return f"{title} has a cost of {number(total)}, which is none"
    energy = parts[name]["inference energy"] + parts[name]["training energy"]
    delay = parts[name]["inference delay"] + parts[name]["training exchange"]
    return (
        f"Of the cost of {title}, {percent(energy / total, 0)} is for energy and "
        f"{percent(delay / total, 0)} for delay"
    )


def _cost(case: Case) -> Bars:
    parts = _parts(case)
    rows = [Bar(case.entries[name].title, parts[name]) for name in case.order[:_ROWS]]
    bound = Line(case.label, case.benchmark.bound)
    return Bars(rows, _COST_COLOURS, [bound], f"mean {case.objective.name} of a run (points)")


COST = Picture(
    "cost",
    _cost_title,
    _cost,
    "Mean over the runs. The energy of exchanging models is training energy, the time of it "
    "training exchange. Late training and unserved requests are penalties, which cost more than "
    "the work; at a negative price energy is left of zero. Energy above a cap has no price. The "
    "line bounds the cost of policies that keep the caps.",
)


def _energy_title(case: Case) -> str:
    instance = case.instance
    name = lead(case)
    frames = capped(instance)
    title = case.entries[name].title
    if not frames.size:
        return f"No frame has a cap; {title} can follow the price freely"
    trajectory = simulated(case)[name]
    exceeded = float(np.asarray(trajectory.violations).sum(axis=1).mean())
    if exceeded == 0:
        used = trajectory.energy[:, frames].mean(axis=0).sum() / instance.cap[frames].sum()
        said = f" and uses {percent(float(used), 0)} of them" if np.isfinite(used) else ""
        return f"{title} keeps the caps of all {plural(frames.size, 'capped frame')}{said}"
    over = percent(float(trajectory.excess_share().mean()))
    count = plural(frames.size, "capped frame")
    return (
        f"{title} exceeds the cap in {number(exceeded, 2)} of {count}, "
        f"by {over} of all capped energy"
    )


_TASKS: Final = 8
"""Most tasks in a picture."""

_SERVING, _TRAINING, _EXCESS, _CAP = "serving", "training", "above the cap", "cap"
_WINDOW = "window of a task"


def lanes(case: Case, policy: str) -> Lanes:
    """Draw energy against the cap, and when every task trains, frame by frame of one run."""
    instance: EdrInstance = case.instance
    run: Any = case.trajectories[policy]
    energy, training = np.asarray(run.energy)[0], np.asarray(run.training_energy)[0]
    cap = np.asarray(instance.cap)
    top = float(max(energy.max(), cap[np.isfinite(cap)].max(initial=0.0))) or 1.0
    shade = list(colours(("0", "1", "2")).values())
    spans: list[Span] = []
    for frame in range(instance.frames):
        parts = {_SERVING: float(energy[frame] - training[frame]), _TRAINING: float(energy[frame])}
        limit, low = float(cap[frame]), 0.0
        for style, high in parts.items():
            inside = min(high, limit)
            if inside > low:
                spans.append(Span(frame, frame + 1, style, low / top, inside / top, f"{style}"))
            low = max(low, inside)
        if energy[frame] > limit:
            spans.append(Span(frame, frame + 1, _EXCESS, limit / top, energy[frame] / top))
        if np.isfinite(limit):
            spans.append(Span(frame, frame + 1, _CAP, max(0.0, limit / top - 0.03), limit / top))
    shown = min(instance.tasks, _TASKS)
    every, *names = distinct(["energy", *(instance.name_of("task", task) for task in range(shown))])
    found = {every: spans}
    rounds = np.asarray(run.rounds)[0]
    most = float(rounds.max(initial=0)) or 1.0
    for task in range(shown):
        first, last = int(instance.arrival[task]), int(instance.deadline[task])
        found[names[task]] = [
            Span(first, last + 1, _WINDOW, 0.0, 0.12),
            *(
                Span(t, t + 1, _TRAINING, 0.14, 0.14 + 0.86 * float(rounds[t, task]) / most)
                for t in np.flatnonzero(rounds[:, task] > 0).tolist()
            ),
        ]
    return Lanes(
        f"Energy and training, run of {case.entries[policy].title}",
        "frame",
        float(instance.frames),
        found,
        {_SERVING: shade[0], _TRAINING: shade[2], _EXCESS: shade[1], _CAP: INK,
         _WINDOW: MUTED},
        shown_of(shown, instance.tasks, "task"),
        {every: 3.0},
    )  # fmt: skip


ENERGY = Picture(
    "energy",
    _energy_title,
    lambda case: lanes(case, lead(case)),
    "On top, the energy of every frame; dark steps are caps. Below, a lane per task: its window, "
    "and the rounds that it trains in every frame.",
)


_SAME: Final = 1e-6
"""Relative difference of bounds up to which one proves the other."""


def _cap(instance: EdrInstance, scale: float) -> EdrInstance:
    return instance.replace(cap=scale * instance.cap)


def _capacity(instance: EdrInstance, scale: float) -> EdrInstance:
    return instance.replace(capacity=scale * instance.capacity)


def _load(instance: EdrInstance, scale: float) -> EdrInstance:
    scaled = scale * np.asarray(instance.requests)
    return instance.replace(requests=np.rint(scaled).astype(instance.requests.dtype))


def _columns(instance: EdrInstance) -> float:
    """Count decisions: routes of requests by slot, and rounds by frame."""
    routes = instance.sites**2 * instance.types * instance.slots
    return float(instance.frames * (routes + instance.tasks))


def certificate(case: Case) -> Callable[[], Certificate]:
    """Certify the linear program of all frames at once, if it proves the bound."""
    from edgeopt.models.edr import colocation_matrix, served_cap
    from edgeopt.solvers import solve

    program = colocation_matrix(case.instance, cap=served_cap(case.instance), relax=True)
    made = solve(program).certificate(instance=case.instance)
    if relative_gap(made.bound, case.benchmark.bound) > _SAME:
        raise CertificateError(
            "no certificate: whole rounds prove more than the linear program, which proves "
            f"{case.objective.amount(made.bound)}"
        )
    return lambda: made


LIVE: Final = Live(
    sliders=(
        Slider("sites", "sites", 2, 10, 1, 3),
        Slider("tasks", "training tasks", 1, 8, 1, 4),
        Slider("frames", "frames", 4, 24, 2, 6),
        Slider("load", "requests, times those of the instance", 0.2, 1.2, 0.1, 1.0, _load),
        Slider("capacity", "capacity of sites, times that of the instance", 0.6, 1.5, 0.05, 1.0,
               _capacity),
        Slider("cap", "energy caps, times those of the instance", 0.8, 1.5, 0.05, 1.0, _cap),
    ),
    policies=("scenario", "saddle_point", "scenario+shed", "greedy"),
    source="drawn",
    fixed={"slots": 3, "capped": 0.4},
    columns=_columns,
    most=20_000,
    claim="edr.lemma1.published",
    lanes=lanes,
    runs=2,
    certificate=certificate,
)  # fmt: skip
