"""The record of IDN."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from edgeopt import registry
from edgeopt.instances.idn import IdnInstance, from_bundled, from_raw, generate
from edgeopt.instances.idn.data import build
from edgeopt.instances.idn.named import fitting, one_node
from edgeopt.instances.idn.named import small as random_instance
from edgeopt.solvers.tolerance import relative_gap
from edgeopt.studies.entries import Benchmark, Named, Source, licences, on
from edgeopt.studies.files import SUFFIXES, write_plan
from edgeopt.studies.idn.pictures import HOSTED, INACCURACY, LATENCY, LIVE, TRADE_OFF, UPDATES
from edgeopt.studies.idn.policies import (
    BENCHMARKS,
    METHODS,
    MOVING,
    SAME,
    STATIC,
    WITHIN,
    point,
    solve,
)
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
from edgeopt.studies.wording import plural

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from edgeopt.online.idn import IdnEnvironment
    from edgeopt.studies.results import Case


def _random_small(seed: int) -> IdnInstance:
    """Draw a small network: in the paper's setting, of whole sizes, or of those that all fit."""
    draw = np.random.default_rng((seed, 1))
    kind = seed % 4
    if kind == 0:
        return generate(
            rng=draw,
            topology=2,
            tasks=1,
            replicas=1,
            horizon=int(draw.integers(1, 5)),
            rate=float(draw.integers(1, 10)) / 60.0,
        )
    if kind == 1:
        return random_instance(draw)
    return (fitting if kind == 2 else one_node)(int(draw.integers(2**32)))


def _notes(case: Case) -> list[str]:
    """Explain the gain, the bounds, and exceeded budgets."""
    said = [
        "The gain of a slot is the cost that it saves compared with serving all requests from the "
        "repositories, in ms per request; the value of a run is its mean over the slots. All runs "
        "have the same requests; they differ in the order of arrivals within a slot and in the "
        "random choices of the policies.",
        f"The {case.label} is an upper bound on what placements within the budgets gain: it knows "
        "all requests in advance, lets request types share the capacity of a model optimally, may "
        "host parts of models, and other ones in every slot. The "
        f"{BENCHMARKS[STATIC].label} hosts the same in all slots.",
    ]
    exceeding = case.table[case.table["violated"] > 0]
    if not exceeding.empty:
        names = [case.entries[name].title for name in exceeding["policy"]]
        said.append(
            "Every node has a budget in every slot. Rounding that preserves expectations fills a "
            "budget exactly, except for one last model, which it hosts with the remaining "
            f"probability and which can then exceed the budget: {'; '.join(names)}. The other "
            "policies keep every budget in every slot."
        )
    changes = _changes(case.instance)
    if changes > 1:
        said.append(
            f"Requests change {plural(changes - 1, 'time')} over the horizon, so a policy that "
            f"moves models can exceed the {BENCHMARKS[STATIC].label}."
        )
    return said


def _changes(instance: IdnInstance) -> int:
    """Count stretches of slots with equal requests."""
    return 1 + int((np.diff(instance.requests, axis=0) != 0).any(axis=1).sum())


def _describe(instance: IdnInstance) -> Mapping[str, float | int | str]:
    """Return the sizes and main figures of an instance."""
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


def _source(
    topology: Literal[1, 2],
    popularity: Literal["fixed", "sliding"],
    title: str,
    attachment: Literal["task", "common"] = "task",
) -> Source:
    make = partial(generate, topology=topology, popularity=popularity, attachment=attachment)
    return Source(make, f"{title}, drawn in the setting of the paper's evaluation", seeded=True)


