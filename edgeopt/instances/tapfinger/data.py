"""Measured running times as tables, and TapFinger instances built from them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import numpy as np

from edgeopt.errors import InstanceError
from edgeopt.instances.tables import FOLDER, write_table
from edgeopt.instances.tapfinger.from_durations import from_durations
from edgeopt.instances.tapfinger.generate import INTERPRETATIONS, Eligibility, draw_tasks
from edgeopt.instances.traces import read_columns, read_fields
from edgeopt.instances.traces.columns import POSITIVE, source_paths
from edgeopt.instances.validate import path_of
from edgeopt.options import check_choice, check_real, check_room, check_whole, generator

if TYPE_CHECKING:
    import os

    from edgeopt.arrays import Floats
    from edgeopt.instances.tapfinger.instance import TapFingerInstance
    from edgeopt.instances.traces import Rule

KINDS: Final = ("audio", "lm", "mnist")
"""Speech recognition with wav2vec2, training of a language model, training on MNIST."""

LARGEST: Final = (16, 8)
"""CPU cores and GPUs of the largest bundle on record; the smallest is (1, 1)."""

CORES: Final = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16)  # numbers of CPU cores that the tables hold
_PLACES: Final = ("container", "testbed")


class Measured(NamedTuple):
    """Running times, s, of each of `KINDS` with 1 to 16 CPU cores and 1 to 8 GPUs."""

    # in a container on a server with eight RTX 4090, shape [3, 16, 8]
    container: Floats
    testbed: Floats  # on a server with eight RTX 3090, shape [3, 16, 8]


def measure(directory: str | os.PathLike[str]) -> Measured:
    """Read the running times from the raw files."""
    names = (f"tapfinger/{place}_seconds.csv" for place in _PLACES)
    _, *paths = source_paths(directory, "tapfinger", *names)
    return Measured(*map(_read_seconds, paths))


def _read_seconds(path: Path) -> Floats:
    fields = read_fields(path, ("task", "cpus", "gpus", "mean_seconds"))
    seconds = np.full((len(KINDS), *LARGEST), np.nan)
    for row, task in enumerate(fields.texts["task"]):
        if task not in KINDS:
            rule = f"must be one of {', '.join(map(repr, KINDS))}"
            raise fields.error("task", row, rule, repr(task))
        cpus, gpus = (
            int(fields.number(name, row, _whole(most)))
            for name, most in zip(("cpus", "gpus"), LARGEST, strict=True)
        )
        place = (KINDS.index(task), cpus - 1, gpus - 1)
        if not np.isnan(seconds[place]):
            rule = "must not repeat a task with the same bundle"
            raise fields.error("task", row, rule, (task, cpus, gpus))
        seconds[place] = fields.number("mean_seconds", row, POSITIVE)
    for k, cpu, gpu in np.argwhere(np.isnan(seconds)).tolist():
        missing = f"{KINDS[k]} with {cpu + 1} CPU cores and {gpu + 1} GPUs"
        raise InstanceError(str(path), f"must hold the seconds of {missing}", value="no such line")
    return seconds


def _whole(most: int) -> Rule:
    return (lambda x: x == int(x) and 1 <= x <= most, f"must be a whole number in 1..{most}")


def write_tables(measured: Measured, directory: str | os.PathLike[str]) -> None:
    """Write the measurements, reduced, as CSV tables that `read_tables` reads back.

    Whole seconds, at the numbers of CPU cores in `CORES`; of the speech recognition, which uses one
    GPU whatever it is given, the median over the GPUs.
    """
    names = _columns()
    for place, seconds in zip(_PLACES, measured, strict=True):
        audio, *others = seconds[:, [cores - 1 for cores in CORES]]
        columns = [CORES, np.median(audio, axis=1), *np.concatenate(others, axis=1).T]
        rows = np.rint(np.column_stack(columns)).astype(np.int64)
        write_table(Path(directory) / f"{place}_tasks.csv", names, rows.tolist())


def _columns() -> list[str]:
    audio, *others = KINDS
    gpus = range(1, LARGEST[1] + 1)
    return ["cpus", audio, *(f"{kind}_{gpu}" for kind in others for gpu in gpus)]


def read_tables(directory: str | os.PathLike[str]) -> Measured:
    """Read container_tasks.csv and testbed_tasks.csv, interpolating in the number of cores."""
    root = path_of(directory, "directory")
    return Measured(*(_read_table(root / f"{place}_tasks.csv") for place in _PLACES))


def _read_table(path: Path) -> Floats:
    names = _columns()
    columns = read_columns(path, dict.fromkeys(names, POSITIVE))
    if columns["cpus"].tolist() != list(CORES):
        rule = f"must have a line for each of {', '.join(map(str, CORES))}, in this order"
        raise InstanceError(f"{path}:cpus", rule)
    cpus = np.arange(1, LARGEST[0] + 1)
    audio, *others = (np.interp(cpus, CORES, columns[name]) for name in names[1:])
    gpus = LARGEST[1]
    table = [np.tile(audio[:, None], gpus)]
    table += [np.stack(others[i : i + gpus], axis=1) for i in range(0, len(others), gpus)]
    return np.stack(table)


Figures = Literal["container", "testbed"]
Containers = Literal["measured", "printed"]


class Pace(NamedTuple):
    """How long a slot takes, s, and how many tasks arrive per slot on three clusters."""

    slot_seconds: float
    rate: float


PACES: Final[dict[Containers, Pace]] = {"measured": Pace(6.35, 0.87), "printed": Pace(5.0, 1.0)}
"""Of the containers: by the time stamps of the authors' runs, in which a slot took 6.2 to 6.5 s and
200 tasks came in 1,410 to 1,487 s, and as the paper says."""

START_SECONDS: Final = 14.0
"""What a container takes to start and to be cleared away, s; counts as part of the task."""

_CONTAINERS: Final = ((16, 4), (16, 4), (16, 8))
_SERVERS: Final = ((32, 16),)
_TOLD: Final = {
    "container": "in a container on RTX 4090 GPUs, plus 14 s for its start",
    "testbed": "on RTX 3090 GPUs",
}
_PACED: Final[dict[Containers, str]] = {
    "measured": "what the time stamps of their runs show",
    "printed": "the printed one; their runs took longer",
}


def from_bundled(**options: Any) -> TapFingerInstance:
    """Build an instance from the small tables that come with the package.

    Takes the settings of `build`; without any, the default instance is the same every time. The
    tables hold whole seconds for some numbers of CPU cores, and those in between are interpolated:
    about nine out of ten durations are those of `from_raw`, and the others differ by a slot.

    Parameters
    ----------
    **options
        Those of `from_raw`.

    Returns
    -------
    An instance from the traces that come with the package.

    Examples
    --------
    >>> from edgeopt.instances.tapfinger import from_bundled
    >>> from_bundled()
    TapFingerInstance(clusters=3, tasks=200, kinds=3, largest=(16, 8))
    """
    return build(read_tables(FOLDER), reduced=True, **options)


def from_raw(directory: str | os.PathLike[str], **options: Any) -> TapFingerInstance:
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
    >>> from edgeopt.instances.tapfinger import from_raw
    >>> from_raw("no/such/folder")
    Traceback (most recent call last):
    ...
    edgeopt.errors.InstanceError: no/such/folder: holds none of the public files that this
        is made of (tapfinger/container_seconds.csv, ...
    """
    return build(measure(directory), **options)


