"""Random parts of instances: tasks, machines, propagation, objectives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from edgeopt.instances.edr.rounds import rounds_needed
from edgeopt.instances.radio import dbm_to_watt
from edgeopt.options import check_real, check_room, check_whole

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.edr.rounds import RoundsBound


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


class Machines(NamedTuple):
    """Properties of the sites, whatever their requests."""

    energy_per_work: NDArray[np.float64]  # energy of a computation, Wh/GFLOP, shape [J]
    speed: NDArray[np.float64]  # speed of serving a request, GFLOP/s, shape [J]
    power: NDArray[np.float64]  # transmission power, W, shape [J]
    capable: NDArray[np.bool_]  # whether a site can serve a type, shape [J, N]


def draw_machines(
    generator: np.random.Generator, sites: int, types: int, capable_share: float
) -> Machines:
    """Draw machines in the paper's ranges."""
    check_real("capable_share", capable_share, "(0, 1]")
    able = max(1, round(capable_share * sites))
    capable = np.zeros((sites, types), dtype=np.bool_)
    energy = generator.uniform(4e-5, 8e-5, sites)
    power = dbm_to_watt(generator.uniform(2.0, 20.0, sites))
    speed = generator.uniform(5.0, 20.0, sites)
    for n in range(types):
        capable[generator.choice(sites, able, replace=False), n] = True
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


def request_sizes(types: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return size, bit, and computation, GFLOP, of the requests of each type, shapes [N].

    Types use the four models in turn.
    """
    asked = [LEARNING_MODELS[n % len(LEARNING_MODELS)] for n in range(types)]
    return (
        np.array([float(model.input_bits) for model in asked]),
        np.array([model.forward for model in asked]),
    )


def draw_propagation(
    generator: np.random.Generator, kilometres: NDArray[np.float64], frames: int, slots: int
) -> NDArray[np.float64]:
    """Draw one-way delays of 2 ms per kilometre, 30 % up or down in every slot."""
    return generator.uniform(0.7, 1.3, (frames, slots, *kilometres.shape)) * (
        SECONDS_PER_KM * kilometres
    )


def draw_objectives(
    generator: np.random.Generator, frames: int, slots: int, types: int
) -> NDArray[np.float64]:
    """Draw the longest delay of each type, 0.25 to 0.5 s, the same in all slots."""
    return np.tile(generator.uniform(0.25, 0.5, types), (frames, slots, 1))


def capacity_for(
    requests: NDArray[np.float64], request_work: NDArray[np.float64], headroom: float
) -> NDArray[np.float64]:
    """Return capacities with headroom above the largest load that arrives at each site itself.

    The paper has no headroom. But requests also arrive at sites that can serve nothing, and
    training needs computation: then the others cannot serve everything when peaks coincide.
    """
    check_real("headroom", headroom, "[0, inf)")
    peak: NDArray[np.float64] = headroom * (requests @ request_work).max(axis=(0, 1))
    return peak
