from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest
from edgeopt_papers.figures import reproduce
from edgeopt_papers.figures.paper_figure import NOT_COMPARABLE, Estimate
from edgeopt_papers.tapfinger import imitation_runs as taught
from edgeopt_papers.tapfinger.figures import PAPER_FIGURES
from edgeopt_papers.tapfinger.figures.measured import communication
from edgeopt_papers.tapfinger.figures.setting import windows
from edgeopt_papers.tapfinger.recorded import RECORDED
from edgeopt_papers.tapfinger.releases import COURSES, TRAINING

from edgeopt.errors import InputError
from edgeopt.instances.tapfinger import from_bundled, generate
from edgeopt.learning import Checkpoint
from edgeopt.learning.tapfinger import LearnedScheduler, training
from edgeopt.models.tapfinger import scenario_bound
from edgeopt.online import simulate
from edgeopt.online.tapfinger import (
    TapFingerEnvironment,
    Tiresias,
    TiresiasContainers,
)
from edgeopt.online.tapfinger.policies.random import Min
from edgeopt.studies import find_system
from edgeopt.studies.learners import find_learner
from edgeopt.studies.wording import number, percent

if TYPE_CHECKING:
    from pathlib import Path

    from edgeopt_papers.figures import Outcome

NAMED = {paper_figure.number: paper_figure for paper_figure in PAPER_FIGURES}


def quick(number: str) -> Outcome:
    kind = "table" if number == "II" else "figure"
    return reproduce("tapfinger", **{kind: number}, quick=True).outcomes[0]  # type: ignore[arg-type]


def values(rows: pd.DataFrame, policy: str, part: str) -> list[float]:
    return rows[(rows["policy"] == policy) & (rows["part"] == part)]["value"].tolist()


@pytest.fixture(scope="module")
def three() -> Outcome:
    return quick("5ab")


def test_a_figure_is_found_by_its_number_and_by_one_of_its_parts() -> None:
    meant = {"5": ["5ab", "5cd"], "5a": ["5ab"], "5AB": ["5ab"]}
    meant |= {typed: [] for typed in ("5bd", "5e", "1", "ab", "")}
    for typed, numbers in meant.items():
        called = [one.number for one in PAPER_FIGURES if one.is_called("figure", typed)]
        assert called == numbers
    assert not any(one.is_called("table", "5") for one in PAPER_FIGURES)


def test_figures_are_those_of_tasks_counted_one_by_one(three: Outcome) -> None:
    means, medians, waiting, inside = [], [], [], []
    for draw in range(3):
        instance = generate(rng=draw, single_start=True, tasks=24)
        run = simulate(TapFingerEnvironment(instance), Min(), rng=0, runs=1)
        begin, end = instance.arrival, run.completion[0]
        means.append(np.mean(end - begin))
        medians.append(np.median(end - begin))
        slots = np.arange(int(end.max()))[:, None]
        here = ((begin <= slots) & (slots < end)).sum(axis=1)
        waiting.append(here.mean())
        inside.append(here)
    assert values(three.rows, "min", "mean") == pytest.approx([np.mean(means)])
    assert values(three.rows, "min", "median") == pytest.approx([np.mean(medians)])
    assert values(three.rows, "min", "waiting") == pytest.approx([np.mean(waiting)])
    longest = max(map(len, inside))
    mean = np.mean([np.pad(one, (0, longest - len(one))) for one in inside], axis=0)
    drawn = values(three.rows, "min", "tasks_over_time")
    assert drawn[:longest] == pytest.approx(mean.tolist())
    assert sum(drawn[longest:]) == 0


