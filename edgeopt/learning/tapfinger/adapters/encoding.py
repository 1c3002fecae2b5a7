"""Rounds as arrays of fixed size for a learner, and its actions as decisions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from edgeopt.errors import MissingDependencyError, OptionError
from edgeopt.kernels import compiled
from edgeopt.online.tapfinger.environment import TapFingerEpisode
from edgeopt.online.tapfinger.events import Decision
from edgeopt.representation import compact_repr

if TYPE_CHECKING:
    from gymnasium import spaces
    from numpy.typing import ArrayLike, NDArray

    from edgeopt.instances.fields import Flags
    from edgeopt.instances.fields import Integers as Ints
    from edgeopt.instances.tapfinger import TapFingerInstance
    from edgeopt.online.tapfinger.events import Round
    from edgeopt.online.tapfinger.kernels import State

    Features = NDArray[np.float32]


COUNTS: Final = 10.0
"""Numbers of tasks and of slots are divided by this."""


@compact_repr
class Observation(NamedTuple):
    """What a learner sees of a round; a row per cluster, so that each can be handed its own.

    Several scenarios side by side have one axis more in front.

    Attributes
    ----------
    cluster
        Free CPU cores and GPUs as shares of the cluster's, the number of tasks that queue behind
        its pending set, and of those in it, in tens, shape [N, 4].
    pending
        Tasks of its pending set: CPU cores and GPUs of the smallest bundle as shares of the
        cluster's, whether the place is empty, the kind in one-hot code, slots since the arrival in
        tens, and 1 over the number of clusters on which the task may run, shape [N, P, 5 + K].
    running
        Tasks that run on it: CPU cores and GPUs held as shares of the cluster's, whether the row
        is empty, the kind in one-hot code, and slots since the start in tens, shape [N, M, 4 + K].
    node
        First place of any cluster that shows the same task, n P + i for place i of cluster n, so
        that a task in the sets of several clusters is known as one node, shape [N, P]. An empty
        place is a node of its own.
    startable
        Whether a place holds a task whose smallest bundle fits, shape [N, P].
    mask
        Actions that a cluster may take: entry (place, cpu, gpu) says whether it may name the task
        of that place with that bundle, from the smallest to what is free, or with (0, 0), which
        starts nothing, shape [N, P + 1, A, B]. Place P names none, and goes with (0, 0) alone.

    Notes
    -----
    Li et al., section IV, the nodes of the graph, and equation (12). Numbers are scaled, as the
    authors' are not. There is no progress in it, and nothing of durations or the future.

    Examples
    --------
    >>> import numpy as np
    >>> from edgeopt.instances.tapfinger import small
    >>> from edgeopt.learning.tapfinger.adapters import Session
    >>> seen = Session(small(1)).open({0: np.random.default_rng(0)}).observation
    >>> seen.cluster.shape, seen.pending.shape, seen.running.shape
    ((1, 2, 4), (1, 2, 10, 7), (1, 2, 2, 6))
    """

    cluster: Features
    pending: Features
    running: Features
    node: Ints
    startable: Flags
    mask: Flags


def most_running(instance: TapFingerInstance) -> int:
    """Return how many tasks a cluster can have room for at most, none of them paused."""
    least = instance.minimum.min(axis=0)
    # A task holds something, so there are never more of them than CPU cores and GPUs together.
    bound = [int(instance.capacity.sum(axis=1).max())]
    bound += [int(instance.capacity[:, r].max()) // int(least[r]) for r in (0, 1) if least[r]]
    return max(1, min(bound))


def room_for(instance: TapFingerInstance, count: int) -> tuple[Observation, Ints]:
    """Return arrays for the observations of scenarios, and for what `encode` notes about them."""
    N, P, K = instance.clusters, instance.pending, instance.task_kinds
    observation = Observation(
        cluster=np.zeros((count, N, 4), dtype=np.float32),
        pending=np.zeros((count, N, P, 5 + K), dtype=np.float32),
        running=np.zeros((count, N, most_running(instance), 4 + K), dtype=np.float32),
        node=np.zeros((count, N, P), dtype=np.int64),
        startable=np.zeros((count, N, P), dtype=np.bool_),
        mask=np.zeros((count, N, P + 1, *instance.speed.shape[2:]), dtype=np.bool_),
    )
    observation.mask[:, :, -1, 0, 0] = True
    return observation, np.zeros((count, N, P, 4), dtype=np.int64)


@compiled(writes="boxes")
def encode(state: State, e: int, seen: Observation, boxes: Ints) -> bool:
    """Write the observation of a scenario; return whether there are rows for all that run.

    `boxes` are the bundles that are allowed in each place now, from the first to before the last.
    """
    scenario = state.scenario[e]
    clusters, places = state.pending[e].shape
    rows = seen.running.shape[2]
    served = np.zeros(clusters, dtype=np.int64)
    fits = True
    for i in range(scenario.active):
        task = state.task[e, state.active[e, i]]
        n, row = task.cluster, served[task.cluster]
        served[n] += 1
        if row >= rows:
            fits = False
            continue
        out = seen.running[e, n, row]
        _share(task.bundle, state.cluster[e, n].capacity, task.kind, out)
        out[-1] = (scenario.slot - task.start) / COUNTS
    first = np.empty(scenario.tasks, dtype=np.int64)
    for n in range(clusters):
        cluster = state.cluster[e, n]
        for r in range(2):
            seen.cluster[e, n, r] = cluster.free[r] / max(cluster.capacity[r], 1)
        seen.cluster[e, n, 2] = (cluster.waiting - cluster.size) / COUNTS
        seen.cluster[e, n, 3] = cluster.size / COUNTS
        for row in range(served[n], rows):
            _empty(seen.running[e, n, row])
        for i in range(cluster.size):
            first[state.pending[e, n, i]] = -1
    for n in range(clusters):
        cluster = state.cluster[e, n]
        for i in range(places):
            out, seen.node[e, n, i] = seen.pending[e, n, i], n * places + i
            if i >= cluster.size:
                _empty(out)
                seen.startable[e, n, i] = False
                _allow(0, 0, 0, 0, boxes[e, n, i], seen.mask[e, n, i])
                continue
            j = state.pending[e, n, i]
            task = state.task[e, j]
            least = state.kind[e, task.kind].minimum
            if first[j] < 0:
                first[j] = n * places + i
            seen.node[e, n, i] = first[j]
            _share(least, cluster.capacity, task.kind, out)
            out[-2] = (scenario.slot - task.arrival) / COUNTS
            out[-1] = 1.0 / task.choice
            cpus = min(cluster.free[0] + 1, state.speed.shape[3])
            gpus = min(cluster.free[1] + 1, state.speed.shape[4])
            seen.startable[e, n, i] = least[0] < cpus and least[1] < gpus
            _allow(least[0], least[1], cpus, gpus, boxes[e, n, i], seen.mask[e, n, i])
            seen.mask[e, n, i, 0, 0] = True
    return fits


@compiled(writes="out")
def _share(bundle: Ints, capacity: Ints, kind: int, out: Features) -> None:
    """Write a bundle as shares of a cluster's, that the row is not empty, and the kind."""
    out[:] = 0.0
    for r in range(2):
        out[r] = bundle[r] / max(capacity[r], 1)
    out[3 + kind] = 1.0