SYSTEM = System(
    name="idn",
    title="IDN: placing inference models from base station to cloud",
    paper=Paper(
        "Si Salem, Castellano, Neglia, Pianese, Araldo",
        "Toward Inference Delivery Networks: Distributing Machine Learning With Optimality "
        "Guarantees",
    ),
    instances=Instances(
        IdnInstance,
        sources={
            # Where every task has stations of its own, memory hardly binds and policies are alike.
            "topology_1_common": _source(
                1, "fixed", "36 nodes, all tasks at the same two stations", "common"
            ),
            "topology_1": _source(1, "fixed", "36 nodes, steady popularity"),
            "topology_2": _source(2, "fixed", "5 nodes, steady popularity"),
            "topology_1_sliding": _source(
                1, "sliding", "36 nodes, popularity that shifts every hour"
            ),
            "topology_2_sliding": _source(
                2, "sliding", "5 nodes, popularity that shifts every hour"
            ),
            "tables": Source(
                from_bundled,
                "a European network and a cloud, built on small tables of public measurements",
                seeded=True,
                settings=build,
                provenance=partial(licences, "TopoHub", "pytorch-image-models", "Azure"),
            ),
        },
        load=IdnInstance.load,
        generate=generate,
        random_small=_random_small,
        from_raw=from_raw,
        describe=_describe,
    ),
    objective=Objective("gain per request", unit="ms", adds="mean"),
    constraint=Constraint(
        "node budget",
        count=lambda instance: int(instance.active.sum()) * instance.horizon,
        verb=("exceeds", "exceeded"),
    ),
    offline=Offline(
        BENCHMARKS,
        solve=solve,
        solved=STATIC,
        methods=METHODS,
        export=write_plan,
        suffixes=SUFFIXES,
        point=point,
    ),
    policies=Policies(
        Named(registry.POLICIES, "idn"),
        environment=on("edgeopt.online.idn", "IdnEnvironment"),
        runs=20,
        reference="infida",
    ),
    claims=Claims("idn"),
    reporting=Reporting(
        metrics=(LATENCY, INACCURACY, UPDATES),
        pictures=(HOSTED, VALUE_OVER_TIME, TRADE_OFF),
        notes=_notes,
    ),
    live=LIVE,
)


BY_STRETCH: Final = "OPT(static by stretch)"
"""Name of the bound on placements that change only where the network does."""


def changing(changes: Sequence[tuple[int, IdnInstance]]) -> System:
    """Return the record of IDN for a network that changes, to compare policies on it.

    The bounds are those of the stretches in which the network is the same, by their slots.

    Parameters
    ----------
    changes
        Slots from which on the network is another one, each with it, as for
        `edgeopt.online.idn.IdnEnvironment`.

    Returns
    -------
    System
        For `edgeopt.study`, with the network before the first change as its instance.

    Examples
    --------
    >>> from edgeopt import study
    >>> from edgeopt.instances.idn import generate
    >>> instance = generate(topology=2, horizon=20)
    >>> changes = [(8, instance.without(nodes=[3])), (14, instance)]
    >>> result = study(instance, ["infida+", "olag"], runs=2, system=changing(changes))
    >>> bool((result.table["ratio"] < 1).all())
    True
    """
    opened = partial(_environment, tuple(changes))
    static = replace(
        BENCHMARKS[STATIC],
        label=BY_STRETCH,
        checks=(WITHIN, replace(SAME, sentence="moves models only where the network changes")),
    )
    bounds = {
        name: replace(entry, compute=partial(_by_stretch, entry.compute, opened))
        for name, entry in {MOVING: BENCHMARKS[MOVING], STATIC: static}.items()
    }
    return replace(
        SYSTEM,
        offline=replace(SYSTEM.offline, bounds=bounds),
        policies=replace(SYSTEM.policies, environment=opened),
        reporting=replace(SYSTEM.reporting, notes=partial(_notes_on_changes, tuple(changes))),
        claims=None,
    )


def _environment(
    changes: Sequence[tuple[int, IdnInstance]], instance: IdnInstance
) -> IdnEnvironment:
    from edgeopt.online.idn import IdnEnvironment

    return IdnEnvironment(instance, changes=changes)


def _by_stretch(
    compute: Callable[[IdnInstance], Benchmark],
    opened: Callable[[IdnInstance], IdnEnvironment],
    instance: IdnInstance,
) -> Benchmark:
    """Take the mean of what bounds the stretches in which the network is the same."""
    epochs = opened(instance).epochs
    found = [compute(epoch) for epoch in epochs]
    share = np.array([epoch.horizon for epoch in epochs]) / instance.horizon
    value = float(share @ [one.value for one in found])
    bound = float(share @ [one.bound for one in found])
    seconds = sum(one.seconds for one in found)
    status = f"{plural(len(epochs), 'network')}, one after the other"
    return Benchmark(value, bound, relative_gap(value, bound), seconds, found[0].solver, status)


def _notes_on_changes(changes: Sequence[tuple[int, IdnInstance]], case: Case) -> list[str]:
    slots = ", ".join(str(slot) for slot, _ in changes)
    said = f"The network is another one from these slots on: {slots}. Policies are told then. "
    said += f"The {case.label} is the mean of the bounds of the stretches between."
    said += f" {BY_STRETCH} hosts the same within each of them."
    return [*(note.replace(BENCHMARKS[STATIC].label, BY_STRETCH) for note in _notes(case)), said]