def test_lines_hold_recorded_and_computed_values(three: Outcome) -> None:
    lines = {line["what"]: line for line in three.lines}
    lead = lines["TapFinger below Tiresias, mean completion time"]
    assert lead["published"] == 1 - 6.417 / 14.661
    assert lead["computed"] == pytest.approx(
        1 - values(three.rows, "imitation", "mean")[0] / values(three.rows, "tiresias", "mean")[0]
    )
    assert (lead["low"] < lead["computed"] < lead["high"], lead["spread"]) == (True, "range")
    claim = lines["TapFinger below Optimus, mean completion time"]
    instead = lines["Reservation in its place below Optimus, mean completion time"]
    learned, planned, theirs = (
        values(three.rows, name, "mean")[0]
        for name in ("imitation", "reservation", "optimus+swapped")
    )
    assert claim["published"] == 0.251
    assert claim["computed"] == pytest.approx(1 - learned / theirs)
    assert instead["computed"] == pytest.approx(1 - planned / theirs)
    assert claim["verdict"] != instead["verdict"] == NOT_COMPARABLE


def test_leads_are_compared_on_the_same_draws_part_by_part(three: Outcome) -> None:
    rows = three.rows[three.rows["policy"] == "tiresias"].set_index("part")
    ends = rows.loc["mean", ["value_relative_low", "value_relative_high"]].astype(float)
    each = []
    for draw in range(3):
        environment = TapFingerEnvironment(generate(rng=draw, single_start=True, tasks=24))
        own, other = (
            simulate(environment, policy, rng=0, runs=1).mean_flow_time()[0]
            for policy in (LearnedScheduler("single"), Tiresias(target="minimum"))
        )
        each.append(own / other)
    assert ends.tolist() == pytest.approx([min(each), max(each)])
    assert rows.loc["mean", "value_relative"] != rows.loc["median", "value_relative"]
    ahead = [one for one in three.lines if one["what"] == "TapFinger's mean completion time"]
    assert [one["verdict"] for one in ahead] == ["not resolved"]


def test_the_takeaway_says_how_far_learning_is_from_its_teacher_and_from_the_bound(
    three: Outcome,
) -> None:
    flows, least = [], []
    for draw in range(3):
        instance = generate(rng=draw, single_start=True, tasks=24)
        run = simulate(TapFingerEnvironment(instance), LearnedScheduler("single"), rng=0, runs=1)
        flows.append(run.mean_flow_time()[0])
        least.append(scenario_bound(instance, run.scenarios).value / instance.tasks)
        assert least[-1] <= flows[-1]
    assert values(three.rows, "imitation", "mean") == pytest.approx([np.mean(flows)])
    assert values(three.rows, "bound", "mean") == pytest.approx([np.mean(least)])
    above = np.mean(flows) / np.mean(least) - 1
    assert f"and {percent(above)} above the bound" in three.takeaway


def test_the_takeaway_follows_the_rows(three: Outcome) -> None:
    rows = three.rows.copy()
    rows.loc[(rows["policy"] == "min") & (rows["part"] == "mean"), "value"] = 0.5
    assert "between 0.500 slots (Min) and" in NAMED["5ab"].takeaway(rows)
    rows.loc[(rows["policy"] == "min") & (rows["part"] == "mean"), "value"] = np.inf
    assert "and ∞ (Min)" in NAMED["5ab"].takeaway(rows)


LONG = [f"test-bed six, {tasks}" for tasks in (2000, 4000, 8000)]


@pytest.mark.parametrize(
    ("settings", "other", "part", "published"),
    [
        (["three"], "optimus", "mean", 0.251),
        (["three"], "optimus", "median", 0.286),
        (["six"], "optimus", "mean", 0.205),
        (["several"], "tiresias", "mean", 0.432),
        (["several"], "optimus", "mean", 0.445),
        (["mixed"], "optimus", "mean", 0.401),
        (["mixed"], "tiresias", "mean", 0.549),
        (["test-bed three, 1000"], "optimus", "mean", 0.137),
        (LONG[:1], "optimus", "mean", 0.104),
        (LONG, "tiresias", "mean", 0.145),
        (LONG, "optimus", "mean", 0.10),
    ],
)
def test_recorded_runs_give_what_the_paper_claims(
    settings: list[str], other: str, part: str, published: float
) -> None:
    runs = [[RECORDED[one, name] for name in ("tapfinger", other)] for one in settings]
    below = [1 - getattr(mine, part) / getattr(theirs, part) for mine, theirs in runs]
    assert np.mean(below) == pytest.approx(published, abs=6e-4)
    lines = [line for one in PAPER_FIGURES for line in one.published
             if line.what.startswith("TapFinger below")]  # fmt: skip
    assert published in {line.value for line in lines if line.percent}