@compiled(writes="out")
def _empty(out: Features) -> None:
    """Write that a row is empty."""
    out[:] = 0.0
    out[2] = 1.0


@compiled(writes="box mask")
def _allow(cpu: int, gpu: int, cpus: int, gpus: int, box: Ints, mask: Flags) -> None:
    """Allow bundles from (cpu, gpu) to before (cpus, gpus), instead of those of the box so far."""
    same = box[0] == cpu and box[1] == gpu and box[2] == cpus and box[3] == gpus
    if same and cpus > 0:
        return
    for allowed in (False, True):
        for x in range(box[0], box[2]):
            for y in range(box[1], box[3]):
                mask[x, y] = allowed
        box[0], box[1], box[2], box[3] = cpu, gpu, cpus, gpus
    mask[0, 0] = False


def features(instance: TapFingerInstance, seen: Round) -> Observation:
    """Write a round as arrays whose sizes do not change.

    Parameters
    ----------
    instance
        The instance.
    seen
        The round.

    Returns
    -------
    Arrays of fixed shapes.

    Raises
    ------
    OptionError
        If more tasks are in service on a cluster than it has room for, since some are paused:
        rows for them would have no end.

    Examples
    --------
    >>> import numpy as np
    >>> from edgeopt.instances.tapfinger import small
    >>> from edgeopt.learning.tapfinger.adapters import features
    >>> from edgeopt.online.tapfinger import TapFingerEnvironment
    >>> environment = TapFingerEnvironment(small(1))
    >>> [scenario] = environment.scenarios(np.random.default_rng(0), 1)
    >>> seen = features(small(1), environment.episode(scenario).observe())
    >>> seen.cluster, seen.pending.shape
    (array([[1. , 0. , 0. , 0. ],
           [1. , 1. , 0. , 0.1]], dtype=float32), (2, 10, 7))
    """
    return Observation(*(part[0] for part in encoded(instance, seen)[0]))


