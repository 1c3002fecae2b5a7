"""The learnt scheduler as a policy, without PyTorch."""

from __future__ import annotations

from dataclasses import asdict, replace

import numpy as np
import pytest

from edgeopt.errors import InputError, OptionError
from edgeopt.instances.tapfinger import generate
from edgeopt.learning import Checkpoint
from edgeopt.learning.tapfinger import LearnedScheduler
from edgeopt.learning.tapfinger.network import PRESETS, NumpyBackend, act, actor_shapes, initial
from edgeopt.learning.tapfinger.runs import mean_flows
from edgeopt.online import simulate
from edgeopt.online.tapfinger import TapFingerEnvironment
from tests.draws import every
from tests.learning.tapfinger.rounds import INSTANCES, SIZES, weights


def made(name="small", **changed):
    settings = {"network": asdict(PRESETS[name]), "sizes": asdict(SIZES)}
    given = {"weights": weights(name), "system": "tapfinger", "learner": "imitation"}
    return Checkpoint(**given | {"settings": settings} | changed)


@pytest.mark.parametrize("greedy", every(2, [False, True]))
@pytest.mark.parametrize("single_start", every(2, [False, True]))
def test_runs_are_complete_and_repeatable(greedy, single_start):
    instance = INSTANCES[0].replace(single_start=single_start, noise=0.05)
    policy = LearnedScheduler(made(), greedy=greedy)
    runs = [
        simulate(TapFingerEnvironment(instance, patience=50), policy, rng=4, runs=2)
        for _ in range(2)
    ]
    np.testing.assert_array_equal(runs[0].completion, runs[1].completion)
    assert greedy or runs[0].complete.all()
    assert policy.information == "durations"


def test_what_comes_later_and_speeds_are_not_seen():
    instance, policy = INSTANCES[1], LearnedScheduler(made())
    run = simulate(TapFingerEnvironment(instance), policy, rng=2, runs=1)
    half = int(instance.arrival[instance.tasks // 2])
    late = instance.arrival >= half
    other = instance.replace(
        arrival=instance.arrival + np.where(late, 7, 0),
        kind=np.where(late, 1 - instance.kind, instance.kind),
    )
    again = simulate(TapFingerEnvironment(other), policy, rng=2, runs=1)
    before = run.start[0] < half
    assert before.sum() > 5
    np.testing.assert_array_equal(run.start[0][before], again.start[0][before])
    slower = TapFingerEnvironment(instance.replace(speed=instance.speed / 2))
    first, second = (one.episode(0).observe() for one in (slower, TapFingerEnvironment(instance)))
    state = policy.start(instance)
    one, two = (policy.decide(state, seen, np.random.default_rng(1))[0] for seen in (first, second))
    np.testing.assert_array_equal(one.bundle, two.bundle)
    np.testing.assert_array_equal(one.task, two.task)


def test_steps_are_those_of_runs_side_by_side():
    one, w = INSTANCES[2], weights()
    rng = np.random.default_rng(3)

    def acting(seen):
        return act(NumpyBackend, w, PRESETS["small"], SIZES, seen, None)

    flow = mean_flows(acting, [one, one.replace(single_start=False)], patience=50)
    run = simulate(
        TapFingerEnvironment(one, patience=50), LearnedScheduler(made(), greedy=True), rng=rng,
        runs=1,
    )  # fmt: skip
    assert flow[0] == flow[1] == pytest.approx(run.mean_flow_time()[0])


def test_damaged_and_foreign_checkpoints_are_refused(tmp_path):
    short = {name: part for name, part in weights().items() if name != "bundle.0.bias"}
    with pytest.raises(InputError, match=r"bundle\.0\.bias"):
        LearnedScheduler(made(weights=short))
    with pytest.raises(InputError, match="which network"):
        LearnedScheduler(made(settings={}))
    with pytest.raises(InputError, match="cannot be read"):
        LearnedScheduler(tmp_path / "none")
    foreign = made(system="oinc").save(tmp_path / "foreign")
    with pytest.raises(InputError, match="for the system 'oinc'"):
        LearnedScheduler(foreign)
    path = made().save(tmp_path / "mine")
    assert LearnedScheduler(path).name == "Learned, mine"
    with pytest.raises(OptionError, match="cpus"):
        LearnedScheduler(path).start(INSTANCES[0].replace(speed=INSTANCES[0].speed[:, :, :5]))


def test_own_actors_are_for_one_number_of_clusters():
    form = replace(PRESETS["small"], shared_actors=False)
    settings = {"network": asdict(form), "sizes": asdict(SIZES)}
    drawn = initial(actor_shapes(form, SIZES), np.random.default_rng(0))
    policy = LearnedScheduler(made(weights=drawn, settings=settings))
    run = simulate(TapFingerEnvironment(INSTANCES[0]), policy, rng=0, runs=1)
    assert run.complete.all()
    with pytest.raises(OptionError, match="clusters"):
        policy.start(generate(clusters=6, tasks=3))
