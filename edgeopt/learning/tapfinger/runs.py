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
    """

    def __init__(
        self, pool: Sequence[TapFingerInstance], count: int, rng: np.random.Generator
    ) -> None:
        self.pool, self.rng = pool, rng
        self.session = Session(lambda draw: pool[int(draw.integers(len(pool)))], count)
        self.session.open(dict.fromkeys(range(count), rng))
        self.seen = self._seen(self.session.open({}))

    def _seen(self, step: Step) -> Seen:
        return Seen.of(step.observation, self.session.boxes)

    def act(self, actions: Actions) -> tuple[Step, Seen | None]:
        """Carry out a round everywhere, and begin anew what is over then.

        Returned is what it came to, and what runs showed last if some of them were stopped.
        """
        step = self.session.step(actions.action, actions.score)
        last = self._seen(step) if step.truncated.any() else None
        over = np.flatnonzero(step.terminated | step.truncated).tolist()
        begun = self.session.open(dict.fromkeys(over, self.rng)) if over else step
        self.seen = self._seen(begun)
        return step, last

    def state(self) -> dict[str, Any]:
        """Return what `restore` needs to go on."""
        named = self.session.batch.state._asdict()
        arrays: dict[str, NDArray[Any]] = {
            name: np.frombuffer(part.tobytes(), dtype=np.uint8) for name, part in named.items()
        }
        places = {id(one): place for place, one in enumerate(self.pool)}
        return {
            "arrays": arrays,
            "shapes": {name: list(part.shape) for name, part in named.items()},
            "seeds": list(self.session.batch.seeds),
            "pool": [places[id(one.truth)] for one in self.session.environments],
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take up a state."""
        batch, session = self.session.batch, self.session
        parts: dict[str, Any] = {
            name: np.frombuffer(bytes(state["arrays"][name]), dtype=part.dtype)
            .reshape(state["shapes"][name])
            .copy()
            for name, part in batch.state._asdict().items()
        }
        batch.state, batch.seeds = State(**parts), list(state["seeds"])
        session.environments = [
            replace(session.environments[0], truth=self.pool[place]) for place in state["pool"]
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