def encoded(instance: TapFingerInstance, seen: Round) -> tuple[Observation, Ints]:
    """Return the `features` of a round, as one of several, and the bundles it allows."""
    observation, boxes = room_for(instance, 1)
    if not encode(TapFingerEpisode.resumed(instance, seen).batch.state, 0, observation, boxes):
        most = observation.running.shape[2]
        raise OptionError(
            f"slot {seen.slot}: more than {most} tasks are in service on a cluster, some of them "
            "paused: there are no rows for them"
        )
    return observation, boxes


def action_of(seen: Round, decision: Decision) -> Ints:
    """Return the actions that stand for a decision without preemption, shape [N, 3].

    Parameters
    ----------
    seen
        The round.
    decision
        The decision; it changes no bundle of a running task.

    Returns
    -------
    Actions, shape [N, 3].

    Raises
    ------
    OptionError
        If no action stands for it.

    Examples
    --------
    >>> import numpy as np
    >>> from edgeopt.instances.tapfinger import small
    >>> from edgeopt.learning.tapfinger.adapters import action_of
    >>> from edgeopt.online.tapfinger import Min, TapFingerEnvironment
    >>> environment, policy = TapFingerEnvironment(small(1)), Min()
    >>> rng = np.random.default_rng(0)
    >>> [scenario] = environment.scenarios(rng, 1)
    >>> seen = environment.episode(scenario).observe()
    >>> decision, state = policy.decide(policy.start(small(1)), seen, rng)
    >>> action_of(seen, decision)
    array([[10,  0,  0],
           [ 0,  1,  2]])
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


@compiled
def outside(mask: Flags, action: Ints) -> int:
    """Return the first cluster whose action is not in the table of actions, -1 if there is none."""
    for n in range(action.shape[0]):
        for axis in range(3):
            if not 0 <= action[n, axis] < mask.shape[1 + axis]:
                return n
    return -1


@compiled(writes="task bundle refused")
def decode(
    pending: Ints, mask: Flags, action: Ints, task: Ints, bundle: Ints, refused: Flags
) -> None:
    """Write the tasks and bundles that actions stand for, and which of them are not allowed."""
    clusters, places = pending.shape
    for n in range(clusters):
        place, cpu, gpu = action[n, 0], action[n, 1], action[n, 2]
        refused[n] = not mask[n, place, cpu, gpu]
        task[n], bundle[n, 0], bundle[n, 1] = -1, 0, 0
        if place < places and not refused[n]:
            task[n], bundle[n, 0], bundle[n, 1] = pending[n, place], cpu, gpu


def as_actions(action: ArrayLike, *lead: int) -> Ints:
    """Return actions as an array, shape [..., 3]."""
    chosen = np.ascontiguousarray(action, dtype=np.int64)
    if chosen.shape != (*lead, 3):
        raise OptionError(f"the action must have shape {[*lead, 3]}, not {chosen.shape}")
    return chosen


def no_such(n: int, action: Ints) -> OptionError:
    """Say that an action of a cluster is not in the table."""
    return OptionError(f"cluster {n}: there is no action {tuple(action[n].tolist())}")


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

    Examples
    --------
    >>> import numpy as np
    >>> from edgeopt.instances.tapfinger import small
    >>> from edgeopt.learning.tapfinger.adapters import decision_of
    >>> from edgeopt.online.tapfinger import TapFingerEnvironment
    >>> environment = TapFingerEnvironment(small(1))
    >>> [scenario] = environment.scenarios(np.random.default_rng(0), 1)
    >>> seen = environment.episode(scenario).observe()
    >>> everything = np.ones((2, seen.pending.shape[1] + 1, 5, 3), dtype=bool)
    >>> decision, refused = decision_of(seen, everything, [[10, 0, 0], [0, 1, 2]])
    >>> decision.task, decision.bundle, refused
    (array([-1,  0]), array([[0, 0],
           [1, 2]]), array([False, False]))
    """
    decision = Decision.void(seen.pending.shape[0])
    refused = np.empty(decision.task.size, dtype=np.bool_)
    chosen = as_actions(action, decision.task.size)
    if (n := outside(mask, chosen)) >= 0:
        raise no_such(n, chosen)
    decode(seen.pending, mask, chosen, decision.task, decision.bundle, refused)
    wanted = None if score is None else np.asarray(score, dtype=np.float64)
    return decision._replace(score=wanted), refused


