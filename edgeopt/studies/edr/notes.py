"""What a reader must know to read the figures of an EDR study rightly."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.studies.edr.ledger import capped, plays
from edgeopt.studies.wording import number, plural

if TYPE_CHECKING:
    from collections.abc import Mapping

    from edgeopt.instances.edr import EdrInstance
    from edgeopt.studies.result import Case

__all__ = ["describe", "notes"]


def notes(case: Case) -> list[str]:
    """Say what the data are, what is priced, what is not, and what each policy gets to see."""
    instance: EdrInstance = case.instance
    origin = instance.origin.strip()
    said = [f"The data: {origin}" if origin else "Nothing is said of the origin of the data."]
    said += [
        "The penalised cost of a frame is its energy at the true price and the delay of its "
        "requests and of its exchange of models, each with the weight that the instance gives it "
        f"({number(instance.energy_weight, 3)} per dollar, {number(instance.delay_weight, 3)} per "
        "second); beside that, twice its mean cost for every round that misses its deadline, and "
        "for every unserved request more than any route could cost. Ratios of policies depend on "
        "the two weights. Energy above a cap has no price at all: it is counted, as broken caps "
        "and as a share of all capped energy, and stands in the account of every frame.",
        f"{case.label} knows prices, requests and channels beforehand and may train fractions of "
        "rounds. It keeps every cap; where serving the requests alone needs more than the cap, it "
        "may use that much and no more. A policy that exceeds caps is not bound by it, so its "
        "share of it is a yardstick; the column “share of own bound” is filled where it is one.",
        "The cap, the channels and the tasks of a frame are known when it begins, its price when "
        "it ends, the requests of a slot when the slot begins. All policies see the same, "
        "but they use it differently: the printed saddle point goes by costs and caps of the frame "
        "before, the others by those of the frame itself at the last known price. No policy sees "
        "the requests of a slot before it.",
        *_accounted(case),
    ]
    if case.table["value_se"].eq(0).all():
        said.append("Nothing random is left: all runs of a policy are the same.")
    else:
        said.append(
            "The worlds are all alike: what differs between runs is the rounding of the saddle "
            "point alone. Policies without coins have no error."
        )
    return said


def _accounted(case: Case) -> list[str]:
    """Count frames with and without a cap, and what is wrong in how many of them."""
    instance: EdrInstance = case.instance
    frames = capped(instance)
    free = instance.frames - frames.size
    said = (
        f"Every frame is accounted for: {plural(instance.frames, 'frame')}, "
        f"{frames.size} with a cap and {free} without"
    )
    short = np.zeros(instance.frames, dtype=bool)
    for trajectory in plays(case).values():
        short |= (trajectory.unserved > 0).any(axis=0)
    if short.any():
        said += f"; in {int(short.sum())} of them some policy leaves requests unserved"
    return [f"{said}. The accounts below list all of them for each policy."]


def describe(instance: EdrInstance) -> Mapping[str, float | int | str]:
    """Return the sizes of an instance and what characterises it."""
    frames = capped(instance)
    return {
        "sites": instance.sites,
        "tasks": instance.tasks,
        "request_types": instance.types,
        "frames": instance.frames,
        "slots_per_frame": instance.slots,
        "capped_frames": int(frames.size),
        "requests_per_slot": float(instance.requests.sum() / instance.frames / instance.slots),
        "rounds_needed": int(instance.rounds.sum()),
        "mean_price_USD_per_MWh": 1e6 * float(instance.price.mean()),
        "energy_weight_per_USD": instance.energy_weight,
        "delay_weight_per_second": instance.delay_weight,
    }
