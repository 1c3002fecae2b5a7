"""IDN on real measurements: a map of cables, measured models, the arrivals of two services."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.errors import OptionError
from edgeopt.instances.idn.generate import assemble, attach, requests_per_slot
from edgeopt.instances.idn.graphs import CLOUD_MS, MS_PER_KM, from_links
from edgeopt.instances.idn.measurements import SERVICES, measure, read_tables
from edgeopt.instances.idn.popularity import largest_remainder, zipf_shares
from edgeopt.instances.idn.zoo import FAST, SLOW, to_catalogue
from edgeopt.instances.options import check_sizes
from edgeopt.instances.tables import FOLDER
from edgeopt.options import check_real, check_room, check_whole, generator

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

    from edgeopt.instances.idn.instance import IdnInstance
    from edgeopt.instances.idn.measurements import Measured

__all__ = ["build", "from_data", "from_tables"]


def from_tables(**options: Any) -> IdnInstance:
    """Build an instance from the small tables that come with the package.

    Parameters
    ----------
    **options
        Settings of `build`; without any, the same default instance every time.

    Returns
    -------
    An instance equal to what `from_data` builds from the raw files with the same options.

    Raises
    ------
    OptionError, InstanceError
        As in `build`.
    """
    return build(read_tables(FOLDER), **options)


def from_data(directory: str | os.PathLike[str], **options: Any) -> IdnInstance:
    """Build an instance from the raw measurement files.

    Parameters
    ----------
    directory
        Folder with the sources as `measure` expects them.
    **options
        Settings of `build`.

    Raises
    ------
    InstanceError
        If a file is missing or has a bad entry, named by file, column and line.
    OptionError
        As in `build`.
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


def _requests(
    arrivals: NDArray[np.int64], slots: int, entry: NDArray[np.int64], rate: float, zipf: float
) -> NDArray[np.int64]:
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
