"""Checks of a policy that step runs side by side: states stay, and no decision looks ahead."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.studies.entries import PolicyEntry
from edgeopt.testing.content import alike, content, difference
from edgeopt.testing.report import BrokenError, SkippedError, require
from edgeopt.testing.scenarios import (
    HaltedError,
    counterpart_of,
    decisions,
    steps,
    stream,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from edgeopt.testing.policy import Checked
    from edgeopt.testing.scenarios import Setup, Step

PAIRS: Final = 10
"""Pairs of scenarios per seed that agree up to a slot."""

LOOKS: Final = 30
"""Decisions of a run whose states are looked at before and after."""


def state(checked: Checked) -> None:
    """Step two scenarios in turn, and look whether states change in place."""
    for setup, policy, done in checked.runs:
        first = policy.start(setup.environment.instance)
        before = content(first, private=False)
        turns = [_Turn(setup, policy, first, number) for number in range(2)]
        while any([turn.step() for turn in turns]):
            pass
        kept = content(first, private=False) == before
        require(kept, "the state that start returned is changed by a run", **setup.where)
        same = decisions(turns[0].done) == decisions(done)
        require(same, "scenarios that are stepped in turn disturb each other", **setup.where)


class _Turn:
    """A run that is stepped by others' leave, and looks whether states change in place."""

    def __init__(self, setup: Setup, policy: Any, state: Any, number: int) -> None:
        episode = setup.environment.episode(setup.scenario(number))
        self._steps = steps(episode, policy, state, stream(setup, number))
        self._state, self._where = state, setup.where
        self.done: list[Step] = []

    def step(self) -> bool:
        """Decide once; tell whether there was anything to decide."""
        looks = len(self.done) < LOOKS
        before = content(self._state, private=False) if looks else b""
        try:
            step = next(self._steps)
        except (StopIteration, HaltedError):
            return False
        kept = not looks or content(step.before, private=False) == before
        require(kept, f"decision {len(self.done)} changes its state in place", **self._where)
        self._state = step.after
        self.done.append(step)
        return True


def causal(checked: Checked) -> str:
    """Compare decisions in scenarios that agree up to a slot."""
    part = checked.part
    hidden = not isinstance(part, PolicyEntry) or part.causal
    if not hidden or any(getattr(policy, "hindsight", False) is True for _, policy in checked.made):
        raise SkippedError("it knows the future, and says so")
    known = [
        (setup, done, [(content(step.seen), content(step.told)) for step in done])
        for setup, _, done in checked.runs
    ]
    rng, found = np.random.default_rng((*checked.seeds, 3)), 0
    for place in range(3 * PAIRS * len(checked.seeds)):
        if found == PAIRS * len(checked.seeds):
            break
        setup, done, past = known[place % len(known)]
        counterpart = counterpart_of(setup, int(rng.integers(setup.horizon)), rng, unseen=True)
        found += counterpart is not None and _agrees(checked, setup, *counterpart, done, past)
    if not found:
        raise SkippedError("no two scenarios agree up to a slot and differ later")
    return f"{found} pairs of scenarios"


def _agrees(
    checked: Checked,
    setup: Setup,
    counterpart: Setup,
    scenario: Any,
    done: Sequence[Step],
    past: Sequence[tuple[bytes, bytes]],
) -> bool:
    """Compare decisions as long as all that was seen is the same; tell whether there were any."""
    policy = counterpart.policy(checked.part)
    state = policy.start(counterpart.environment.instance)
    rng, compared = stream(counterpart), 0
    episode = counterpart.environment.episode(scenario)
    for step, (seen, answer) in zip(done, past, strict=True):
        found = episode.observe()
        if found is None or content(found) != seen:
            break
        try:
            decided, state = policy.decide(state, found, rng)
            if not alike(decided, step.decided):
                raise BrokenError(
                    f"decision {compared} depends on what comes later: with another future, "
                    f"{difference(step.decided, decided)}",
                    **setup.where,
                )
            reply = episode.act(decided)
            state = policy.learn(state, found, decided, reply)
        except BrokenError:
            raise
        # Reported by the check of valid decisions.
        except Exception:
            break
        compared += 1
        if content(reply) != answer:
            break
    return compared > 0
