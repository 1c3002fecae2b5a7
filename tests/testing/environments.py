"""Environments of IDN, one for each check of an environment, that are wrong in this alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import numpy as np

from edgeopt.online.idn import IdnEnvironment
from edgeopt.online.idn.environment import IdnEpisode


class Episode(IdnEpisode):
    """An episode that one method makes wrong."""


@dataclass(frozen=True, eq=False)
class Other(IdnEnvironment):
    """IDN with another kind of episode."""

    kind = Episode

    def episode(self, scenario: Any, *, keep_trace: bool = False) -> Any:
        return self.kind(self.truth, self.order, scenario, keep_trace=keep_trace)


class GoesOn(IdnEpisode):
    def act(self, decision):
        return None if self.finished else super().act(decision)


class NeverOver(Other):
    kind = GoesOn


@dataclass(frozen=True)
class Coming:
    index: int
    requests: Any


class ShowsNext(IdnEpisode):
    def observe(self):
        seen = super().observe()
        coming = self._instance.requests[seen.index + 1 :][:1] if seen else None
        return seen and Coming(seen.index, coming)


class TellsTheFuture(Other):
    kind = ShowsNext


class DrawsAllAtOnce(Other):
    def scenarios(self, rng, runs):
        slots, types = self.truth.requests.shape
        return np.argsort(rng.random((slots, types, runs)), axis=1).transpose(2, 0, 1)


class RefusesWithoutName(IdnEpisode):
    def act(self, decision):
        if not isinstance(decision, np.ndarray):
            raise ValueError("no")
        return super().act(decision)


class NoName(Other):
    kind = RefusesWithoutName


class CountsInFractions(Other):
    def trajectory(self, name, episodes, *, seconds, keep_trace=False):
        made = super().trajectory(name, episodes, seconds=seconds, keep_trace=keep_trace)
        return replace(made, violations=made.violations.astype(float))


class CountsTwice(Other):
    def trajectory(self, name, episodes, *, seconds, keep_trace=False):
        made = super().trajectory(name, episodes, seconds=seconds, keep_trace=keep_trace)
        return replace(made, decisions=2 * made.decisions)


class RecordCosts(Other):
    def trajectory(self, name, episodes, *, seconds, keep_trace=False):
        made = super().trajectory(name, episodes, seconds=seconds, keep_trace=keep_trace)
        return replace(made, reward=made.reward - keep_trace)


_RUNS = count()


class NeverTheSame(Other):
    def trajectory(self, name, episodes, *, seconds, keep_trace=False):
        made = super().trajectory(name, episodes, seconds=seconds, keep_trace=keep_trace)
        return replace(made, reward=made.reward + next(_RUNS))


MUTANTS = {
    "ends": (NeverOver, ()),
    "hides_future": (TellsTheFuture, ()),
    "prefix": (DrawsAllAtOnce, ()),
    "refuses": (NoName, ()),
    "shapes": (CountsInFractions, ()),
    "accounts": (CountsTwice, ()),
    "record": (RecordCosts, ()),
    "equal_seeds": (NeverTheSame, ("accounts", "record")),
}
"""By check: an environment that fails it, and further checks that it then fails as well."""