def test_stretches_keep_the_mean_of_what_they_hold() -> None:
    series = [np.arange(1.0, 8.0), np.full(3, 6.0)]
    kept = windows(series, 7, 3)
    assert kept.tolist() == [[2, 5, 7], [6, 0, 0]]


def test_measured_times_are_those_of_instances() -> None:
    rows = quick("2").rows
    instance = from_bundled(figures="testbed", tasks=1)
    lasts = instance.duration[0, instance.kinds.index("lm")]
    for row in rows[rows["cpus"] >= 2].to_dict("records"):
        assert lasts[row["cpus"], row["gpus"]] == np.ceil(row["seconds"] / 10 - 1e-9)


def test_measured_tasks_have_their_fastest_bundle_where_it_is() -> None:
    rows = quick("II").rows.set_index("task")
    instance = from_bundled(figures="testbed", tasks=1)
    for kind, task in enumerate(instance.kinds):
        lasts = instance.duration[0, kind]
        row = rows.loc[task]
        assert lasts[2, 1] == np.ceil(row["smallest"] / 10 - 1e-9)
        assert lasts[lasts > 0].min() == np.ceil(row["fastest"] / 10 - 1e-9)
        assert lasts[row["cpus"], row["gpus"]] == lasts[lasts > 0].min()
        assert lasts.max() == np.ceil(row["slowest"] / 10 - 1e-9)


def test_every_task_of_the_example_starts_once() -> None:
    rows = quick("4").rows
    for mode, own in rows.groupby("mode"):
        letters = "".join(own["tasks"]).replace("-", "").replace(" ", "")
        assert sorted(letters) == list("abcdefghijklmn")
        assert own["started"].sum() == len(letters)
        assert mode == "several" or own["started"].max() == 1


def test_communication_is_bits_over_rate_and_distance_over_speed() -> None:
    assert communication(1000.0)["communication"] == pytest.approx(22.4 + 10.0)


SHOWING = ["9ab", "9cd", "10", "14", "15"]


def test_figures_of_other_tasks_show_the_runs_of_the_table() -> None:
    table = taught.SHOWN.read().table
    assert not table[["instance", "runs"]].duplicated().any()
    rows = {(one["instance"], one["runs"]): one for one in table.to_dict("records")}
    shown = [one for one in PAPER_FIGURES if one.series is taught.SHOWN]
    assert [one.number for one in shown] == SHOWING
    for paper_figure in shown:
        # Instances of full size take long to draw; the policies are those of all sizes.
        for job in paper_figure.listed(True):
            assert "imitation" not in job.identity["policy"]
            one = rows[job.identity["instance"][:16], job.identity["runs"]]
            instance = job.arguments[0].instance()
            assert one["setting"] == taught.setting_of(instance)
            # Tasks in the system add up to flow times, run by run.
            slots = sum(map(float, str(one["tasks_over_time"]).split()))
            if "tasks_over_time" in job.identity["series"]:
                assert slots == pytest.approx(one["mean"] * instance.tasks, abs=1e-3)
    assert set(table["setting"]) == set(taught.TAUGHT)
    assert table.groupby("setting")["weights"].nunique().eq(1).all()
    full = {"containers": 10, "pointer": 20, "testbed": 20}
    assert table.groupby("setting").size().to_dict() == {
        name: count + {"testbed": 12}.get(name, 3) for name, count in full.items()
    }


def test_what_the_table_holds_is_what_runs_give(monkeypatch: pytest.MonkeyPatch) -> None:
    job, series = next(taught._jobs())
    drawn = generate(rng=5, single_start=True, tasks=20)
    monkeypatch.setattr(taught, "_jobs", lambda: iter([(job, series)]))
    monkeypatch.setattr("edgeopt_papers.figures.jobs._made", lambda _: drawn)
    learned = find_system("tapfinger").learned
    assert learned is not None
    [row] = taught.ran({"single": Checkpoint.load(learned.shipped["single"])})
    run = simulate(TapFingerEnvironment(drawn), LearnedScheduler("single"), rng=0, runs=1)
    assert row["mean"] == pytest.approx(run.mean_flow_time()[0], abs=1e-6)
    assert row["makespan"] == run.end[0]
    assert {one for one in taught.SERIES if row[one]} == series
    assert [float(one) for one in row["tasks_over_time"].split()] == run.accumulation[0].tolist()
    assert "decision_ms" not in row


