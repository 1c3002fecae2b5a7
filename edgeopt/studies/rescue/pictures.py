"""Pictures of RESCUE, and what its live page shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from edgeopt.instances.edf import ROUNDING, VIOLATED
from edgeopt.studies.drawing import (
    Curve,
    Curves,
    Lanes,
    Line,
    Said,
    Span,
    shown_of,
)
from edgeopt.studies.entries import Metric, Picture
from edgeopt.studies.live import Live, Slider
from edgeopt.studies.pictures.canvas import INK, MUTED, axis_limits, colours, lead, policy_styles
from edgeopt.studies.rescue.policies import SAFE
from edgeopt.studies.sentences import ONLY_HINDSIGHT
from edgeopt.studies.wording import distinct, number, percent, plural

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from edgeopt.instances.rescue import RescueInstance
    from edgeopt.online.rescue import RescueTrajectory
    from edgeopt.studies.results import Case


_SHOWN: Final = 8
"""Most servers in a picture."""


def utilisation(instance: RescueInstance, trajectory: RescueTrajectory) -> NDArray[np.float64]:
    r"""Return retraining work over the capacity left by reserved work, up to each slot.

    .. math::

        U(t) = \frac{\sum_{k,\tau\le t} c_k(\tau)\,1[k \text{ retrains in } \tau]}
                    {\sum_{k,\tau\le t} c_k(\tau) - \text{reserved work served up to } t}

    A server offers nothing in an outage.
    """
    offered = np.cumsum(instance.available.sum(axis=0))
    left = offered - np.cumsum(np.asarray(trajectory.reserved_work, float), axis=1)
    used = np.cumsum(np.asarray(trajectory.retraining_work, float), axis=1)
    # Where reserved work took everything, rounding leaves a little that is no capacity.
    some = left > ROUNDING * offered
    share: NDArray[np.float64] = np.divide(used, left, out=np.zeros_like(used), where=some)
    return share


UTILISATION = Metric(
    "utilisation", "Utilisation", lambda *given: utilisation(*given)[:, -1], percent=True
)


def _safety_title(case: Case) -> str:
    kept, best = case.best(kept=True), case.best()
    if best is None:
        return ONLY_HINDSIGHT
    name = case.constraint.name
    if not case.constraints:
        return f"There is no {name}: safety costs nothing"
    if kept is None:
        return f"Every policy lets some {name}s fail"
    if not best["value"] > kept["value"]:
        return f"No policy that lets {name}s fail earns more than {case.title(kept)}"
    return f"Safety costs {percent(1 - kept['value'] / best['value'], 0)} of the highest profit"


def _failing(case: Case, row: Any) -> float:
    """Return the share of reserved tasks that fail, in per cent; 0 where there are none."""
    return 100.0 * float(row["violated_share"]) if case.constraints else 0.0


def _safety(case: Case) -> Curves:
    groups: dict[str, list[Any]] = {}
    for name in case.causal:
        groups.setdefault(case.entries[name].group, []).append(case.rows[name])
    drawn, styles = [], policy_styles(case)
    for own in groups.values():
        share, value = zip(*sorted((_failing(case, one), one["value"]) for one in own), strict=True)
        drawn.append(Curve("other methods", share, value, MUTED, mark="o"))
    for row in (case.best(), case.best(kept=True)):
        if row is not None:
            share, value, style = (_failing(case, row),), (row["value"],), styles[row["policy"]]
            drawn.append(Curve(case.title(row), share, value, style.colour, "", mark=style.mark))
    highest = max((one["value"] for own in groups.values() for one in own), default=0.0)
    bound = case.benchmark.bound
    return Curves(
        f"{case.constraint.name}s that fail (%)",
        "mean profit per run",
        drawn,
        (Line(case.label, bound, [Said("", ", for safe policies")]),) * (bound > 0),
        up=axis_limits([0.0, highest], [bound]),
    )


SAFETY = Picture(
    "safety",
    _safety_title,
    _safety,
    "Mean profit of a run over the share of reserved tasks that fail in it; lines join a method "
    "with the guard, on the left edge, and without it.",
)


class Stretch(NamedTuple):
    """A run of one profile for one device on one server; slots from `first` to before `stop`."""

    server: int
    first: int
    stop: int
    device: int
    profile: int


def stretches(
    device: NDArray[np.integer], profile: NDArray[np.integer], accepted: NDArray[np.integer]
) -> Iterator[Stretch]:
    """Yield the retraining runs of a recorded scenario."""
    busy = device >= 0
    same = busy[:, 1:] & (device[:, 1:] == device[:, :-1]) & (profile[:, 1:] == profile[:, :-1])
    begins = busy.copy()
    begins[:, 1:] &= ~same
    for slot in np.flatnonzero(accepted > begins.sum(axis=0)):
        hidden = int(accepted[slot] - begins[:, slot].sum())
        begins[np.flatnonzero(busy[:, slot] & ~begins[:, slot])[:hidden], slot] = True
    for server, first in np.argwhere(begins):
        ends = begins[server, first + 1 :] | ~busy[server, first + 1 :]
        length = int(ends.argmax()) + 1 if ends.any() else ends.size + 1
        run = int(device[server, first]), int(profile[server, first])
        yield Stretch(int(server), int(first), int(first) + length, *run)


def failed_tasks(instance: RescueInstance, served: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Tell which reserved tasks fail when work was done as recorded."""
    demand = instance.reserved.demand
    failed: NDArray[np.bool_] = demand - served[: demand.size].sum(axis=1) > VIOLATED * demand
    return failed


