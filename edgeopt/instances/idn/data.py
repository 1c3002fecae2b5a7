"""Measured models, links and arrivals as tables, and IDN instances built from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import numpy as np

from edgeopt.errors import InstanceError, OptionError
from edgeopt.instances.arrivals import SERVICES, count_service_requests
from edgeopt.instances.idn.generate import (
    Catalogue,
    assemble,
    attach,
    largest_remainder,
    requests_per_slot,
    zipf_shares,
)
from edgeopt.instances.idn.topology import CLOUD_MS, MS_PER_KM, Links, from_links, read_links
from edgeopt.instances.tables import FOLDER, write_table
from edgeopt.instances.traces import read_columns, read_fields
from edgeopt.instances.traces.columns import COUNT, PERCENT, POSITIVE, read_matrix, source_paths
from edgeopt.instances.validate import check_sizes, path_of
from edgeopt.options import check_real, check_room, check_whole, generator

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping
    from pathlib import Path

    from edgeopt.arrays import Floats, Ints
    from edgeopt.instances.idn.instance import IdnInstance
    from edgeopt.instances.traces import Rule

FAST: Final = "RTX 5090"
SLOW: Final = "RTX 3090"
"""The two GPUs that both speeds are known of: the nearest to the paper's fast and slow one."""

MEGABYTES_PER_MILLION: Final = 4.0
"""Memory per million parameters, MB: weights in single precision. What a model needs besides its
weights has not been measured and is not counted."""

Key: TypeAlias = tuple[str, int]  # an architecture and the size of its input, pixels
_RESULTS: Final = "timm_results-imagenet.csv"
_SPEEDS: Final = {
    FAST: "timm_benchmark-infer-amp-nchw-pt291-cu130-5090.csv",
    SLOW: "timm_benchmark-infer-amp-nchw-pt240-cu124-rtx3090.csv",
}


class Classifiers(NamedTuple):
    """Measurements of n classifiers, fastest first."""

    names: tuple[str, ...]  # name and size of the input in pixels, such as ``resnet50@224``
    # share of ImageNet pictures classified correctly, percent, shape [n]
    accuracy: Floats
    parameters: Floats  # number of parameters, millions, shape [n]
    # fast, slow: pictures per second on the two GPUs, shape [n]
    fast: Floats
    slow: Floats


def to_catalogue(models: Classifiers) -> Catalogue:
    """Turn measurements into a catalogue: memory by parameters, one picture being one request."""
    return Catalogue(
        names=models.names,
        accuracy=models.accuracy,
        size=MEGABYTES_PER_MILLION * models.parameters,
        frames=np.column_stack((models.fast, models.slow)),
        gpus=(FAST, SLOW),
    )


def read_classifiers(folder: Path, count: int = 10) -> Classifiers:
    """Read accuracies and speeds that the timm project publishes, and pick some models.

    Of all models measured on both GPUs at the size of input at which their accuracy is known, those
    are kept that no other beats in accuracy and in speed on the slower GPU; of these, ``count``
    are picked at equal distances in the order of their speed.
    """
    accuracy = _accuracies(folder / _RESULTS)
    fast, slow = (_speeds(folder / _SPEEDS[gpu]) for gpu in (FAST, SLOW))
    everywhere = accuracy.keys() & fast.keys() & slow.keys()
    frontier: list[Key] = []
    for key in sorted(everywhere, key=lambda key: (-slow[key][0], -accuracy[key], key)):
        if not frontier or accuracy[key] > accuracy[frontier[-1]]:
            frontier.append(key)
    if len(frontier) < count:
        raise InstanceError(
            str(folder), f"must have {count} models that no other beats", value=len(frontier)
        )
    kept = [frontier[k] for k in np.linspace(0, len(frontier) - 1, count).round().astype(int)]
    return Classifiers(
        names=tuple(f"{name}@{pixels}" for name, pixels in kept),
        accuracy=np.array([accuracy[key] for key in kept]),
        parameters=np.array([slow[key][1] for key in kept]),
        fast=np.array([fast[key][0] for key in kept]),
        slow=np.array([slow[key][0] for key in kept]),
    )


