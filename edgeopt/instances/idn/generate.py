"""Random instances in the setting of the paper's evaluation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from edgeopt.errors import OptionError
from edgeopt.instances.idn.catalogue import (
    Catalogue,
    catalogue,
    largest_remainder,
    sliding_shares,
    spread,
    zipf_shares,
)
from edgeopt.instances.idn.instance import IdnInstance
from edgeopt.instances.idn.ranking import pad_paths
from edgeopt.instances.idn.topology import Network, paths_to_root, topology_1, topology_2
from edgeopt.instances.validate import check_sizes
from edgeopt.options import check_choice, check_real, check_room, check_whole, refused
from edgeopt.options import generator as source

if TYPE_CHECKING:
    from numpy.typing import NDArray

ENTRIES: Final = 2  # base stations at which the requests of a task enter


def generate(
    *,
    rng: int | np.random.Generator = 0,
    topology: Literal[1, 2] | Network = 1,
    popularity: Literal["fixed", "sliding"] = "fixed",
    horizon: int = 300,
    alpha: float = 1.0,
    rate: float = 7500.0,
    slot_seconds: float = 60.0,
    tasks: int = 20,
    replicas: int = 3,
    arrivals: Literal["exact", "multinomial"] = "exact",
    shift_every: int = 27_000_000,
    shift_by: int = 5,
    zipf: float = 1.2,
    attachment: Literal["task", "common", "all"] | int = "task",
) -> IdnInstance:
    """Draw a random instance in the paper's setting.

    The requests of a task enter at two random base stations, half of them at each, and travel the
    tree up to the cloud, which hosts all models without limits. Base stations are drawn first,
    task by task, then the requests: other options do not change which stations are drawn.

    Parameters
    ----------
    rng
        Seed or generator; equal seeds give equal instances on one kind of processor only; see
        `Instance.rounded`. The second network has two base stations: exact arrivals leave nothing
        to draw there.
    topology
        1 or 2 for the paper's networks, or another network; node 0 is the cloud.
    popularity
        ``"fixed"``: Zipf's law at all times. ``"sliding"``: it moves on by some tasks now and then.
    horizon
        Number of slots T (the paper does not print its own).
    alpha
        Cost of one percent of inaccuracy, ms (0.5-6 in the paper).
    rate
        Requests per second, of all tasks together (7083-10000 in the paper).
    slot_seconds
        Length of a slot, seconds.
    tasks, replicas
        Number of tasks, and of copies of each of a task's ten models.
    arrivals
        ``"exact"``: each slot has its expected requests, rounded to whole numbers with an exact
        total. ``"multinomial"``: the type of every request is drawn independently, so that no two
        slots are alike.
    shift_every, shift_by
        Requests between two moves of a sliding popularity, and tasks that it moves on by. The
        default is an hour at the default rate.
    zipf
        Exponent of Zipf's law.
    attachment
        Where the requests of a task enter; the paper's sentence can be read in more than one way.
        ``"task"``: every task draws two base stations of its own, so that a station serves few
        tasks and memory hardly binds. ``"common"``: two stations are drawn once and serve all
        tasks, which compete for their memory. A number k: every task draws k stations of its own;
        ``"all"``: it enters at all of them.

    Returns
    -------
    A validated instance; 40 request types, 600 models at default.

    Raises
    ------
    OptionError
        If an option is out of range.

    Notes
    -----
    Si Salem et al., Toward inference delivery networks, section VI-A.
    """
    check_choice("popularity", popularity, ("fixed", "sliding"))
    check_choice("arrivals", arrivals, ("exact", "multinomial"))
    check_sizes(horizon=horizon, tasks=tasks, replicas=replicas)
    if isinstance(attachment, str) or not isinstance(attachment, int | np.integer):
        check_choice("attachment", attachment, ("task", "common", "all"), otherwise="a number")
    check_whole("shift_every", shift_every, 1)
    check_whole("shift_by", shift_by)
    check_real("slot_seconds", slot_seconds, "(0, inf)")
    check_real("zipf", zipf, "[0, inf)")
    per_slot = requests_per_slot(rate, slot_seconds)
    network = _network(topology)
    generator = source(rng)
    entry = attach(generator, network, tasks, attachment)
    check_room("horizon * tasks * stations", horizon, entry.size)

    base = zipf_shares(tasks, zipf)
    if popularity == "fixed":
        by_task = np.tile(base, (horizon, 1))
    else:
        by_task = sliding_shares(base, horizon, per_slot, shift_every, shift_by)
    shares = np.repeat(by_task / entry.shape[1], entry.shape[1], axis=1)
    if arrivals == "exact":
        requests = np.array([largest_remainder(share, per_slot) for share in shares])
    else:
        requests = generator.multinomial(per_slot, shares / shares.sum(axis=1, keepdims=True))
    return assemble(
        network,
        catalogue(),
        entry,
        requests,
        alpha=alpha,
        replicas=replicas,
        slot_seconds=slot_seconds,
    )


def _network(topology: int | Network) -> Network:
    if isinstance(topology, Network):
        return topology
    if isinstance(topology, bool) or not isinstance(topology, int | np.integer):
        raise refused("topology", topology, "must be 1, 2 or a Network")
    if topology not in (1, 2):
        raise refused("topology", topology, "must be 1, 2 or a Network")
    return topology_1() if topology == 1 else topology_2()


def requests_per_slot(rate: float, slot_seconds: float) -> int:
    """Return the whole number of requests of a slot."""
    check_real("rate", rate, "[0, inf)")
    number = float(rate) * float(slot_seconds)
    if not number < 2**53:
        raise OptionError(f"rate * slot_seconds must be below 2**53, got {rate} * {slot_seconds}")
    return round(number)


def attach(
    generator: np.random.Generator,
    network: Network,
    tasks: int,
    attachment: str | int = "task",
) -> NDArray[np.int64]:
    """Draw the base stations at which each task is requested, shape [tasks, k]."""
    stations = np.flatnonzero(network.tier == network.tier.max())
    if attachment == "all":
        return np.tile(stations, (tasks, 1))
    if isinstance(attachment, str):
        entries = min(ENTRIES, stations.size)
    else:
        check_whole("attachment", attachment, 1, stations.size)
        entries = int(attachment)
    draws = 1 if attachment == "common" else tasks
    drawn = [np.sort(generator.choice(stations, entries, replace=False)) for _ in range(draws)]
    return np.tile(np.array(drawn, dtype=np.int64), (tasks // draws, 1)).reshape(tasks, entries)


def assemble(
    network: Network,
    models: Catalogue,
    entry: NDArray[np.int64],
    requests: NDArray[np.int64],
    *,
    alpha: float,
    replicas: int,
    slot_seconds: float,
    cloud: int = 0,
) -> IdnInstance:
    """Put a network, a catalogue and requests together."""
    tasks, entries = entry.shape
    check_real("alpha", alpha, "[0, inf)")
    check_sizes(replicas=replicas)
    check_room("tasks * replicas", tasks, replicas, len(models.names), network.nodes)
    data = spread(models, network.gpu, tasks=tasks, replicas=replicas, slot_seconds=slot_seconds)
    is_cloud = np.arange(network.nodes) == cloud
    routes = paths_to_root(network.edges, network.latency, network.nodes, cloud)
    return IdnInstance(
        edges=network.edges,
        latency=network.latency,
        size=data.size,
        delay=data.delay,
        capacity=np.where(is_cloud[:, None], np.inf, data.capacity),
        accuracy=data.accuracy,
        task=data.task,
        budget=np.where(is_cloud, np.inf, network.budget),
        repository=np.repeat(is_cloud[:, None], data.task.size, axis=1),
        request_task=np.repeat(np.arange(tasks), entries),
        path=pad_paths([routes[v] for v in entry.ravel().tolist()]),
        requests=requests,
        alpha=alpha,
        tier=network.tier,
        names=network.names,
    )
