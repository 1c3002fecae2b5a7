"""The record of EDR."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from edgeopt import registry
from edgeopt.instances.edr import EdrInstance, from_bundled, from_raw, generate
from edgeopt.instances.edr.data import build
from edgeopt.instances.edr.named import small as random_instance
from edgeopt.instances.edr.named import steady
from edgeopt.studies.edr.learners import LEARNERS
from edgeopt.studies.edr.pictures import COST, ENERGY, LIVE
from edgeopt.studies.edr.policies import (
    BENCHMARKS,
    INFORMED,
    LEARNED,
    METHODS,
    point,
    solve,
)
from edgeopt.studies.edr.tables import FRAMES_LOG, METRICS, TASKS_LOG, capped, simulated
from edgeopt.studies.entries import Named, Source, licences, on, origin
from edgeopt.studies.files import SUFFIXES, write_plan
from edgeopt.studies.pictures.values import VALUE_OVER_TIME
from edgeopt.studies.system import (
    Claims,
    Constraint,
    Instances,
    Objective,
    Offline,
    Paper,
    Policies,
    Reporting,
    System,
)
from edgeopt.studies.wording import number, percent, plural

if TYPE_CHECKING:
    from collections.abc import Mapping

    from edgeopt.studies.results import Case


def _random_small(seed: int) -> EdrInstance:
    """Draw a small instance: in the paper's setting, of order one, or as the theory assumes."""
    draw = np.random.default_rng((seed, 1))
    kind = seed % 3
    if kind == 1:
        return random_instance(draw)
    if kind == 2:
        return steady(int(draw.integers(2**32)))
    return generate(
        rng=draw,
        sites=int(draw.integers(1, 4)),
        tasks=int(draw.integers(1, 4)),
        frames=int(draw.integers(2, 5)),
        slots=int(draw.integers(1, 3)),
        types=int(draw.integers(1, 3)),
        clients=4,
    )


def _notes(case: Case) -> list[str]:
    """Explain the data, the cost, the bound, and what each policy knows."""
    instance: EdrInstance = case.instance
    said = [origin(instance)]
    said += [
        "The penalised cost of a frame adds the cost of energy at the true price "
        f"({number(instance.energy_weight, 3)} per dollar), the cost of the delays of requests and "
        f"of the exchange of models ({number(instance.delay_weight, 3)} per second), and "
        "penalties: for every round that misses its deadline, twice the mean cost of a round; for "
        "every unserved request, more than any route could cost. The ranking depends on the "
        "two weights. Energy above a cap has no price: it is counted, as exceeded caps, as a share "
        "of all capped energy, and in the log of frames.",
        f"The {case.label} knows prices, requests and channels in advance and may train fractions "
        "of rounds. It keeps every cap; where serving the requests alone needs more than the cap, "
        "it may use that much and no more.",
        "The cap, the channels and the tasks of a frame are known when it begins, its price when "
        "it ends, and the requests of a slot when the slot begins. All policies have the same "
        "information and use it differently: the saddle point that is a frame behind uses costs "
        "and caps of the previous frame, the others those of the current frame at a forecast of "
        "its price: scenario control at the median of the prices known around its hour, or at a "
        "wave through these while a part of a day is known, the rest at the last one.",
        _day_before(case),
        _foresight(case),
        _frames_of(case),
    ]
    if case.table["value_se"].eq(0).all():
        said.append("Nothing is random: all runs of a policy are the same.")
    else:
        said.append(
            "All runs have the same scenario and differ only in the random rounding of the saddle "
            "point. Policies without randomness have no standard error."
        )
    return said


def _day_before(case: Case) -> str:
    """Say who knows the day before the first frame."""
    if case.instance.history is None:
        return "Nothing is known of the day before the first frame, and no policy uses it."
    users = [case.entries[name].title for name in simulated(case) if name == "scenario+history"]
    who = f"{users[0]} uses it and the others do not" if users else "no policy here uses it"
    return f"Prices and caps of the day before the first frame are known; {who}."


