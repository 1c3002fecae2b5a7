"""Catalogues of models, and random instances of IDN."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import numpy as np

from edgeopt.errors import OptionError
from edgeopt.instances.idn.instance import IdnInstance, pad_paths
from edgeopt.instances.idn.topology import Network, paths_to_root, topology_1, topology_2
from edgeopt.instances.validate import check_sizes, frozen_array
from edgeopt.options import check_choice, check_real, check_room, check_whole, refused
from edgeopt.options import generator as source
from edgeopt.representation import compact_repr

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from edgeopt.arrays import Floats, Ints


_TITAN, _GTX = "Titan RTX", "GeForce GTX 980"
_TABLE: Final = (
    ("608p", 65.7, 1577, 41.7, 14.2),
    ("512p", 64.9, 1185, 55.5, 18.9),
    ("416p", 62.8, 1009, 73.8, 25.1),
    ("320p", 57.3, 805, 100, 34.1),
    ("3.99", 55.1, 395, 209, 71),
    ("8.09", 51.4, 195, 329, 112),
    ("10.10", 50.9, 156, 371, 126),
    ("14.02", 49.0, 112, 488, 166),
    ("tiny-416", 38.7, 187, 888, 302),
    ("tiny-288", 34.4, 160, 1272, 433),
)


@compact_repr
class Catalogue(NamedTuple):
    """The models that serve one task.

    Attributes
    ----------
    names
        Name of each of n models.
    accuracy
        Mean average precision, percent, shape [n].
    size
        GPU memory, MB, shape [n].
    frames
        Frames per second on each kind of GPU, shape [n, kinds].
    gpus
        Name of each kind of GPU.

    Examples
    --------
    >>> from edgeopt.instances.idn import Catalogue, catalogue
    >>> variants = catalogue()
    >>> variants.names[:2], variants.accuracy[:2]
    (('608p', '512p'), array([65.7, 64.9]))
    """

    names: tuple[str, ...]
    accuracy: Floats
    size: Floats
    frames: Floats
    gpus: tuple[str, ...]


def catalogue() -> Catalogue:
    """Return the paper's ten variants of YOLOv4: input sizes, pruned and tiny networks.

    Returns
    -------
    Accuracy, memory and speed on the two GPUs, as printed.

    Notes
    -----
    Si Salem et al., Toward inference delivery networks, Table II.

    Examples
    --------
    >>> from edgeopt.instances.idn import catalogue
    >>> catalogue().names
    ('608p', '512p', '416p', '320p', '3.99', '8.09', '10.10', '14.02', 'tiny-416', 'tiny-288')
    """
    names, accuracy, size, titan, gtx = zip(*_TABLE, strict=True)
    return Catalogue(
        names=names,
        accuracy=np.array(accuracy, dtype=np.float64),
        size=np.array(size, dtype=np.float64),
        frames=np.column_stack((titan, gtx)).astype(np.float64),
        gpus=(_TITAN, _GTX),
    )


class Spread(NamedTuple):
    """A catalogue spread over nodes, tasks and replicas, as an instance wants it."""

    # size, delay, capacity: MB, ms and requests per slot at each node, shape [V, M]
    size: Floats
    delay: Floats
    capacity: Floats
    accuracy: Floats  # percent, shape [M]
    task: Ints  # shape [M]


def spread(
    models: Catalogue, gpu: Sequence[str], *, tasks: int, replicas: int, slot_seconds: float
) -> Spread:
    """Give every task its own copy of a catalogue, with replicas, at nodes with these GPUs."""
    if tasks < 1 or replicas < 1 or not slot_seconds > 0:
        raise OptionError(
            "tasks and replicas must be at least 1 and slot_seconds positive, got "
            f"{tasks}, {replicas} and {slot_seconds}"
        )
    unknown = sorted(set(gpu) - set(models.gpus))
    if unknown:
        raise OptionError(
            f"the catalogue knows {', '.join(models.gpus)}, but not {', '.join(unknown)}"
        )
    speed = models.frames[:, [models.gpus.index(kind) for kind in gpu]].T
    # A product such as 60 * 14.2 may fall short of a whole number by rounding only.
    frames = np.floor(slot_seconds * speed * (1 + 1e-12))

    def copies(array: Floats) -> Floats:
        return np.tile(np.repeat(array, replicas, axis=-1), tasks)

    return Spread(
        size=np.tile(copies(models.size), (len(gpu), 1)),
        delay=copies(1000.0 / speed),
        capacity=copies(frames),
        accuracy=copies(models.accuracy),
        task=np.repeat(np.arange(tasks), models.accuracy.size * replicas),
    )


_MOVES = 10**7  # most moves of a popularity that are worked out one by one


def zipf_shares(tasks: int, exponent: float = 1.2) -> Floats:
    r"""Return Zipf's law :math:`p_i \propto (i + 1)^{-s}` over tasks, shape [tasks]."""
    check_whole("tasks", tasks, 1)
    check_room("tasks", tasks)
    check_real("exponent", exponent, "[0, inf)")
    weight = np.arange(1.0, tasks + 1) ** -exponent
    shares: Floats = weight / weight.sum()
    return shares


