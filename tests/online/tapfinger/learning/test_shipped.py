"""The networks that come with the package stay close to their teachers on seeds of no training."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from edgeopt.instances.tapfinger import generate
from edgeopt.learning import Checkpoint
from edgeopt.online import simulate
from edgeopt.online.tapfinger import LearnedScheduler, ReservationSpt, TapFingerEnvironment
from edgeopt.online.tapfinger.learning import scheduler
from edgeopt.online.tapfinger.learning.acting import act
from edgeopt.online.tapfinger.learning.architecture import Architecture, Sizes
from edgeopt.online.tapfinger.learning.network import NumpyBackend
from edgeopt.online.tapfinger.learning.runs import mean_flows
from edgeopt.studies import find_system

FOLDER = Path(scheduler.__file__).parent
FRESH = range(7000, 7006)


@pytest.mark.parametrize(
    ("name", "within"), [("several", 1.05), ("single", 1.10), ("untold", 1.05)]
)
def test_sampled_actions_are_nearly_as_good_as_the_teacher(name, within):
    instances = [generate(rng=seed, single_start=name == "single") for seed in FRESH]
    known = Checkpoint.load(FOLDER / f"{name}.safetensors", system="tapfinger")
    form, sizes = Architecture(**known.settings["network"]), Sizes(**known.settings["sizes"])
    rng = np.random.default_rng(0)
    flows = mean_flows(
        lambda seen: act(NumpyBackend, known.weights, form, sizes, seen, rng), instances
    )
    # The teacher that was told nothing has kept a long book, and is as good as this one.
    told = [
        simulate(TapFingerEnvironment(one), ReservationSpt(), rng=0, runs=1).mean_flow_time()[0]
        for one in instances
    ]
    assert flows.mean() <= within * np.mean(told)


def test_they_are_small_and_say_where_they_come_from():
    assert sum(path.stat().st_size for path in FOLDER.glob("*.safetensors")) < 1_100_000
    for name in scheduler.SHIPPED:
        known = Checkpoint.load(FOLDER / f"{name}.safetensors", system="tapfinger")
        assert all(part.dtype == np.float32 for part in known.weights.values())
        assert not set(FRESH) & {seed for seeds in known.seeds.values() for seed in seeds}
        assert known.settings["told"] == ("nothing" if name == "untold" else "durations")
        assert known.settings["starts"] == ("single" if name == "single" else "several")
        assert not known.stopped


def test_policies_of_studies_take_the_network_of_the_setting():
    entries = {entry.name: entry for entry in find_system("tapfinger").policies.entries}
    for single, name in ((False, "several"), (True, "single")):
        instance = generate(tasks=3, single_start=single)
        assert entries["imitation"].make(instance, {}).checkpoint == name
    assert entries["imitation+untold"].learned
    assert not entries["imitation+untold"].default
    assert not entries["min"].learned
    run = simulate(TapFingerEnvironment(generate(tasks=9, clusters=6)), LearnedScheduler(), runs=1)
    assert run.complete.all()
