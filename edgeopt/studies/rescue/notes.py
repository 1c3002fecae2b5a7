"""What a reader must know to read the figures of a RESCUE study rightly."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgeopt.studies.rescue.benchmarks import FREE, SAFE
from edgeopt.studies.wording import number, percent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from edgeopt.instances.rescue import RescueInstance
    from edgeopt.studies.result import Case

__all__ = ["describe", "notes"]


def notes(case: Case) -> list[str]:
    """Say which bound holds for whom, and what is promised to whom."""
    safe, free, plain = (case.benchmarks[name] for name in (SAFE, FREE, case.system.yardstick))
    said = []
    if len(case.instance.reserved):
        said += [
            "Two kinds of policies stand side by side. A guarded one starts a run only if every "
            "reserved task can still be finished whatever the run's duration; an unguarded one "
            "looks at idle servers alone and lets reserved tasks fail.",
            f"{case.label} meets all reserved tasks, so it is no bound for a policy that fails "
            "some: for that one the share of it is only a yardstick and may exceed 100 %. The "
            "column “share of own bound” divides by a bound that is valid for the row: for "
            f"unguarded policies the same programme without reserved tasks "
            f"({number(free.value, 5)}), for guarded ones the programme restricted to runs that a "
            f"guard could ever allow ({number(safe.value, 5)}, "
            f"{percent(safe.value / plain.value if plain.value > 0 else float('nan'))} of "
            f"{case.label}).",
        ]
    promised = [entry.title for entry in case.entries.values() if entry.guarantee is not None]
    if promised:
        said.append(
            f"Half of {case.label} is guaranteed to {' and '.join(promised)}, whose decisions "
            "ignore reserved work. No policy that keeps every reserved task has such a guarantee: "
            "there are instances on which every one of them earns next to nothing of it."
        )
    return said + _simulation_against_exact(case)


def _simulation_against_exact(case: Case) -> list[str]:
    """Hold the simulated mean against the expectation that recursion gives."""
    known = case.table[case.table["value_exact"].notna() & (case.table["value_se"] > 0)]
    if known.empty:
        return []
    away = ((known["value"] - known["value_exact"]).abs() / known["value_se"]).max()
    return [
        "Where the expected profit can be computed without sampling it stands in the column "
        f"“exact”; the simulated means lie at most {number(away, 2)} standard errors from it."
    ]


def describe(instance: RescueInstance) -> Mapping[str, float | int | str]:
    """Return the sizes of an instance and what characterises it."""
    capacity = float(instance.capacity.sum())
    return {
        "servers": instance.servers,
        "devices": instance.devices,
        "profiles": instance.profiles,
        "slots": instance.horizon,
        "longest_run_slots": instance.max_duration,
        "reserved_tasks": len(instance.reserved),
        "reserved_share_of_capacity": float(instance.reserved.demand.sum()) / capacity,
        "mean_arrivals_per_slot": float(instance.arrival.sum()) / instance.horizon,
        "arrivals": instance.arrivals,
        "beyond": instance.beyond,
    }