@pytest.mark.trains
def test_the_table_is_made_by_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch", reason="training needs PyTorch")
    monkeypatch.setattr(training, "TRAINING", range(1000, 1001))
    monkeypatch.setattr(training, "VALIDATION", range(3000, 3001))
    entry = replace(find_learner(find_system("tapfinger"), "imitation"), updates=1, every=1)
    monkeypatch.setattr("edgeopt.studies.learners.find_learner", lambda *_: entry)
    few = next(taught._jobs())
    drawn = from_bundled(tasks=3)
    monkeypatch.setattr("edgeopt_papers.figures.jobs._made", lambda _: drawn)
    monkeypatch.setattr(taught, "TAUGHT", ("containers",))
    monkeypatch.setattr(taught, "_jobs", lambda: iter([few]))
    table = taught.SHOWN.make(tmp_path)
    assert isinstance(table, pd.DataFrame)
    [own] = table.to_dict("records")
    read = Checkpoint.load(tmp_path / "containers" / "policy.safetensors", system="tapfinger")
    assert (own["setting"], own["weights"]) == ("containers", read.fingerprint()[:16])


@pytest.mark.long
def test_runs_of_the_table_stand_before_the_bound(containers: Outcome) -> None:
    table = taught.SHOWN.read().table
    jobs = NAMED["15"].listed(True)
    known = {one["instance"]: one["mean"] for one in table.to_dict("records") if one["runs"] == 1}
    means = [known[job.identity["instance"][:16]] for job in jobs]
    assert values(containers.rows, "imitation", "mean") == pytest.approx([np.median(means)])
    assert values(containers.rows, "bound", "mean")[0] <= np.median(means)
    assert values(containers.rows, "imitation", "decision_ms") == []
    assert containers.caveats[-1] == taught.SHOWN.said
    order = list(containers.rows["policy"].unique())
    assert order[-2:] == ["imitation", "bound"]
    own = pd.DataFrame([{**jobs[0].identity, "policy": ["min", "bound"]}])
    with pytest.raises(InputError, match=r"no runs .* by `make learners NAMES=tapfinger-figures`"):
        taught.joined(own.assign(runs=17), table, rows=lambda rows: rows)


@pytest.fixture(scope="module")
def containers() -> Outcome:
    return quick("15")


def test_containers_are_shown_as_ranges_over_draws(containers: Outcome) -> None:
    means = {}
    for draw in range(3):
        instance = from_bundled(rng=draw, tasks=30, containers="measured")
        run = simulate(TapFingerEnvironment(instance), TiresiasContainers(), rng=0, runs=1)
        means[draw] = float(run.mean_flow_time()[0])
    [line] = [one for one in containers.lines if one["what"].startswith("Tiresias, mean comp")]
    least, most = number(min(means.values()), 3), number(max(means.values()), 3)
    assert line["computed"] == f"{least} to {most}"
    assert f"between {least} and {most} slots" in containers.takeaway
    assert "the draws are too few and too short; our imitation is" in containers.takeaway
    [learned] = [one for one in containers.lines if one["what"].startswith("TapFinger, mean comp")]
    assert learned["verdict"] == NOT_COMPARABLE
    assert " to " in learned["computed"]


def test_the_takeaway_of_containers_follows_the_rows(containers: Outcome) -> None:
    rows = containers.rows.assign(instances=10)
    for name, each in {"min": [10.0, 90.0], "optimus+containers": [31.0, 50.0]}.items():
        chosen = (rows["policy"] == name) & (rows["part"] == "mean")
        rows.loc[chosen, "value_each"] = pd.Series([each], index=rows.index[chosen])
    said = NAMED["15"].takeaway(rows)
    assert "the recorded means of Min are within such ranges; those of Optimus, T" in said
    [line] = [one for one in NAMED["15"].published if one.what.startswith("Min, mean completion")]
    assert line.computed is not None
    assert line.computed(rows) == "10.0 to 90.0; the recorded one is within"