def build(
    measured: Measured,
    *,
    rng: int | np.random.Generator = 0,
    figures: Figures = "container",
    containers: Containers = "measured",
    clusters: int = 3,
    tasks: int | None = None,
    rate: float | None = None,
    eligibility: Eligibility = "subset",
    single_start: bool | None = None,
    noise: float = 0.0,
    switching: float = 0.5,
    pending: int = 10,
    reduced: bool = False,
) -> TapFingerInstance:
    """Build an instance in which running times are measured and the rest is drawn.

    Measured: how long each kind of task takes with each bundle. Derived: its progress per slot, as
    if it were even, the length of a slot divided by the running time. Drawn, as in `generate`:
    arrivals, kinds and eligibility. The length of a slot of containers, and by default the rate at
    which tasks arrive, are those of `PACES` that `containers` names.

    Li et al., section V-A, V-B and V-E.
    """
    check_choice("figures", figures, ("container", "testbed"))
    check_choice("containers", containers, PACES)
    check_whole("clusters", clusters, 1)
    check_real("noise", noise)
    check_whole("pending", pending)
    check_room("clusters", clusters, measured.container.size)
    contained = figures == "container"
    pace = PACES[containers] if contained else Pace(10.0, 1.5)
    drawn = draw_tasks(
        generator(rng).spawn(3),
        tasks=(200 if contained else 500) if tasks is None else tasks,
        rate=pace.rate * clusters / 3 if rate is None else rate,
        kinds=len(KINDS),
        clusters=clusters,
        eligibility=eligibility,
    )
    seconds = np.full((len(KINDS), LARGEST[0] + 1, LARGEST[1] + 1), np.nan)
    seconds[:, 1:, 1:] = measured.container + START_SECONDS if contained else measured.testbed
    return from_durations(
        seconds,
        seconds=True,
        minimum=np.tile((1, 1) if contained else (2, 1), (len(KINDS), 1)),
        capacity=np.resize(_CONTAINERS if contained else _SERVERS, (clusters, 2)),
        kinds=KINDS,
        **drawn,
        noise=noise,
        switching=switching,
        pending=pending,
        single_start=not contained if single_start is None else single_start,
        slot_seconds=pace.slot_seconds,
        origin=_origin(figures, containers, eligibility, noise, reduced),
    )


def _origin(
    figures: Figures, containers: Containers, eligibility: Eligibility, noise: float, reduced: bool
) -> str:
    coarse = (
        "; whole seconds for some numbers of CPU cores, interpolated in between" if reduced else ""
    )
    disturbed = f", disturbed by up to {noise:g} per slot" if noise > 0 else ""
    slots = f" The length of a slot is {_PACED[containers]}." if figures == "container" else ""
    return (
        f"Running times: measured by Li et al. {_TOLD[figures]}, mean of two runs with each bundle "
        "of a speech recognition (audio), a training of a language model (lm) and of a small image "
        f"classifier (mnist){coarse}. Progress per slot: derived, as if it were even{disturbed}."
        f"{slots} Arrivals and kinds are drawn. A task may run on clusters that are drawn: "
        f"{INTERPRETATIONS[eligibility]}."
    )
