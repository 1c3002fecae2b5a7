"""Pictures of IDN, and what its live page shows."""

from __future__ import annotations

from itertools import chain
from math import isfinite
from typing import TYPE_CHECKING, Final

import numpy as np

from edgeopt.studies.drawing import Curve, Curves, Lanes, Span, shown_of
from edgeopt.studies.entries import Metric, Picture
from edgeopt.studies.live import Live, Slider, uncertified
from edgeopt.studies.pictures.canvas import MUTED, colours, lead, policy_styles
from edgeopt.studies.sentences import ONLY_HINDSIGHT
from edgeopt.studies.wording import distinct, number, percent

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.idn import IdnInstance
    from edgeopt.studies.results import Case


def _per_request(instance: IdnInstance, slots: NDArray[np.float64]) -> NDArray[np.float64]:
    """Average over all requests what is known per request of each slot, shape [runs]."""
    served = instance.total_requests > 0
    if not served.any():
        return np.full(slots.shape[0], np.nan)
    weights = instance.total_requests[served].astype(float)
    return np.asarray(slots[:, served] @ weights / weights.sum())


LATENCY = Metric(
    "latency", "Latency (ms)", lambda instance, runs: _per_request(instance, runs.latency)
)
"""Network and inference delay of a request."""

INACCURACY = Metric(
    "inaccuracy", "Inaccuracy (%)", lambda instance, runs: _per_request(instance, runs.inaccuracy)
)
"""100 less the accuracy of the model that serves a request."""

UPDATES = Metric("updates", "Model updates (MB per slot)", lambda _, runs: runs.model_updates())
"""Size of the models that nodes fetch."""


def _trade_off_title(case: Case) -> str:
    rows = case.table.dropna(subset=["latency", "inaccuracy"])
    if rows.empty:
        return "There are no requests to serve"
    rows = rows[rows["kind"] == "causal"]
    if rows.empty:
        return ONLY_HINDSIGHT
    fastest = rows.iloc[int(rows["latency"].to_numpy().argmin())]
    sharpest = rows.iloc[int(rows["inaccuracy"].to_numpy().argmin())]
    chosen = [fastest] if fastest["policy"] == sharpest["policy"] else [fastest, sharpest]
    said = [f"{case.title(row)} in {_spent(row['latency'], row['inaccuracy'])}" for row in chosen]
    return f"Requests are served by {'; by '.join(said)}"


def _spent(latency: float, inaccuracy: float) -> str:
    return f"{number(float(latency), 3)} ms at {number(float(inaccuracy), 3)} % inaccuracy"


def _trade_off(case: Case) -> Curves:
    styles, alpha = policy_styles(case), case.instance.alpha
    points: list[Curve] = []
    for row in case.rows.values():
        x, y, dx, dy = (row[f"{name}{end}"] for end in ("", "_se") for name in _AXES)
        colour, _, mark, _ = styles[row["policy"]]
        hollow = row["kind"] != "causal"
        points += [
            Curve("", [x - dx, x + dx], [y, y], colour),
            Curve("", [x, x], [y - dy, y + dy], colour),
            Curve(case.title(row), [x], [y], colour, "", mark=mark, hollow=hollow),
        ]
    across, up = (_ends([getattr(one, axis) for one in points]) for axis in "xy")
    equal = []
    if case.instance.cost is None:
        # A request costs the same along each line.
        first, last = across[0] + alpha * up[0], across[1] + alpha * up[1]
        for cost in np.linspace(first, last, 8)[1:-1]:
            span = np.array(across if alpha > 0 else [cost, cost])
            over = (cost - span) / alpha if alpha > 0 else np.array(up)
            equal.append(Curve("equal cost", span, over, MUTED, ":"))
    names = "latency of a request, network and inference (ms)", "inaccuracy (%)"
    return Curves(*names, points + equal, across=across, up=up)


_AXES: Final = ("latency", "inaccuracy")


def _ends(drawn: list[list[float]]) -> tuple[float, float]:
    """Return the ends of an axis, with a margin around what is drawn."""
    known = [at for at in chain(*drawn) if isfinite(at)]
    low, high = min(known, default=0.0), max(known, default=1.0)
    margin = 0.12 * (high - low) or 0.5
    return low - margin, high + margin


TRADE_OFF = Picture(
    "trade_off",
    _trade_off_title,
    _trade_off,
    "Means over all requests and runs, with standard errors where they are visible. Dotted lines "
    "are lines of equal cost: latency plus alpha times inaccuracy. Lower left is better.",
)


