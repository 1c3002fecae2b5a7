"""Algorithm 2 to the letter: floors for ceilings, and a partner whose step is forgotten."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from edgeopt.bounds.claim import Measurement, worst
from edgeopt.bounds.edr.rounded import ALIKE, HAND, ON_FRAMES, ROUNDED, Frame, product
from edgeopt.bounds.edr.statement import claim
from edgeopt.bounds.verdict import Relation

if TYPE_CHECKING:
    from collections.abc import Sequence

    Ends = tuple[Fraction, Fraction]

__all__ = ["CLAIMS"]


def _open(frame: Frame, state: Sequence[Fraction]) -> list[int]:
    """Tasks that are not yet decided and take part in pair steps: those that need energy."""
    pairs = zip(state, frame.energy, strict=True)
    return [i for i, (v, e) in enumerate(pairs) if 0 < v < 1 and e > 0]


def _steps(
    frame: Frame, state: tuple[Fraction, ...], ceiling: bool
) -> tuple[tuple[int, int], Ends, Ends]:
    """Return the pair that is joined and both ends of its step, with g1 and g2 as printed or not.

    The paper prints the floor of a fraction, which is 0, where its ceiling, 1, is meant.
    """
    i, j = _open(frame, state)[:2]
    q = frame.energy[i] / frame.energy[j]
    whole = 1 if ceiling else 0
    up = min(whole - state[i], state[j] / q)
    down = min((whole - state[j]) / q, state[i])
    return (i, j), (state[i] + up, state[j] - q * up), (state[i] - down, state[j] + q * down)


def _reset_energy(frames: Sequence[Frame]) -> Measurement:
    """Take pair steps after which an entry that is not yet whole gets its old value back."""
    found = []
    for frame in frames:
        whole = sum((e * (x // 1) for x, e in zip(frame.rounds, frame.energy, strict=True)))
        start = tuple(x % 1 for x in frame.rounds)
        todo, most = [start], Fraction(0)
        while todo:
            state = todo.pop()
            if len(_open(frame, state)) < 2:
                most = max(most, product(frame.energy, [v // 1 for v in state]))
                continue
            pair, up, down = _steps(frame, state, ceiling=True)
            for ends in (up, down):
                following = list(state)
                for i, value in zip(pair, ends, strict=True):
                    following[i] = value if value in (0, 1) else state[i]
                todo.append(tuple(following))
        found.append(Measurement(float(whole + most), float(frame.spent)))
    return worst(Relation.AT_MOST, found)


def _largest_entry(frames: Sequence[Frame], ceiling: bool) -> Measurement:
    """Return the largest entry after one pair step."""
    found = []
    for frame in frames:
        if len(frame.mixed) > 1:
            state = tuple(x % 1 for x in frame.rounds)
            _, up, down = _steps(frame, state, ceiling)
            found.append(Measurement(float(max(*up, *down)), 1.0))
    return worst(Relation.AT_MOST, found)


CLAIMS = (
    claim(
        "algorithm2.update.printed",
        r"$e \cdot \bar x \le e \cdot x$ if an entry that a pair step has not made whole gets its "
        "old value back, $v'_i = v_i$, as lines 15 and 18 have it.",
        "Algorithm 2, lines 15 and 18",
        _reset_energy,
        Relation.AT_MOST,
        ALIKE,
        assumptions=(ROUNDED,),
        counterexample="three_alike()",
        corrected_by=("edr.lemma1.energy",),
        **ON_FRAMES,
    ),
    claim(
        "algorithm2.range",
        r"Entries stay at most 1 in a pair step with $\gamma_1 = \min(1 - v_1, v_2 / q)$ and "
        r"$\gamma_2 = \min((1 - v_2) / q, v_1)$.",
        "Algorithm 2, lines 7 and 8, corrected",
        lambda frames: _largest_entry(frames, ceiling=True),
        Relation.AT_MOST,
        {**ALIKE, **HAND},
        assumptions=(ROUNDED,),
        **ON_FRAMES,
    ),
    claim(
        "algorithm2.range.printed",
        r"Entries stay at most 1 in a pair step with $\gamma_1 = \min(\lfloor v_1 \rfloor - v_1, "
        r"v_2 / q)$ and $\gamma_2 = \min((\lfloor v_2 \rfloor - v_2) / q, v_1)$.",
        "Algorithm 2, lines 7 and 8",
        lambda frames: _largest_entry(frames, ceiling=False),
        Relation.AT_MOST,
        ALIKE,
        assumptions=(ROUNDED,),
        counterexample="three_alike()",
        corrected_by=("edr.algorithm2.range",),
        **ON_FRAMES,
    ),
)
