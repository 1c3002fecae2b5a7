"""What a reader must know to read the figures of an IDN study rightly."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.studies.wording import listed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from edgeopt.instances.idn import IdnInstance
    from edgeopt.studies.result import Case

__all__ = ["describe", "notes"]


def notes(case: Case) -> list[str]:
    """Say what the gain is, what the bound bounds, and what an exceeded budget is."""
    said = [
        "The gain of a slot is what its requests would cost more if the repositories alone served "
        "them, in ms per request; the value of a run is its mean over the slots. Requests are the "
        "same in every world; the order in which they arrive within a slot, and the coins of the "
        "policies, are not.",
        f"{case.label} is an upper bound: it knows all requests beforehand, lets request "
        "types share the capacity of a model in the best way, and may host parts of models. It "
        "bounds no policy that moves models from slot to slot, and none whose budget holds only "
        "on average: for these the share of it is a yardstick and may exceed 100 %. The column "
        "“share of own bound” is filled where the bound is valid for the row.",
    ]
    exceeding = case.table[case.table["violated"] > 0]
    if not exceeding.empty:
        names = [case.entries[name].title for name in exceeding["policy"]]
        said.append(
            "A node budget counts once per slot. Rounding that keeps every expectation fills a "
            "budget exactly, up to one last model, which is hosted with the probability that is "
            f"left for it and may then exceed the budget: {listed(names)}. The other policies keep "
            "every budget in every slot."
        )
    changes = _changes(case.instance)
    if changes > 1:
        said.append(
            f"Requests change {changes - 1} times over the horizon, so the best static placement "
            "is a compromise that a policy which moves models can beat."
        )
    return said


def _changes(instance: IdnInstance) -> int:
    """Count stretches of slots with equal requests."""
    return 1 + int((np.diff(instance.requests, axis=0) != 0).any(axis=1).sum())


def describe(instance: IdnInstance) -> Mapping[str, float | int | str]:
    """Return the sizes of an instance and what characterises it."""
    chosen = instance.active & np.isfinite(instance.budget)
    needed = float(instance.size[chosen].sum())
    return {
        "nodes": instance.nodes,
        "repository_nodes": int(instance.pinned.sum()),
        "tasks": instance.tasks,
        "models": instance.models,
        "request_types": instance.types,
        "slots": instance.horizon,
        "requests_per_slot": float(instance.total_requests.mean()),
        "alpha_ms_per_percent": instance.alpha,
        "memory_GB": float(instance.budget[chosen].sum()) / 1024.0,
        "memory_share_of_all_models": float(instance.budget[chosen].sum()) / needed
        if needed > 0
        else 0.0,
    }
