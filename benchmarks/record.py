"""What a benchmark is: a question, candidates that answer it, sizes, and goals."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Quantity = Literal["ratio", "rate", "seconds", "gap", "memory"]


@dataclass(frozen=True)
class Reading:
    """What one call of a candidate reports in addition to its time.

    Parameters
    ----------
    objective
        Value reached, which all candidates must share; None where there is none.
    gap
        Proven relative gap.
    work
        Units of work that the call did, for a rate.
    finished
        False when a time limit ended the call early.
    phases
        Seconds of the parts of the call that are worth telling apart, by name.
    """

    objective: float | None = None
    gap: float | None = None
    work: float | None = None
    finished: bool = True
    phases: Mapping[str, float] = field(default_factory=dict)


Candidate = Callable[[float | None], Reading]
"""One timed call; its argument is a time limit in seconds, or None."""


@dataclass(frozen=True)
class Goal:
    """A limit that one quantity of the subject must keep, printed as met or missed.

    Parameters
    ----------
    quantity
        `ratio` (fastest peer's median / ours), `rate` (units of work per second), `seconds`, `gap`
        (proven, relative) or `memory` (peak, GiB).
    at_least, at_most
        The limit; exactly one of the two.
    peer
        For a ratio: the peer to compare with, instead of the fastest.
    """

    quantity: Quantity
    at_least: float | None = None
    at_most: float | None = None
    peer: str | None = None

    def met(self, value: float) -> bool:
        low = self.at_least is None or value >= self.at_least
        high = self.at_most is None or value <= self.at_most
        return low and high

    def __str__(self) -> str:
        what = self.quantity if self.peer is None else f"{self.quantity} to {self.peer}"
        if self.at_least is not None:
            return f"{what} >= {self.at_least:g}"
        return f"{what} <= {self.at_most:g}"


@dataclass(frozen=True)
class Ladder:
    """Sizes over which the growth of cost is measured.

    Parameters
    ----------
    axis
        What n counts, as in "grows like n^1.2, n = slots".
    rungs
        n and the keyword arguments of the instance, smallest first: 3 at least, or no exponent
        could have an interval.
    limit
        Seconds that a call may take. A candidate that needs more is stopped and not tried at larger
        sizes.
    """

    axis: str
    rungs: tuple[tuple[int, Mapping[str, Any]], ...]
    limit: float = 2.5

    def __post_init__(self) -> None:
        sizes = [n for n, _ in self.rungs]
        if len(sizes) < 3:
            raise ValueError(f"a ladder needs at least 3 sizes, not {len(sizes)}")
        if sizes[0] < 1 or any(a >= b for a, b in itertools.pairwise(sizes)):
            raise ValueError(f"the sizes of a ladder must be positive and grow: {sizes}")

    @classmethod
    def over(
        cls, name: str, values: Sequence[int], *, axis: str = "", limit: float = 2.5, **rest: Any
    ) -> Ladder:
        """Let one argument grow while the `rest` stays."""
        rungs = tuple((value, rest | {name: value}) for value in values)
        return cls(axis or name, rungs, limit)


@dataclass(frozen=True)
class Benchmark:
    """One question, answered by edgeopt and by its peers in the same run.

    Parameters
    ----------
    name
        What `--only` selects.
    question
        One line for the reader.
    build
        `build(size, candidate)` makes everything that is not timed and returns the timed call.
    sizes
        Keyword arguments of the instance by name: `full` and `smoke`.
    subject
        Name of edgeopt's candidate.
    peers
        Names of the others, the one expected to be fastest first.
    variants
        Those of the peers that are edgeopt's too: they are listed, but no ratio refers to them.
    goals
        Limits that the subject must keep.
    repeats
        Timed calls of the subject.
    peer_repeats
        Timed calls of each peer.
    warm, peer_warm
        Whether an untimed call comes first, for code that is compiled or imported on first use.
    race
        Peers get this many times the fastest peer's seconds; None gives them all they want.
    time_limit
        Seconds for the subject; None gives it all the time it wants.
    unit
        Unit of the work of a rate.
    large
        Run with `--large` or `--only` alone.
    tolerance
        Relative agreement of the objectives.
    settings
        Environment variables for the processes.
    phases
        Names of the parts of a call that are timed apart, in order; candidates may have fewer.
    ladder
        Sizes over which growth is measured; None where there is nothing to learn from it.
    processor
        Whether calls at the full size are timed by what the processor spends on them rather than
        by the clock: for short calls on one thread, so that the load of the machine counts less.
    """

    name: str
    question: str
    build: Callable[[Mapping[str, Any], str], Candidate]
    sizes: Mapping[str, Mapping[str, Any]]
    subject: str
    peers: tuple[str, ...] = ()
    variants: tuple[str, ...] = ()
    goals: tuple[Goal, ...] = ()
    repeats: int = 5
    peer_repeats: int = 3
    warm: bool = True
    peer_warm: bool = True
    race: float | None = None
    time_limit: float | None = None
    unit: str = ""
    large: bool = False
    tolerance: float = 1e-6
    settings: Mapping[str, str] = field(default_factory=dict)
    phases: tuple[str, ...] = ()
    ladder: Ladder | None = None
    processor: bool = False

    @property
    def candidates(self) -> tuple[str, ...]:
        return (self.subject, *self.peers)

    @property
    def reference_bounds(self) -> tuple[str, ...]:
        """Peers that ratios refer to."""
        return tuple(peer for peer in self.peers if peer not in self.variants)

    def warms(self, candidate: str) -> bool:
        return self.warm if candidate == self.subject else self.peer_warm
