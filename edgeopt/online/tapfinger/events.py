"""Observations, decisions and outcomes of TapFinger.

A slot has one or several decision rounds. In each of them every cluster may name one task of its
pending set and a bundle for it; tasks that run may be given other bundles.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgeopt.representation import compact_repr

if TYPE_CHECKING:
    from collections.abc import Sequence

    from edgeopt.instances.fields import Flags, Floats
    from edgeopt.instances.fields import Integers as Ints
    from edgeopt.instances.tapfinger import TapFingerInstance


@compact_repr
class Tasks(NamedTuple):
    """All tasks that have arrived so far, those included that are complete; read-only.

    Attributes
    ----------
    arrival
        Slot of its arrival, shape [v].
    kind
        Its kind, shape [v].
    eligible
        Clusters on which it may run, shape [v, N].
    weight
        Weight of its flow time, shape [v].
    waits
        Whether it has not been placed yet, shape [v].

    Examples
    --------
    >>> from edgeopt.instances.tapfinger import small
    >>> from edgeopt.online.tapfinger import Tasks
    >>> tasks = Tasks.of(small(1))
    >>> tasks.arrival, tasks.kind, tasks.waits
    (array([0, 3, 3, 3]), array([0, 0, 1, 0]), array([ True,  True,  True,  True]))
    """

    arrival: Ints
    kind: Ints
    eligible: Flags
    weight: Floats
    waits: Flags

    @classmethod
    def of(cls, instance: TapFingerInstance) -> Tasks:
        """Return the tasks of an instance, all of which wait."""
        waits = np.ones(instance.tasks, dtype=bool)
        return cls(instance.arrival, instance.kind, instance.eligible, instance.weight, waits)


@compact_repr
class Running(NamedTuple):
    """Tasks that have been placed and are not complete, in the order in which they were placed.

    Attributes
    ----------
    task
        Number of each task, shape [m].
    cluster
        Where it runs, shape [m].
    bundle
        CPU cores and GPUs that it holds now, shape [m, 2]; (0, 0) while it is paused.
    progress
        Part of it that is done, in [0, 1), shape [m].
    start
        Slot in which it was placed, shape [m].
    attained
        CPU-slots and GPU-slots that it has held, shape [m, 2].

    Examples
    --------
    >>> import numpy as np
    >>> from edgeopt.instances.tapfinger import small
    >>> from edgeopt.online.tapfinger import Min, TapFingerEnvironment
    >>> environment, policy = TapFingerEnvironment(small(1)), Min()
    >>> [scenario] = environment.scenarios(np.random.default_rng(0), 1)
    >>> episode, state = environment.episode(scenario), policy.start(environment.instance)
    >>> decision, state = policy.decide(state, episode.observe(), np.random.default_rng(0))
    >>> outcome = episode.act(decision)
    >>> running = episode.observe().running
    >>> running.task, running.cluster, running.bundle
    (array([0]), array([1]), array([[1, 2]]))
    """

    task: Ints
    cluster: Ints
    bundle: Ints
    progress: Floats
    start: Ints
    attained: Ints


@compact_repr
class Round(NamedTuple):
    """A decision round that begins.

    Attributes
    ----------
    slot
        Its slot.
    number
        Its number within the slot, from 0.
    free
        CPU cores and GPUs that are free on each cluster, shape [N, 2].
    pending
        Tasks of the pending set of each cluster, oldest first, -1 behind the last, shape [N, P].
        A task may be in the sets of several clusters.
    waiting
        Number of tasks that wait for each cluster, in its pending set or behind, shape [N].
    crowd
        How many of them may run on how many clusters: entry [n, m] counts the tasks waiting for
        cluster n that are eligible on m clusters, shape [N, N + 1].
    started
        Whether a cluster has started a task in this slot, shape [N].
    running
        The tasks that run or are paused.
    tasks
        What is known of the tasks that have arrived.

    Examples
    --------
    >>> import numpy as np
    >>> from edgeopt.instances.tapfinger import small
    >>> from edgeopt.online.tapfinger import TapFingerEnvironment
    >>> environment = TapFingerEnvironment(small(1))
    >>> [scenario] = environment.scenarios(np.random.default_rng(0), 1)
    >>> seen = environment.episode(scenario).observe()
    >>> seen.free, seen.pending[:, 0]
    (array([[4, 0],
           [2, 2]]), array([-1,  0]))
    """

    slot: int
    number: int
    free: Ints
    pending: Ints
    waiting: Ints
    crowd: Ints
    started: Flags
    running: Running
    tasks: Tasks


@compact_repr
class Decision(NamedTuple):
    """What every cluster does in a round.

    Attributes
    ----------
    task
        Task of its pending set that each cluster names, -1 for none, shape [N].
    bundle
        CPU cores and GPUs that it would give to it, shape [N, 2]. A bundle of (0, 0) starts
        nothing, but the naming counts where several clusters name one task. Otherwise the bundle
        is at least the smallest and at most the largest one of the task, and fits into what is
        free after `other` has been carried out. With one that might meet an outage of the cluster
        the task waits, and the naming does not count.
    score
        How much each cluster wants its task, in [0, 1], shape [N]: the paper's probability that it
        picks the task. Decides who wins a task that several clusters name; None where all want
        theirs equally.
    place
        Whether a cluster places its task even with a bundle below the smallest one, such as
        (0, 0), so that it waits there, shape [N]; None where no cluster does.
    changed
        Running tasks whose bundle changes, shape [m]; None for none. That is preemption.
    other
        Their bundles from now on, shape [m, 2]; below the smallest one they make no progress.

    Examples
    --------
    >>> import numpy as np
    >>> from edgeopt.instances.tapfinger import small
    >>> from edgeopt.online.tapfinger import Decision, TapFingerEnvironment
    >>> environment = TapFingerEnvironment(small(1))
    >>> [scenario] = environment.scenarios(np.random.default_rng(0), 1)
    >>> episode = environment.episode(scenario)
    >>> first = episode.observe().pending[:, 0]
    >>> bundle = np.where(first[:, None] >= 0, environment.instance.minimum[0], 0)
    >>> episode.act(Decision(first, bundle)).started
    array([-1,  0])
    """

    task: Ints
    bundle: Ints
    score: Floats | None = None
    place: Flags | None = None
    changed: Ints | None = None
    other: Ints | None = None

    @classmethod
    def void(cls, clusters: int) -> Decision:
        """Return the decision in which no cluster does anything."""
        return cls(np.full(clusters, -1), np.zeros((clusters, 2), dtype=np.int64))


@compact_repr
class Outcome(NamedTuple):
    """What a round came to.

    Attributes
    ----------
    started
        Task that each cluster has placed, -1 for none, shape [N].
    elapsed
        Whether the slot is over, so that time has passed.
    completed
        Tasks that are complete since then, shape [c].

    Examples
    --------
    >>> import numpy as np
    >>> from edgeopt.instances.tapfinger import small
    >>> from edgeopt.online.tapfinger import Min, TapFingerEnvironment
    >>> environment, policy = TapFingerEnvironment(small(1)), Min()
    >>> [scenario] = environment.scenarios(np.random.default_rng(0), 1)
    >>> episode, state = environment.episode(scenario), policy.start(environment.instance)
    >>> decision, state = policy.decide(state, episode.observe(), np.random.default_rng(0))
    >>> episode.act(decision)
    Outcome(started=int64[2], elapsed=True, completed=int64[0])
    """

    started: Ints
    elapsed: bool
    completed: Ints


@compact_repr
class Held(NamedTuple):
    """Uninterrupted stretches of a task with one bundle, by task, then by time.

    Attributes
    ----------
    task, cluster
        The task and where it ran, shape [h].
    bundle
        CPU cores and GPUs, shape [h, 2]; (0, 0) while it was paused.
    begin, end
        First slot and the slot after the last, shape [h].

    Examples
    --------
    >>> from edgeopt.instances.tapfinger import small
    >>> from edgeopt.online import simulate
    >>> from edgeopt.online.tapfinger import Min, TapFingerEnvironment
    >>> held = simulate(TapFingerEnvironment(small(1)), Min(), runs=1, keep_trace=True).held
    >>> held.task, held.cluster, held.begin, held.end
    (array([0, 1, 2, 3]), array([1, 1, 1, 1]), array([ 0, 11,  4,  7]), array([ 4, 15,  7, 11]))
    """

    task: Ints
    cluster: Ints
    bundle: Ints
    begin: Ints
    end: Ints


class Row(NamedTuple):
    """What is held in one slot: tasks [m], their clusters [m] and bundles [m, 2]."""

    slot: int
    task: Ints
    cluster: Ints
    bundle: Ints


def stretches(rows: Sequence[Row]) -> Held:
    """Join slots in which a task goes on with the same bundle."""
    sizes = [row.task.size for row in rows]
    none = np.zeros(0, dtype=np.int64)
    slot = np.repeat(np.array([row.slot for row in rows], dtype=np.int64), sizes)
    task = np.concatenate([none, *(row.task for row in rows)])
    cluster = np.concatenate([none, *(row.cluster for row in rows)])
    bundle = np.concatenate([np.zeros((0, 2), dtype=np.int64), *(row.bundle for row in rows)])
    order = np.lexsort((slot, task))
    task, cluster, bundle, slot = task[order], cluster[order], bundle[order], slot[order]
    new = np.ones(task.size, dtype=bool)
    other = np.asarray((bundle[1:] != bundle[:-1]).any(axis=1))
    new[1:] = (task[1:] != task[:-1]) | other
    begin = np.flatnonzero(new)
    last = np.append(begin[1:], task.size)[: begin.size] - 1
    return Held(task[begin], cluster[begin], bundle[begin], slot[begin], slot[last] + 1)