def test_rows_say_what_policies_are_told(three: Outcome, containers: Outcome) -> None:
    for outcome in (three, containers):
        assert outcome.paper_figure.columns["information"] == "Information"
        told = outcome.rows.groupby("policy")["information"].unique().map(list)
        for name, what in told.items():
            knows = name in ("reservation", "imitation") or "optimus" in str(name)
            expected = "everything" if name == "bound" else "durations" if knows else "nothing"
            assert what == [expected]


@pytest.mark.long
def test_rates_have_places_of_their_own() -> None:
    found = quick("6")
    assert sorted(found.rows["rate"].unique()) == [2, 3, 4]
    what = "TapFinger below Min, mean completion time, rate 3"
    [line] = [one for one in found.lines if one["what"] == what]
    recorded = [RECORDED["six, rate 3", name].mean for name in ("tapfinger", "min")]
    assert line["published"] == 1 - recorded[0] / recorded[1]
    own = found.rows[found.rows["rate"] == 3]
    ours = [values(own, name, "mean")[0] for name in ("imitation", "min")]
    assert line["computed"] == pytest.approx(1 - ours[0] / ours[1])


def test_lines_of_networks_that_lack_a_part_are_those_of_the_trainings() -> None:
    table = TRAINING.read().table
    lacking = {"8": "imitated-vanilla-single", "13": "imitated-no_han"}
    lacking |= {"14": "imitated-no_pointer-pointer"}
    for number_of, key in lacking.items():
        [line] = [
            one
            for one in NAMED[number_of].published
            if one.rule == NOT_COMPARABLE
            and not one.what.startswith(("TapFinger,", "TapFinger below", "Reservation"))
        ]
        own = table[(table["course"] == key) & (table["rounds"] == 16_384)]["flow"]
        assert line.computed is not None
        found = line.computed(table)
        assert found == Estimate(own.median(), own.min(), own.max(), found.spread)  # type: ignore[union-attr]


def test_ablations_differ_in_one_thing_from_what_they_are_set_beside() -> None:
    for key, course in COURSES.items():
        if course.beside:
            other = COURSES[course.beside]
            same = ("setting", "updates", "seeds")
            assert [getattr(course, name) for name in same] == [
                getattr(other, name) for name in same
            ]
            changed = {k: v for k, v in course.options.items() if other.options.get(k) != v}
            assert len(changed) == 1, key
    assert {course.beside for course in COURSES.values()} == {"", "imitated"}


def test_curves_are_evaluations_of_whole_trainings() -> None:
    table = TRAINING.read().table
    for (key, _), rows in table[table["course"].isin(COURSES)].groupby(["course", "seed"]):
        planned = 1024 * COURSES[key].updates
        assert rows["rounds"].tolist() == [planned * k // 4 for k in range(5)]
        assert rows["steps"].tolist() == [COURSES[key].updates * 8 * k for k in range(5)]
        assert set(rows["setting"]) == {COURSES[key].setting}
    fixed = table[~table["course"].isin(COURSES)]
    for setting in ("several", "single"):
        flow = dict(fixed[fixed["setting"] == setting][["course", "flow"]].to_numpy())
        assert min(flow, key=lambda name: flow[name]) == "bound"
        assert flow["reservation"] < flow["random"]


def test_jobs_of_figures_with_and_without_series_are_joined_in_one_table() -> None:
    known = taught.SHOWN.read().table
    one = known[known["instance"].notna()].iloc[0]
    short = {"instance": one["instance"], "runs": one["runs"], "policy": ["min", "bound"]}
    series = taught.SERIES[0]
    jobs = pd.DataFrame([short, {**short, series: [[1.0], [2.0]]}])
    found = taught.joined(jobs, known, rows=lambda table: table)
    assert found["policy"].tolist() == [["min", "imitation", "bound"]] * 2
    assert np.isnan(found[series][0])
    assert len(found[series][1]) == 3
