"""Orders of jobs turned into runs: nobody waits while there is room, and nothing overlaps."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.errors import OptionError
from edgeopt.online.oinc.events import Jobs
from edgeopt.online.oinc.parts import Queues, run_in_order
from tests.draws import draws

if TYPE_CHECKING:
    from collections.abc import Sequence

    from edgeopt.online.oinc.parts import Service


def queues(site: Sequence[int], remaining: Sequence[float], speed: Sequence[float]) -> Queues:
    """Return jobs 10, 11, ... at sites whose share is an eighth of their speed."""
    q = len(site)
    left = np.array(remaining, dtype=float)
    jobs = Jobs(
        np.arange(10, 10 + q), np.array(site, dtype=np.int64), np.zeros(q, dtype=np.bool_),
        left, left, np.zeros(q, dtype=np.int64), np.full(q, 9.0), np.ones(q),
    )  # fmt: skip
    rate = np.array(speed, dtype=float)
    return Queues(3, jobs, rate / 8.0, rate)


def told(site: Sequence[int], left: Sequence[float], speed: Sequence[float],
         order: Sequence[int], service: str) -> list[tuple[int, Fraction, Fraction]]:  # fmt: skip
    """Serve site after site, second after second, in fractions."""
    runs = []
    for j, rate in enumerate(speed):
        now = Fraction(0)
        for place in order:
            if site[place] == j and rate > 0 and now < 1:
                need = Fraction(left[place]) / Fraction(rate)
                end = Fraction(1) if service == "slot" else min(now + need, Fraction(1))
                runs.append((10 + place, now, end))
                now = end
    return sorted(runs)


@pytest.mark.parametrize("service", ["fluid", "slot"])
@settings(max_examples=draws(60))
@given(st.data())
def test_runs_are_those_of_a_site_that_serves_second_after_second(
    service: Service, data: st.DataObject
) -> None:
    speed = data.draw(st.lists(st.sampled_from([0.0, 1.0, 2.0, 4.0]), min_size=1, max_size=3))
    site = data.draw(st.lists(st.integers(-1, len(speed) - 1), max_size=6))
    size = st.integers(1, 20).map(lambda eighths: eighths / 8)
    left = data.draw(st.lists(size, min_size=len(site), max_size=len(site)))
    order = data.draw(st.permutations(range(len(site))))[: data.draw(st.integers(0, len(site)))]
    given_queues = queues(site, left, speed)
    runs = run_in_order(given_queues, np.array(order, dtype=np.int64), service)
    found = sorted(zip(runs.job.tolist(), runs.begin.tolist(), runs.end.tolist(), strict=True))
    assert found == told(site, left, speed, order, service)
    at = np.array(site, dtype=np.int64)[runs.job - 10]
    assert runs.share.tolist() == given_queues.share[at].tolist()


def test_next_to_nothing_still_takes_a_moment() -> None:
    runs = run_in_order(queues([0, 0], [0.75, 1e-30], [1.0]), np.array([0, 1]))
    assert runs.begin.tolist() == [0.0, 0.75]
    assert 0.75 < runs.end[1] <= 0.75 + 1e-15


def test_an_unknown_service_is_refused() -> None:
    with pytest.raises(OptionError, match="'fluid', 'slot'"):
        run_in_order(queues([0], [1.0], [1.0]), np.array([0]), "whole")  # type: ignore[arg-type]
