"""Bounds and checks of one's own in a study: when they hold, and how that is known."""

from __future__ import annotations

import gc
import json
import pickle
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
import pyomo.environ as pyo
import pytest

from edgeopt.bounds import Bound, Check
from edgeopt.errors import OptionError, ProblemTypeError
from edgeopt.instances import edr, idn, oinc, rescue, tapfinger
from edgeopt.models.rescue import p1_lp, solve_p1_lp
from edgeopt.online import simulate
from edgeopt.online.rescue import Rescue, RescueEnvironment, occupation
from edgeopt.online.simulate import logs
from edgeopt.studies import study
from edgeopt.studies.pages.study import render
from edgeopt.studies.rescue.policies import FREE, ONLINE, PLAIN
from edgeopt.studies.sentences import lead
from edgeopt.studies.tapfinger.policies import CHANGING, FIXED

if TYPE_CHECKING:
    from edgeopt.studies import Case

SMALL = rescue.generate(servers=2, devices=3, profiles=2, horizon=10, reserved=2, rng=1)


@dataclass(frozen=True, eq=False)
class Planned:
    """What a solution class gives for a program of the user."""

    instance: Any
    bound: float
    kept: Any = ()
    objective: float = 0.5
    gap: float = 0.0
    program: str = "extended"
    added: tuple[str, ...] = ("packed",)
    changed: tuple[str, ...] = ()
    made: list[str] = field(default_factory=list)

    @property
    def checks(self) -> tuple[Check, ...]:
        return tuple(map(Check.of, self.kept))

    def duals_of(self, name: str) -> dict[str, float]:
        return {}

    def policy(self, **options: Any) -> Rescue:
        return Rescue(plan=solve_p1_lp(self.instance), **options)


def packed(high: float, low: float = 0.0) -> Any:
    """Return rows on how many runs each device begins on average."""
    model = p1_lp(SMALL)
    model.packed = pyo.Constraint(
        model.devices,
        rule=lambda m, j: pyo.inequality(low or None, sum(m.y[k] for k in m.y if k[1] == j), high),
    )
    MODELS.append(model)
    return model.packed


MODELS: list[Any] = []
"""Keeps models alive while tests use their parts."""


def case_of(*args: Any, **options: Any) -> Case:
    settings = {"runs": 40, "claims": False, "progress": False}
    return study(*args, **{**settings, **options}).cases[0]


def test_logs_are_of_the_scenarios_of_simulate() -> None:
    policy, environment = Rescue(), RescueEnvironment(SMALL)
    found = list(logs(environment, policy, rng=3, runs=6))
    accepted = simulate(environment, policy, rng=3, runs=9).accepted.sum(axis=1)
    assert [sum(step.decision is not None for step in log) for log in found] == accepted[
        :6
    ].tolist()


def test_rows_are_kept_by_design_exactly_or_in_runs() -> None:
    plan = solve_p1_lp(SMALL)
    most = float(plan.y.sum(axis=(0, 2, 3)).max())
    begun = occupation(SMALL, Rescue(plan=plan)).sum(axis=(0, 2, 3)).max()
    assert begun < most
    ceiling = Check.of(packed(most + 1e-9))
    case = case_of(SMALL, ["rescue", "rescue+guard", "srs"], checks=[ceiling], runs=20)
    found = {name: case.judged[name]["packed"] for name in case.order}
    assert found["rescue"].how == "by design"
    assert found["srs"].how == "exact"
    # A ceiling between what the policy begins and its plan is kept, but not by design.
    tighter = case_of(SMALL, ["rescue"], checks=[packed((begun + most) / 2)], runs=20)
    judged = tighter.judged["rescue"]["packed"]
    assert (judged.kept, judged.how) == ("kept", "exact")
    assert judged.room == pytest.approx((most - begun) / 2)
    broken = case_of(SMALL, ["rescue"], checks=[packed(9.0, low=most)], runs=20)
    assert broken.judged["rescue"]["packed"].kept == "broken"
    # Without the two hooks, runs alone decide.
    assert "exact" in found["srs"].said