_NODES: Final = 8
"""Most nodes in a picture."""

_TASKS: Final = 7
"""Tasks that have a colour of their own."""


def lanes(case: Case, policy: str) -> Lanes:
    """Draw what every node hosts in the last slot of one run, by task."""
    instance: IdnInstance = case.instance
    hosted = np.asarray(case.replay(policy).hosted[-1])
    limited = np.flatnonzero(instance.active & np.isfinite(instance.budget))
    requested = np.bincount(
        instance.request_task, instance.requests.sum(axis=0), minlength=instance.tasks
    )
    popular = np.argsort(-requested, kind="stable")[:_TASKS].tolist()
    names = distinct(instance.name_of("node", node) for node in limited[:_NODES].tolist())
    styles = colours(f"task {task}" for task in popular)
    if instance.tasks > _TASKS:
        styles["other tasks"] = MUTED
    found: dict[str, list[Span]] = {}
    end = 100.0
    for name, node in zip(names, limited.tolist(), strict=False):
        spans: list[Span] = []
        place = 0.0
        used = hosted[node] * np.broadcast_to(instance.size, hosted.shape)[node]
        memory = np.bincount(instance.task, used, minlength=instance.tasks)
        for task in [*popular, *sorted(set(range(instance.tasks)) - set(popular))]:
            wide = 100.0 * float(memory[task]) / float(instance.budget[node])
            style = f"task {task}" if task in popular else "other tasks"
            if wide > 0:
                spans.append(Span(place, place + wide, style, 0.1, 0.9, f"task {task}"))
            place += wide
        end = max(end, place)
        found[name] = spans
    return Lanes(
        f"What nodes host at the end of a run of {case.entries[policy].title}",
        "share of the memory (%)",
        end,
        found,
        styles,
        shown_of(len(found), limited.size, "node"),
    )


def _last(case: Case) -> NDArray[np.bool_]:
    """Return what the policy shown hosts at the end of the first run, shape [V, M]."""
    return np.asarray(case.replay(lead(case)).hosted[-1])


def _hosted_title(case: Case) -> str:
    instance: IdnInstance = case.instance
    hosted = _last(case)
    chosen = instance.active & np.isfinite(instance.budget)
    name = case.entries[lead(case)].title
    if not chosen.any():
        return f"No node has memory to allocate; {name} hosts the permanent models only"
    used = (hosted * instance.size).sum(axis=1)[chosen].sum() / instance.budget[chosen].sum()
    counts = hosted[chosen].sum(axis=1)
    return (
        f"In the last slot {name} fills {percent(float(used))} of all memory, with "
        f"{number(float(counts.mean()), 2)} models per node"
    )


HOSTED = Picture(
    "hosted",
    _hosted_title,
    lambda case: lanes(case, lead(case)),
    "The memory of every node that has some to allocate, filled by the models that it hosts in the "
    "last slot of the first run, by task, those with most requests first; what is beyond 100 % "
    "exceeds the budget.",
)


def _memory(instance: IdnInstance, scale: float) -> IdnInstance:
    return instance.replace(budget=scale * instance.budget)


def _load(instance: IdnInstance, scale: float) -> IdnInstance:
    return instance.replace(requests=np.rint(scale * instance.requests).astype(np.int64))


def _columns(instance: IdnInstance) -> float:
    """Count hosted models by node, and requests by slot."""
    return float(instance.nodes * instance.models + 20 * instance.types * instance.horizon)


LIVE: Final = Live(
    sliders=(
        Slider("tasks", "tasks", 2, 20, 1, 5),
        Slider("horizon", "slots", 10, 120, 10, 30),
        Slider("alpha", "weight of accuracy (ms per %)", 0.5, 8.0, 0.5, 1.0),
        Slider("load", "requests, times those of the instance", 0.2, 3.0, 0.2, 1.0, _load),
        Slider("memory", "memory, times that of the instance", 0.2, 2.0, 0.1, 1.0, _memory),
    ),
    policies=("infida+", "infida", "olag", "sg"),
    source="topology_2",
    fixed={"arrivals": "multinomial"},
    columns=_columns,
    most=150_000,
    claim="idn.lemma3_1.published",
    lanes=lanes,
    runs=5,
    certificate=uncertified(
        "a bound on placements that move adds up one of every slot, and a file proves one program; "
        "solve_cooperative(instance).certificate() has that of placements that stay"
    ),
)
