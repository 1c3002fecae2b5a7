"""Several clusters that pick one task: who wins it, and whether it is started."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from edgeopt.bounds.claim import Measurement, NotApplicableError
from edgeopt.bounds.tapfinger.statement import claim
from edgeopt.bounds.verdict import Relation
from edgeopt.instances.tapfinger import TapFingerInstance
from edgeopt.online.tapfinger import Decision, TapFingerEnvironment

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["CLAIMS", "Rivals", "drawn_rivals", "empty_handed", "keen_or_roomy"]


@dataclass(frozen=True)
class Rivals:
    r"""Clusters that all pick the only task there is, which needs a CPU core and a GPU.

    Parameters
    ----------
    score
        Probability with which each cluster picks it, :math:`\hat z_{j,n}`.
    room
        GPUs of each cluster, and as many CPU cores.
    gives
        Whether it gives the task its smallest bundle, or nothing; all of them do by default.
    """

    score: tuple[float, ...]
    room: tuple[int, ...]
    gives: tuple[bool, ...] | None = None

    @property
    def product(self) -> NDArray[np.float64]:
        """Numerator of (11), the number of such tasks a cluster has room for being Pr(n)."""
        return np.asarray(np.array(self.score) * np.array(self.room))

    def winner(
        self, conflict: Literal["count", "ratio"] = "count", *, pass_on: bool = False
    ) -> int:
        """Return which cluster has started the task in the environment, -1 if none has."""
        clusters, largest = len(self.room), max(self.room) + 1
        instance = TapFingerInstance(
            capacity=np.repeat(np.array(self.room)[:, None], 2, axis=1),
            minimum=np.array([[1, 1]]),
            speed=np.ones((1, largest, largest)),
            arrival=np.array([0]),
            kind=np.array([0]),
            eligible=np.ones((1, clusters), dtype=bool),
        )
        environment = TapFingerEnvironment(instance, conflict=conflict, pass_on=pass_on)
        gives = np.ones(clusters, dtype=bool) if self.gives is None else np.array(self.gives)
        bundle = np.repeat(gives[:, None], 2, axis=1).astype(np.int64)
        decision = Decision(np.zeros(clusters, dtype=np.int64), bundle, np.array(self.score))
        started = environment.episode(0).act(decision).started
        return int(np.argmax(started)) if (started >= 0).any() else -1


def keen_or_roomy() -> Rivals:
    """Let one cluster pick a task with probability 0.9 and have room for 1, the other 0.2 and 3.

    The products are 0.9 and 0.6. With exponentials of the room they are 0.9 e and 0.2 e^3.
    """
    return Rivals((0.9, 0.2), (1, 3))


def empty_handed() -> Rivals:
    """Let the cluster with more room give nothing, and the other one a bundle."""
    return Rivals((1.0, 1.0), (1, 2), (True, False))


def drawn_rivals(seed: int) -> Rivals:
    """Draw up to four clusters, half of the time some that give nothing."""
    draw = np.random.default_rng(seed)
    clusters = int(draw.integers(1, 5))
    gives = draw.random(clusters) < 0.6 if seed % 2 else np.ones(clusters, dtype=bool)
    return Rivals(
        tuple(draw.uniform(0.05, 1.0, clusters).tolist()),
        tuple(draw.integers(1, 5, clusters).tolist()),
        tuple(gives.tolist()),
    )


def _all_give(rivals: Rivals) -> Rivals:
    if rivals.gives is not None and not all(rivals.gives):
        raise NotApplicableError("a cluster gives nothing")
    return rivals


def _product_of(rivals: Rivals, winner: int) -> Measurement:
    return Measurement(rivals.product[winner], rivals.product.max(), {"winner": winner})


def _started(rivals: Rivals, *, pass_on: bool) -> Measurement:
    """Count whether the task is started, and whether some cluster would have."""
    willing = rivals.gives is None or any(rivals.gives)
    return Measurement(float(rivals.winner(pass_on=pass_on) >= 0), float(willing))


_RIVALS = {"instance_type": Rivals, "view": lambda rivals: rivals}
_KEEN = {"keen_or_roomy()": keen_or_roomy}
_EMPTY = {"empty_handed()": empty_handed}
_DRAWN = {f"drawn_rivals({seed})": lambda seed=seed: drawn_rivals(seed) for seed in range(20)}

CLAIMS = (
    claim(
        "equation11",
        r"The cluster of largest $\hat z_{j,n} \Pr(n)$ wins a task, $\hat z_{j,n}$ being the "
        "probability with which it picks the task, $\\Pr(n)$ how many such tasks it has room for.",
        "Equation (11), corrected",
        lambda rivals: _product_of(rivals, _all_give(rivals).winner()),
        Relation.EQUAL,
        {**_KEEN, **_DRAWN},
        **_RIVALS,
    ),
    claim(
        "equation11.ratio",
        r"It wins if $\Pr(n)$ is the softmax of how often the smallest bundle fits, as in the "
        "program behind the paper's figures. That tells clusters apart far more sharply.",
        "Equation (11) and section IV-C",
        lambda rivals: _product_of(rivals, _all_give(rivals).winner("ratio")),
        Relation.EQUAL,
        _KEEN,
        counterexample="keen_or_roomy()",
        corrected_by=("tapfinger.equation11",),
        **_RIVALS,
    ),
    claim(
        "conflict",
        "A task is started in the round in which some cluster picks it and gives it a bundle, if "
        "clusters that give it nothing make way for the next one.",
        "Section IV-C, task selection conflicts, corrected",
        lambda rivals: _started(rivals, pass_on=True),
        Relation.EQUAL,
        {**_EMPTY, **_DRAWN},
        **_RIVALS,
    ),
    claim(
        "conflict.printed",
        "It is if conflicts are resolved before bundles are chosen. The winner may give it "
        "nothing, and the round is lost.",
        "Section IV-C, task selection conflicts",
        lambda rivals: _started(rivals, pass_on=False),
        Relation.EQUAL,
        _EMPTY,
        counterexample="empty_handed()",
        corrected_by=("tapfinger.conflict",),
        **_RIVALS,
    ),
)