def test_the_tightest_valid_bound_is_shown_and_why_for_each() -> None:
    plan = Planned(SMALL, 0.9, (packed(0.01),))
    case = case_of(
        SMALL, ["offers", "rescue", plan], bounds={"mine": plan, "loose": 1e3, "tight": 9.0},
    )  # fmt: skip
    rows = case.table.set_index("policy")
    assert list(rows["bound"]) == [ONLINE, FREE, FREE]
    assert rows["bound:loose"].tolist() == [1e3] * 3
    assert set(rows["why:tight"]) == {"holds"}
    assert rows["bound:mine"].isna().all()
    assert "packed: broken exact" in rows["why:mine"]["offers"]
    assert "reserved tasks met: broken in" in rows["why:mine"]["rescue"]
    assert rows.loc["RESCUE", "packed"] == "broken"
    assert 0 < rows["packed_broken"]["rescue"] <= 1
    [row] = case_of(SMALL, ["srs+guard"]).table.to_dict("records")
    near = 0.5 * (row["value"] + row["bound_value"])
    found = study(SMALL, ["srs+guard"], bounds={"near": near}, runs=40, claims=False)
    [tight] = found.cases
    assert row["bound"] == ONLINE
    assert tight.bound_of("srs+guard") == "near"
    assert tight.table["gap"][0] == pytest.approx((near - row["value"]) / near)
    assert tight.standings.of("srs+guard").label == "near"
    assert "The bound near of " in render(found)


def test_another_program_bounds_nobody() -> None:
    plan = Planned(SMALL, 0.9, program="other", changed=("eq_3b is missing or deactivated",))
    case = case_of(SMALL, ["offers"], bounds={"mine": plan})
    assert case.why("offers", "mine") == "another program: eq_3b is missing or deactivated"
    assert case.bound_of("offers") == ONLINE


class Mine:
    """Accept every task on the first idle server; nothing is said of reserved work."""

    name = "mine"

    def start(self, instance: Any) -> None:
        return None

    def decide(self, state: None, seen: Any, rng: Any) -> tuple[Any, None]:
        free = np.flatnonzero(seen.idle)
        return ((int(free[0]), 0) if free.size else None), None

    def learn(self, *_: object) -> None:
        return None


class Shy(Mine):
    name = "shy"

    def decide(self, state: None, seen: Any, rng: Any) -> tuple[Any, None]:
        return None, None


def test_own_policies_get_the_bounds_that_their_runs_keep() -> None:
    case = case_of(SMALL, [Mine(), Shy(), "offers"], runs=30)
    assert [case.bound_of(one) for one in ("mine", "shy", "offers")] == [FREE, PLAIN, ONLINE]
    assert case.bound_how("shy") == "in 30 runs"
    assert "guarded: not resolved" in case.why("shy", ONLINE)
    assert "reserved tasks met: broken in" in case.why("mine", PLAIN)
    knows = Mine()
    knows.guarded, knows.hindsight = True, True  # type: ignore[attr-defined]
    assert case_of(SMALL, [knows]).bound_of("mine") == "lp_safe"


def test_what_rests_on_runs_is_never_called_proven() -> None:
    few = Check("few", lambda instance, log: sum(s.decision is not None for s in log), high=99)
    value = case_of(SMALL, ["offers"], runs=20, rng=4).table["value"][0]
    result = study(
        SMALL, ["offers"], bounds={"mine": Bound(value * 1.01, [few])}, runs=20, claims=False
    )
    [case] = result.cases
    assert case.bound_of("offers") == "mine"
    assert case.bound_how("offers") == "in 20 runs"
    said = lead(case)
    assert "valid in 20 runs" in said
    assert "proven" not in said
    page = render(result)
    assert "valid in 20 runs" in page
    assert "kept in 20 runs: Competing offers" in page
    sure = lead(case_of(SMALL, ["offers"], runs=20))
    assert "valid in" not in sure
    document = json.loads(result.to_json())
    assert document["bounds"]["mine"]["checks"] == ["few"]
    assert document["checks"]["offers"]["few"]["said"] == "kept in 20 runs"
    [row] = document["policies"]
    assert (row["few"], row["few_broken"], row["why:mine"]) == ("kept", 0.0, "holds in 20 runs")


def few_slots(instance: Any, log: Any) -> float:
    return float(len(log))


def limit(instance: Any) -> Bound:
    return Bound(1e3 + instance.horizon, [Check("few", few_slots, high=1e4)])


def test_several_instances_need_a_function_and_processes_change_nothing() -> None:
    other = SMALL.replace(capacity=SMALL.capacity * 2)
    pair = {"one": SMALL, "two": other}
    with pytest.raises(OptionError, match=r"bounds\['mine'\]: 2 instances need a function"):
        study(pair, ["offers"], bounds={"mine": 3.0})
    with pytest.raises(OptionError, match="a constraint is that of a program of one instance"):
        study(pair, ["offers"], checks=[packed(1.0)])
    tables = []
    for workers in (1, 2):
        found = study(
            pair, ["offers", "srs"], bounds={"mine": limit}, runs=4, workers=workers, claims=False
        )
        tables.append(found.table.drop(columns="decision_us"))
    assert tables[0].equals(tables[1])
    back = pickle.loads(pickle.dumps(found))
    assert back.table.equals(found.table)
    assert repr(back.cases[0].judged) == repr(found.cases[0].judged)


