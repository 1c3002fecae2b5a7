"""Numbers of the counterexamples, by pen and paper."""

from fractions import Fraction

import numpy as np
import pytest
from edgeopt_papers.oinc.claims import instances as named
from edgeopt_papers.oinc.claims import problems as named_instances
from edgeopt_papers.oinc.claims.dispatch import run_variant
from edgeopt_papers.oinc.claims.instances import (
    Counts,
    cut_short,
    drawn_due,
    drawn_jobs,
    moved_devices,
    two_shares,
)
from edgeopt_papers.oinc.claims.order import run_urgent
from edgeopt_papers.oinc.claims.spaces import jobs as few_jobs
from edgeopt_papers.oinc.claims.theorem2 import count_steps

from edgeopt.bounds import check
from edgeopt.models.oinc.retraining import RetrainingProblem
from edgeopt.online.oinc.retraining import run_density

REFUTED = [
    # claim, instance, measured, guaranteed; speeds are 1.1, 1.25, 1.5, 2 and 3 unless said
    ("lemma1.published", named.moved(), 9 / 2, 13 / 3),
    ("lemma1.middle.fluid", named_instances.short_jobs(1), 0.505, 0.01),
    ("p1.moving", named.moved_away(), 4225.4125, 4220),
    ("equation8a.published", named_instances.lone_job(), 0, 1),
    ("horizon.published", named.ends_later(), 15 / 2, 7),
    ("theorem1.whole_costs", named_instances.lone_job(), 1 / 1.1 - 3 / 4, 0),
    ("sequence.published", named_instances.two_densities(), 14, 7),
    ("sequence.competitive", named_instances.light_and_long(10), 120 / 2, 2 * 21),
    ("equation6.published", named_instances.delaying(2), 4, 5),
    ("equation6.dispatch", named_instances.wrong_site(), 5, 4),
    ("equation6.certificate", named_instances.delaying(3), 1 / 2, 0),
    ("late.never_worse", named_instances.greedy_move(), 6 + 4, 7 + 2),
    ("waste.costs", named_instances.short_jobs(1), 1, 0.01 / 3),
    ("waste.published", named_instances.short_jobs(10), 55, 1.5 * 10 * 0.505),
    ("waste.speed", named_instances.short_jobs(1, 1.0), 1, 1 / 3),
    ("completion.published", named_instances.in_turn(), 1, 4),
    ("completion.algorithm", named_instances.short_jobs(1, 1.0), 0, 1),
    ("urgent.published", named.hopeless(8), 8 * 8 * (1 + 8) / 2 + 36 / 2, 2 * (36 + 72)),
    ("deadline.published", named.no_time(), 2, 1),
    ("shares.published", two_shares(), 7, 4 + 40 / 19),
    ("theorem2.published", named_instances.two_requests(0.39), 0.4 / 0.39, 1),
    ("theorem2.beside_jobs", named_instances.two_requests(0.41, 0.8), 0.45 / 0.41, 1),
    ("theorem2.actor", named_instances.two_near_one(), 1 / 0.9, 1),
    ("theorem2.last_slot", cut_short(), 0, 1),
    ("theorem3.published", Counts(), 1.97493, 1),
    ("allocation.unaware", named_instances.uneven_objectives(), 0.4 / 0.3, 1),
    ("equation1b.published", named_instances.two_requests(0.5), 2, 1),
    ("equation1a.published", named_instances.two_requests(0.5), 0.8, 0.5),
    ("state.published", moved_devices(), 0.5, 0.2),
]


def test_program_of_a_moving_job_by_hand():
    """The heavy job fills site 0 at first; the light one uses site 1 for n slots, then site 0."""

    def light(n):
        slots = 40 * (1 - Fraction(n, 400))
        cost = sum(Fraction(t, 400) + Fraction(1, 2) for t in range(n))
        for t in range(200, 240):
            used = min(max(slots - (t - 200), 0), 1)
            cost += used * (Fraction(t, 40) + Fraction(1, 2))
        return cost

    heavy = 20 * sum(Fraction(t, 200) + Fraction(1, 2) for t in range(200))
    assert heavy + min(light(n) for n in range(201)) == Fraction("4225.4125")
    schedule = named.moved_away()
    assert schedule.moves
    assert schedule.objective == 20 * 200 + 220


