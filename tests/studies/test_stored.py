"""A stored study is the one that was stored, and its pictures and arrays hold its numbers."""

from __future__ import annotations

import gzip
import json
import pickle
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import edgeopt
from edgeopt.errors import OptionError, OutputError, ProblemTypeError
from edgeopt.instances import rescue
from edgeopt.studies import Study, find_system, study
from edgeopt.studies.drawing import Bars, Curves, Panels
from edgeopt.studies.pages.study import pictures_of, render
from edgeopt.studies.stored import TREE
from tests.results import SYSTEMS

if TYPE_CHECKING:
    from pathlib import Path

    from edgeopt.studies import Case


@pytest.fixture(scope="module", params=SYSTEMS)
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return a study of two instances of a system, and what is read of it again."""
    record = find_system(request.param)
    small = record.instances.random_small
    found = study({"a": small(3), "b": small(4)}, runs=12, detailed=1, progress=False)
    folder = found.save(tmp_path_factory.mktemp("stored") / request.param)
    return found, Study.load(folder)


def test_a_loaded_study_is_the_one_that_was_saved(both: tuple[Study, Study]) -> None:
    found, loaded = both
    pd.testing.assert_frame_equal(loaded.table, found.table)
    assert loaded.settings == found.settings
    for one, other in zip(found.cases, loaded.cases, strict=True):
        assert other.instance == one.instance
        assert repr(other.verdicts) == repr(one.verdicts)
        assert repr(other.judged) == repr(one.judged)
        assert other.places == one.places
        assert {name: (bound.value, bound.label) for name, bound in other.bounds.items()} == {
            name: (bound.value, bound.label) for name, bound in one.bounds.items()
        }
        assert other.to_xarray().identical(one.to_xarray())
    assert loaded.to_json() == found.to_json()
    assert render(loaded) == render(found)


def test_policies_of_a_loaded_study_run_as_they_did(both: tuple[Study, Study]) -> None:
    case, other = (one.cases[0] for one in both)
    policy = case.order[0]
    one, again = case.replay(policy), other.replay(policy)
    assert np.array_equal(one.reward, again.reward)
    assert np.array_equal(one.decisions, again.decisions)


def parts(case: Case, kind: str) -> list[Any]:
    """Return what a picture describes; nothing where it is drawn straight away."""
    [picture] = [one for one in pictures_of(case) if one.name == kind]
    found = picture.draw(case)
    return list(found.parts) if isinstance(found, Panels) else [found]


def test_every_picture_is_a_figure_with_the_numbers_of_the_study(
    both: tuple[Study, Study],
) -> None:
    case = both[1].cases[0]
    said = {one.label: one.value for one in case.bounds.values()}
    seen = 0
    for picture in pictures_of(case):
        figure = case.plot(picture.name)
        assert figure.get_suptitle() or figure.texts, picture.name
        described = parts(case, picture.name)
        if not isinstance(described[0], Bars | Curves):
            continue
        for axes, one in zip(figure.axes, described, strict=True):
            lines = axes.get_lines()
            for line in one.lines:
                assert line.label not in said or line.value == said[line.label]
                at = "get_ydata" if isinstance(one, Curves) else "get_xdata"
                ends = [list(getattr(drawn, at)()) for drawn in lines]
                hidden = not np.isfinite(line.value)
                low, high = axes.get_ylim() if isinstance(one, Curves) else axes.get_xlim()
                hidden |= not low <= line.value <= high
                assert hidden or [line.value, line.value] in ends, (picture.name, line)
            if isinstance(one, Curves):
                for curve in one.curves:
                    drawn = [x.get_ydata() for x in lines if x.get_label() == curve.name]
                    assert not curve.name or any(np.array_equal(y, curve.y) for y in drawn)
                    seen += 1
            else:
                widths = [patch.get_width() for patch in axes.patches]
                assert sum(widths) == pytest.approx(sum(row.value for row in one.rows))
                seen += 1
    assert seen or case.system.name in ("idn", "oinc")


def test_curves_over_time_end_at_the_values_of_the_table() -> None:
    instance = rescue.generate(horizon=30, rng=1)
    names = ["offers", "rescue", "rescueplus+guard", "srs"]
    case = study(instance, names, runs=60, progress=False).cases[0]
    assert len(case.controls) > 0, "without controls the mean of the runs would do"
    ends = {
        line.get_label(): line.get_ydata()[-1]
        for axes in case.plot("value_over_time").axes
        for line in axes.get_lines()
    }
    for name in names:
        assert ends[case.entries[name].title] == pytest.approx(case.estimates[name].mean)
    said = {f"{one.label}, {case.objective.amount(one.value)}": one for one in case.bounds.values()}
    drawn = said.keys() & ends.keys()
    assert drawn
    assert {label: ends[label] for label in drawn} == {label: said[label].value for label in drawn}


def test_runs_are_arrays_by_instance_policy_run_and_slot() -> None:
    instances = {"long": rescue.generate(horizon=24, rng=1), "short": rescue.generate(rng=2)}
    found = study(instances, ["offers", "srs"], runs=7, progress=False)
    whole = found.to_xarray()
    assert whole["reward"].dims == ("instance", "policy", "run", "slot")
    for case in found.cases:
        for name, run in case.trajectories.items():
            one = whole.sel(instance=case.name, policy=name)
            slots = run.horizon
            assert np.array_equal(one["reward"].to_numpy()[:, :slots], run.reward)
            assert np.isnan(one["reward"].to_numpy()[:, slots:]).all()
            assert one["value"].to_numpy() == pytest.approx(run.total)
            assert float(one["bound"]) == case.bounds[case.bound_of(name)].value
            assert one["title"].item() == case.entries[name].title


@pytest.fixture(scope="module")
def earning() -> Case:
    instance = rescue.generate(horizon=30, rng=1)
    return study(instance, ["offers", "rescue", "rescue+guard", "srs"], runs=60).cases[0]


def test_regret_against_a_bound_ends_at_what_is_missing_to_it(earning: Case) -> None:
    lost = earning.regret("offers")
    bound = earning.bounds[earning.bound_of("offers")]
    assert lost.attrs["label"] == bound.label
    missing = bound.value - earning.estimates["offers"].mean
    assert float(lost["regret"][-1]) == pytest.approx(missing)
    spread = earning.estimates["offers"].spread(0.95)
    ends = float(lost["low"][-1]), float(lost["high"][-1])
    assert ends == pytest.approx((bound.value - spread.high, bound.value - spread.low))
    assert float(lost["mean_regret"][-1]) == pytest.approx(missing / 30)
    first = float(lost["regret"].sel(slot=1))
    assert lost["low"][0] <= bound.value / 30 - earning.trajectories["offers"].reward[:, 0].mean()
    assert first <= bound.value / 30
    assert lost["regret"].attrs["units"] == earning.objective.unit


def test_regret_against_a_policy_is_the_difference_on_the_same_scenarios(earning: Case) -> None:
    lost = earning.regret("srs", against="rescue")
    values = earning.estimates
    assert float(lost["regret"][-1]) == pytest.approx(values["rescue"].mean - values["srs"].mean)
    paired = (
        earning.trajectories["rescue"].reward - earning.trajectories["srs"].reward
    ).cumsum(axis=1)  # fmt: skip
    plain = paired.mean(axis=0)
    error = paired.std(axis=0, ddof=1) / 60**0.5
    assert (np.abs(lost["regret"] - plain) <= 5 * error + 1e-9).all()
    other = earning.regret("rescue", against="srs")
    assert np.allclose(other["regret"], -lost["regret"])


def test_regret_of_a_cost_is_what_is_too_much_and_of_a_mean_a_sum() -> None:
    record = find_system("edr")
    case = study(record.instances.random_small(3), runs=12, claims=False).cases[0]
    name = next(one for one in case.order if case.bound_of(one))
    missing = case.estimates[name].mean - case.bounds[case.bound_of(name)].value
    assert float(case.regret(name)["regret"][-1]) == pytest.approx(missing)
    assert "frame" in case.regret(name).dims
    gains = find_system("idn")
    case = study(gains.instances.random_small(3), runs=12, claims=False).cases[0]
    name = next(one for one in case.order if case.bound_of(one))
    lost = case.regret(name)
    missing = case.bounds[case.bound_of(name)].value - case.estimates[name].mean
    assert float(lost["mean_regret"][-1]) == pytest.approx(missing)


def test_what_has_no_regret_over_time_says_so(earning: Case) -> None:
    with pytest.raises(OptionError, match="neither a bound nor a policy; choose from"):
        earning.regret("offers", against="nobody")
    with pytest.raises(OptionError, match="not in this study"):
        earning.regret("nobody")
    record = find_system("oinc")
    case = study(record.instances.random_small(3), runs=2, claims=False).cases[0]
    with pytest.raises(OptionError, match="is not the sum"):
        case.regret(case.order[0])


@dataclass(frozen=True)
class Mine:
    name: str = "mine"

    def start(self, instance: Any) -> None:
        return None

    def decide(self, state: None, observation: Any, rng: Any) -> tuple[None, None]:
        return None, None

    def learn(self, state: None, observation: Any, decision: Any, feedback: Any) -> None:
        return None


def test_functions_and_policies_of_ones_own_are_left_behind(tmp_path: Path) -> None:
    instance = rescue.generate(servers=2, devices=3, horizon=20, rng=1)
    few = edgeopt.bounds.Check("few", lambda instance, log: len(log), high=400)
    bounds = {"mine": edgeopt.bounds.Bound(50.0, [few])}
    found = study(instance, [Mine(), "srs"], bounds=bounds, runs=12)
    loaded = Study.load(found.save(tmp_path / "stored"))
    pd.testing.assert_frame_equal(loaded.table, found.table)
    assert loaded.cases[0].bounds["mine"].value == 50.0
    loaded.plot("value_over_time")
    with pytest.raises(ProblemTypeError, match="left behind"):
        loaded.cases[0].replay("mine")
    pd.testing.assert_frame_equal(pickle.loads(pickle.dumps(loaded)).table, found.table)


def test_a_system_of_ones_own_is_given_when_a_study_is_loaded(
    stopped: Study, tmp_path: Path
) -> None:
    folder = stopped.save(tmp_path / "own")
    with pytest.raises(OptionError, match="pass it as system="):
        Study.load(folder)
    with pytest.raises(OptionError, match="not of 'rescue'"):
        Study.load(folder, system=find_system("rescue"))
    loaded = Study.load(folder, system=stopped.system)
    pd.testing.assert_frame_equal(loaded.table, stopped.table)
    assert render(loaded) == render(stopped)


def test_what_is_no_stored_study_is_refused_and_no_code_is_run(
    stopped: Study, tmp_path: Path
) -> None:
    with pytest.raises(OptionError, match=r"no study of Study\.save"):
        Study.load(tmp_path)
    folder = stopped.save(tmp_path / "own")
    content = json.loads(gzip.decompress((folder / TREE).read_bytes()))
    for foreign, why in (
        ({"record": ["subprocess:Popen", {"args": "true"}]}, "no class of edgeopt"),
        ({"record": ["edgeopt.processes:pool", {}]}, "no class of data"),
        ({"named": ["edgeopt.errors:EdgeOptError", "x"]}, "no class of data"),
        ({"code": "print()"}, "which no study has"),
        ({"array": 10**6}, "can be read"),
    ):
        changed = content | {"settings": foreign}
        (folder / TREE).write_bytes(gzip.compress(json.dumps(changed).encode()))
        with pytest.raises(OptionError, match=why):
            Study.load(folder, system=stopped.system)
    (tmp_path / "own" / TREE).write_bytes(
        gzip.compress(json.dumps(content | {"format": 99}).encode())
    )
    with pytest.raises(OptionError, match="another version"):
        Study.load(folder, system=stopped.system)
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "notes.txt").write_text("mine")
    with pytest.raises(OutputError):
        stopped.save(tmp_path / "taken")