def _foresight(case: Case) -> str:
    """Say what part of the distance to the reference bound plans without foresight must keep."""
    if INFORMED not in case.benchmarks:
        return (
            "The instance does not say how channels and prices are drawn (`distribution`), so that "
            "there is no bound for plans without foresight."
        )
    from edgeopt.models.edr.bounds import ERRORS

    found, best = case.benchmarks[INFORMED].plan, case.benchmark.bound
    worth, error = found.foresight / best, ERRORS * found.foresight_error / best
    clear = "" if abs(worth) > error else ", no more than chance"
    return (
        "A plan that knows how channels and prices are drawn, but not which come, is expected to "
        f"cost at least {number(found.value, 5)} with a standard error of "
        f"{number(found.training_error, 2)}; the informed bound, {number(found.bound, 5)}, is two "
        f"of them less. Of the estimate {number(found.serving, 5)} holds for this instance: no run "
        f"serves its requests for less. The other {number(found.training, 5)}, for training, is an "
        "expectation over channels and prices, not of this one instance: here a policy may train "
        "for less by luck. Caps and all sites but the busiest are left out. The estimate "
        f"differs from {case.reference} by {percent((found.value - best) / best)}, which mixes "
        "foresight with whether these channels and prices are cheaper than others. On the same "
        "redrawn ones and within the same limits, a plan that knows them in advance costs less by "
        f"{percent(worth)} ± {percent(error)} of {case.reference}{clear}: as much of a policy's "
        "distance to it is foresight, which no policy has."
    )


def _frames_of(case: Case) -> str:
    """Count the frames with and without a cap, and those in which requests stay unserved."""
    instance: EdrInstance = case.instance
    frames = capped(instance).size
    said = (
        f"The instance has {plural(instance.frames, 'frame')}, {frames} with a cap and "
        f"{instance.frames - frames} without"
    )
    short = np.zeros(instance.frames, dtype=bool)
    for trajectory in simulated(case).values():
        short |= (trajectory.unserved > 0).any(axis=0)
    if short.any():
        said += f"; in {int(short.sum())} of them some policy leaves requests unserved"
    return f"{said}. The logs below list every frame for each policy."


def _describe(instance: EdrInstance) -> Mapping[str, float | int | str]:
    """Return the sizes and main figures of an instance."""
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


SYSTEM = System(
    name="edr",
    title="EDR: training and inference under an energy cap",
    paper=Paper(
        "Zhu, Wei, Wu, Jiao, Dong, Zhang",
        "Scheduling Training-Inference Co-Location in Demand Response for Sustainable Edge AI",
    ),
    instances=Instances(
        EdrInstance,
        sources={
            "drawn": Source(
                generate,
                "drawn in the setting of the paper, sites sharing bands in groups",
                seeded=True,
            ),
            "quiet": Source(
                partial(generate, reuse="none"),
                "drawn in the setting of the paper, without interference",
                seeded=True,
            ),
            "tables": Source(
                from_bundled,
                "a composite week of public measurements from different places",
                seeded=True,
                settings=build,
                provenance=partial(licences, "Ontario", "EIA", "London", "EUA"),
            ),
        },
        load=EdrInstance.load,
        generate=generate,
        random_small=_random_small,
        from_raw=from_raw,
        describe=_describe,
    ),
    objective=Objective("penalised cost", sense="min", period="frame"),
    constraint=Constraint(
        "capped frame",
        count=lambda instance: int(capped(instance).size),
        verb=("exceeds", "exceeded"),
    ),
    offline=Offline(
        BENCHMARKS,
        solve=solve,
        methods=METHODS,
        export=write_plan,
        suffixes=SUFFIXES,
        point=point,
    ),
    policies=Policies(
        Named(registry.POLICIES, "edr"),
        environment=on("edgeopt.online.edr", "EdrEnvironment"),
        runs=20,
        reference="saddle_point",
    ),
    claims=Claims("edr"),
    reporting=Reporting(
        metrics=METRICS,
        pictures=(ENERGY, VALUE_OVER_TIME, COST),
        logs=(FRAMES_LOG, TASKS_LOG),
        notes=_notes,
    ),
    learners=LEARNERS,
    learned=LEARNED,
    live=LIVE,
)
