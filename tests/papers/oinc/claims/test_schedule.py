"""Schedules: what they refuse, what is counted for them, and what is drawn."""

from itertools import pairwise

import numpy as np
import pytest
from edgeopt_papers.oinc.claims import instances as named
from edgeopt_papers.oinc.claims import problems as named_instances
from edgeopt_papers.oinc.claims.evaluation import Schedule, drawn_schedule
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.errors import InputError
from tests.draws import draws
from tests.oinc.strategies import retraining_problems


def schedule(*runs, problem=None):
    """List runs of `in_turn` as job, begin and end at the only site."""
    job, begin, end = (np.array(column) for column in zip(*runs, strict=True))
    problem = named_instances.in_turn() if problem is None else problem
    return Schedule(problem, job, np.zeros(len(runs), dtype=int), begin, end)


@pytest.mark.parametrize(
    ("runs", "text"),
    [
        ([(0, 0.0, 2.0), (1, 1.5, 3.5)], "overlap"),
        ([(0, 0.0, 2.0), (1, 2.0, 3.0)], "serve every job once"),
        ([(0, 0.0, 2.0), (1, 2.0, 4.5)], "serve every job once"),
        ([(0, -1.0, 1.0), (1, 1.0, 3.0)], "before the job arrives"),
    ],
)
def test_what_is_no_schedule_is_refused(runs, text):
    with pytest.raises(InputError, match=text):
        schedule(*runs)


def test_a_job_at_two_sites_at_once_is_refused():
    with pytest.raises(InputError, match="overlap"):
        Schedule(
            named_instances.lone_job(), np.array([0, 0]), np.array([0, 1]), np.zeros(2), np.ones(2)
        )


def test_potential_by_hand():
    """Jobs of 2 s by turns: slots 0 and 2, slots 1 and 3."""
    by_turns = schedule((0, 0.0, 1.0), (1, 1.0, 2.0), (0, 2.0, 3.0), (1, 3.0, 4.0))
    assert by_turns.potential() == pytest.approx([0 + 2 / 2 + 1, 1 / 2 + 3 / 2 + 1])
    assert by_turns.potential(midpoint=True) == pytest.approx([2.5, 3.5])
    assert by_turns.completion == pytest.approx([3, 4])
    assert by_turns.objective == 7
    assert not by_turns.moves
    assert named.moved().moves
    # 4 slots of 6 s and 1/3 of a second.
    wanted = sum((t / 6 + 1 / 2) for t in range(4)) + (4 + 1 / 2) / 3
    assert named.moved().potential() == pytest.approx([wanted])


@settings(max_examples=draws(60))
@given(retraining_problems(jobs=4), st.integers(0, 10**6), st.booleans(), st.booleans())
def test_drawn_schedules_are_schedules(problem, seed, move, whole_slots):
    """The constructor checks them; potentials agree with an integral over fine steps."""
    drawn = drawn_schedule(problem, seed, move=move, whole_slots=whole_slots)
    assert move or not drawn.moves
    assert drawn.ends_with_slots or not whole_slots
    phi = np.zeros(problem.jobs)
    for k, j, begin, end in zip(drawn.job, drawn.site, drawn.begin, drawn.end, strict=True):
        cuts = [begin, *range(int(begin) + 1, int(np.ceil(end))), end]
        for first, last in pairwise(cuts):
            time = np.floor(first + 1e-9) - problem.arrival[k]
            phi[k] += (last - first) * (time / problem.duration[k, j] + 0.5)
    assert drawn.potential() == pytest.approx(problem.weight * phi, abs=1e-6)