def _gantt_title(case: Case) -> str:
    policy = lead(case)
    trajectory = case.trajectories[policy]
    failed = int(np.asarray(trajectory.violations)[0].sum())
    profit = number(float(trajectory.total[0]), 4)
    kept = plural(failed, "reserved task") if failed else "no reserved task"
    return f"In the first run, {case.entries[policy].title} earns {profit} and fails {kept}"


_WINDOW, _FAILED, _WORK = "reserved window", "failed task", "reserved work"
_OUTAGE: Final = "planned outage"


def _outages(instance: RescueInstance, server: int) -> Iterator[Span]:
    """Yield the outages of a server, those that touch as one."""
    if instance.outage is not None:
        down = np.concatenate(([False], instance.outage[server], [False]))
        for first, stop in np.flatnonzero(down[1:] != down[:-1]).reshape(-1, 2).tolist():
            yield Span(first, stop, _OUTAGE, 0.05, 1.0, f"outage, slots {first} to {stop}")


def lanes(case: Case, policy: str) -> Lanes:
    """Describe one run: retraining above; below, windows of reserved tasks and work on them.

    An outage takes the whole height of a lane.
    """
    instance: RescueInstance = case.instance
    run = case.replay(policy)
    devices, profiles, accepted = (
        np.asarray(a)[0] for a in (run.device, run.profile, run.accepted)
    )
    served = np.asarray(run.served)[0]
    failed = failed_tasks(instance, served)
    shown = min(instance.servers, _SHOWN)
    spans: dict[int, list[Span]] = {server: [] for server in range(shown)}
    names = distinct(instance.name_of("profile", p) for p in range(instance.profiles))
    shade = colours([_WORK, _FAILED, *(f"retraining, {name}" for name in names)])
    # Second, so that it is hatched.
    out = {_WORK: shade[_WORK], _OUTAGE: INK} if instance.outage is not None else {}
    for one in stretches(devices, profiles, accepted):
        if one.server < shown:
            device, profile = instance.name_of("device", one.device), names[one.profile]
            label = f"{device}, {profile}, slots {one.first} to {one.stop}"
            style = f"retraining, {profile}"
            spans[one.server].append(Span(one.first, one.stop, style, 0.45, 1.0, label))
    tasks, share = instance.reserved, np.zeros(instance.capacity.shape)
    for i in range(len(tasks)):
        server, begin, end = int(tasks.server[i]), int(tasks.start[i]), int(tasks.end[i]) + 1
        share[server] += served[i] / instance.capacity[server]
        if server < shown:
            style = _FAILED if failed[i] else _WINDOW
            label = f"reserved {instance.name_of('task', i)}"
            spans[server].append(Span(begin, end, style, 0.05, 0.35, label))
    for server, own in spans.items():
        own += _outages(instance, server)
    for server, t in np.argwhere(share[:shown] > 0).tolist():
        spans[server].append(Span(t, t + 1, _WORK, 0.05, 0.05 + 0.3 * float(share[server, t])))
    return Lanes(
        f"One run of {case.entries[policy].title}",
        "slot",
        float(instance.horizon),
        dict(
            zip(distinct(instance.name_of("server", k) for k in spans), spans.values(), strict=True)
        ),
        {**out, **shade, _WINDOW: MUTED},
        shown_of(shown, instance.servers, "server"),
    )


GANTT = Picture(
    "gantt",
    _gantt_title,
    lambda case: lanes(case, lead(case)),
    "Upper half of a lane: retraining runs, by profile. Lower half: windows of reserved tasks, "
    "filled by the share of each slot that serves them.",
)


def _load(instance: RescueInstance, scale: float) -> RescueInstance:
    return instance.replace(arrival=scale * instance.arrival)


def _reserved(instance: RescueInstance, scale: float) -> RescueInstance:
    from edgeopt.instances.rescue import ReservedTasks

    given = instance.reserved
    if scale == 0.0:
        return instance.replace(reserved=ReservedTasks.none())
    scaled = ReservedTasks(given.server, given.start, given.end, scale * given.demand)
    return instance.replace(reserved=scaled)


def _capacity(instance: RescueInstance, scale: float) -> RescueInstance:
    return instance.with_capacity(scale=scale)


def _columns(instance: RescueInstance) -> float:
    """Count the columns of the linear program."""
    return float(np.prod(instance.shape[:4]))


LIVE: Final = Live(
    sliders=(
        Slider("servers", "servers", 1, 8, 1, 4),
        Slider("load", "arrivals, times those of the instance", 0.1, 1.4, 0.1, 1.0, _load),
        Slider("reserved", "reserved work, times that of the instance", 0.0, 1.0, 0.1, 1.0,
               _reserved),
        Slider("capacity", "capacity, times that of the instance", 0.8, 2.0, 0.1, 1.0, _capacity),
    ),
    policies=("rescueplus+guard", "rescue+guard", "srs+guard", "random+guard", "rescue"),
    source="paper",
    fixed={"devices": 8, "profiles": 4, "horizon": 60},
    bound=SAFE,
    columns=_columns,
    most=60_000,
    claim="rescue.value.published",
    lanes=lanes,
)  # fmt: skip