_PIXELS: Final[Rule] = (lambda x: x >= 1 and x == int(x), "must be a number of pixels")


def _named(path: Path, rules: Mapping[str, Rule]) -> list[tuple[str, list[float]]]:
    columns = read_columns(path, {**rules})
    names = read_fields(path, ("model",)).texts["model"]
    numbers = np.column_stack([columns[name] for name in rules]).tolist()
    return list(zip(names, numbers, strict=True))


def _accuracies(path: Path) -> dict[Key, float]:
    """Accuracy by architecture and input; of several trainings, the best."""
    table: dict[Key, float] = {}
    for name, (pixels, top1) in _named(path, {"img_size": _PIXELS, "top1": PERCENT}):
        # Behind the dot stands how the weights were trained, which does not change the speed.
        architecture = name.partition(".")[0]
        if not architecture.startswith("test_"):  # toys for tests of the library
            key = architecture, int(pixels)
            table[key] = max(top1, table.get(key, 0.0))
    return table


def _speeds(path: Path) -> dict[Key, tuple[float, float]]:
    """Pictures per second and millions of parameters by architecture and input."""
    rules = {"infer_img_size": _PIXELS, "infer_samples_per_sec": POSITIVE, "param_count": POSITIVE}
    return {
        (name.partition(".")[0], int(pixels)): (speed, parameters)
        for name, (pixels, speed, parameters) in _named(path, rules)
    }


_LINKS: Final = ("start", "end", "kilometres")
_CLASSIFIERS: Final = ("accuracy", "parameters", "fast", "slow")


class Measured(NamedTuple):
    """The measurements that instances are built from."""

    links: Links  # a map of cables
    classifiers: Classifiers  # models, fastest first
    arrivals: Ints  # requests per minute of each of `SERVICES`, shape [T, 2]


def measure(directory: str | os.PathLike[str]) -> Measured:
    """Reduce the raw files to what instances need."""
    root, links, zoo, *_ = source_paths(
        directory, "idn", "topologies/topohub_sndlib/geant.gml", "model_zoo", "azure_llm_2023"
    )
    return Measured(
        links=read_links(links),
        classifiers=read_classifiers(zoo),
        arrivals=count_service_requests(root),
    )


def write_tables(measured: Measured, directory: str | os.PathLike[str]) -> None:
    """Write the measurements as CSV tables that `read_tables` reads back exactly."""
    root = path_of(directory, "directory")
    links, models = measured.links, measured.classifiers
    write_table(
        root / "links.csv",
        _LINKS,
        [
            (links.names[u], links.names[v], km)
            for (u, v), km in zip(links.edges.tolist(), links.kilometres.tolist(), strict=True)
        ],
    )
    numbers = [getattr(models, name).tolist() for name in _CLASSIFIERS]
    write_table(
        root / "classifiers.csv", ["model", *_CLASSIFIERS], zip(models.names, *numbers, strict=True)
    )
    write_table(root / "requests.csv", SERVICES, measured.arrivals.tolist())


def read_tables(directory: str | os.PathLike[str]) -> Measured:
    """Read the tables that `write_tables` has written."""
    root = path_of(directory, "directory")
    return Measured(
        links=_read_links(root / "links.csv"),
        classifiers=_read_classifiers(root / "classifiers.csv"),
        arrivals=read_matrix(root / "requests.csv", SERVICES, COUNT).astype(np.int64),
    )


def _read_links(path: Path) -> Links:
    kilometres = read_columns(path, {"kilometres": (lambda x: x >= 0, "must be a length")})
    start, end = read_fields(path, _LINKS[:2]).texts.values()
    return Links.of(zip(start, end, kilometres["kilometres"].tolist(), strict=True), str(path))


def _read_classifiers(path: Path) -> Classifiers:
    rules = {name: PERCENT if name == "accuracy" else POSITIVE for name in _CLASSIFIERS}
    columns = read_columns(path, rules)
    return Classifiers(
        tuple(read_fields(path, ("model",)).texts["model"]),
        *(columns[name] for name in _CLASSIFIERS),
    )


