"""TapFinger on measured tasks: speech recognition and two trainings, with every bundle."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from edgeopt.instances.tables import FOLDER
from edgeopt.instances.tapfinger.arrivals import READINGS, Eligibility, draw_tasks
from edgeopt.instances.tapfinger.from_durations import from_durations
from edgeopt.instances.tapfinger.measurements import KINDS, LARGEST, measure, read_tables
from edgeopt.options import check_choice, check_real, check_room, check_whole, generator

if TYPE_CHECKING:
    import os

    from edgeopt.instances.tapfinger.instance import TapFingerInstance
    from edgeopt.instances.tapfinger.measurements import Measured

__all__ = ["Figures", "build", "from_data", "from_tables"]

Figures = Literal["container", "testbed"]

START_SECONDS: Final = 14.0
"""What a container takes to start and to be cleared away, s; counts as part of the task."""

_CONTAINERS: Final = ((16, 4), (16, 4), (16, 8))
_SERVERS: Final = ((32, 16),)
_TOLD: Final = {
    "container": "in a container on RTX 4090 GPUs, plus 14 s for its start",
    "testbed": "on RTX 3090 GPUs",
}


def from_tables(**options: Any) -> TapFingerInstance:
    """Build an instance from the small tables that come with the package.

    They hold whole seconds for some numbers of CPU cores; those in between are interpolated.

    Parameters
    ----------
    **options
        Settings of `build`. Without any, the same default instance every time.

    Returns
    -------
    An instance like that of `from_data`; about nine out of ten durations are the same number of
    slots, and the others differ by one.

    Raises
    ------
    OptionError, InstanceError
        As in `build`.
    """
    return build(read_tables(FOLDER), reduced=True, **options)


def from_data(directory: str | os.PathLike[str], **options: Any) -> TapFingerInstance:
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
    figures: Figures = "container",
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
    arrivals, kinds and eligibility.

    Li et al., section V-A, V-B and V-E.
    """
    check_choice("figures", figures, ("container", "testbed"))
    check_whole("clusters", clusters, 1)
    check_real("noise", noise)
    check_whole("pending", pending)
    check_room("clusters", clusters, measured.container.size)
    contained = figures == "container"
    drawn = draw_tasks(
        generator(rng).spawn(3),
        tasks=(200 if contained else 500) if tasks is None else tasks,
        rate=(clusters / 3 if contained else clusters / 2) if rate is None else rate,
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
        slot_seconds=5.0 if contained else 10.0,
        origin=_origin(figures, eligibility, noise, reduced),
    )


def _origin(figures: Figures, eligibility: Eligibility, noise: float, reduced: bool) -> str:
    coarse = (
        "; whole seconds for some numbers of CPU cores, interpolated in between" if reduced else ""
    )
    disturbed = f", disturbed by up to {noise:g} per slot" if noise > 0 else ""
    return (
        f"Running times: measured by Li et al. {_TOLD[figures]}, mean of two runs with each bundle "
        "of a speech recognition (audio), a training of a language model (lm) and of a small image "
        f"classifier (mnist){coarse}. Progress per slot: derived, as if it were even{disturbed}. "
        "Arrivals and kinds are drawn. A task may run on clusters that are drawn: "
        f"{READINGS[eligibility]}."
    )
