"""Scenarios that a learner visits side by side, what its teacher would do, and how it fares."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.learning.tapfinger.adapters.encoding import action_of
from edgeopt.learning.tapfinger.adapters.session import Session
from edgeopt.learning.tapfinger.network import Seen
from edgeopt.online.tapfinger.kernels import State

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from edgeopt.instances.tapfinger import TapFingerInstance
    from edgeopt.learning.tapfinger.adapters.session import Step
    from edgeopt.learning.tapfinger.network import Actions

    Acting = Callable[[Seen], Actions]


class Runs:
    """Runs side by side on instances drawn from a pool; one that is over is followed by another.

    Parameters
    ----------
    pool
        Instances with the same clusters and kinds.
    count
        Number of runs.
    rng
        Draws instances and noise.
    first
        Instances of the first runs, by default those of the pool. Of unequal length, they leave
        later runs out of phase.
    """

    def __init__(
        self, pool: Sequence[TapFingerInstance], count: int, rng: np.random.Generator,
        first: Sequence[TapFingerInstance] = (),
    ) -> None:  # fmt: skip
        self.pool, self.first, self.rng = pool, first, rng
        drawn = first or pool
        self.session = Session(lambda draw: drawn[int(draw.integers(len(drawn)))], count)
        self.session.open(dict.fromkeys(range(count), rng))
        drawn = pool
        self.seen = self._seen(self.session.open({}))

    def _seen(self, step: Step) -> Seen:
        return Seen.of(step.observation, self.session.boxes)

    def act(self, actions: Actions) -> Step:
        """Carry out a round everywhere, and return what it came to; `renew` is to follow."""
        return self.session.step(actions.action, actions.score)

    def renew(self, step: Step) -> None:
        """Begin anew what is over after a step, and show the next round."""
        over = np.flatnonzero(step.terminated | step.truncated).tolist()
        begun = self.session.open(dict.fromkeys(over, self.rng)) if over else step
        self.seen = self._seen(begun)

    def state(self) -> dict[str, Any]:
        """Return what `restore` needs to go on."""
        named = self.session.batch.state._asdict()
        arrays: dict[str, NDArray[Any]] = {
            name: np.frombuffer(part.tobytes(), dtype=np.uint8) for name, part in named.items()
        }
        places = {id(one): place for place, one in enumerate((*self.pool, *self.first))}
        return {
            "arrays": arrays,
            "shapes": {name: list(part.shape) for name, part in named.items()},
            "seeds": list(self.session.batch.seeds),
            "pool": [places[id(one.truth)] for one in self.session.environments],
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take up a state."""
        batch, session, known = self.session.batch, self.session, (*self.pool, *self.first)
        parts: dict[str, Any] = {
            name: np.frombuffer(bytes(state["arrays"][name]), dtype=part.dtype)
            .reshape(state["shapes"][name])
            .copy()
            for name, part in batch.state._asdict().items()
        }
        batch.state, batch.seeds = State(**parts), list(state["seeds"])
        session.environments = [
            replace(session.environments[0], truth=known[place]) for place in state["pool"]
        ]
        self.seen = self._seen(session.open({}))


class Teacher:
    """A scheduler without coins that says what it would do in the runs of another.

    It does not learn from them: one that has learnt before goes on with what it knows.
    """

    def __init__(self, policy: Any, instance: TapFingerInstance, count: int) -> None:
        self.policy, self._rng = policy, np.random.default_rng(0)
        self._states = [policy.start(instance)] * count

    def actions(self, session: Session) -> NDArray[np.int64]:
        """Return what it would do in every run, shape [E, N, 3]."""
        found = []
        for e, state in enumerate(self._states):
            seen = session.run(e).observe()
            assert seen is not None
            decision, self._states[e] = self.policy.decide(state, seen, self._rng)
            found.append(action_of(seen, decision))
        return np.stack(found)


def mean_flows(
    acting: Acting, instances: Sequence[TapFingerInstance], seed: int = 0, *, patience: int = 200
) -> NDArray[np.float64]:
    """Return the mean flow time of a run on each instance, slots; infinite if it waits for ever."""
    place = [0]
    session = Session(lambda _: instances[place[0]], len(instances), patience=patience)
    streams = np.random.default_rng(seed).spawn(len(instances))
    for e, stream in enumerate(streams):
        place[0] = e
        step = session.open({e: stream})
    flows = np.full(len(instances), np.nan)
    total = np.zeros(len(instances))
    while np.isnan(flows).any():
        actions = acting(Seen.of(step.observation, session.boxes))
        step = session.step(actions.action, actions.score)
        total -= step.shared
        for e in np.flatnonzero(step.terminated | step.truncated).tolist():
            if np.isnan(flows[e]):
                mean = total[e] / max(instances[e].tasks, 1)
                flows[e] = mean if step.terminated[e] else np.inf
            place[0] = e
            step = step._replace(observation=session.open({e: streams[e]}).observation)
    return flows