def from_bundled(**options: Any) -> IdnInstance:
    """Build an instance from the small tables that come with the package.

    Takes the settings of `build`; without any, the default instance is the same every time. It
    equals what `from_raw` builds from the raw files with the same settings.

    Parameters
    ----------
    **options
        Those of `from_raw`.

    Returns
    -------
    An instance from the traces that come with the package.

    Examples
    --------
    >>> from edgeopt.instances.idn import from_bundled
    >>> from_bundled()
    IdnInstance(nodes=23, models=600, tasks=20, types=40, horizon=56, alpha=1)
    """
    return build(read_tables(FOLDER), **options)


def from_raw(directory: str | os.PathLike[str], **options: Any) -> IdnInstance:
    """Build an instance from the raw measurement files.

    Parameters
    ----------
    directory
        Folder with the sources as `measure` expects them.
    **options
        Settings of `build`.

    Returns
    -------
    An instance from the files, whose notes say what was made of them.

    Raises
    ------
    InstanceError
        If a file is missing or has a bad entry, named by file, column and line.
    OptionError
        As in `build`.

    Examples
    --------
    >>> from edgeopt.instances.idn import from_raw
    >>> from_raw("no/such/folder")
    Traceback (most recent call last):
    ...
    edgeopt.errors.InstanceError: no/such/folder: holds none of the public files that this
        is made of (topologies/topohub_sndlib/geant.gml, ...
    """
    return build(measure(directory), **options)


def build(
    measured: Measured,
    *,
    rng: int | np.random.Generator = 0,
    horizon: int | None = None,
    alpha: float = 1.0,
    rate: float = 7500.0,
    tasks: int = 20,
    replicas: int = 3,
    zipf: float = 1.2,
    cloud_ms: float = CLOUD_MS,
    ms_per_km: float = MS_PER_KM,
) -> IdnInstance:
    """Build an instance on a measured network, measured models and measured arrivals.

    Measured: where the cables of the European research network GEANT run and how long they are;
    accuracy, number of parameters and speed on two GPUs of ten image classifiers; requests per
    minute of two language services over most of an hour. Assumed: latency by length, the cloud and
    the parts of the nodes (see `from_links`), memories as in the paper, memory by number of
    parameters, and how requests divide: tasks of even index follow the first service in time, those
    of odd index the second, within a service by Zipf's law. One factor brings the recorded
    services, which are far smaller, to the mean rate.
    """
    recorded = measured.arrivals.shape[0]
    slots = recorded if horizon is None else horizon
    check_whole("horizon", slots)
    if not 1 <= slots <= recorded:
        raise OptionError(f"horizon must lie in 1..{recorded}, the minutes on record, got {slots}")
    check_sizes(tasks=tasks)
    check_real("zipf", zipf, "[0, inf)")
    check_room("horizon * tasks", slots, 2 * tasks)
    requests_per_slot(rate, 60.0 * recorded)
    network = from_links(measured.links, cloud_ms=cloud_ms, ms_per_km=ms_per_km)
    network = network._replace(gpu=tuple(FAST if k <= 1 else SLOW for k in network.tier.tolist()))
    entry = attach(generator(rng), network, tasks)
    return assemble(
        network,
        to_catalogue(measured.classifiers),
        entry,
        _requests(measured.arrivals, slots, entry, rate, zipf),
        alpha=alpha,
        replicas=replicas,
        slot_seconds=60.0,
    )


def _requests(arrivals: Ints, slots: int, entry: Ints, rate: float, zipf: float) -> Ints:
    tasks, entries = entry.shape
    services = min(len(SERVICES), tasks)
    used = arrivals[:, :services].astype(np.float64)
    if not used.sum() > 0:
        raise OptionError("the services on record must have some request")
    weight = np.zeros((services, tasks))
    for service in range(services):
        weight[service, service::services] = zipf_shares(len(range(service, tasks, services)), zipf)
    shares = np.repeat(used @ weight / entries, entries, axis=1)
    totals = np.round(used.sum(axis=1) * (60.0 * rate / used.sum(axis=1).mean())).astype(np.int64)
    silent = np.zeros(tasks * entries, dtype=np.int64)
    return np.array(
        [
            largest_remainder(share, int(total)) if total else silent
            for share, total in zip(shares[:slots], totals[:slots], strict=True)
        ]
    )
