"""Random instances: in the setting of the paper's simulations, and small ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import numpy as np

from edgeopt.errors import OptionError
from edgeopt.instances.tapfinger.instance import TapFingerInstance
from edgeopt.instances.validate import check_sizes, frozen_integers, real_numbers
from edgeopt.options import check_choice, check_flag, check_real, check_room, check_whole, generator
from edgeopt.options import generator as source
from edgeopt.representation import compact_repr

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from edgeopt.arrays import Flags, Floats, Ints


Law = Literal["sqrt", "constant"]

_SHAPE: Final = (17, 17)  # a made-up task is given at most 16 CPU cores and GPUs
INSENSITIVE: Final = 0.25
"""Progress per slot of a task that more than the smallest bundle does not help."""

SATURATION: Final = 16.0  # GPUs g of a sensitive task enter its speed as tanh(g / 16)
_SMALLEST: Final = (2, 1)
_POINTER: Final = (3, 3)
_POINTER_SLOTS: Final = (1, 10)


@compact_repr
class Workload(NamedTuple):
    """Kinds of tasks.

    Attributes
    ----------
    minimum
        Smallest bundle of each kind, shape [K, 2].
    speed
        Progress per slot of each kind with each bundle at the start, shape [K, A, B].
    slowing
        Whether the progress of a kind slows down, shape [K].
    kinds
        Name of each kind.
    """

    minimum: Ints
    speed: Floats
    slowing: Flags
    kinds: tuple[str, ...]


def synthetic_workload(law: Law = "sqrt") -> Workload:
    r"""Return the two kinds of made-up tasks: one takes 4 slots with any bundle, one wants GPUs.

    The speed of the second kind with g GPUs is :math:`\tanh(g / 16)`. CPU cores beyond the smallest
    bundle help neither.
    """
    check_choice("law", law, ("sqrt", "constant"))
    speed = np.full((2, *_SHAPE), INSENSITIVE)
    speed[1] = np.tanh(np.arange(_SHAPE[1]) / SATURATION)
    return Workload(
        minimum=np.array([_SMALLEST, _SMALLEST]),
        speed=speed,
        slowing=np.array([False, law == "sqrt"]),
        kinds=("insensitive", "sensitive"),
    )


def pointer_workload() -> Workload:
    """Return two kinds of tasks that only the choice of the next one matters for (section V-D)."""
    return Workload(
        minimum=np.array([_POINTER, _POINTER]),
        speed=np.stack([np.full(_SHAPE, 1.0 / slots) for slots in _POINTER_SLOTS]),
        slowing=np.zeros(2, dtype=bool),
        kinds=("short", "long"),
    )


Eligibility = Literal["subset", "bandwidth"]

INTERPRETATIONS: Final[dict[Eligibility, str]] = {
    "subset": "a number from 1 to all, then as many of them, as in the authors' program",
    "bandwidth": "those that a link of U[0, 10] Mbit/s reaches with 5, as in the paper, drawn anew "
    "while there is none",
}
"""How it is drawn on which clusters a task may run."""

BANDWIDTH: Final = 10.0  # most bandwidth of a link between a device and a cluster, Mbit/s
ENOUGH: Final = 5.0  # bandwidth from which on a cluster can be reached, Mbit/s


def draw_tasks(
    streams: list[np.random.Generator],
    *,
    tasks: int,
    rate: float,
    kinds: int,
    clusters: int,
    eligibility: Eligibility,
) -> dict[str, Any]:
    """Draw arrivals, kinds and eligibility, each from its own stream."""
    for name, value, least in (("tasks", tasks, 0), ("clusters", clusters, 1)):
        check_whole(name, value, least)
    check_choice("eligibility", eligibility, INTERPRETATIONS)
    check_room("tasks * clusters", 1 + tasks, 1 + clusters)
    arriving, picking, reaching = streams
    return {
        "arrival": draw_arrivals(arriving, tasks, rate),
        "kind": np.floor(kinds * picking.random(tasks)).astype(np.int64),
        "eligible": draw_eligibility(reaching, tasks, clusters, eligibility),
    }


def draw_arrivals(generator: np.random.Generator, tasks: int, rate: float) -> Ints:
    """Draw a Poisson number of arrivals per slot, from slot 0 until there are enough, shape [J]."""
    check_real("rate", rate, "(0, 1e9]")
    check_room("tasks / rate", int(tasks / float(rate)))
    counts = np.zeros(0, dtype=np.int64)
    while counts.sum() < tasks:
        counts = np.concatenate([counts, generator.poisson(rate, 1 + int(tasks / rate))])
    return np.repeat(np.arange(counts.size), counts)[:tasks]


def draw_eligibility(
    generator: np.random.Generator, tasks: int, clusters: int, eligibility: Eligibility
) -> Flags:
    """Draw on which clusters each task may run, one at least, shape [J, N].

    Li et al., section V-A, names a latency that must be met too, but no figure for it.
    """
    check_choice("eligibility", eligibility, INTERPRETATIONS)
    if eligibility == "subset":
        uniform = generator.random((tasks, clusters + 1))
        chosen = 1 + np.floor(clusters * uniform[:, 0])
        rank = uniform[:, 1:].argsort(axis=1).argsort(axis=1)
        return np.asarray(rank < chosen[:, None])
    eligible = np.zeros((0, clusters), dtype=bool)
    while eligible.shape[0] < tasks:
        reached = BANDWIDTH * generator.random((1 + tasks, clusters)) >= ENOUGH
        eligible = np.concatenate([eligible, reached[reached.any(axis=1)]])
    return eligible[:tasks]


TASKS: Final = 64  # tasks per cluster
CAPACITY: Final = (16, 16)  # CPU cores and GPUs of a cluster
MIXED: Final = ((4, 4), (8, 8), (12, 12), (16, 16), (24, 24), (32, 32))
"""CPU cores and GPUs of clusters of different sizes."""

NOISE: Final = 0.1  # most by which progress differs from the law, in the single-task experiments
_LAWS: Final = {
    "sqrt": "speed tanh(GPUs / 16) that falls with the progress made, as in the authors' program",
    "constant": "constant speed tanh(GPUs / 16), as the durations in the paper",
}


def generate(
    *,
    rng: int | np.random.Generator = 0,
    clusters: int = 3,
    tasks: int | None = None,
    rate: float | None = None,
    workload: Literal["synthetic", "pointer"] = "synthetic",
    law: Law = "sqrt",
    eligibility: Eligibility = "subset",
    single_start: bool = False,
    noise: float | None = None,
    switching: float | None = None,
    capacity: ArrayLike | Literal["mixed"] | None = None,
    pending: int = 10,
) -> TapFingerInstance:
    """Draw a random instance in the setting of the paper's simulations.

    Arrivals, kinds and eligibility come from streams of their own: a setting of one of them leaves
    the others as they are. More tasks leave those that were there as they are.

    Parameters
    ----------
    rng
        Seed or generator; equal seeds give equal instances on one kind of processor only; see
        `Instance.rounded`.
    clusters
        Number of clusters N; 3 or 6 in the paper.
    tasks
        Number of tasks J; by default 64 per cluster.
    rate
        Mean arrivals per slot, of all clusters together. By default two thirds of a task per
        cluster with `single_start`, which is 2 for 3 clusters and 4 for 6, otherwise one per
        cluster, which is 3 and 6.
    workload
        ``"synthetic"``, see `synthetic_workload`, or ``"pointer"``: tasks of 1 and of 10 slots, of
        which only the choice of the next one matters.
    law
        How the progress of synthetic tasks that want GPUs goes on; see `synthetic_workload`.
    eligibility
        How it is drawn on which clusters a task may run; see `draw_eligibility`.
    single_start
        Whether a cluster may start at most one task per slot (the paper's single-task mode).
    noise
        Most by which the progress of a slot differs from the law; by default 0.1 for synthetic
        tasks with `single_start` and otherwise none.
    switching
        Part of a slot's progress that remains to a task whose bundle has changed; by default 0.5
        with `single_start` and otherwise 1, since the paper has no such cost there.
    capacity
        CPU cores and GPUs, shape [N, 2], or [2] if all clusters are alike; (16, 16) by default.
        ``"mixed"`` for the six sizes of `MIXED` in turn.
    pending
        Most tasks that a cluster chooses from at a time.

    Returns
    -------
    A validated instance whose ``origin`` says that it is drawn, and under which interpretations.

    Raises
    ------
    OptionError
        If an option is out of range.
    InstanceError
        If a capacity, the noise, the cost of switching or the number of places is.

    Notes
    -----
    Li et al., section V-A to V-D.

    Examples
    --------
    >>> from edgeopt.instances.tapfinger import generate
    >>> generate(tasks=12, rng=7)
    TapFingerInstance(clusters=3, tasks=12, kinds=2, largest=(16, 16))
    """
    check_choice("workload", workload, ("synthetic", "pointer"))
    check_flag("single_start", single_start)
    check_real("noise", noise, none=True)
    check_whole("pending", pending)
    room = _capacity(capacity, clusters)
    made = pointer_workload() if workload == "pointer" else synthetic_workload(law)
    check_room("clusters", clusters, made.speed.size)
    if noise is None:
        noise = NOISE if single_start and workload == "synthetic" else 0.0
    drawn = draw_tasks(
        generator(rng).spawn(3),
        tasks=TASKS * clusters if tasks is None else tasks,
        rate=(2 * clusters / 3 if single_start else clusters) if rate is None else rate,
        kinds=len(made.kinds),
        clusters=clusters,
        eligibility=eligibility,
    )
    return TapFingerInstance(
        capacity=room,
        minimum=made.minimum,
        speed=made.speed,
        slowing=made.slowing,
        kinds=made.kinds,
        **drawn,
        noise=noise,
        switching=(0.5 if single_start else 1.0) if switching is None else switching,
        pending=pending,
        single_start=single_start,
        origin=_origin(workload, law, eligibility, noise),
    )


def _capacity(capacity: ArrayLike | Literal["mixed"] | None, clusters: int) -> Ints:
    check_sizes(clusters=clusters)
    if capacity is None:
        capacity = CAPACITY
    if isinstance(capacity, str):
        if capacity != "mixed":
            raise OptionError(f"capacity must be numbers or 'mixed', got {capacity!r}")
        return np.resize(MIXED, (clusters, 2))
    alike = real_numbers("capacity", capacity).ndim == 1
    axes = ("resource",) if alike else ("cluster", "resource")
    room = frozen_integers("capacity", capacity, axes, {"cluster": clusters, "resource": 2})
    return np.tile(room, (clusters, 1)) if alike else room


def _origin(workload: str, law: Law, eligibility: Eligibility, noise: float) -> str:
    speeds = (
        f"Tasks that want GPUs have a {_LAWS[law]}; the others take 4 slots with any bundle. "
        if workload == "synthetic"
        else "Tasks take 1 or 10 slots with any bundle. "
    )
    disturbed = (
        f"Progress differs from the law by up to {noise:g} per slot, but is never negative. "
        if noise > 0
        else "Progress is not disturbed. "
    )
    return (
        f"Drawn at random in the setting of Li et al.; no number is measured. {speeds}{disturbed}"
        f"A task may run on clusters that are drawn: {INTERPRETATIONS[eligibility]}."
    )


_SIZES: Final = ((1, 4), (1, 3), (1, 5))
"""First and last-but-one number of clusters, kinds and tasks of a small instance."""


def small(rng: int | np.random.Generator) -> TapFingerInstance:
    """Draw an instance small enough for its schedules to be enumerated.

    At most 3 clusters of up to 4 CPU cores and 4 GPUs, 2 kinds and 4 tasks, no bundle above (3, 3),
    no noise. Speeds are drawn for every bundle, so that a larger one may be slower; half of the
    kinds slow down, and half of the instances allow one start per cluster and slot only.

    Parameters
    ----------
    rng
        Seed or generator.

    Returns
    -------
    A few clusters, tasks and kinds.

    Examples
    --------
    >>> from edgeopt.instances.tapfinger import small
    >>> small(0)
    TapFingerInstance(clusters=3, tasks=3, kinds=2, largest=(3, 3))
    """
    generator = source(rng)
    clusters, kinds, tasks = (int(generator.integers(a, b)) for a, b in _SIZES)
    capacity = generator.integers(0, 5, (clusters, 2))
    roomy = int(generator.integers(clusters))
    capacity[roomy] = generator.integers(2, 5, 2)
    eligible = generator.random((tasks, clusters)) < 0.6
    eligible[:, roomy] |= ~eligible.any(axis=1)
    minimum = generator.integers(0, 3, (kinds, 2))
    minimum[~minimum.any(axis=1)] = 1
    holds = np.asarray((minimum[:, None] <= capacity).all(axis=2))
    kind = generator.integers(0, kinds, tasks)
    eligible[:, roomy] |= ~(eligible & holds[kind]).any(axis=1)
    return TapFingerInstance(
        capacity=capacity,
        minimum=minimum,
        speed=generator.uniform(0.25, 1.1, (clusters, kinds, 4, 4)),
        slowing=generator.random(kinds) < 0.5,
        arrival=np.sort(generator.integers(0, 4, tasks)),
        kind=kind,
        eligible=eligible,
        weight=generator.uniform(0.5, 2, tasks),
        single_start=bool(generator.integers(2)),
        origin="Drawn at random, without a model of anything.",
    )
