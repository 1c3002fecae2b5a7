"""The networks of TapFinger's simulations beside their teachers, on seeds that chose nothing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from edgeopt.bounds import paired_ratio
from edgeopt_papers.releases import Release

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

    from edgeopt.bounds import Spread
    from edgeopt.learning.tapfinger.training import Teacher

SEEDS: Final = range(7000, 7020)
"""Seeds of instances of no training, validation, book or choice."""

NETWORKS: Final[dict[str, tuple[str, Teacher]]] = {
    "several": ("several", "known"),
    "single": ("single", "known"),
    "unknown": ("several", "unknown"),
}  # fmt: skip
"""Setting and teacher by network."""


class Pair(NamedTuple):
    """A row: mean flow times of a network and of its teacher in a run each on an instance, slots.

    `weights` are the first digits of the fingerprint of the checkpoint.
    """

    network: str
    weights: str
    seed: int
    flow: float
    teacher: float


def pairs() -> Iterator[Pair]:
    """Run the networks that come with the package, with sampled actions, and their teachers."""
    from edgeopt.learning.tapfinger import LearnedScheduler
    from edgeopt.learning.tapfinger.training import instances, teacher_of
    from edgeopt.online import simulate
    from edgeopt.online.tapfinger import TapFingerEnvironment

    for name, (setting, teaching) in NETWORKS.items():
        policies = LearnedScheduler(name), teacher_of(teaching, setting)
        mark = policies[0].trained.fingerprint()[:16]
        for seed, one in zip(SEEDS, instances(SEEDS, setting), strict=True):
            runs = (
                simulate(TapFingerEnvironment(one), policy, rng=seed, runs=1) for policy in policies
            )
            flow, teacher = (float(run.mean_flow_time()[0]) for run in runs)
            yield Pair(name, mark, seed, round(flow, 6), round(teacher, 6))


def _table(_folder: Path) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(list(pairs()))


FRESH: Final = Release(
    name="tapfinger-fresh",
    path=Path(__file__).with_name("held_out.csv"),
    command="make learners NAMES=tapfinger-fresh",
    make=_table,
)
"""The table; it is of the weights that it names."""


def ratios() -> dict[str, Spread]:
    """Return the flow time of every network over that of its teacher, paired, with its interval."""
    table = FRESH.read().table
    return {
        str(name): paired_ratio(own["flow"], own["teacher"])
        for name, own in table.groupby("network", sort=False)
    }
