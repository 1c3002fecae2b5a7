"""Rounds as arrays of fixed size for a learner, and its actions as decisions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from edgeopt.errors import MissingDependencyError, OptionError
from edgeopt.online.tapfinger.events import Decision

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gymnasium import spaces
    from numpy.typing import ArrayLike, NDArray

    from edgeopt.instances.tapfinger import TapFingerInstance
    from edgeopt.online.tapfinger.events import Round

    Features = NDArray[np.float32]
    Flags = NDArray[np.bool_]
    Ints = NDArray[np.int64]


COUNTS: Final = 10.0
"""Numbers of tasks and of slots are divided by this."""


class Observation(NamedTuple):
    """What a learner sees of a round; a row per cluster, so that each can be handed its own.

    Attributes
    ----------
    cluster
        Free CPU cores and GPUs as shares of the cluster's, and the number of tasks that queue
        behind its pending set, in tens, shape [N, 3].
    pending
        Tasks of its pending set: CPU cores and GPUs of the smallest bundle as shares of the
        cluster's, whether the place is empty, and the kind in one-hot code, shape [N, P, 3 + K].
    running
        Tasks that run on it: CPU cores and GPUs held as shares of the cluster's, whether the row
        is empty, the kind in one-hot code, and slots since the start in tens, shape [N, M, 4 + K].
    node
        Number of each pending task among those of the round, so that a task in the sets of several
        clusters is known as one node, -1 where the place is empty, shape [N, P].
    mask
        Actions that a cluster may take: entry (place, cpu, gpu) says whether it may name the task
        of that place with that bundle, shape [N, P + 1, A, B]. Place P names none.
    """

    cluster: Features
    pending: Features
    running: Features
    node: Ints
    mask: Flags


def most_running(instance: TapFingerInstance) -> int:
    """Return how many tasks a cluster can have room for at most, none of them paused."""
    least = instance.minimum.min(axis=0)
    # A task holds something, so there are never more of them than CPU cores and GPUs together.
    bound = [int(instance.capacity.sum(axis=1).max())]
    bound += [int(instance.capacity[:, r].max()) // int(least[r]) for r in (0, 1) if least[r]]
    return max(1, min(bound))


def allowed_actions(instance: TapFingerInstance, seen: Round) -> Flags:
    """Return which actions each cluster may take, shape [N, P + 1, A, B].

    A task of the pending set may be named with every bundle from its smallest to what is free, or
    with (0, 0), which starts nothing; place P, which names no task, goes with (0, 0) alone.

    Parameters
    ----------
    instance
        The instance.
    seen
        The round.

    Notes
    -----
    Li et al., equation (12).
    """
    table = instance.speed.shape[2:]
    cpu, gpu = np.indices(table)
    mask = np.zeros((instance.clusters, instance.pending + 1, *table), dtype=np.bool_)
    real = seen.pending >= 0
    low = instance.minimum[seen.tasks.kind[seen.pending[real]]]
    high = seen.free[np.nonzero(real)[0]]
    mask[:, :-1][real] = (
        (low[:, 0, None, None] <= cpu)
        & (low[:, 1, None, None] <= gpu)
        & (cpu <= high[:, 0, None, None])
        & (gpu <= high[:, 1, None, None])
    )
    mask[:, :-1, 0, 0] = real
    mask[:, -1, 0, 0] = True
    return mask


def features(instance: TapFingerInstance, seen: Round) -> Observation:
    """Write a round as arrays whose sizes do not change.

    Parameters
    ----------
    instance
        The instance.
    seen
        The round.

    Raises
    ------
    OptionError
        If more tasks are in service on a cluster than it has room for, since some are paused:
        rows for them would have no end.

    Notes
    -----
    Li et al., section IV: the nodes of the graph. There is one more flag, for empty rows of the
    running tasks, where the graph has no nodes. Numbers are scaled, as the authors' are not.
    """
    real = seen.pending >= 0
    behind = (seen.waiting - real.sum(axis=1)) / COUNTS
    cluster = np.column_stack([seen.free / _whole(instance), behind]).astype(np.float32)
    node = np.full(seen.pending.shape, -1, dtype=np.int64)
    node[real] = np.unique(seen.pending[real], return_inverse=True)[1].reshape(-1)
    pending, running = _pending(instance, seen), _running(instance, seen)
    return Observation(cluster, pending, running, node, allowed_actions(instance, seen))


def idle(instance: TapFingerInstance) -> Observation:
    """Return what is seen where there is no task, such as at the end of a run."""
    N, P, K = instance.clusters, instance.pending, instance.task_kinds
    cluster = np.zeros((N, 3), dtype=np.float32)
    cluster[:, :2] = instance.capacity / _whole(instance)
    pending = np.zeros((N, P, 3 + K), dtype=np.float32)
    running = np.zeros((N, most_running(instance), 4 + K), dtype=np.float32)
    pending[:, :, 2] = running[:, :, 2] = 1.0
    mask = np.zeros((N, P + 1, *instance.speed.shape[2:]), dtype=np.bool_)
    mask[:, -1, 0, 0] = True
    return Observation(cluster, pending, running, np.full((N, P), -1), mask)


def _whole(instance: TapFingerInstance) -> Ints:
    """Return what amounts are divided by, shape [N, 2]; of nothing there is never a share."""
    return np.maximum(instance.capacity, 1)


def _pending(instance: TapFingerInstance, seen: Round) -> Features:
    rows = np.zeros((*seen.pending.shape, 3 + instance.task_kinds), dtype=np.float32)
    n, place = np.nonzero(seen.pending >= 0)
    kind = seen.tasks.kind[seen.pending[n, place]]
    rows[:, :, 2] = seen.pending < 0
    rows[n, place, :2] = instance.minimum[kind] / _whole(instance)[n]
    rows[n, place, 3 + kind] = 1.0
    return rows


def _running(instance: TapFingerInstance, seen: Round) -> Features:
    running, most = seen.running, most_running(instance)
    order = np.argsort(running.cluster, kind="stable")
    n = running.cluster[order]
    count = np.bincount(n, minlength=instance.clusters)
    if count.max(initial=0) > most:
        raise OptionError(
            f"slot {seen.slot}: more than {most} tasks are in service on cluster "
            f"{int(np.argmax(count))}, some of them paused: there are no rows for them"
        )
    row = np.arange(n.size) - (np.cumsum(count) - count)[n]
    rows = np.zeros((instance.clusters, most, 4 + instance.task_kinds), dtype=np.float32)
    rows[:, :, 2] = 1.0
    rows[n, row, :2] = running.bundle[order] / _whole(instance)[n]
    rows[n, row, 2] = 0.0
    rows[n, row, 3 + seen.tasks.kind[running.task[order]]] = 1.0
    rows[n, row, -1] = (seen.slot - running.start[order]) / COUNTS
    return rows


def action_of(seen: Round, decision: Decision) -> Ints:
    """Return the actions that stand for a decision without preemption, shape [N, 3].

    Parameters
    ----------
    seen
        The round.
    decision
        The decision; it changes no bundle of a running task.

    Raises
    ------
    OptionError
        If no action stands for it.
    """
    placed = decision.place is not None and np.any(decision.place)
    if placed or (decision.changed is not None and np.size(decision.changed)):
        raise OptionError("no action changes a bundle, or places a task with less than it needs")
    places = seen.pending.shape[1]
    here = seen.pending == decision.task[:, None]
    named = decision.task >= 0
    if (named & ~here.any(axis=1)).any():
        n = int(np.flatnonzero(named & ~here.any(axis=1))[0])
        raise OptionError(f"task {int(decision.task[n])} is not pending on cluster {n}")
    place = np.where(named, here.argmax(axis=1), places)
    return np.column_stack([place, np.where(named[:, None], decision.bundle, 0)])


def decision_of(
    seen: Round, mask: Flags, action: ArrayLike, score: ArrayLike | None = None
) -> tuple[Decision, Flags]:
    """Return the decision that actions stand for, and which of them were not allowed.

    Parameters
    ----------
    seen
        The round.
    mask
        Actions that each cluster may take, shape [N, P + 1, A, B].
    action
        Place in its pending set, CPU cores and GPUs of each cluster, shape [N, 3]. An action that
        is not allowed does nothing.
    score
        How much each cluster wants its task, in [0, 1], shape [N]; by default all equally.

    Returns
    -------
    The decision, and whether the action of each cluster was refused, shape [N].

    Raises
    ------
    OptionError
        If an action lies outside the table of actions.
    """
    clusters, places = seen.pending.shape
    chosen = np.asarray(action, dtype=np.int64)
    if chosen.shape != (clusters, 3):
        raise OptionError(f"the action must have shape [{clusters}, 3], not {chosen.shape}")
    outside = (chosen < 0) | (chosen >= np.array(mask.shape[1:]))
    if outside.any():
        n = int(np.flatnonzero(outside.any(axis=1))[0])
        raise OptionError(f"cluster {n}: there is no action {tuple(chosen[n].tolist())}")
    each = np.arange(clusters)
    place = chosen[:, 0]
    allowed = mask[each, place, chosen[:, 1], chosen[:, 2]]
    named = allowed & (place < places)
    task = np.where(named, seen.pending[each, np.minimum(place, places - 1)], -1)
    bundle = np.where(named[:, None], chosen[:, 1:], 0)
    wanted = None if score is None else np.asarray(score, dtype=np.float64)
    return Decision(task, bundle, wanted), np.asarray(~allowed)


def missing(package: str, error: ImportError) -> MissingDependencyError:
    """Say which extra brings a package."""
    return MissingDependencyError(
        f"{package} is needed and cannot be imported ({error}): pip install 'edgeopt[gym]'"
    )


def check_reward(reward: str) -> None:
    """Refuse a reward of another name."""
    if reward not in ("shared", "local"):
        raise OptionError(f"reward = {reward!r}: must be 'shared' or 'local'")


def observation_space(instance: TapFingerInstance, *lead: int) -> spaces.Dict:
    """Return the space of what `shown` returns."""
    from gymnasium import spaces

    P, K, most = instance.pending, instance.task_kinds, most_running(instance)
    largest = instance.clusters * P - 1
    return spaces.Dict(
        {
            "cluster": _shares((*lead, 3)),
            "pending": spaces.Box(0.0, 1.0, (*lead, P, 3 + K), np.float32),
            "running": _shares((*lead, most, 4 + K)),
            "node": spaces.Box(-1, largest, (*lead, P), np.int64),
            "mask": spaces.MultiBinary((*lead, P + 1, *instance.speed.shape[2:])),
        }
    )


def _shares(shape: tuple[int, ...]) -> spaces.Box:
    """Return shares, and a number without a bound in the last column."""
    from gymnasium import spaces

    high = np.ones(shape, dtype=np.float32)
    high[..., -1] = np.inf
    return spaces.Box(np.zeros_like(high), high, dtype=np.float32)


def action_space(instance: TapFingerInstance, *lead: int, scored: bool) -> spaces.Space[Any]:
    """Return the space of actions: place, CPU cores and GPUs, and a score on request."""
    from gymnasium import spaces

    sizes = np.array([instance.pending + 1, *instance.speed.shape[2:]])
    choice = spaces.MultiDiscrete(np.broadcast_to(sizes, (*lead, 3)).copy())
    if not scored:
        return choice
    return spaces.Dict({"choice": choice, "score": spaces.Box(0.0, 1.0, lead, np.float64)})


def shown(observation: Observation, cluster: int | None = None) -> Mapping[str, NDArray[Any]]:
    """Return an observation as the packages want it."""
    rows = slice(None) if cluster is None else cluster
    named = {name: part[rows] for name, part in observation._asdict().items()}
    named["mask"] = named["mask"].astype(np.int8)
    return named
