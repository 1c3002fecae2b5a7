"""Strategies that draw random small instances, one per system."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import numpy as np
from hypothesis import strategies as st

from edgeopt.instances.edf import edf_feasible, edf_order
from edgeopt.instances.edr import EdrHistory, EdrInstance
from edgeopt.instances.idn import IdnInstance
from edgeopt.instances.oinc import OincInstance
from edgeopt.instances.rescue import RescueInstance, ReservedTasks
from edgeopt.instances.tapfinger import TapFingerInstance
from edgeopt.models.oinc.retraining import RetrainingProblem
from edgeopt.models.oinc.slot import SlotProblem
from edgeopt.models.tapfinger.problem import SchedulingProblem, scheduling_problem
from edgeopt.models.tapfinger.starts import efficient

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy


@st.composite
def rescue_instances(
    draw: DrawFn,
    *,
    servers: int = 2,
    devices: int = 3,
    profiles: int = 2,
    horizon: int = 4,
    max_duration: int = 3,
    reserved: bool | None = None,
    arrivals: Literal["exclusive", "independent"] | None = "exclusive",
    beyond: Literal["hold", "drop"] | None = "hold",
) -> RescueInstance:
    """Draw a tiny instance; the integers are the largest sizes.

    ``reserved``, ``arrivals`` and ``beyond`` may be None: then they are drawn too (``reserved``
    True or None still allows the empty set). Everything comes from whole numbers, so examples
    shrink to few slots, small profits and certain durations. Probabilities are simple
    fractions; zeros, certain arrivals and ties are frequent.
    """
    K, J, T, D = (draw(_size(largest)) for largest in (servers, devices, horizon, max_duration))
    L = draw(_size(min(profiles, D)))
    kind = draw(st.sampled_from(["exclusive", "independent"])) if arrivals is None else arrivals
    tail = draw(st.sampled_from(["hold", "drop"])) if beyond is None else beyond

    arrival = _among(draw, (T, J), (0, 1, 2, 3, 4, 6, 9, 12)) / 12.0
    if kind == "exclusive":
        total = arrival.sum(axis=1, keepdims=True)
        arrival = np.where(total > 1, arrival / np.maximum(total, 1), arrival)

    duration = np.array(draw(_durations(L, D)), dtype=np.float64)
    duration /= duration.sum(axis=1, keepdims=True)
    capacity = _among(draw, (K, T), (1, 2, 3)).astype(np.float64)

    full = (T, J, K, L, D)
    kept = draw(st.tuples(*(st.booleans() for _ in full)))  # False: the axis keeps size 1
    shape = tuple(n if keep else 1 for n, keep in zip(full, kept, strict=True))
    profit = _among(draw, shape, (2, 0, 1, 3, 5, 8)) / 2.0
    with_tasks = draw(st.sampled_from([False, True, True])) if reserved is None else reserved
    tasks = _tasks(draw, capacity) if with_tasks else ReservedTasks.none()
    return RescueInstance(arrival, duration, capacity, tasks, profit, kind, tail)


@st.composite
def idn_instances(
    draw: DrawFn,
    *,
    nodes: int = 4,
    models: int = 5,
    types: int = 3,
    horizon: int = 3,
    cost: bool | None = False,
    infinite: bool = True,
) -> IdnInstance:
    """Draw a tiny instance; the integers are the largest sizes, at least one node and model each.

    Sizes, delays, latencies, capacities, budgets and costs are small whole numbers or halves, so
    that ties are frequent; so are replicas, idle slots, models that never fit, models without
    capacity, budgets of zero and nodes with room for everything, several permanent models, pinned
    nodes in the middle of a path, networks with a cycle and types that are alike. Every active
    node has a finite budget unless ``infinite``. ``cost`` says whether the instance brings its own
    table of costs; None leaves it to the draw.
    """
    V, M = (draw(_large(largest)) for largest in (nodes, models))
    R, T = (draw(_size(largest)) for largest in (types, horizon))
    task = np.sort(_among(draw, (M,), (0, 0, 1, 2)))
    task = np.unique(task, return_inverse=True)[1].ravel()
    parent = [draw(st.integers(0, v - 1)) for v in range(1, V)]
    edges = [(v, parent[v - 1]) for v in range(1, V)]
    if V > 2 and draw(st.booleans()) and (V - 1, 0) not in edges:
        edges.append((V - 1, 0))

    # Node 0 is a repository of every task; another node may be one too, of some models.
    repository = np.zeros((V, M), dtype=bool)
    for i in range(task.max() + 1):
        mine = np.flatnonzero(task == i)
        repository[0, mine[draw(st.integers(0, mine.size - 1))]] = True
        if draw(st.booleans()):
            repository[0, mine[-1]] = True
    if V > 2 and draw(st.sampled_from([False, False, True])):
        v = draw(st.integers(1, V - 1))
        repository[v] = _among(draw, (M,), (0, 1)).astype(bool)

    request_task = _among(draw, (R,), (0, 1, 2)) % (task.max() + 1)
    path = [_walk(draw, edges, repository[:, task == i]) for i in request_task.tolist()]
    requests = _among(draw, (T, R), (2, 0, 1, 3, 4, 6))
    size = _among(draw, (V, M), (2, 1, 2, 3)) / draw(st.sampled_from([1.0, 1.0, 2.0]))
    delay = _among(draw, (V, M), (0, 1, 2, 3)) / 2.0
    capacity = _among(draw, (V, M), (2, 0, 1, 2, 3, 5, 8)).astype(float)
    accuracy = 100.0 - _among(draw, (M,), (0, 1, 2, 5)) * 4.0
    for m in range(1, M):
        if task[m] == task[m - 1] and draw(st.sampled_from([False, False, True])):
            accuracy[m] = accuracy[m - 1]
            for table in (size, delay, capacity):
                table[:, m] = table[:, m - 1]
    endless = draw(st.booleans())
    capacity[repository] = np.inf if endless else max(1, int(requests.sum(axis=1).max()))

    budget = _among(draw, (V,), (2, 0, 1, 2, 3, 4)).astype(float)
    pinned = repository.any(axis=1)
    if infinite and draw(st.sampled_from([False, False, True])):
        budget[draw(st.integers(0, V - 1))] = np.inf
    budget[pinned] = np.maximum(budget, (size * repository).sum(axis=1))[pinned]
    own = draw(st.booleans()) if cost is None else cost
    longest = max(map(len, path))
    return IdnInstance(
        edges=np.array(edges, dtype=int).reshape(-1, 2),
        latency=_among(draw, (len(edges),), (2, 0, 1, 4, 7)) / 2.0,
        size=size,
        delay=delay,
        capacity=capacity,
        accuracy=accuracy,
        task=task,
        budget=budget,
        repository=repository,
        request_task=request_task,
        path=path,
        requests=requests,
        alpha=draw(st.sampled_from([0.0, 0.25, 1.0])),
        cost=_among(draw, (R, longest, M), (3, 0, 1, 2, 4, 6)) / 2.0 if own else None,
    )


@st.composite
def edr_instances(
    draw: DrawFn,
    *,
    frames: int = 4,
    slots: int = 3,
    sites: int = 4,
    tasks: int = 3,
    types: int = 2,
    negative: bool = True,
    capped: bool | None = None,
) -> EdrInstance:
    """Draw a tiny instance; the integers are the largest sizes, and there may be no task.

    All numbers are small whole numbers or halves of them, and every energy, delay and cost is exact
    in floating point, so that ties are frequent; so are frames without a cap or with a cap of zero,
    slots and whole instances without requests, sites without capacity or energy, rounds that cost
    nothing, links of infinite rate, and objectives that only some of the sites meet, by a clear
    margin. Prices may be ``negative`` only if so allowed. ``capped`` says whether some cap is
    finite; None leaves it to the draw.
    """
    T, D, J, N = (draw(_size(largest)) for largest in (frames, slots, sites, types))
    I = draw(st.integers(0, tasks))  # noqa: E741
    arrival = np.array([draw(st.integers(0, T - 1)) for _ in range(I)], dtype=int)
    deadline = np.array([draw(st.integers(first, T - 1)) for first in arrival.tolist()], dtype=int)
    client = _among(draw, (I, J), (1, 0)).astype(bool)
    server = np.array([draw(st.integers(0, J - 1)) for _ in range(I)], dtype=int)
    client[np.arange(I), server] = True
    capable = _among(draw, (J, N), (1, 0, 1)).astype(bool)
    capable[np.array([draw(st.integers(0, J - 1)) for _ in range(N)]), np.arange(N)] = True

    cap = _among(draw, (T,), (8, 0, 1, 2, 4, 6, 12)) * 1.0
    if capped is None:
        cap[_among(draw, (T,), (1, 0)).astype(bool)] = np.inf
    elif not capped:
        cap[:] = np.inf
    prices = (1, 0, 2, 3, -1, -2) if negative else (1, 0, 2, 3)
    quiet = draw(st.sampled_from([False] * 7 + [True]))
    requests = _among(draw, (T, D, J, N), (0,) if quiet else (1, 0, 0, 2, 3, 4)) * 1.0
    distance = _among(draw, (J, J), (1, 0, 2, 4)) / 4.0
    np.fill_diagonal(distance, 0.0)
    travel = _among(draw, (T, D), (1, 0, 2))[:, :, None, None] * distance
    rate = _among(draw, (J, J), (1, 2, 4, np.inf)) * _among(draw, (T,), (1, 2))[:, None, None]
    size = _among(draw, (N,), (1, 0, 2)) / 4.0
    work = _among(draw, (N,), (2, 1, 4)) / 4.0
    speed = _among(draw, (J,), (2, 1, 4)) * 1.0

    # The objective is met by some request of its type, an eighth of a second to spare.
    alone = np.broadcast_to(np.where(np.eye(J) > 0, np.inf, rate), (T, J, J))
    seconds = (
        (travel + travel.swapaxes(2, 3))[..., None]
        + work / speed[:, None]
        + size / alone[:, None, :, :, None]
    )
    slack = np.array(draw(st.lists(st.integers(0, 9), min_size=N, max_size=N)))
    slo = np.empty((T, D, N))
    for t, d, n in np.ndindex(T, D, N):
        asked = requests[t, d, :, n] > 0
        origins = asked if asked.any() else np.ones(J, dtype=bool)
        delays = np.unique(seconds[t, d, :, :, n][origins][:, capable[:, n]])
        slo[t, d, n] = delays[min(int(slack[n]), delays.size - 1)] + 0.125
    return EdrInstance(
        cap=cap,
        price=_among(draw, (T,), prices) * 1.0,
        arrival=arrival,
        deadline=deadline,
        rounds=_among(draw, (I,), (2, 1, 3, 4)),
        client=client,
        server=server,
        local_steps=_among(draw, (I,), (1, 2)),
        step_work=_among(draw, (I, J), (2, 0, 1)) / 2.0,
        aggregation_work=_among(draw, (I,), (0, 1)) / 2.0,
        model_size=_among(draw, (I,), (1, 0, 2)) * 3600.0,
        request_size=size,
        request_work=work,
        energy_per_work=_among(draw, (J,), (2, 0, 1, 3)) / 2.0,
        capacity=_among(draw, (J,), (4, 0, 1, 2, 8)) * 1.0,
        speed=speed,
        capable=capable,
        requests=requests,
        propagation=travel,
        slo=slo,
        rate=alone,
        power=_among(draw, draw(st.sampled_from([(J,), (T, J)])), (0, 1)) / 2.0,
        energy_weight=draw(st.sampled_from([1.0, 2.0, 1.0, 0.0])),
        delay_weight=draw(st.sampled_from([1.0, 0.5, 1.0, 0.0])),
        price_prior=draw(st.sampled_from([None, 1.0])),
        round_delay=draw(st.sampled_from(["sum", "max"])),
        accuracy=_among(draw, (J, N), (2, 1, 0)) / 2.0 if draw(st.booleans()) else None,
        history=draw(_edr_histories(J)),
    )


@st.composite
def _edr_histories(draw: DrawFn, sites: int) -> EdrHistory | None:
    """Draw the day before, nothing known of it, or only a part."""
    if not draw(st.booleans()):
        return None
    price = _among(draw, (24,), (1, 0, 2, -1)) * 1.0
    share = np.where(_among(draw, (24,), (0, 1)) > 0, 0.5, np.inf)
    rate = _among(draw, (24, 1, 1), (1, 2)) * np.ones((sites, sites))
    return EdrHistory(*(draw(st.sampled_from([part, None])) for part in (price, share, rate)))


@st.composite
def oinc_instances(
    draw: DrawFn,
    *,
    slots: int = 4,
    devices: int = 3,
    sites: int = 3,
    jobs: int = 3,
    empty: bool = True,
) -> OincInstance:
    """Draw a tiny instance; the integers are the largest sizes, and only `empty` allows no job.

    All numbers but the objectives are small whole numbers or binary fractions of them, so that ties
    are frequent; so are slots without a request, requests that send or compute nothing, objectives
    that cannot be met beside others or at all, rates that change over time, jobs that arrive
    together or in the last slot, deadlines that nobody meets, and weights of zero. A job alone
    takes between an eighth of a slot and 6 slots of a whole site.
    """
    T, I, J = (draw(_size(largest)) for largest in (slots, devices, sites))  # noqa: E741
    K = draw(st.integers(0, jobs)) if empty else draw(_size(jobs))
    rate = _among(draw, (I, J), (8, 4, 16)) * 1.0
    if draw(st.booleans()):
        rate = rate * _among(draw, (T,), (1, 2))[:, None, None]
    quiet = draw(st.sampled_from([False] * 7 + [True])) if empty else False
    arrival = np.sort(np.array([draw(st.integers(0, T - 1)) for _ in range(K)], dtype=int))
    labelled = draw(st.booleans())
    return OincInstance(
        speed=_among(draw, (J,), (2, 1, 4)) * 1.0,
        rate=rate,
        active=_among(draw, (T, I), (0,) if quiet else (1, 1, 0)).astype(bool),
        request_size=_among(draw, (T, I), (1, 0, 2, 4)) / 2.0,
        request_work=_among(draw, (T, I), (1, 0, 2, 4)) / 16.0,
        slo=_among(draw, (T, I), (1.0, 0.79, 0.53, 0.31, 0.11)),
        arrival=arrival,
        work=_among(draw, (K,), (2, 1, 4, 6, 0.5)) * 1.0,
        deadline=arrival + _among(draw, (K,), (4, 0.5, 1, 2, 20)),
        weight=_among(draw, (K,), (1, 1, 0, 2)) * 1.0,
        request_weight=_among(draw, (T,), (1, 1, 2, 0)) * 1.0,
        latency_scale=draw(st.sampled_from([1.0, 0.25])),
        completion_scale=draw(st.sampled_from([1.0, 4.0])),
        refusal_latency=draw(st.sampled_from([3.0, 1.0])),
        job_kind=_among(draw, (K,), (0, 1)) if labelled else None,
        kinds=("small", "large") if labelled else None,
        names=tuple("ABC"[j % 3] + str(j) for j in range(J)) if labelled else None,
        origin=draw(st.sampled_from(["", "Drawn by a test."])),
    )


@st.composite
def slot_problems(
    draw: DrawFn,
    *,
    requests: int = 4,
    sites: int = 3,
    objectives: bool | None = None,
    zeros: bool = True,
    weighted: bool | None = False,
    empty: bool = False,
) -> SlotProblem:
    """Draw the requests of a slot; the integers are the largest sizes.

    Times are eighths of a second, so that equal requests and equal sites are frequent; with `zeros`
    some requests send or compute nothing. ``objectives``: False, no request has one; True, all
    have; None, the draw decides for each. Objectives are loose, binding or out of reach, never met
    exactly: they are no multiples of an eighth. The room is that of a whole site or down to a
    twentieth. ``weighted`` says whether weights differ from 1; None leaves it to the draw.
    """
    n = draw(st.integers(0, requests)) if empty else draw(_size(requests))
    J = draw(_size(sites))
    amounts = (1, 0, 2, 3, 8) if zeros else (1, 2, 3, 8)
    finite = (1, 2, 4, 8, 16, 32, 80)
    among = {True: finite, False: (np.inf,), None: (np.inf, *finite)}[objectives]
    heavier = draw(st.booleans()) if weighted is None else weighted
    amount = _among(draw, (2, n, J), amounts) / 8.0
    if n > 1 and draw(st.booleans()):
        amount[:, 1] = amount[:, 0]
    if J > 1 and draw(st.sampled_from([False, False, True])):
        amount[:, :, 1] = amount[:, :, 0]
    return SlotProblem(
        transmission=amount[0],
        computation=amount[1],
        slo=_among(draw, (n,), among) / 8.0 + 0.0137,
        room=_among(draw, (J,), (1.0, 0.5, 0.75, 0.2, 0.05)),
        weight=_among(draw, (n,), (1.0, 2.0, 0.5)) if heavier else None,
    )


@st.composite
def retraining_problems(
    draw: DrawFn,
    *,
    jobs: int = 4,
    sites: int = 3,
    whole: bool | None = None,
    infinite: bool = True,
    zero_weights: bool = True,
    empty: bool = False,
) -> RetrainingProblem:
    """Draw jobs on unrelated sites; the integers are the largest sizes.

    ``whole`` says whether durations are whole slots; otherwise they are quarters of a slot, from a
    quarter; None leaves it to the draw. With `infinite` some sites cannot serve some jobs. Ties of
    durations, densities and arrivals are frequent.
    """
    K = draw(st.integers(0, jobs)) if empty else draw(_size(jobs))
    J = draw(_size(sites))
    integral = draw(st.booleans()) if whole is None else whole
    lengths = (1, 2, 3, 4, 6) if integral else (0.25, 0.5, 1, 1.25, 2.75, 4)
    duration = _among(draw, (K, J), lengths) * 1.0
    if infinite:
        able = _among(draw, (K, J), (1, 1, 1, 0)).astype(bool)
        able[np.arange(K), np.array([draw(st.integers(0, J - 1)) for _ in range(K)], int)] = True
        duration[~able] = np.inf
    weights = (1, 2, 0, 0.5, 4) if zero_weights else (1, 2, 0.5, 4)
    return RetrainingProblem(
        arrival=np.sort(_among(draw, (K,), (0, 0, 1, 2, 4)).astype(int)),
        duration=duration,
        weight=_among(draw, (K,), weights) * 1.0,
    )


@st.composite
def tapfinger_instances(
    draw: DrawFn,
    *,
    clusters: int = 3,
    tasks: int = 4,
    kinds: int = 2,
    capacity: int = 4,
    single_start: bool | None = None,
    slowing: bool | None = None,
    noise: bool | None = False,
    weighted: bool | None = None,
    empty: bool = False,
    combinations: int | None = None,
) -> TapFingerInstance:
    """Draw a tiny instance; the integers are the largest sizes, and only `empty` allows no task.

    No bundle takes longer than 6 slots without noise. Equal durations of different bundles are
    frequent, and so are bundles that are larger and slower; so are smallest bundles without CPU
    cores or without GPUs, clusters without one of them or too small for a kind of task, clusters of
    other speeds, tables that end below or above the capacities, tasks that arrive together or after
    a pause, tasks for one cluster only, and pending sets of one place. ``single_start``,
    ``slowing``, ``noise`` and ``weighted`` say whether it has them; None leaves it to the draw
    (that of `slowing` per kind). With `combinations`, tasks are left out from the end until there
    are at most so many plans, see `plans`.
    """
    N, K = draw(_size(clusters)), draw(_size(kinds))
    J = draw(st.integers(0, tasks)) if empty else draw(_large(tasks))
    units = np.minimum(_among(draw, (N, 2), (2, 1, 3, 4, 0)), capacity)
    units[0] = np.maximum(units[0], 1)
    minimum = _smallest(draw, units, K)
    ends = [draw(st.integers(max(1, low), capacity)) for low in minimum.max(axis=0).tolist()]
    holds = (minimum[:, None] <= units).all(axis=2)
    kind = _among(draw, (J,), (0, 1)).astype(int) % K
    slow = _among(draw, (K,), (0, 1)).astype(bool) if slowing is None else np.full(K, slowing)
    # Durations 5, 4, 3, 3, 2, 1 without and 6, 5, 4, 3, 2, 1 with slowing.
    speeds = np.array([0.22, 0.25, 0.34, 0.4, 0.6, 1.0])
    grade = _among(draw, (K, ends[0] + 1, ends[1] + 1), (5, 2, 1, 4, 0, 3))
    ahead = _among(draw, (N,), (0, 0, 1, -2))[:, None, None, None]
    loud = draw(st.booleans()) if noise is None else noise
    instance = TapFingerInstance(
        capacity=units,
        minimum=minimum,
        speed=speeds[np.clip(grade + ahead, 0, 5)],
        arrival=np.sort(_among(draw, (J,), (0, 0, 1, 2, 4)).astype(int)),
        kind=kind,
        eligible=_some_cluster(draw, holds[kind]),
        slowing=slow,
        weight=_weights(draw, J, weighted),
        noise=draw(st.sampled_from([0.1, 0.3, 1.0])) if loud else 0.0,
        switching=draw(st.sampled_from([0.5, 1.0, 0.0, 0.25])),
        pending=draw(st.sampled_from([10, 1, 2])),
        single_start=draw(st.booleans()) if single_start is None else single_start,
    )
    while combinations is not None and plans(scheduling_problem(instance)) > combinations:
        fewer = {name: getattr(instance, name)[:-1] for name in _PER_TASK}
        instance = instance.replace(**fewer)
    return instance


@st.composite
def scheduling_problems(
    draw: DrawFn,
    *,
    clusters: int = 3,
    tasks: int = 4,
    kinds: int = 2,
    capacity: int = 4,
    longest: int = 6,
    single_start: bool | None = None,
    running: bool | None = None,
    weighted: bool | None = None,
    empty: bool = False,
    combinations: int | None = None,
) -> SchedulingProblem:
    """Draw a tiny offline problem; the integers are the largest sizes.

    As `tapfinger_instances`, but any bundles may be missing from the table of durations, also
    between others. ``running`` says whether tasks of before occupy the clusters for some slots and
    some clusters have started one already; None leaves it to the draw.
    """
    N, K = draw(_size(clusters)), draw(_size(kinds))
    J = draw(st.integers(0, tasks)) if empty else draw(_large(tasks))
    units = np.minimum(_among(draw, (N, 2), (2, 1, 3, 4, 0)), capacity)
    units[0] = np.maximum(units[0], 1)
    minimum = _smallest(draw, units, K)
    ends = [draw(st.integers(max(1, low), capacity)) for low in minimum.max(axis=0).tolist()]
    lengths = tuple(min(slots, longest) for slots in (1, 2, 3, 0, 4, 2, 6))
    table = _among(draw, (K, ends[0] + 1, ends[1] + 1), lengths)
    longer = _among(draw, (N,), (0, 0, 1, 2))[:, None, None, None]
    table = np.where(table > 0, np.minimum(table + longer, longest), 0)
    cpu, gpu = np.indices(table.shape[2:])
    least = minimum[:, :, None, None]
    table[:, (cpu < least[:, 0]) | (gpu < least[:, 1])] = 0
    top = units[:, :, None, None]
    for n in range(N):
        for k in range(K):
            if (minimum[k] <= units[n]).all() and table[n, k, minimum[k, 0], minimum[k, 1]] == 0:
                table[n, k, minimum[k, 0], minimum[k, 1]] = longest
    table[((cpu > top[:, 0]) | (gpu > top[:, 1]))[:, None].repeat(K, axis=1)] = 0
    kind = _among(draw, (J,), (0, 1)).astype(int) % K
    busy = draw(st.booleans()) if running is None else running
    slots = draw(st.integers(1, 3)) if busy else 0
    taken = np.minimum(_among(draw, (slots, N, 2), (0, 1, 2, 4)), units).astype(int)
    problem = SchedulingProblem(
        capacity=units,
        duration=table,
        arrival=np.sort(_among(draw, (J,), (0, 0, 1, 2, 4)).astype(int)),
        kind=kind,
        eligible=_some_cluster(draw, (table > 0).any(axis=(2, 3)).T[kind]),
        weight=_weights(draw, J, weighted),
        single_start=draw(st.booleans()) if single_start is None else single_start,
        occupied=taken[::-1] if draw(st.booleans()) else -np.sort(-taken, axis=0),
        started=_among(draw, (N,), (0, 1)).astype(bool) if busy else None,
    )
    while combinations is not None and plans(problem) > combinations:
        fewer = {name: getattr(problem, name)[:-1] for name in _PER_TASK}
        problem = replace(problem, **fewer)
    return problem


_PER_TASK = ("arrival", "kind", "eligible", "weight")


def plans(problem: SchedulingProblem) -> float:
    """Count the ways to give every task a cluster, an allowed bundle and a start, capacities aside.

    Starts are those after which the task ends within the time that all tasks take one after the
    other, each with the slowest bundle that no other beats, after the last arrival and release.
    """
    released = max(int(problem.arrival.max(initial=0)), problem.occupied.shape[0])
    if problem.started.any():
        released = max(released, 1)
    bundles = efficient(problem.duration)
    longest = [
        max(int(bundles.of(n, k)[1].max(initial=0)) for n in np.flatnonzero(may))
        for k, may in zip(problem.kind.tolist(), problem.eligible, strict=True)
    ]
    end = released + sum(longest)
    count = 1.0
    for k, may, first in zip(problem.kind, problem.eligible, problem.arrival, strict=True):
        slots = problem.duration[may, k]
        count *= np.maximum(0, end - first - slots + 1)[slots > 0].sum()
    return float(count)


def _smallest(draw: DrawFn, units: np.ndarray, kinds: int) -> np.ndarray:
    """Draw smallest bundles, each of which some cluster can hold."""
    host = units[_among(draw, (kinds,), (0, 1, 2)) % units.shape[0]]
    host = np.where(host.any(axis=1)[:, None], host, units[0])
    minimum = np.minimum(_among(draw, (kinds, 2), (1, 0, 2)), host)
    return np.where(minimum.any(axis=1)[:, None], minimum, np.minimum(host, 1))


def _some_cluster(draw: DrawFn, able: np.ndarray) -> np.ndarray:
    """Draw where tasks may run, one of the clusters that are able to at least, shape [J, N]."""
    tasks, clusters = able.shape
    eligible = _among(draw, (tasks, clusters), (1, 0)).astype(bool)
    choice = _among(draw, (tasks,), (0, 1, 2)).astype(int)
    for j in range(tasks):
        hosts = np.flatnonzero(able[j])
        eligible[j, hosts[choice[j] % hosts.size]] = True
    return eligible


def _weights(draw: DrawFn, tasks: int, weighted: bool | None) -> np.ndarray | None:
    heavier = draw(st.booleans()) if weighted is None else weighted
    return _among(draw, (tasks,), (1.0, 2.0, 0.5, 0.0, 4.0)) if heavier else None


def _size(largest: int) -> SearchStrategy[int]:
    """Shrink to 1, but draw the largest size twice as often as any other."""
    return st.sampled_from([*range(1, largest + 1), largest])


def _large(largest: int) -> SearchStrategy[int]:
    """Shrink to 1, but rarely draw less than half of the largest size."""
    upper = range((largest + 2) // 2, largest + 1)
    return st.sampled_from([*range(1, largest + 1), *upper, *upper])


def _among(draw: DrawFn, shape: tuple[int, ...], values: tuple[float, ...]) -> np.ndarray:
    n = int(np.prod(shape))
    return np.array(draw(st.lists(st.sampled_from(values), min_size=n, max_size=n))).reshape(shape)


def _durations(profiles: int, longest: int) -> SearchStrategy[list[list[int]]]:
    """Rows of whole weights with strictly increasing means."""
    row = st.lists(st.integers(0, 4), min_size=longest, max_size=longest).filter(any)
    rows = st.lists(row, min_size=profiles, max_size=profiles)
    return rows.map(lambda some: sorted(some, key=_mean)).filter(
        lambda some: all(_mean(b) - _mean(a) > 1e-9 for a, b in pairwise(some))
    )


def _mean(weights: list[int]) -> float:
    return sum(d * w for d, w in enumerate(weights, start=1)) / sum(weights)


def _tasks(draw: DrawFn, capacity: np.ndarray) -> ReservedTasks:
    servers, horizon = capacity.shape
    kept: list[tuple[int, int, int, float]] = []
    for _ in range(draw(st.sampled_from([0, 1, 2, 3]))):
        k = draw(st.integers(0, servers - 1))
        first = draw(st.integers(0, horizon - 1))
        last = draw(st.integers(first, horizon - 1))
        halves = int(2 * capacity[k, first : last + 1].sum())
        trial = [*kept, (k, first, last, draw(st.integers(1, halves)) / 2.0)]
        server, start, end, demand = (np.array(column) for column in zip(*trial, strict=True))
        order, offset = edf_order(server, end, servers)
        mine = order[offset[k] : offset[k + 1]]
        if edf_feasible(mine, start, end, demand, demand, capacity[k], 0, 0):
            kept = trial
    if not kept:
        return ReservedTasks.none()
    return ReservedTasks(*(np.array(column) for column in zip(*kept, strict=True)))


def _walk(draw: DrawFn, edges: list[tuple[int, int]], permanent: np.ndarray) -> list[int]:
    """Draw a simple path that ends where the task has a permanent model."""
    path = [draw(st.sampled_from(np.flatnonzero(permanent.any(axis=1)).tolist()))]
    while True:
        near = {b if a == path[-1] else a for a, b in edges if path[-1] in (a, b)}
        onward = sorted(near - set(path))
        if not onward or draw(st.sampled_from([False, False, False, True])):
            return path[::-1]
        path.append(draw(st.sampled_from(onward)))