def test_what_cannot_be_meant_is_refused_by_name() -> None:
    other = SMALL.replace(capacity=SMALL.capacity * 2)
    plan = Planned(other, 0.9)
    wrong = Check("odd", lambda instance, log: 1 / 0)
    ragged = Check("ragged", lambda instance, log: [0.0] * (len(log) % 2 + 1))
    outside = p1_lp(SMALL)
    outside.extra = pyo.Var()
    outside.lost = pyo.Constraint(expr=outside.extra <= 1)
    cases = (
        ({"bounds": {"mine": plan}}, r"bounds\['mine'\]: the plan is one of the instance"),
        ({"bounds": {"mine": "3"}}, r"bounds\['mine'\]: must be a plan, a Bound, a number"),
        ({"bounds": {"lp": 3.0}}, "rescue has a bound 'lp' itself"),
        ({"checks": [wrong]}, "check 'odd': its measure raised ZeroDivisionError"),
        ({"checks": [ragged]}, "check 'ragged': its measure returned"),
        ({"checks": [Check("gap", few_slots)]}, "check 'gap': the name is taken"),
        ({"checks": [Check("guarded", few_slots)]}, "check 'guarded': the name is taken"),
        ({"checks": [outside.lost]}, "check 'lost': the log of a run does not tell extra, only y"),
        ({"watched": 1}, "watched"),
    )
    for options, text in cases:
        with pytest.raises(OptionError, match=text):
            case_of(SMALL, ["srs"], **options)
    with pytest.raises(OptionError, match="policies: the plan is one of the instance"):
        case_of(SMALL, [plan])
    with pytest.raises(OptionError, match="policies: the plan is one of the instance"):
        case_of(SMALL, iter([plan]))


def test_what_trajectories_tell_makes_no_logs(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*given: Any, **options: Any) -> Any:
        raise AssertionError("no log is needed")

    monkeypatch.setattr(import_module("edgeopt.online.simulate"), "logs", never)
    rare = Check(
        "rare", lambda instance, found: found.decisions.sum(axis=1), high=0, source="trajectory"
    )
    case = case_of(SMALL, ["srs"], checks=[rare])
    assert case.rows["srs"]["rare"] == "broken"


def test_what_runs_do_keeps_the_rows_of_the_programs() -> None:
    """The programs themselves are the oracle: their rows hold at the point of every run."""
    from edgeopt.models.edr import colocation
    from edgeopt.models.idn import Demand, placement
    from edgeopt.models.oinc import joint

    one = edr.generate(sites=2, tasks=2, frames=3, slots=2, clients=2, rng=1)
    model = colocation(one)
    rows = [model.eq_1a, model.eq_1d, model.eq_1b]
    case = case_of(one, ["scenario", "greedy", "saddle_point"], checks=rows, runs=3)
    for name, found in case.judged.items():
        assert (found["eq_1a"].kept, found["eq_1d"].kept) == ("kept", "kept")
        assert found["eq_1b"].kept == found["caps kept"].kept, name
    node = idn.generate(topology=2, tasks=1, replicas=1, horizon=3, rng=1)
    model = placement(node, Demand.of(node))
    case = case_of(node, ["infida", "sg"], checks=[model.eq_2], runs=4)
    assert case.judged["sg"]["eq_2"].kept == case.judged["sg"]["budgets kept"].kept == "kept"
    assert case.bound_of("sg") == "static"
    slots = oinc.generate(sites=2, devices=3, slots=3, jobs=2, rng=1)
    model = joint(slots, relax=True, objectives=False)
    rows = [model.eq_1b, model.eq_1c, model.eq_1d, model.band_of_chosen, model.cpu_of_chosen]
    case = case_of(slots, ["oinc", "ekya"], checks=rows, runs=2)
    for found in case.judged.values():
        assert {found[row.name].said for row in rows} == {"kept exact"}
        assert found["all jobs complete"].how == "exact"


def test_bundles_that_never_change_are_bounded_more_tightly() -> None:
    instance = tapfinger.generate(clusters=1, tasks=3, rng=2, capacity=[3, 3])
    case = case_of(instance, ["reservation", "optimus"], runs=3)
    assert [case.bound_of(one) for one in ("reservation", "optimus")] == [FIXED, CHANGING]
    assert case.bound_how("reservation") == "by design"
    assert case.bound_how("optimus") == ""


def test_a_constraint_whose_model_is_gone_is_refused() -> None:
    constraint = packed(1.0)
    MODELS.pop()
    gc.collect()
    with pytest.raises(ProblemTypeError, match="its model is gone"):
        Check.of(constraint)
