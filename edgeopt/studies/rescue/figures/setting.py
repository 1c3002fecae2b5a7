"""The setting of RESCUE's evaluation, and cells of policies on one instance."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from edgeopt.studies.registry import find_system
from edgeopt.studies.rescue.policies import POLICIES
from edgeopt.studies.run import study
from edgeopt.studies.sweeps import Cell

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from edgeopt.studies.figures import InstanceSpec
    from edgeopt.studies.result import Case

    Reading = Callable[[Case, str], Mapping[str, Any]]

VARIANTS: Final = {"unguarded": "", "guarded": "+guard"}
"""Whether reserved tasks may fail, and the ending of the policy's name."""

QUICK: Final[dict[str, Any]] = {
    "servers": 3, "devices": 6, "profiles": 3, "horizon": 40, "reserved": 8, "longest": 8,
}  # fmt: skip
"""What a first look draws instances with."""

OPEN: Final = (
    "Left open, and taken here: 100 slots of 10 s, profiles that last 4 to 20 slots in the mean, "
    "the variances of the four distributions, path loss and noise, profit curves and decay of "
    "accuracy, arrivals that swing by 40 % once over the horizon, where windows lie.",
    "What is not swept is not given either: 4 servers, 14 devices, 5 profiles, arrivals in half of "
    "the slots, 16 reserved tasks with a density of 40 % and a demand of 15 %, deadlines of 23 "
    "slots, durations that are normal.",
    "Only PickConfigs is said to look after reserved tasks, so everybody is shown in both ways: "
    "unguarded, where reserved tasks may fail, and guarded, where none does.",
)
"""Why the figures may differ from the printed ones."""


def compared(
    spec: InstanceSpec,
    policies: Sequence[str],
    *,
    runs: int,
    at: Mapping[str, Any],
    reading: Reading,
) -> Cell:
    """Return the cell of policies on one instance, whose programmes are then solved once."""
    identity = {
        **at,
        "instance": spec.fingerprint(),
        "policy": list(policies),
        "reading": f"{reading.__module__}.{reading.__qualname__}",
        "runs": runs,
    }
    return Cell(identity, _compare, (spec, tuple(policies), runs, reading))


def _compare(
    spec: InstanceSpec, policies: Sequence[str], runs: int, reading: Reading
) -> Mapping[str, Any]:
    known = {entry.name: entry for entry in POLICIES}
    # Nothing is done with exact expectations here, and they take long.
    chosen = [replace(known[name], exact=None) for name in policies]
    system = replace(find_system("rescue"), claims=None)
    [case] = study(
        {"instance": spec.instance()}, chosen, system=system, runs=runs, progress=False
    ).cases
    read = [reading(case, name) for name in policies]
    return {key: [one[key] for one in read] for key in read[0]}
