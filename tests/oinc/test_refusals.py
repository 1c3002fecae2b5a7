"""What cannot be carried out is refused, with the reason, and nothing has happened then."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from edgeopt.errors import OptionError
from edgeopt.models.oinc.slot import SlotPlan, SlotProblem
from edgeopt.online.oinc.environment import OincEnvironment
from tests.oinc.scenarios import decision, runs, two_sites

if TYPE_CHECKING:
    from edgeopt.online.oinc.environment import OincEpisode
    from edgeopt.online.oinc.events import Slot


def second_slot() -> tuple[OincEpisode, Slot]:
    """Open a scenario at its second slot; job 0 has started on site 0, job 1 has just arrived."""
    episode = OincEnvironment(two_sites()).episode(0)
    first = episode.observe()
    assert first is not None
    episode.act(decision(first, jobs=[0], run=runs((0, 0.5, 0.0, 0.5))))
    slot = episode.observe()
    assert slot is not None
    assert slot.jobs.remaining.tolist() == [2.0, 2.0]
    return episode, slot


def refused(given: Any, episode: OincEpisode, why: str) -> None:
    """Check that a decision is refused and that nothing has happened then."""
    with pytest.raises(OptionError, match=r"(?s)^slot 1: .*" + why):
        episode.act(given)
    slot = episode.observe()
    assert slot is not None
    assert slot.slot == 1
    assert slot.jobs.site.tolist() == [0, -1]
    assert slot.jobs.remaining.tolist() == [2.0, 2.0]
    assert np.isnan(episode.latency[1:]).all()
    assert len(episode.reserved) == len(episode.job_load) == 1
    assert episode.decisions.tolist() == [1, 0]
    good = decision(
        slot, [0, 1], band=[1.0, 1.0], cpu=[0.5, 0.5], jobs=[0, 1],
        run=runs((0, 0.5, 0.0, 1.0), (1, 0.5, 0.0, 1.0)),
    )  # fmt: skip
    assert episode.act(good).completed.tolist() == [0]


@pytest.mark.parametrize(
    ("reserved", "why"),
    [
        ((1.0, 0.0), r"site 0 keeps 1.0 of its CPU for jobs: must lie in \[0, 1\)"),
        ((0.5, -0.1), r"site 1 keeps -0.1 of its CPU for jobs: must lie in \[0, 1\)"),
        ((0.5, 1.5), "site 1 keeps 1.5"),
        ((np.nan, 0.5), "site 0 keeps nan"),
        ((0.5, np.inf), "site 1 keeps inf"),
        ((0.5,), r"reserved must be numbers, shape \(2,\)"),
        ((0.5, 0.5, 0.5), r"reserved must be numbers, shape \(2,\)"),
        (("a", "b"), r"reserved must be numbers, shape \(2,\)"),
        ((True, False), "reserved must be numbers"),
    ],
)
def test_shares_that_cannot_be_kept_are_refused(reserved: Any, why: str) -> None:
    episode, slot = second_slot()
    refused(replace(decision(slot), reserved=np.array(reserved)), episode, why)


HALF: dict[str, Any] = {"band": [0.5, 0.5], "cpu": [0.25, 0.25]}


@pytest.mark.parametrize(
    ("site", "changes", "why"),
    [
        ([0, 2], HALF, "request 1 goes to site 2: there is no such site"),
        ([-2, 0], HALF, "request 0 goes to site -2: there is no such site"),
        ([0, 0], HALF | {"band": [0.5, 0.51]}, r"site 0 gives 1.01 of its band .* has 1.0 for"),
        ([0, 0], HALF | {"cpu": [0.25, 0.26]}, r"site 0 gives 0.51 of its CPU .* has 0.5 for"),
        ([1, 1], HALF | {"cpu": [0.25, 0.5]}, r"site 1 gives 0.75 of its CPU .* has 0.5 for"),
        ([0, 1], HALF | {"band": [0.5, 1.1]}, r"request 1 is given 1.1 of the band"),
        ([0, 1], HALF | {"band": [-0.1, 0.5]}, r"request 0 is given -0.1 of the band"),
        ([0, 1], HALF | {"cpu": [0.1, -0.1]}, r"request 1 is given -0.1 of the CPU"),
        ([0, 1], HALF | {"cpu": [np.nan, 0.1]}, "request 0 is given nan of the CPU"),
        ([0, 1], HALF | {"band": [np.inf, 0.1]}, "request 0 is given inf of the band"),
        ([-1, 1], HALF | {"band": [np.nan, 0.5]}, "request 0 is given nan of the band"),
        ([0, 1], HALF | {"band": [0.0, 0.1]}, "request 0 .* never be answered"),
        ([0, 1], HALF | {"cpu": [0.1, 0.0]}, "request 1 .* never be answered"),
        ([0], HALF, r"site must be whole numbers, shape \(2,\)"),
        ([0, 1], HALF | {"band": [0.5]}, r"band must be numbers, shape \(2,\)"),
        ([0, 1], HALF | {"cpu": [0.5, 0.5, 0.0]}, r"cpu must be numbers, shape \(2,\)"),
    ],
)
def test_plans_that_cannot_be_carried_out_are_refused(
    site: list[int], changes: dict[str, Any], why: str
) -> None:
    episode, slot = second_slot()
    refused(decision(slot, site, **changes), episode, why)


def test_sites_of_requests_are_whole_numbers() -> None:
    episode, slot = second_slot()
    given = decision(slot, [0, 1], **HALF)
    broken = SlotPlan(given.plan.problem, np.array([0.0, 1.0]), given.plan.band, given.plan.cpu)  # type: ignore[arg-type]
    refused(replace(given, plan=broken), episode, "site must be whole numbers")


def test_plans_for_other_requests_are_refused() -> None:
    episode, slot = second_slot()
    given = decision(slot, [0, 1], **HALF)
    first = OincEnvironment(two_sites()).episode(0).observe()
    assert first is not None
    refused(replace(given, plan=decision(first).plan), episode, "requests of other devices")
    episode, slot = second_slot()
    refused(replace(given, plan=None), episode, "must be a SlotPlan")


def test_what_a_plan_believes_of_its_requests_does_not_count() -> None:
    episode, slot = second_slot()
    given = decision(slot, [0, 1], band=[1.0, 1.0], cpu=[0.5, 0.5])
    believed = SlotProblem(np.zeros((2, 2)), np.zeros((2, 2)), np.ones(2), np.ones(2))
    plan = SlotPlan(believed, given.plan.site, given.plan.band, given.plan.cpu)
    outcome = episode.act(replace(given, plan=plan))
    assert outcome.latency.tolist() == [0.25 + 0.125 / 0.5, 0.25 + 0.25 / 0.5]


@pytest.mark.parametrize(
    ("jobs", "reserved", "why"),
    [
        ([0, 1], (0.5, 0.0), "job 1 goes to site 1, which keeps no CPU for jobs"),
        ([0, 0], (0.0, 0.5), "job 1 goes to site 0, which keeps no CPU for jobs"),
        ([1, 1], (0.5, 0.5), "job 0 moves from site 0 to 1: it has started"),
        ([-1, 1], (0.5, 0.5), "job 0 moves from site 0 to -1: it has started"),
        ([0, 2], (0.5, 0.5), "job 1 goes to site 2: there is no such site"),
        ([0, -2], (0.5, 0.5), "job 1 goes to site -2: there is no such site"),
        ([0], (0.5, 0.5), r"job_site must be whole numbers, shape \(2,\)"),
    ],
)
def test_dispatches_that_cannot_be_carried_out_are_refused(
    jobs: list[int], reserved: tuple[float, float], why: str
) -> None:
    episode, slot = second_slot()
    refused(decision(slot, jobs=jobs, reserved=reserved), episode, why)


def test_sites_of_jobs_are_whole_numbers() -> None:
    episode, slot = second_slot()
    refused(replace(decision(slot), job_site=np.array([0.0, 1.0])), episode, "whole numbers")


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ([(2, 0.5, 0.0, 1.0)], "job 2 runs: it has not arrived, is complete, or does not exist"),
        ([(-1, 0.5, 0.0, 1.0)], "job -1 runs: it has not arrived"),
        ([(0, 0.5, -0.1, 1.0)], r"job 0 runs from -0.1 to 1.0: not within \[0, 1\]"),
        ([(0, 0.5, 0.0, 1.1)], r"job 0 runs from 0.0 to 1.1: not within \[0, 1\]"),
        ([(0, 0.5, 0.5, 0.5)], "job 0 runs from 0.5 to 0.5"),
        ([(0, 0.5, 0.6, 0.5)], "job 0 runs from 0.6 to 0.5"),
        ([(0, 0.5, np.nan, 0.5)], "job 0 runs from nan"),
        ([(0, 0.5, 0.0, np.nan)], "job 0 runs from 0.0 to nan"),
        ([(0, 0.6, 0.0, 1.0)], "job 0 runs on 0.6 of site 0, which keeps 0.5"),
        ([(0, 0.0, 0.0, 1.0)], "job 0 runs on 0.0 of site 0"),
        ([(0, -0.1, 0.0, 1.0)], "job 0 runs on -0.1 of site 0"),
        ([(0, np.nan, 0.0, 1.0)], "job 0 runs on nan of site 0"),
        ([(0, 0.5, 0.0, 0.5), (0, 0.1, 0.4, 0.6)], "site 0 serves jobs on 0.6 of its CPU 0.4 s"),
        ([(0, 0.3, 0.0, 0.5), (1, 0.3, 0.4, 0.6)], "site 0 serves jobs on 0.6 of its CPU 0.4 s"),
        ([(1, 0.2, 0.0, 1.0), (0, 0.3, 0.0, 1.0), (1, 0.1, 0.9, 1.0)], "0.6 of its CPU 0.9 s"),
        ([(0, 0.2, 0.0, 0.5), (0, 0.2, 0.4, 0.6)], "job 0 runs twice at once, 0.4 s into"),
        ([(0, 0.2, 0.4, 0.6), (0, 0.2, 0.0, 0.5)], "job 0 runs twice at once, 0.4 s into"),
        ([(1, 0.5, 0.5, 0.8), (0, 0.5, 0.0, 0.6)], "site 0 serves jobs on 1.0 of its CPU 0.5 s"),
    ],
)
def test_runs_that_cannot_be_carried_out_are_refused(
    rows: list[tuple[int, float, float, float]], why: str
) -> None:
    episode, slot = second_slot()
    refused(decision(slot, jobs=[0, 0], run=runs(*rows)), episode, why)


def test_a_job_runs_neither_while_it_waits_for_a_site_nor_where_nothing_is_kept() -> None:
    episode, slot = second_slot()
    refused(decision(slot, run=runs((1, 0.5, 0.0, 1.0))), episode, "job 1 runs: it waits for a s")
    episode, slot = second_slot()
    given = decision(slot, reserved=(0.0, 0.5), run=runs((0, 0.5, 0.0, 1.0)))
    refused(given, episode, "job 0 runs on 0.5 of site 0, which keeps 0.0")


def test_a_job_does_not_run_on_after_it_is_complete() -> None:
    truth = two_sites(work=[1.0, 2.0])
    episode = OincEnvironment(truth).episode(0)
    slot = episode.observe()
    assert slot is not None
    again = runs((0, 0.5, 0.0, 0.5), (0, 0.5, 0.5, 0.6))
    with pytest.raises(OptionError, match="slot 0: job 0 runs on after it is complete"):
        episode.act(decision(slot, jobs=[0], run=again))
    episode.act(decision(slot, jobs=[0], run=runs((0, 0.5, 0.0, 0.5))))
    slot = episode.observe()
    assert slot is not None
    assert slot.jobs.job.tolist() == [1]
    with pytest.raises(OptionError, match="slot 1: job 0 runs: it has not arrived, is complete"):
        episode.act(decision(slot, run=runs((0, 0.5, 0.0, 0.5))))


def test_a_job_does_not_run_before_it_arrives() -> None:
    episode = OincEnvironment(two_sites()).episode(0)
    slot = episode.observe()
    assert slot is not None
    with pytest.raises(OptionError, match="slot 0: job 1 runs: it has not arrived"):
        episode.act(decision(slot, jobs=[0], run=runs((1, 0.5, 0.0, 1.0))))


def test_runs_are_runs() -> None:
    episode, slot = second_slot()
    refused(replace(decision(slot), runs=None), episode, "must be Runs")  # type: ignore[arg-type]
    for column, value in (("job", [0.0]), ("share", [0.5, 0.5]), ("end", ["a"]), ("begin", [])):
        episode, slot = second_slot()
        broken = runs((0, 0.5, 0.0, 1.0))._replace(**{column: np.array(value)})
        refused(replace(decision(slot), runs=broken), episode, "of Runs must be")


def test_what_just_fits_is_carried_out() -> None:
    episode, slot = second_slot()
    given = decision(
        slot, [0, 0], band=[0.25, 0.75], cpu=[0.125, 0.375], jobs=[0, 0],
        run=runs((0, 0.25, 0.0, 0.5), (1, 0.25, 0.0, 0.5), (0, 0.5, 0.5, 0.75), (1, 0.5, 0.75, 1)),
    )  # fmt: skip
    outcome = episode.act(given)
    assert outcome.latency.tolist() == [1.0 + 1.0, 1.0 / 3.0 + 1.0 / 3.0]
    slot = episode.observe()
    assert slot is not None
    assert slot.jobs.remaining.tolist() == [1.0, 1.0]


def test_requests_that_send_or_compute_nothing_need_no_share() -> None:
    truth = two_sites(request_size=np.zeros((2, 2)))
    slot = OincEnvironment(truth).episode(0).observe()
    assert slot is not None
    episode = OincEnvironment(truth).episode(0)
    assert episode.act(decision(slot, [0], band=[0.0], cpu=[0.5])).latency.tolist() == [0.25]