@pytest.mark.parametrize(("length", "ratio"), [(10, 5.7), (100, 50.7), (1000, 500.7)])
def test_least_density_first_is_as_bad_as_wanted(length, ratio):
    problem = named_instances.light_and_long(length)
    worst, best = (run_variant(problem, serve=rule) for rule in ("argmin", "argmax"))
    assert best.weighted_flow == 2 * length + 1
    assert worst.weighted_flow / best.weighted_flow == pytest.approx(ratio, abs=0.05)


@pytest.mark.parametrize(("jobs", "ratio"), [(10, 10.9), (20, 20.8), (40, 40.6)])
def test_waste_is_as_bad_as_wanted_against_the_program(jobs, ratio):
    [found] = check("oinc.waste.published", named_instances.short_jobs(jobs), epsilon=1.0)
    assert found.measured / (found.guaranteed / 2) == pytest.approx(ratio, abs=0.05)


def test_one_edge_without_the_job_breaks_the_point_of_whole_costs():
    """Cost 2 / 1.25 over 2 s, less 1/4 + 1/2."""
    [found] = check("oinc.theorem1.whole_costs", named_instances.lone_job(), epsilon=0.25)
    assert found.measured == pytest.approx(0.05)


@pytest.mark.parametrize("jobs", [8, 16, 32])
def test_a_hopeless_job_is_as_bad_as_wanted(jobs):
    flow = run_urgent(named.hopeless(jobs)).objective
    best = run_density(named.hopeless(jobs).problem).weighted_flow
    assert best == jobs * (jobs + 1) / 2 + jobs**2 + jobs
    assert flow == jobs**2 * (1 + jobs) + jobs * (jobs + 1) / 2
    assert flow / best > jobs / 2


def test_steps_of_many_jobs_by_hand():
    """Of n jobs the k-th looks at those before it; n, n - 1, ... wait in the slots."""
    [found] = check("oinc.theorem3.published", Counts((4, 8, 16)))
    wanted = [n * (n - 1) / 2 + n + n * (n + 1) / 2 for n in (4, 8, 16)]
    assert found.certificate["steps"] == wanted


def test_common_latency_of_two_requests_by_hand():
    """Half of the band and of the CPU each: 0.1 / 0.5 + 0.1 / 0.5, or 0.1 / 0.4 to compute."""
    [found] = check("oinc.theorem2.published", named_instances.two_requests(0.41))
    assert (found.verdict, found.measured) == ("holds", pytest.approx(0.4 / 0.41))
    [found] = check("oinc.theorem2.beside_jobs", named_instances.two_requests(0.46, 0.8))
    assert (found.verdict, found.measured) == ("holds", pytest.approx(0.45 / 0.46))


def test_steps_of_theorem_3_are_counted_at_the_speed_of_the_sites():
    """Jobs of 3, 3 and 1 s on sites as fast as they are: faster ones have shorter queues."""
    jobs = RetrainingProblem(np.zeros(3, int), np.array([[3.0, 4.0], [3.0, 4.0], [1.0, 2.0]]))
    run = run_density(jobs, epsilon=0.0)
    counted = count_steps(jobs, run.site, run.completion)
    (found,) = check("oinc.theorem3", jobs)
    assert found.measured == counted.dispatch + counted.sequence
    faster = run_density(jobs, epsilon=1.0)
    other = count_steps(jobs, faster.site, faster.completion)
    assert found.measured != other.dispatch + other.sequence


@pytest.mark.parametrize("seed", range(6))
def test_jobs_with_deadlines_take_longer_than_those_drawn_alone(seed):
    alone, due = drawn_jobs(seed), drawn_due(seed).problem
    finite = np.isfinite(alone.duration)
    ratio = due.duration[finite] / alone.duration[finite]
    assert (ratio >= 1).all()
    assert (ratio <= 6).all()
    assert (ratio > 1).any() == bool(seed % 3)


def test_the_simplest_jobs_take_a_second_and_weigh_one():
    simplest = few_jobs.nearest(one.target for one in few_jobs.parameters)
    jobs = few_jobs.build(few_jobs.named(simplest))
    assert (jobs.duration == 1).all()
    assert (jobs.weight == 1).all()
    assert (jobs.jobs, jobs.sites) == (1, 1)
