"""Random parts of instances: rounds, tasks, machines, propagation, objectives, and weights."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from edgeopt.errors import OptionError
from edgeopt.instances.radio import dbm_to_watt
from edgeopt.instances.validate import real_numbers
from edgeopt.options import check_choice, check_real, check_room, check_whole

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from edgeopt.arrays import Flags, Floats
    from edgeopt.instances.edr.instance import EdrInstance


RoundsBound: TypeAlias = Literal["published", "corrected"]
"""The bound as printed, or as it follows from the analysis that it cites."""


_POSITIVE = "[1e-15, 1e15]"
# Constants of the analysis; beyond, the bound means nothing and its powers leave the numbers.


def rounds_needed(
    *,
    sites: int,
    clients: int,
    accuracy: float = 0.01,
    local_steps: int = 5,
    smoothness: float = 1.0,
    convexity: float = 1.0,
    deviation: ArrayLike = 1.0,
    gradient: float = 0.01,
    rounds_bound: RoundsBound = "published",
) -> int:
    r"""Return the rounds that bring a federated model within an accuracy of its best loss.

    As printed, with smoothness :math:`L`, strong convexity :math:`\mu`, local steps :math:`E`,
    accuracy :math:`\epsilon`, standard deviations :math:`\sigma_j` of the stochastic gradients,
    bound :math:`G` on their norm, and clients :math:`A` out of :math:`J` sites,

    .. math:: Q = \Bigl\lceil \frac{2 L v}{\mu^2 \epsilon} - \max(L / \mu, E) \Bigr\rceil, \quad
              v = \sum_{j=1}^{J} \frac{\sigma_j^2}{j^2} + 8 (E - 1)^2 G^2
                  + \frac{4 (J - |A|)}{|A| (J - 1)} E^2 G^2 + 8 L G^2.

    Three things differ in the analysis that it rests on: each site has the weight :math:`1/J`, so
    :math:`\sigma_j^2 / J^2` stands in place of :math:`\sigma_j^2 / j^2`; the shift is
    :math:`\max(8 L / \mu, E)`; and the bound counts local steps, of which a round makes :math:`E`.

    Parameters
    ----------
    sites
        Number of sites J.
    clients
        Number of clients of the task, at most J.
    accuracy
        Distance from the least loss.
    local_steps
        Local steps of a client in a round.
    smoothness, convexity
        Constants of the loss.
    deviation
        Standard deviations of the sites' gradients, one for all or shape [J].
    gradient
        Bound on the norm of a stochastic gradient.
    rounds_bound
        ``"published"``, or ``"corrected"`` in the three points above.

    Returns
    -------
    Whole rounds, at least 1: at the default constants 317, 323 and 327 among 20, 50 and 1000 sites
    with up to 30 clients as printed, and 1 where corrected.

    Raises
    ------
    OptionError
        If a number is out of range or the bound is unknown.

    Notes
    -----
    Zhu et al., section II, the number of global iterations; after Li et al., On the convergence of
    FedAvg on non-IID data, theorem 3.

    Examples
    --------
    >>> from edgeopt.instances.edr import rounds_needed
    >>> rounds_needed(sites=10, clients=5, rounds_bound="corrected")
    3
    """
    check_choice("rounds_bound", rounds_bound, get_args(RoundsBound))
    for name, value in (("sites", sites), ("clients", clients), ("local_steps", local_steps)):
        check_whole(name, value, 1)
    if not 1 <= clients <= sites:
        raise OptionError(f"needs 1 <= clients <= sites, got {clients} of {sites}")
    constants = (("accuracy", accuracy), ("smoothness", smoothness), ("convexity", convexity))
    for name, number in constants:
        check_real(name, number, _POSITIVE)
    check_real("gradient", gradient, "[0, 1e15]")
    check_room("sites", sites)
    spread = real_numbers("deviation", deviation)
    if spread.shape not in ((), (sites,)) or not (np.abs(spread) <= 1e15).all():
        raise OptionError(f"deviation must be a number or {sites} of them, at most 1e15")
    spread = np.broadcast_to(spread, (sites,)) ** 2
    weight = (
        np.arange(1.0, sites + 1) if rounds_bound == "published" else np.full(sites, float(sites))
    )
    left_out = 4 * (sites - clients) / (clients * (sites - 1)) if clients < sites else 0.0
    variance = (
        float((spread / weight**2).sum())
        + gradient**2
        * (8 * (local_steps - 1) ** 2 + left_out * local_steps**2 + 8 * smoothness)
    )  # fmt: skip
    steps = 2 * smoothness * variance / (convexity**2 * accuracy)
    if rounds_bound == "published":
        needed = steps - max(smoothness / convexity, local_steps)
    else:
        needed = (steps - max(8 * smoothness / convexity, local_steps)) / local_steps
    if not needed < 2**53:
        raise OptionError(f"these constants ask for {needed:g} rounds, more than can be counted")
    # What is whole but for rounding is not rounded up.
    return max(1, math.ceil(needed - 1e-12 * steps))


class LearningModel(NamedTuple):
    """A small network for pictures."""

    name: str  # network and data set
    forward: float  # computation of one inference, GFLOP
    parameters: int  # number of weights
    input_bits: int  # size of a picture, bit


LEARNING_MODELS: Final = (
    LearningModel("LeNet-5 on MNIST", 0.833e-3, 61_706, 6_272),
    LearningModel("LeNet-5 on CIFAR-10", 1.304e-3, 62_006, 24_576),
    LearningModel("CNN on MNIST", 2.064e-3, 20_490, 6_272),
    LearningModel("CNN on CIFAR-10", 3.284e-3, 25_578, 24_576),
)
"""LeNet-5, and two convolutions of 3 x 3 with 16 and 32 channels before a full layer."""

STEP_FACTOR: Final = 3.0
"""Computation of training on a picture, forward and backward, in inferences."""

BATCH: Final = 64  # pictures in a local step
WEIGHT_BITS: Final = 32  # bits of a weight


SECONDS_PER_KM: Final = 2e-3  # propagation delay per distance, s/km
LOCAL_STEPS: Final = 5  # local steps of a client in a round


def draw_power(generator: np.random.Generator, shape: int | tuple[int, ...]) -> Floats:
    """Draw powers of transmission of 2 to 20 dBm, W."""
    return np.asarray(dbm_to_watt(generator.uniform(2.0, 20.0, shape)))


class Machines(NamedTuple):
    """Properties of the sites, whatever their requests."""

    energy_per_work: Floats  # energy of a computation, Wh/GFLOP, shape [J]
    speed: Floats  # speed of serving a request, GFLOP/s, shape [J]
    power: Floats  # transmission power, W, shape [J], or [T, J] if drawn by frame
    capable: Flags  # whether a site can serve a type, shape [J, N]


def draw_machines(
    generator: np.random.Generator,
    sites: int,
    types: int,
    capable_share: float,
    *,
    redrawn: int = 0,
) -> Machines:
    """Draw machines in the paper's ranges; their power anew in each of so many frames, if any.

    Powers by frame are drawn last, so that all else stays as it is.
    """
    check_real("capable_share", capable_share, "(0, 1]")
    able = max(1, round(capable_share * sites))
    capable = np.zeros((sites, types), dtype=np.bool_)
    energy = generator.uniform(4e-5, 8e-5, sites)
    power = draw_power(generator, sites)
    speed = generator.uniform(5.0, 20.0, sites)
    for n in range(types):
        capable[generator.choice(sites, able, replace=False), n] = True
    if redrawn:
        power = draw_power(generator, (redrawn, sites))
    return Machines(energy, speed, power, capable)


def draw_tasks(
    generator: np.random.Generator,
    *,
    tasks: int,
    frames: int,
    sites: int,
    clients: int,
    accuracy: float,
    rounds_bound: RoundsBound,
) -> dict[str, Any]:
    """Draw the training tasks in order of arrival; they train the four models in turn.

    Tasks arrive in the first 60 % of the frames and have a quarter to a half of the frames,
    unless the horizon ends before. Clients and, among them, the server are drawn uniformly.
    """
    check_whole("tasks", tasks)
    check_whole("clients", clients, 1)
    check_room("tasks * sites", tasks, sites)
    check_room("tasks * frames", tasks, frames)
    taking_part = min(clients, sites)
    rounds = rounds_needed(
        sites=sites,
        clients=taking_part,
        accuracy=accuracy,
        local_steps=LOCAL_STEPS,
        rounds_bound=rounds_bound,
    )
    arrival = np.sort((generator.random(tasks) * 0.6 * frames).astype(np.int64))
    window = generator.integers(max(1, frames // 4), max(1, frames // 2) + 1, tasks)
    order = generator.random((tasks, sites)).argsort(axis=1)[:, :taking_part]
    client = np.zeros((tasks, sites), dtype=np.bool_)
    np.put_along_axis(client, order, True, axis=1)
    kind = np.arange(tasks) % len(LEARNING_MODELS)
    forward = np.array([model.forward for model in LEARNING_MODELS])[kind]
    parameters = np.array([model.parameters for model in LEARNING_MODELS])[kind]
    return {
        "arrival": arrival,
        "deadline": np.minimum(arrival + window - 1, frames - 1),
        "rounds": np.full(tasks, rounds),
        "client": client,
        "server": order[:, 0],
        "local_steps": np.full(tasks, LOCAL_STEPS),
        "step_work": np.repeat((STEP_FACTOR * BATCH * forward)[:, None], sites, axis=1),
        "aggregation_work": taking_part * parameters * 1e-9,
        "model_size": WEIGHT_BITS * parameters.astype(np.float64),
        "task_kind": kind,
    }


def request_sizes(types: int) -> tuple[Floats, Floats]:
    """Return size, bit, and computation, GFLOP, of the requests of each type, shapes [N].

    Types use the four models in turn.
    """
    asked = [LEARNING_MODELS[n % len(LEARNING_MODELS)] for n in range(types)]
    return (
        np.array([float(model.input_bits) for model in asked]),
        np.array([model.forward for model in asked]),
    )


def draw_propagation(
    generator: np.random.Generator, kilometres: Floats, frames: int, slots: int
) -> Floats:
    """Draw one-way delays of 2 ms per kilometre, 30 % up or down in every slot."""
    return generator.uniform(0.7, 1.3, (frames, slots, *kilometres.shape)) * (
        SECONDS_PER_KM * kilometres
    )


def draw_objectives(generator: np.random.Generator, frames: int, slots: int, types: int) -> Floats:
    """Draw the longest delay of each type, 0.25 to 0.5 s, the same in all slots."""
    return np.tile(generator.uniform(0.25, 0.5, types), (frames, slots, 1))


def draw_prices(generator: np.random.Generator, frames: int) -> Floats:
    """Draw prices that rise and fall by the day, 20 % up or down, and at times threefold."""
    hour = np.arange(frames) % 24
    daily = 3e-5 * (1 + 0.5 * np.sin(2 * np.pi * (hour - 10) / 24))
    spike = np.where(generator.random(frames) < 0.05, 3.0, 1.0)
    price: Floats = daily * generator.uniform(0.8, 1.2, frames) * spike
    return price


def capacity_for(requests: Floats, request_work: Floats, headroom: float) -> Floats:
    """Return capacities with headroom above the largest load that arrives at each site itself.

    The paper has no headroom. But requests also arrive at sites that can serve nothing, and
    training needs computation: then the others cannot serve everything when peaks coincide.
    """
    check_real("headroom", headroom, "[0, inf)")
    peak: Floats = headroom * (requests @ request_work).max(axis=(0, 1))
    return peak


POINTS: Final = 1000.0
"""Cost that calibrated weights give to the energy, and to the delay, of the reference."""

REQUEST_SECONDS: Final = 0.15  # delay of a request that calibrated weights reckon with, s


class Reference(NamedTuple):
    """Energy and delay of serving at average sites and of training at even rates."""

    inference: Floats  # of all requests of a frame, Wh, shape [T]
    training: Floats  # of the tasks that may train in a frame, Wh, shape [T]
    seconds: float  # delay of all requests and rounds of the horizon, s


def reference(instance: EdrInstance) -> Reference:
    """Return energy and delay of serving at average sites and of training at even rates."""
    capable = instance.capable
    mean = (instance.request_energy * capable).sum(axis=0) / capable.sum(axis=0)
    asked = instance.requests.sum(axis=(1, 2))
    pace = instance.active * instance.even_rate
    return Reference(
        inference=asked @ mean,
        training=(pace * instance.round_energy).sum(axis=1),
        seconds=float(REQUEST_SECONDS * asked.sum() + (pace * instance.round_seconds).sum()),
    )


def calibrated_weights(instance: EdrInstance) -> tuple[float, float]:
    """Return the weights, 1/$ and 1/s, at which energy and delay of the reference cost about 1000.

    Negative prices count by their size, so that they do not blow the weight up. A weight is 1 where
    nothing could be calibrated.
    """
    usual = reference(instance)
    # An exact sum is the same on every processor; a product of matrices is not.
    dollars = math.fsum((np.abs(instance.price) * (usual.inference + usual.training)).tolist())
    energy = POINTS / dollars if dollars > 0 else 1.0
    return energy, POINTS / usual.seconds if usual.seconds > 0 else 1.0
