"""Public results pass from process to process: by `pickle`, in copies and through a pool."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

import edgeopt
from edgeopt.bounds import Claim, Measurement, Relation, Source
from edgeopt.online.rescue import PickConfigs
from edgeopt.studies import find_system
from tests.results import SYSTEMS, results_of, study_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from edgeopt.studies import Study

PASSED = {"study", "case", "benchmarks", "trajectories", "verdicts", "system", "instance"}
PASSED |= {"claims", "errata", "spaces", "found", "table"}


@pytest.fixture(scope="module")
def pool() -> Iterator[ProcessPoolExecutor]:
    """One process that has imported nothing."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        yield pool


def same_runs(one: Study, other: Study) -> bool:
    return all(
        np.array_equal(run.reward, other.cases[0].trajectories[name].reward)
        for name, run in one.cases[0].trajectories.items()
    )


@pytest.mark.parametrize("system", SYSTEMS)
def test_results_survive_a_pool(system: str, pool: ProcessPoolExecutor) -> None:
    study = study_of(system)
    table = study.table  # computed by now, as a user has it
    back = pool.submit(copy.copy, study).result()
    assert back is not study
    assert back.to_json() == study.to_json() == pool.submit(type(study).to_json, study).result()
    assert back.table.to_csv() == table.to_csv()
    assert same_runs(study, back)
    assert repr(back) == repr(study)
    assert back.system is study.system
    assert back.cases[0].entries == study.cases[0].entries
    found = results_of(system)["found"]
    again = pool.submit(copy.copy, found).result()
    assert again.parameters == found.parameters
    assert again.space.build(dict(found.parameters)) is not None


@pytest.mark.parametrize("system", SYSTEMS)
def test_results_are_pickled_and_copied(system: str) -> None:
    results = {name: one for name, one in results_of(system).items() if name in PASSED}
    assert set(results) == PASSED
    for name, one in results.items():
        for back in (pickle.loads(pickle.dumps(one, 5)), copy.deepcopy(one)):
            assert type(back) is type(one), name
            assert repr(back) == repr(one), name
    for claim in results["claims"].values():
        assert pickle.loads(pickle.dumps(claim, 5)) is claim


def test_what_another_package_has_not_named_is_pickled_by_value() -> None:
    """A record or claim under the name of another one is no reference to that."""
    record = find_system("rescue")
    mine = replace(record, title="Mine")
    with pytest.raises((pickle.PicklingError, AttributeError), match="lambda"):
        pickle.dumps(mine)
    own = Claim(
        id="oinc.theorem3",
        statement="",
        source=Source("nobody", "1"),
        measure=float_of,
        relation=Relation.AT_MOST,
        instance_type=float,
        test_instances={"one": float},
    )
    back = pickle.loads(pickle.dumps(own))
    assert back.source == own.source
    assert back.check(0.5).verdict == "holds"


def float_of(number: float) -> Measurement:
    return Measurement(number, 1.0)


def test_a_policy_of_ones_own_is_kept() -> None:
    instance = study_of("rescue").cases[0].instance
    study = edgeopt.study(instance, [PickConfigs(), "srs"], runs=2, progress=False)
    back = pickle.loads(pickle.dumps(study, 5))
    assert list(back.cases[0].policies) == list(study.cases[0].policies)
    assert same_runs(study, back)
    first = next(iter(back.cases[0].entries.values()))
    assert first.make(instance, {}).name == PickConfigs().name
