"""What proofs of the papers restate: forms of one number, and constants beside each other."""

import math

import numpy as np
import pytest
from edgeopt_papers.edr.claims.evaluation import INTERIOR, NONNEGATIVE
from edgeopt_papers.edr.claims.evaluation import Evaluation as Training
from edgeopt_papers.edr.claims.instances import MOVING, STEADY
from edgeopt_papers.idn.claims.evaluation import CHOICE, centre, free
from edgeopt_papers.idn.claims.evaluation import Evaluation as Network
from edgeopt_papers.idn.claims.instances import DRAWN, adversarial
from edgeopt_papers.idn.claims.slot import regret_constant, regret_parts
from edgeopt_papers.oinc.claims.certificate import competitive_factor
from edgeopt_papers.oinc.claims.evaluation import Evaluation as Jobs
from edgeopt_papers.oinc.claims.instances import ALL_JOBS
from edgeopt_papers.rescue.claims.evaluation import Evaluation as Plan
from edgeopt_papers.rescue.claims.instances import INDEPENDENT, TINY

from edgeopt.bounds.regret import PSI
from edgeopt.online.entropic_projection import ascend_in_place
from edgeopt.online.idn import Infida, node_constants
from edgeopt.solvers import LinearProgram, solve

NETWORKS = [Network(build()) for build in DRAWN.values()]


def below(less, more, *, rel=1e-9):
    """Tell whether one number is at most another, but for rounding."""
    return less <= more + rel * max(abs(less), abs(more))


@pytest.mark.parametrize("view", NETWORKS, ids=list(DRAWN))
def test_forms_of_one_number_on_networks(view):
    """Lemma F.4 by linear programs, the start of Lemma F.5, capped gains, shifted gradients."""
    instance, size = view.instance, view.instance.size
    for slot in view.slots[:2]:
        slope = slot.supergradient(view.fractional[0].ravel())
        weights = np.concatenate([size.ravel()] * 2)[None]
        ball = LinearProgram(np.concatenate([-slope, slope]), weights, -np.inf, [1.0], 0.0, np.inf)
        largest = float(np.abs(slope / size.ravel()).max())
        assert -solve(ball).objective == pytest.approx(largest, rel=1e-6)
        whole = view.integral.reshape(len(view.integral), -1)
        assert slot.capped(whole) == pytest.approx(slot.ranked(whole), abs=1e-9 * slot.scale)
    choice = free(instance)
    entropies = [
        float((size[choice] * np.where(y > 0, y * np.log(np.where(y > 0, y, 1)), 0)).sum())
        for y in (centre(instance)[choice], *view.fractional[:, choice])
    ]
    assert below(entropies[0], min(entropies), rel=1e-12)
    start = Infida().start(instance).fractional
    assert (start[instance.repository] == 1).all()
    used = (size * start).sum(axis=1)
    assert used[choice] == pytest.approx(instance.budget[choice])
    rates = view.constants.sharper_rates(100)
    for point in view.fractional[:3]:
        slope = view.slots[0].supergradient(point.ravel()).reshape(point.shape)
        for v in np.flatnonzero(rates):
            ends = [point[v].copy(), point[v].copy()]
            for y, shift in zip(ends, (0.0, 0.7 / rates[v]), strict=True):
                g = slope[v] + shift * size[v]
                ascend_in_place(y, g, size[v], rates[v], instance.budget[v])
            assert ends[1] == pytest.approx(ends[0], rel=1e-9)


@pytest.mark.parametrize("view", NETWORKS, ids=list(DRAWN))
def test_constants_of_networks(view):
    """The sharper constant is no larger than the printed one, and that of useful models less."""
    instance, constants = view.instance, view.constants
    if not CHOICE.holds(instance):
        pytest.skip("no node has a choice")
    assert below(constants.sharper, constants.published)
    peak = float(instance.requests.max(initial=1))
    useful = node_constants(instance, peak=peak, pairs="useful")
    every = node_constants(instance, peak=peak)
    assert below(regret_constant(useful), regret_constant(every))
    wasted = every.free & (every.reach > 0) & (every.allowed & ~useful.allowed).any(axis=1)
    falls = regret_parts(useful) < regret_parts(every) * (1 - 1e-12)
    assert falls.tolist() == wasted.tolist()


@pytest.mark.parametrize("tasks", [2, 3, 5])
def test_constant_of_expert_advice(tasks):
    constants = Network(adversarial(horizon=10, tasks=tasks)).constants
    assert constants.sharper / PSI == pytest.approx(math.sqrt(math.log(tasks) / 2))


@pytest.mark.parametrize("build", ALL_JOBS.values(), ids=list(ALL_JOBS))
def test_completion_times_exceed_flow_times_by_a_constant(build):
    """So Lemma 1 and Theorem 1 hold for both."""
    view = Jobs(build())
    weight, arrivals = view.problem.weight, view.problem.weight @ view.problem.arrival
    ends = [float(weight @ schedule.completion) for schedule in view.fluid]
    for end, schedule in zip(ends, view.fluid, strict=True):
        assert below(schedule.potential().sum() + arrivals, end)
    for epsilon in view.epsilons:
        run = view.run(epsilon)
        assert run.weighted_flow + arrivals == pytest.approx(float(weight @ run.completion))
        assert below(float(weight @ run.completion), competitive_factor(epsilon) * min(ends))


def test_even_rates_have_no_regret_no_fit_and_keep_every_cap():
    """Under Assumption 2, where the best decision of each frame is the even rate."""
    for build in (*STEADY.values(), *MOVING.values()):
        problem = Training(build()).problem
        assert INTERIOR.holds(problem)
        assert NONNEGATIVE.holds(problem)
        missing = problem.missing(problem.rate).sum(axis=0)
        assert missing == pytest.approx(np.zeros(missing.shape), abs=1e-9 * problem.rate.sum())
        assert (problem.spent(problem.rate) <= problem.cap * (1 + 1e-9)).all()


@pytest.mark.parametrize("build", [*TINY.values(), *INDEPENDENT.values()])
def test_equation_5_averages_with_probabilities(build):
    """Row (3b): tasks are planned on a server with at most all of a slot, whatever arrives."""
    assert Plan(build()).synthetic.sum(axis=2).max() <= 1 + 1e-9
