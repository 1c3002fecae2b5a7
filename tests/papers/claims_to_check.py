"""Claims made up for tests of the check, and claims about the sixth system."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from edgeopt.bounds import Assumption, Claim, Measurement, NotApplicableError, Relation
from edgeopt.bounds.verdict import Source
from tests.studies.stopping import Offers

if TYPE_CHECKING:
    from collections.abc import Callable

SOURCE = Source("Nobody: Nothing", "Remark 7")


@dataclass(frozen=True)
class Numbers:
    """Some numbers."""

    values: tuple[float, ...]


def three() -> Numbers:
    """Return the numbers 1, 5 and :math:`\\epsilon \\le 3`.

    Their mean is 3.

    Returns
    -------
    Numbers
        Not to be shown.
    """
    return Numbers((1.0, 5.0, 3.0))


def numbers(*values: float) -> Callable[[], Numbers]:
    return lambda: Numbers(values)


def _claim(id: str, measure: Callable[[Any], float], guaranteed: float, **rest: Any) -> Claim:
    fields = {
        "statement": r"$\bar x \le \frac{1}{2}$ <always>",
        "source": SOURCE,
        "measure": lambda given: Measurement(measure(given), guaranteed),
        "relation": Relation.AT_LEAST,
        "instance_type": Numbers,
    }
    return Claim(id=id, **{**fields, **rest})


def _mean(given: Numbers) -> float:
    return sum(given.values) / len(given.values)


def _refuse(given: Numbers) -> float:
    raise NotApplicableError("too large to be measured")


TRUE = _claim("toy.mean", _mean, 1.0, test_instances={"far": numbers(9.0), "near": numbers(2.0)})
BROKEN = _claim("toy.broken", _mean, 4.0, test_instances={"three": three})
SILENT = _claim("toy.silent", _refuse, 1.0, test_instances={"any": numbers(1.0)})
PUBLISHED = _claim(
    "toy.mean.published",
    _mean,
    4.0,
    # The first is missed by most, the second is the smallest, and the last refutes nothing.
    test_instances={"large": numbers(0, 0, 0, 0, 0), "three()": three, "fine": numbers(5)},
    counterexample="large",
    corrected_by=("toy.mean",),
)
READING = _claim(
    "toy.mean.strict",
    _mean,
    4.0,
    test_instances={"single": numbers(1.0)},
    counterexample="single",
    corrected_by=("toy.mean",),
)

_PATIENT = Assumption("patience", "more than three offers", lambda offers: offers.slots > 3)

FEW = _claim(
    "stopping.few",
    lambda offers: float(offers.slots),
    6.0,
    relation=Relation.AT_MOST,
    instance_type=Offers,
    assumptions=(_PATIENT,),
    test_instances={"four": lambda: Offers(4)},
)
"""Holds for up to six offers, and says nothing of up to three."""

ENDLESS = _claim("toy.endless", lambda _: math.inf, 1.0, test_instances={"endless": numbers(1.0)})
