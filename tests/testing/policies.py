"""A policy of IDN that is right, and one for each check of a policy that is wrong in this alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from edgeopt.online.simulate import run_policy

if TYPE_CHECKING:
    from edgeopt.instances.idn import IdnInstance
    from edgeopt.online.idn import Outcome

_ANY = count()


class Memory(NamedTuple):
    instance: IdnInstance
    slots: int = 0
    served: tuple[int, ...] = ()


@dataclass(frozen=True)
class Sound:
    """Hosts models in random order, as far as they fit."""

    name: str = "sound"
    guarded = True

    def start(self, instance: IdnInstance) -> Any:
        return Memory(instance)

    def decide(self, state: Any, seen: Any, rng: np.random.Generator) -> tuple[Any, Any]:
        instance = state.instance
        order = rng.permutation(instance.size.shape[1])
        return self.hosted(instance, order), state._replace(slots=state.slots + 1)

    def hosted(self, instance: IdnInstance, order: Any) -> np.ndarray:
        chosen = np.array(instance.repository)
        for node in np.flatnonzero(~instance.pinned):
            left = instance.budget[node]
            for model in order:
                if instance.size[node, model] <= left:
                    chosen[node, model] = True
                    left -= instance.size[node, model]
        return chosen

    def learn(self, state: Any, seen: Any, decision: Any, told: Outcome) -> Any:
        return state._replace(served=(*state.served, int(told.requests.sum())))

    def compiled(self, environment: Any, state: Any) -> Any:
        def kernel(scenarios: Any, rng: np.random.Generator, *, keep_trace: bool = False) -> Any:
            episodes = [environment.episode(one, keep_trace=keep_trace) for one in scenarios]
            for episode, stream in zip(episodes, self.streams(rng, len(scenarios)), strict=True):
                run_policy(episode, self, state, stream)
            return environment.trajectory(self.name, episodes, seconds=0.0, keep_trace=keep_trace)

        return kernel

    def streams(self, rng: np.random.Generator, runs: int) -> list[np.random.Generator]:
        return rng.spawn(runs)


class TakesTooLittle(Sound):
    def decide(self, state, seen):
        return super().decide(state, seen, np.random.default_rng(0))


class ChangesItsName(Sound):
    @property
    def name(self):
        return f"sound {next(_ANY)}"

    def __init__(self) -> None:
        pass


class ChangesTheInstance(Sound):
    def start(self, instance):
        object.__setattr__(instance, "alpha", instance.alpha / 2.0)
        return super().start(instance)


class CountsStarts(Sound):
    def start(self, instance):
        object.__setattr__(self, "starts", next(_ANY))
        return super().start(instance)

    def decide(self, state, seen, rng):
        rng = np.random.default_rng((self.starts, state.slots))
        return super().decide(state, seen, rng)


class OwnGenerator(Sound):
    """One generator for all scenarios; whoever runs first takes its first numbers."""

    def start(self, instance):
        object.__setattr__(self, "own", np.random.default_rng(0))
        return super().start(instance)

    def decide(self, state, seen, rng):
        return super().decide(state, seen, self.own)


class Log(NamedTuple):
    instance: IdnInstance
    seen: list[int]


class ChangesItsState(Sound):
    def start(self, instance):
        return Log(instance, [])

    def decide(self, state, seen, rng):
        state.seen.append(seen.index)
        return self.hosted(state.instance, rng.permutation(state.instance.size.shape[1])), state

    def learn(self, state, seen, decision, told):
        return state


@dataclass(frozen=True)
class Peeks(Sound):
    """Hosts first what the next slot will ask for."""

    requests: Any = field(default=None)
    name: str = "peeks"

    def decide(self, state, seen, rng):
        instance, slot = state.instance, min(seen.index + 1, len(self.requests) - 1)
        order = np.roll(np.arange(instance.size.shape[1]), int(self.requests[slot].sum()))
        return self.hosted(instance, order), state._replace(slots=state.slots + 1)


def peeks(instance: IdnInstance, found: Any) -> Peeks:
    return Peeks(requests=instance.requests)


class WrongType(Sound):
    def decide(self, state, seen, rng):
        decision, state = super().decide(state, seen, rng)
        few = state.instance.size.shape[0] <= 3
        return decision.astype(float) if few else decision, state


class AlwaysHosts(Sound):
    def hosted(self, instance, order):
        chosen = super().hosted(instance, order)
        free = ~instance.pinned
        if instance.size.shape[0] > 3:
            np.min(instance.size[free][chosen[free]])  # of what is hosted besides
        return chosen


class ExceedsBudgets(Sound):
    def hosted(self, instance, order):
        return np.where(instance.pinned[:, None], instance.repository, True)


class NeedsTwoSlots(Sound):
    def start(self, instance):
        if instance.size.shape[0] > 3:
            np.diff(instance.requests, axis=0).max()
        return super().start(instance)


class OtherStreams(Sound):
    def streams(self, rng, runs):
        return super().streams(rng, runs)[::-1]


class KnowsObservationsByTheirPlace(Sound):
    def decide(self, state, seen, rng):
        object.__setattr__(self, "last", seen)
        order = rng.permutation(state.instance.size.shape[1])
        turned = order[::-1] if state.slots < 0 else order
        return self.hosted(state.instance, turned), state._replace(slots=state.slots)

    def learn(self, state, seen, decision, told):
        return state._replace(slots=0 if seen is self.last else -1)


class HoldsAFunction(Sound):
    def __init__(self) -> None:
        object.__setattr__(self, "key", lambda model: model)


MUTANTS = {
    "members": (TakesTooLittle(), ()),
    "name": (ChangesItsName(), ()),
    "start": (ChangesTheInstance(), ()),
    "equal_seeds": (
        CountsStarts(),
        ("own_stream", "state", "causal", "kernel", "by_hand", "pickles"),
    ),
    "own_stream": (OwnGenerator(), ("state",)),
    "state": (ChangesItsState(), ()),
    "causal": (peeks, ()),
    "valid": (WrongType(), ()),
    "declines": (AlwaysHosts(), ()),
    "promises": (ExceedsBudgets(), ()),
    "extremes": (NeedsTwoSlots(), ()),
    "kernel": (OtherStreams(), ()),
    "by_hand": (KnowsObservationsByTheirPlace(), ()),
    "pickles": (HoldsAFunction(), ()),
}
"""By check: a policy that fails it, and further checks that it then fails as well."""
