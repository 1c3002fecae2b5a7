"""The smallest instance that refutes a claim, in words and numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from edgeopt.bounds.verdict import Finding
from edgeopt.studies.claims import written_out

if TYPE_CHECKING:
    from collections.abc import Iterable

    from edgeopt.bounds import Claim, Verdict


@dataclass(frozen=True)
class Refutation:
    """The smallest instance of a claim's family that refutes it.

    Parameters
    ----------
    verdict
        The verdict about it, with the name of the instance.
    words
        What is said about the instance, in paragraphs.
    numbers
        The instance field by field, see :func:`edgeopt.studies.claims.written_out.numbers`.
    size
        How many numbers it is made of.
    """

    verdict: Verdict
    words: str
    numbers: tuple[tuple[str, str], ...]
    size: int


def refutation(
    claim: Claim, named: Iterable[Verdict], drawn: Iterable[Verdict] = ()
) -> Refutation | None:
    """Return the smallest named instance that violates a claim."""
    found = [one for one in named if one.verdict is Finding.VIOLATED]
    if not found:
        others = (one for one in drawn if one.verdict is Finding.VIOLATED)
        return next((Refutation(one, "A drawn instance.", (), 0) for one in others), None)

    def order(verdict: Verdict) -> tuple[int, bool]:
        size = written_out.size(claim.test_instances[verdict.instance]())
        return size, verdict.instance != claim.counterexample

    smallest = min(found, key=order)
    build = claim.test_instances[smallest.instance]
    instance = build()
    said = written_out.words(build) or written_out.words(type(instance)).partition("\n\n")[0]
    numbers = tuple(written_out.numbers(instance))
    return Refutation(smallest, said, numbers, written_out.size(instance))
