"""A verdict on an instance does not depend on the units of profit and of work."""

from __future__ import annotations

import pytest

from edgeopt.bounds import check, claims
from edgeopt.instances.rescue import RescueInstance, ReservedTasks, small
from edgeopt.instances.rescue import tight as gamble
from tests.draws import every

SPEAKING = [
    id for id, claim in claims("rescue").items()
    if RescueInstance in (claim.instance_type if isinstance(claim.instance_type, tuple)
                          else (claim.instance_type,))
]  # fmt: skip


def scaled(instance, profit, work):
    tasks = instance.reserved
    return instance.replace(
        profit=instance.profit * profit,
        capacity=instance.capacity * work,
        reserved=ReservedTasks(tasks.server, tasks.start, tasks.end, tasks.demand * work),
    )


@pytest.mark.parametrize(
    ("profit", "work"),
    every(3, [(2.0**-40, 2.0**40), (2.0**40, 2.0**-40), (1e-8, 1e-10), (1e8, 1e6)], rows=True),
)
def test_every_verdict_is_the_same_in_other_units(profit, work):
    cases = [gamble(0.25), small(3), small(8, arrivals="independent"), small(12)]
    assert sum(len(case.reserved) for case in cases) > 1
    for instance in cases:
        found = check(SPEAKING, instance)
        others = check(SPEAKING, scaled(instance, profit, work))
        for one, other in zip(found, others, strict=True):
            assert one.claim == other.claim
            assert one.verdict == other.verdict, (one.claim, one.measured, other.measured)
            if one.verdict != "vacuous" and one.guaranteed:
                share = one.measured / one.guaranteed
                same = other.measured / other.guaranteed
                assert same == pytest.approx(share, rel=1e-9, abs=1e-9), one.claim
