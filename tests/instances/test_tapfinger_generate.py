from __future__ import annotations

import numpy as np
import pytest

from edgeopt.errors import InstanceError, OptionError
from edgeopt.instances.tapfinger import generate
from edgeopt.instances.tapfinger.generate import draw_arrivals, draw_eligibility

DRAWN = ("arrival", "kind", "eligible")
SQRT = [21, 10, 7, 5, 4, 4, 3, 3, 3, 2, 2, 2, 2, 2, 2, 2]
CONSTANT = [17, 9, 6, 5, 4, 3, 3, 3, 2, 2, 2, 2, 2, 2, 2, 2]


def test_the_setting_with_several_starts():
    instance = generate()
    assert (instance.clusters, instance.tasks, instance.task_kinds) == (3, 192, 2)
    assert instance.capacity.tolist() == [[16, 16]] * 3
    assert instance.minimum.tolist() == [[2, 1]] * 2
    assert instance.largest == (16, 16)
    assert instance.kinds == ("insensitive", "sensitive")
    assert instance.single_start is False
    assert (instance.noise, instance.switching, instance.pending) == (0.0, 1.0, 10)
    assert instance.slot_seconds == 10
    # 192 tasks at 3 per slot; 5 standard deviations of a Poisson number.
    assert abs(instance.arrival[-1] - 64) < 5 * np.sqrt(192) / 3


def test_the_setting_with_a_single_start():
    instance = generate(single_start=True)
    assert instance.single_start is True
    assert (instance.noise, instance.switching) == (0.1, 0.5)
    assert abs(instance.arrival[-1] - 96) < 5 * np.sqrt(192) / 2
    six = generate(clusters=6, single_start=True)
    assert (six.clusters, six.tasks) == (6, 384)
    assert abs(six.arrival[-1] - 96) < 5 * np.sqrt(384) / 4


@pytest.mark.parametrize(("law", "slots"), [("sqrt", SQRT), ("constant", CONSTANT)])
def test_durations_are_those_of_the_paper_and_of_its_program(law, slots):
    instance = generate(law=law)
    assert (instance.duration[:, 0, 2:, 1:] == 4).all()
    assert (instance.duration[:, 1, 2:, 1:] == slots).all()
    assert instance.duration[:, :, :2].max() == instance.duration[:, :, :, 0].max() == 0
    assert instance.slowing.tolist() == [False, law == "sqrt"]


def test_the_workload_for_the_choice_of_tasks():
    instance = generate(workload="pointer", single_start=True)
    assert instance.minimum.tolist() == [[3, 3]] * 2
    assert (instance.duration[:, 0, 3:, 3:] == 1).all()
    assert (instance.duration[:, 1, 3:, 3:] == 10).all()
    assert instance.noise == 0.0
    assert instance.kinds == ("short", "long")
    assert generate(workload="pointer", noise=0.1).noise == 0.1


def test_clusters_of_different_sizes():
    sizes = [[4, 4], [8, 8], [12, 12], [16, 16], [24, 24], [32, 32]]
    instance = generate(clusters=6, capacity="mixed")
    assert instance.capacity.tolist() == sizes
    assert instance.duration[0].max(axis=(0, 1)).tolist() == [0, 21, 10, 7, 5] + [0] * 12
    assert instance.duration[5, 1, 16, 16] == 2
    assert generate(capacity="mixed").capacity.tolist() == sizes[:3]
    assert generate(clusters=8, capacity="mixed", tasks=1).capacity[6].tolist() == [4, 4]
    assert generate(capacity=(8, 2)).capacity.tolist() == [[8, 2]] * 3
    assert generate(clusters=2, capacity=[[8, 2], [2, 8]]).capacity.tolist() == [[8, 2], [2, 8]]


@pytest.mark.parametrize(
    ("options", "changed"),
    [
        ({"rate": 1.0}, {"arrival"}),
        ({"eligibility": "bandwidth"}, {"eligible"}),
        ({"law": "constant"}, set()),
        ({"noise": 0.3, "switching": 0.1, "pending": 3}, set()),
        ({"single_start": True}, {"arrival"}),
        ({"single_start": True, "rate": 3.0}, set()),
        ({"capacity": (32, 8)}, set()),
        ({"workload": "pointer"}, set()),
        ({"clusters": 4, "tasks": 192, "rate": 3.0}, {"eligible"}),
    ],
)
def test_streams_are_independent(options, changed):
    one, other = generate(rng=3), generate(rng=3, **options)
    for name in DRAWN:
        assert (name in changed) != np.array_equal(getattr(one, name), getattr(other, name)), name


