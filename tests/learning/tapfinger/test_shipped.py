"""The networks that come with the package stay close to their teachers on seeds of no training."""

from __future__ import annotations

from functools import partial
from operator import itemgetter
from pathlib import Path

import numpy as np
import pytest
from edgeopt_papers.tapfinger import held_out as fresh

from edgeopt.errors import OptionError
from edgeopt.instances.tapfinger import from_bundled, generate
from edgeopt.learning import Checkpoint
from edgeopt.learning.tapfinger import LearnedScheduler, scheduler
from edgeopt.learning.tapfinger.network import Architecture, NumpyBackend, Sizes, act
from edgeopt.learning.tapfinger.runs import mean_flows
from edgeopt.learning.tapfinger.training import BOOK, TRAINING, VALIDATION
from edgeopt.online import simulate
from edgeopt.online.tapfinger import ReservationSpt, TapFingerEnvironment
from edgeopt.studies import find_system
from tests.draws import every

FOLDER = Path(scheduler.__file__).parent
FRESH = range(7000, 7006)
FIGURE = {"tapfinger": "flow", "oinc": "reward", "edr": "cost"}


DRAWN = {
    "several": generate,
    "single": partial(generate, single_start=True),
    "unknown": generate,
}
APART = {
    "pointer": partial(generate, workload="pointer"),
    "testbed": partial(from_bundled, figures="testbed", tasks=192),
    "containers": partial(from_bundled, containers="measured"),
}


@pytest.mark.parametrize(
    ("name", "within"),
    every(3, [("several", 1.05), ("single", 1.10), ("unknown", 1.05)], rows=True),
)
def test_sampled_actions_are_nearly_as_good_as_the_teacher(name, within):
    instances = [DRAWN[name](rng=seed) for seed in FRESH]
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
    assert {path.stem for path in FOLDER.glob("*.safetensors")} == set(scheduler.SHIPPED)
    assert sum(path.stat().st_size for path in FOLDER.glob("*.safetensors")) < 1_020_000
    for name in scheduler.SHIPPED:
        known = Checkpoint.load(FOLDER / f"{name}.safetensors", system="tapfinger")
        assert all(part.dtype == np.float32 for part in known.weights.values())
        assert not set(FRESH) & {seed for seeds in known.seeds.values() for seed in seeds}
        assert known.settings["told"] == ("nothing" if name == "unknown" else "durations")
        single = DRAWN[name](rng=0).single_start
        assert known.settings["starts"] == ("single" if single else "several")
        assert not known.stopped


def test_records_name_the_version_of_pytorch_and_the_evaluation_that_was_kept():
    paths = [path for name in ("tapfinger", "oinc", "edr")
             for path in find_system(name).learned.shipped.values()]  # fmt: skip
    assert len(paths) == 6
    for path in paths:
        known = Checkpoint.load(path)
        assert set(known.versions) == {"edgeopt", "numpy", "python", "torch"}
        # EDR's network for routing is of a version before records said so.
        if path.stem != "micro":
            figure = FIGURE[known.system]
            rows = [row for row in known.curve if row[figure] is not None]
            best = (max if figure == "reward" else min)(rows, key=itemgetter(figure))
            assert known.kept == best["updates"]


def test_the_table_of_fresh_seeds_is_of_these_networks_and_keeps_what_they_are_to():
    table = fresh.FRESH.read().table
    assert not set(fresh.SEEDS) & {*TRAINING, *VALIDATION, *BOOK}
    ratios = fresh.ratios()
    assert list(table["network"].unique()) == list(fresh.NETWORKS)
    for name, own in table.groupby("network"):
        known = Checkpoint.load(FOLDER / f"{name}.safetensors", system="tapfinger")
        assert set(own["weights"]) == {known.fingerprint()[:16]}
        assert list(own["seed"]) == list(fresh.SEEDS)
    for name, within in (("several", 1.05), ("single", 1.10), ("unknown", 1.05)):
        assert ratios[name].count == 20
        assert ratios[name].centre <= within
    first, seed = table.groupby("network").first(), fresh.SEEDS[0]
    environment = TapFingerEnvironment(generate(rng=seed))
    run = simulate(environment, LearnedScheduler("several"), rng=seed, runs=1)
    assert first.loc["several", "flow"] == pytest.approx(run.mean_flow_time()[0], abs=1e-6)


def test_policies_of_studies_take_the_network_of_the_setting():
    entries = {entry.name: entry for entry in find_system("tapfinger").policies.entries}
    for name, drawn in DRAWN.items():
        found = entries["imitation"].make(drawn(tasks=3), {}).checkpoint
        assert found == ("several" if name == "unknown" else name)
    for name, drawn in APART.items():
        with pytest.raises(OptionError, match=f"no network .* --set setting={name} --out DIR`"):
            entries["imitation"].make(drawn(tasks=3), {})
    assert entries["imitation+unknown"].learned
    assert not entries["imitation+unknown"].default
    assert not entries["min"].learned
    run = simulate(TapFingerEnvironment(generate(tasks=9, clusters=6)), LearnedScheduler(), runs=1)
    assert run.complete.all()
