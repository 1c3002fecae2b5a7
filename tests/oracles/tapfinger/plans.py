"""The best plans without preemption, by trying all of them; and a queue that is soon tried."""

from __future__ import annotations

from itertools import product

import numpy as np

from edgeopt.models.tapfinger import SchedulingProblem, horizon


def runs(problem, j):
    """List all ways to run a task by itself: what it costs, cluster, bundle, slots held."""
    end = horizon(problem)
    found = []
    for n, cpu, gpu in product(range(problem.clusters), *map(range, problem.duration.shape[2:])):
        slots = int(problem.duration[n, problem.kind[j], cpu, gpu])
        if slots and problem.eligible[j, n]:
            for s in range(int(problem.arrival[j]), end - slots + 1):
                cost = float(problem.weight[j]) * (s + slots - int(problem.arrival[j]))
                found.append((cost, n, (cpu, gpu), s, s + slots))
    return sorted(found)


def best_plans(problem):
    """Return the least cost of all plans, and the plans that have it, one run for each task."""
    free = {
        (t, n): problem.capacity[n].tolist()
        for t in range(horizon(problem))
        for n in range(problem.clusters)
    }
    for t, n in product(range(problem.occupied.shape[0]), range(problem.clusters)):
        free[t, n] = (problem.capacity[n] - problem.occupied[t, n]).tolist()
    begun = {(0, n) for n in np.flatnonzero(problem.started).tolist()}
    options = [runs(problem, j) for j in range(problem.tasks)]
    rest = [sum(own[0][0] for own in options[j:]) for j in range(problem.tasks + 1)]
    best = [np.inf, []]

    def extend(chosen, cost):
        j = len(chosen)
        if cost + rest[j] > best[0]:
            return
        if j == problem.tasks:
            if cost < best[0]:
                best[:] = [cost, []]
            best[1].append(list(chosen))
            return
        for own in options[j]:
            _, n, bundle, s, end = own
            if cost + own[0] + rest[j + 1] > best[0]:
                break
            if problem.single_start and (s, n) in begun:
                continue
            held = [list(zip(free[t, n], bundle, strict=True)) for t in range(s, end)]
            if any(have < x for slot in held for have, x in slot):
                continue
            for t in range(s, end):
                free[t, n] = [have - x for have, x in zip(free[t, n], bundle, strict=True)]
            new = (s, n) not in begun
            begun.add((s, n))
            extend([*chosen, own], cost + own[0])
            if new:
                begun.discard((s, n))
            for t in range(s, end):
                free[t, n] = [have + x for have, x in zip(free[t, n], bundle, strict=True)]

    extend([], 0.0)
    return best


def queue(tasks=8):
    """Return tasks of which one at a time runs with 2 GPUs, or two with 1 each."""
    weight = np.resize([1.0, 2.0, 3.0], tasks)
    return SchedulingProblem(
        capacity=[[4, 2], [4, 3]], duration=[[[[0, 0, 0], [0, 5, 3]]]] * 2,
        arrival=np.arange(tasks) // 3, kind=[0] * tasks, eligible=[[True, True]] * tasks,
        weight=weight,
    )  # fmt: skip