@pytest.mark.parametrize("eligibility", ["subset", "bandwidth"])
def test_more_tasks_leave_those_that_were_there(eligibility):
    few, many = (generate(rng=5, tasks=n, eligibility=eligibility) for n in (40, 300))
    for name in DRAWN:
        np.testing.assert_array_equal(getattr(few, name), getattr(many, name)[:40])
    assert generate(tasks=0).tasks == 0


def test_arrivals_are_poisson():
    arrival = draw_arrivals(np.random.default_rng(0), 60_000, 1.5)
    counts = np.bincount(arrival)[:-1]  # the last slot is cut off
    assert counts.size > 39_000
    # Mean and variance 1.5; 5 standard errors each, false alarm 6e-7.
    assert abs(counts.mean() - 1.5) < 5 * np.sqrt(1.5 / counts.size)
    assert abs(counts.var() - 1.5) < 5 * np.sqrt((1.5 + 2 * 1.5**2) / counts.size)
    assert abs((counts == 0).mean() - np.exp(-1.5)) < 5 * np.sqrt(0.173 / counts.size)
    assert draw_arrivals(np.random.default_rng(0), 5, 1e-3).size == 5
    assert draw_arrivals(np.random.default_rng(0), 5, 1e6).tolist() == [0] * 5


def test_kinds_are_uniform():
    kind = generate(tasks=40_000).kind
    assert set(kind.tolist()) == {0, 1}
    assert abs(kind.mean() - 0.5) < 5 * 0.5 / np.sqrt(40_000)


def test_a_subset_of_any_size_is_as_likely():
    eligible = draw_eligibility(np.random.default_rng(1), 40_000, 4, "subset")
    sizes = np.bincount(eligible.sum(axis=1), minlength=5)
    assert sizes[0] == 0
    error = 5 * np.sqrt(40_000 * 0.25 * 0.75)
    assert (np.abs(sizes[1:] - 10_000) < error).all()
    # Given its size, each cluster is as likely to be in it.
    pairs = eligible[eligible.sum(axis=1) == 2]
    assert (np.abs(pairs.mean(axis=0) - 0.5) < 5 * 0.5 / np.sqrt(len(pairs))).all()


def test_links_are_fast_enough_half_of_the_time():
    eligible = draw_eligibility(np.random.default_rng(1), 40_000, 3, "bandwidth")
    assert eligible.any(axis=1).all()
    patterns = np.bincount(eligible @ [1, 2, 4], minlength=8)[1:]
    # All of the seven non-empty sets.
    assert (np.abs(patterns - 40_000 / 7) < 5 * np.sqrt(40_000 * 6 / 49)).all()


def test_the_origin_says_what_was_read_how():
    for options, words in (
        ({}, "in the authors' program; the others take 4 slots"),
        ({}, "Progress is not disturbed"),
        ({}, "a number from 1 to all, then as many of them"),
        ({"single_start": True}, "by up to 0.1 per slot"),
        ({"law": "constant"}, "as the durations in the paper"),
        ({"eligibility": "bandwidth"}, "drawn anew while there is none"),
        ({"workload": "pointer"}, "1 or 10 slots with any bundle"),
    ):
        assert words in generate(**options).origin
        assert "no number is measured" in generate(**options).origin


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"clusters": 0}, "clusters = .*: must be at least 1"),
        ({"tasks": -1}, "tasks = .*: must be at least 0"),
        ({"rate": 0.0}, "rate = "),
        ({"rate": np.inf}, "rate = "),
        ({"rate": np.nan}, "rate = "),
        ({"law": "cubic"}, "law = "),
        ({"eligibility": "all"}, "eligibility = "),
        ({"workload": "real"}, "workload = "),
        ({"capacity": "large"}, "capacity must be numbers or 'mixed'"),
    ],
)
def test_options_out_of_range_are_refused(options, rule):
    with pytest.raises(OptionError, match=rule):
        generate(**options)


@pytest.mark.parametrize(
    ("options", "field", "index"),
    [
        ({"capacity": (16, 0)}, "minimum", (0,)),
        ({"capacity": (2, 2), "workload": "pointer"}, "minimum", (0,)),
        ({"capacity": [[16, 16]]}, "capacity", None),
        ({"capacity": [16, 16, 16]}, "capacity", None),
        ({"capacity": [[16, 16], [4]]}, "capacity", None),
        ({"capacity": (16, -1)}, "capacity", (0, 1)),
        ({"noise": 2.0}, "noise", ()),
        ({"switching": -1.0}, "switching", ()),
        ({"pending": 0}, "pending", ()),
    ],
)
def test_numbers_out_of_range_are_named(options, field, index):
    with pytest.raises(InstanceError) as caught:
        generate(**options)
    assert (caught.value.field, caught.value.index) == (field, index)