def sliding_shares(base: Floats, horizon: int, per_slot: int, every: int, by: int) -> Floats:
    r"""Let popularity move on by some tasks whenever a number of requests has come.

    Request number :math:`l` is for task i with the share that ``base`` gives to task :math:`(i +
    \mathrm{by} \lfloor l / \mathrm{every} \rfloor) \bmod N`; a slot in which popularity moves
    gets the mixture.
    """
    for name, value, least in (
        ("horizon", horizon, 1), ("per_slot", per_slot, 0), ("shift_every", every, 1),
        ("shift_by", by, 0),
    ):  # fmt: skip
        check_whole(name, value, least)
    base = frozen_array("base", base, ("task",))
    tasks = base.size
    check_room("horizon * tasks", horizon, tasks)
    moves = int(horizon) * int(per_slot) // int(every)
    if moves > _MOVES:
        raise refused("shift_every", every, f"popularity would move {moves} times, not {_MOVES}")
    shares = np.zeros((horizon, tasks))
    if per_slot == 0:
        return shares + base
    for slot in range(horizon):
        first = slot * per_slot
        stop = first + per_slot
        while first < stop:
            period = first // every
            end = min(stop, (period + 1) * every)
            turned = base[(np.arange(tasks) + by * period % tasks) % tasks]
            shares[slot] += (end - first) / per_slot * turned
            first = end
    return shares


def largest_remainder(shares: ArrayLike, total: int) -> Ints:
    """Divide a number of requests in given shares, to whole numbers with an exact total.

    Each share gets its quota rounded down; what is left goes, one by one, to the largest
    remainders, among equals to the first.
    """
    check_whole("total", total, 0, 2**53)
    share = frozen_array("shares", shares, ("share",))
    if not (share >= 0).all() or not share.sum() > 0:
        raise OptionError("shares must be not negative and not all zero")
    quota = total * (share / share.sum())
    count: Ints = np.floor(quota).astype(np.int64)
    left = total - int(count.sum())
    if left < 0:  # rounding has carried a quota over the next whole number
        count[np.argmax(count)] += left
        left = 0
    # Equal shares have equal remainders but for rounding: do not let its last digits decide.
    order = np.lexsort((np.arange(share.size), -np.round(quota - count, 6)))
    count[order[:left]] += 1
    return count


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

    Examples
    --------
    >>> from edgeopt.instances.idn import generate
    >>> generate(horizon=5, rng=7)
    IdnInstance(nodes=36, models=600, tasks=20, types=40, horizon=5, alpha=1)
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
    generator: np.random.Generator, network: Network, tasks: int, attachment: str | int = "task"
) -> Ints:
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
    entry: Ints,
    requests: Ints,
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
