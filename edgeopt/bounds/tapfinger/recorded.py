"""What the authors' runs recorded, beside what the paper says of them."""

from __future__ import annotations

from dataclasses import dataclass

from edgeopt.bounds.claim import Assumption, Measurement
from edgeopt.bounds.tapfinger.statement import claim
from edgeopt.bounds.verdict import Relation

__all__ = ["CLAIMS", "Recorded", "Use", "three_clusters", "tiresias_in_rounds", "tiresias_in_slots"]


@dataclass(frozen=True)
class Recorded:
    """Flow times of recorded runs, slots.

    Parameters
    ----------
    mean, median
        Those of TapFinger.
    rival_mean, rival_median
        Those of the best of the policies that it is compared with.
    """

    mean: float
    median: float
    rival_mean: float
    rival_median: float


@dataclass(frozen=True)
class Use:
    """Recorded use of clusters whose tasks need 2 CPU cores and 1 GPU at least.

    Parameters
    ----------
    cpu, gpu
        Mean number of CPU cores and of GPUs that are held on a cluster.
    single_start
        Whether a cluster starts at most one task per slot.
    """

    cpu: float
    gpu: float
    single_start: bool


def three_clusters() -> Recorded:
    """Return what was recorded of TapFinger and of Optimus for Fig. 5(a).

    On average 6.417 slots and 8.562, in the median 5 and 7.
    """
    return Recorded(6.417, 5.0, 8.562, 7.0)


def tiresias_in_slots() -> Use:
    """Return the use of Tiresias for Fig. 5, where a cluster starts one task per slot."""
    return Use(13.95, 5.30, single_start=True)


def tiresias_in_rounds() -> Use:
    """Return the use of Tiresias for Fig. 11, where a cluster starts several."""
    return Use(11.98, 11.96, single_start=False)


_SINGLE = Assumption(
    "single-task mode",
    "A cluster starts at most one task per slot.",
    lambda use: use.single_start,
)
_RECORDED = {"instance_type": Recorded, "view": lambda recorded: recorded}
_USE = {"instance_type": Use, "view": lambda use: use}
_FIG5 = {"three_clusters()": three_clusters}
_IN_SLOTS = {"tiresias_in_slots()": tiresias_in_slots}
_IN_ROUNDS = {"tiresias_in_rounds()": tiresias_in_rounds}


def _as_smallest_bundles(use: Use) -> Measurement:
    """Compare the GPUs held with those of smallest bundles with as many CPU cores."""
    return Measurement(use.gpu, use.cpu / 2.0)


CLAIMS = (
    claim(
        "headline.median",
        "TapFinger reduces the median completion time by 28.6 % on three clusters, rounded.",
        "Section V-B, three-agent implementation",
        lambda run: Measurement(100.0 * (1.0 - run.median / run.rival_median), 28.55),
        Relation.AT_LEAST,
        _FIG5,
        **_RECORDED,
    ),
    claim(
        "headline.printed",
        "It reduces the average by 28.6 % there, rounded, as the conclusion has it. That is the "
        "median; the average is reduced by 25.1 %.",
        "Section VI, conclusion",
        lambda run: Measurement(100.0 * (1.0 - run.mean / run.rival_mean), 28.55),
        Relation.AT_LEAST,
        _FIG5,
        counterexample="three_clusters()",
        corrected_by=("tapfinger.headline.median",),
        **_RECORDED,
    ),
    claim(
        "tiresias",
        "With at most one start per slot Tiresias uses no more GPUs than smallest bundles of 2 CPU "
        "cores and 1 GPU would.",
        "Section V-B, three-agent implementation",
        _as_smallest_bundles,
        Relation.AT_MOST,
        {**_IN_SLOTS, **_IN_ROUNDS},
        assumptions=(_SINGLE,),
        **_USE,
    ),
    claim(
        "tiresias.printed",
        "It never does: it only schedules tasks given the minimum resource requirements. Where a "
        "cluster starts several tasks per slot, it handed out more.",
        "Section V-B, three-agent implementation, and Fig. 11",
        _as_smallest_bundles,
        Relation.AT_MOST,
        _IN_ROUNDS,
        counterexample="tiresias_in_rounds()",
        corrected_by=("tapfinger.tiresias",),
        **_USE,
    ),
)
