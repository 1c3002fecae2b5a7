"""The insertion actor: a learnt way to answer the requests of a slot, run without PyTorch."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np

from edgeopt.errors import InputError
from edgeopt.learning import Checkpoint
from edgeopt.learning.arrays import layer_shapes
from edgeopt.learning.oinc.placing import FEATURES, SWEEPS, place, places
from edgeopt.learning.oinc.slots import MISSED
from edgeopt.models.oinc.slot import evaluate
from edgeopt.models.oinc.slot.local_search import measure
from edgeopt.models.oinc.slot.solve import spread
from edgeopt.online.oinc.components import Part
from edgeopt.options import check_kind, check_real, check_whole

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from edgeopt.arrays import Floats, Ints
    from edgeopt.instances.oinc import OincInstance
    from edgeopt.models.oinc.slot import SlotPlan, SlotProblem


SHIPPED: Final = Path(__file__).with_name("insertion.safetensors")
"""The file of the checkpoint that comes with the package."""

HIDDEN: Final = 32
"""Width of both hidden layers of both networks."""

_LAYERS: Final = (len(FEATURES), HIDDEN, HIDDEN, 1)


def shapes() -> dict[str, tuple[int, ...]]:
    """Return the shapes of the weights by name."""
    found: dict[str, tuple[int, ...]] = {"greed": (SWEEPS,)}
    for sweep in range(SWEEPS):
        found |= layer_shapes(*_LAYERS, prefix=f"sweeps.{sweep}.")
    return found


def in_order(weights: Mapping[str, NDArray[Any]]) -> tuple[Floats, ...]:
    """Return the weights as `place` takes them: by layer [2, in, out] and [2, out], and greed."""
    found = []
    for layer in range(len(_LAYERS) - 1):
        for part in ("weight", "bias"):
            both = [weights[f"sweeps.{sweep}.{layer}.{part}"].T for sweep in range(SWEEPS)]
            found.append(np.stack(both).astype(np.float64))
    return (*found, weights["greed"].astype(np.float64))


def terms_of(problem: SlotProblem) -> Floats:
    """Return what each request adds to the sums of each site, shape [n, J, 5]."""
    return measure(
        problem.transmission, problem.computation, problem.slo, problem.weight, problem.room
    )


_NONE: Final = np.zeros((0, 0, 0))
_UNSEEN: Final = np.zeros((0, 0, 0, 0))

TEACHER: Final = (_NONE, *(np.zeros((0, 0)), _NONE) * 2, np.zeros((0, 0)), np.zeros(0))
"""In place of weights: choose what costs least, latencies and missed objectives together."""


def sites_by_weights(
    weights: tuple[Floats, ...],
    terms: Floats,
    slo: Floats,
    noise: Floats = _NONE,
    seen: Floats = _UNSEEN,
    costs: Floats = _NONE,
) -> Ints:
    """Return the site of every request, shape [n]; see `place` for what may be filled in."""
    site = np.empty(slo.size, dtype=np.int64)
    if site.size:
        raised = np.ascontiguousarray(noise)
        place(terms, slo, places(terms, slo), *weights, raised, site, seen, costs)
    return site


def reward_of(plan: SlotPlan, missed: float = MISSED) -> float:
    """Return the reward of Zeng et al. (4): minus mean latency, and minus a constant if missed."""
    return -float(np.mean(plan.latency + missed * ~plan.met))


def measured(plans: Sequence[SlotPlan]) -> dict[str, float]:
    """Return the mean reward of slots, and mean latency and share in time of their requests."""
    return {
        "reward": float(np.mean([reward_of(plan) for plan in plans])),
        "latency": float(np.mean(np.concatenate([plan.latency for plan in plans]))),
        "requests_met": float(np.mean(np.concatenate([plan.met for plan in plans]))),
    }


@cache
def shipped() -> Checkpoint:
    """Return the checkpoint that comes with the package.

    Returns
    -------
    Checkpoint
        Of an insertion actor, with the record of its training.

    Examples
    --------
    >>> from edgeopt.learning.oinc import shipped
    >>> checkpoint = shipped()
    >>> checkpoint.system, checkpoint.learner
    ('oinc', 'insertion')
    """
    return Checkpoint.load(SHIPPED, system="oinc", learner="insertion")


@dataclass(frozen=True, eq=False, kw_only=True)
class InsertionActor(Part):
    r"""Place requests one after the other by a learnt score, then give every site its best shares.

    Large requests with short objectives come first, each to the site where its score is highest: a
    small network sees the request at a site and what lies there, and its output is lowered by how
    far the marginal cost

    .. math:: 2 a_{ij} \sum a + a_{ij}^2 + 2 e_{ij} \sum e + e_{ij}^2, \qquad
        a = \sqrt{w A},\ e = \sqrt{w E / \varphi},

    lies above the least one. Then every request is taken out once more and placed by the scores of
    a second network. Networks of zeros leave greedy insertion.

    Since the same networks score all pairs, one checkpoint runs on instances of any size.

    Parameters
    ----------
    checkpoint
        What was learnt; by default what comes with the package.
    samples
        Plans that are made for a slot, of which the one with the highest reward is taken: the one
        with the highest scores, and others with noise on the scores.
    temperature
        Scale of that noise, which has a Gumbel distribution.

    Raises
    ------
    InputError
        If the checkpoint is for something else.
    OptionError
        If an option is out of range.

    Notes
    -----
    Stands in place of the learned actor of Zeng et al., algorithm 3, whose inputs are those of one
    instance and whose actions are one site per device. Shares are exact, see `evaluate`. The reward
    is that of equation (4): minus the latency in seconds, and minus 3 for a missed objective.

    Examples
    --------
    >>> from edgeopt.instances.oinc import generate
    >>> from edgeopt.online import simulate
    >>> from edgeopt.online.oinc import Oinc, OincEnvironment
    >>> from edgeopt.learning.oinc import InsertionActor
    >>> environment = OincEnvironment(generate(sites=3, devices=4, slots=20, jobs=3))
    >>> trajectory = simulate(environment, Oinc(inference=InsertionActor()), runs=1)
    >>> bool(trajectory.complete.all())
    True
    """

    title: ClassVar[str] = "Insertion actor"

    checkpoint: Checkpoint | None = None
    samples: int = 1
    temperature: float = 0.5

    def __post_init__(self) -> None:
        check_kind("checkpoint", self.checkpoint, Checkpoint, none=True)
        check_whole("samples", self.samples, 1)
        check_real("temperature", self.temperature, "(0, inf)")
        if self.checkpoint is not None:
            made = self.checkpoint.system, self.checkpoint.learner
            if made != ("oinc", "insertion"):
                rule = "must be of the insertion actor of oinc"
                raise InputError("checkpoint", rule, value=" ".join(made))
            self.checkpoint.require(shapes())
            if list(self.checkpoint.features) != list(FEATURES):
                raise InputError("checkpoint", "has other features than this network sees")

    @property
    def name(self) -> str:
        """Title, and the options of more plans than one."""
        if self.samples == 1:
            return self.title
        return f"{self.title}, samples={self.samples}, temperature={self.temperature}"

    @property
    def deterministic(self) -> bool:  # type: ignore[override]
        """Whether it draws no random numbers: with one plan."""
        return self.samples == 1

    @cached_property
    def _weights(self) -> tuple[Floats, ...]:
        return in_order((self.checkpoint or shipped()).weights)

    def start(self, instance: OincInstance) -> float:
        """Remember the latency within which late requests should still be answered, s."""
        return instance.refusal_latency

    def answer(
        self, memory: float, problem: SlotProblem, rng: np.random.Generator | None = None
    ) -> tuple[SlotPlan, float]:
        """Place the requests of a slot and share out band and CPU."""
        whole, problem = problem, problem.of(problem.linked)
        terms = terms_of(problem)
        best = evaluate(problem, sites_by_weights(self._weights, terms, problem.slo), late=memory)
        if self.samples > 1 and problem.requests:
            assert rng is not None
            noise = rng.gumbel(
                scale=self.temperature,
                size=(self.samples - 1, SWEEPS, problem.requests, problem.sites),
            )
            for one in noise:
                plan = evaluate(
                    problem, sites_by_weights(self._weights, terms, problem.slo, one), late=memory
                )
                if reward_of(plan) > reward_of(best):
                    best = plan
        return spread(best, whole), memory