def missing(package: str, error: ImportError) -> MissingDependencyError:
    """Say which extra brings a package."""
    return MissingDependencyError(
        f"{package} is needed and cannot be imported ({error}): pip install 'edgeopt[gym]'"
    )


def observation_space(instance: TapFingerInstance, *lead: int) -> spaces.Dict:
    """Return the space of what `shown` returns."""
    from gymnasium import spaces

    P, K, most = instance.pending, instance.task_kinds, most_running(instance)
    last = instance.clusters * P - 1
    return spaces.Dict(
        {
            "cluster": _shares((*lead, 4), -2, -1),
            "pending": _shares((*lead, P, 5 + K), -2),
            "running": _shares((*lead, most, 4 + K), -1),
            "node": spaces.Box(0, last, (*lead, P), np.int64),
            "startable": spaces.MultiBinary((*lead, P)),
            "mask": spaces.MultiBinary((*lead, P + 1, *instance.speed.shape[2:])),
        }
    )


def _shares(shape: tuple[int, ...], *counts: int) -> spaces.Box:
    """Return shares, and numbers without a bound in some columns."""
    from gymnasium import spaces

    high = np.ones(shape, dtype=np.float32)
    high[..., counts] = np.inf
    return spaces.Box(np.zeros_like(high), high, dtype=np.float32)


def action_space(instance: TapFingerInstance, *lead: int, scored: bool) -> spaces.Space[Any]:
    """Return the space of actions: place, CPU cores and GPUs, and a score on request."""
    from gymnasium import spaces

    sizes = np.array([instance.pending + 1, *instance.speed.shape[2:]])
    choice = spaces.MultiDiscrete(np.broadcast_to(sizes, (*lead, 3)).copy())
    if not scored:
        return choice
    return spaces.Dict({"choice": choice, "score": spaces.Box(0.0, 1.0, lead, np.float64)})


def shown(
    observation: Observation, rows: int | slice = slice(None), *, copy: bool = True
) -> dict[str, NDArray[Any]]:
    """Return an observation, or some of its rows, as the packages want it."""
    parts: tuple[NDArray[Any], ...] = observation
    named = {
        name: part[rows].view(np.int8) if part.dtype == np.bool_ else part[rows]
        for name, part in zip(Observation._fields, parts, strict=True)
    }
    return {name: part.copy() for name, part in named.items()} if copy else named
