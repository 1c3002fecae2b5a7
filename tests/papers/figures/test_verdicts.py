"""When published and computed values agree, and how that is counted."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from edgeopt_papers import cases
from edgeopt_papers.figures import NOT_COMPARABLE, Estimate, Published
from edgeopt_papers.figures.comparing import MORE, resolved
from edgeopt_papers.figures.paper_figure import VERDICTS
from edgeopt_papers.figures.verdicts import in_a_sentence, reasons, settings_of, statements

from edgeopt.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Mapping

NONE = pd.DataFrame()


def judged(
    found: Estimate | float | str, value: Any = 2.0, quick: bool = False, **more: Any
) -> str:
    one = Published("what", value, lambda _: found, **more)
    return one.verdict(NONE, found, quick=quick)


def test_a_number_agrees_near_the_published_one() -> None:
    near = partial(judged, rule=0.1)
    assert [near(value) for value in (1.79, 1.81, 2.0, 2.19, 2.21)] == [
        "differs", "agrees", "agrees", "agrees", "differs"
    ]  # fmt: skip
    assert judged(-1.9, value=-2.0, rule=0.1) == "agrees"
    assert near(float("nan")) == "differs"


def test_a_number_agrees_inside_the_interval_and_is_not_resolved_inside_a_range() -> None:
    assert judged(Estimate(3.0, 1.5, 3.5, "interval"), rule=0.1) == "agrees"
    assert judged(Estimate(3.0, 1.5, 3.5, "range"), rule=0.1) == "not resolved"
    assert judged(Estimate(3.0, 2.1, 3.5, "range"), rule=0.1) == "differs"
    assert judged(Estimate(3.0, 2.1, 3.5, "interval"), rule=0.1) == "differs"


def test_a_statement_is_met_not_met_or_not_resolved() -> None:
    for met, verdict in ((True, "agrees"), (False, "differs"), (None, "not resolved")):
        assert judged("words", value="rises", rule=lambda _, met=met: met) == verdict


def test_what_has_no_rule_or_stands_for_something_else_is_not_judged() -> None:
    assert judged(2.0) == "not judged"
    assert judged(2.0, rule=NOT_COMPARABLE) == "not comparable"
    assert judged(2.0, rule=0.1, sized=True, quick=True) == "not comparable"
    assert judged(2.0, rule=0.1, sized=True) == judged(2.0, rule=0.1, quick=True) == "agrees"
    with pytest.raises(OptionError, match="needs a predicate"):
        Published("what", "rises", lambda _: "falls", rule=0.1)


def line(what: str, verdict: str, setting: str = "", where: str = "figure-1") -> Mapping[str, str]:
    return {"paper_figure": where, "what": what, "verdict": verdict, "setting": setting}


def test_a_sentence_counts_every_line_once() -> None:
    lines = [line(f"{place}", verdict) for place, verdict in enumerate((*VERDICTS, "agrees"))]
    assert in_a_sentence(lines, quick=False) == (
        "2 of 4 published statements agree with what is computed, 1 differs, 1 not resolved. "
        "The others: 1 not comparable with what is computed and 1 shown, not judged."
    )
    assert in_a_sentence(lines[:1], quick=True).endswith("a full one may judge otherwise.")
    assert in_a_sentence(lines[-2:-1], quick=False).startswith("No published statement is judged")


def test_settings_are_counted_apart_and_stand_side_by_side() -> None:
    both = [
        line("a", "agrees", "default"), line("a", "differs", "fitted"),
        line("b", "differs", "default"), line("b", "agrees", "fitted"),
        line("c", "not judged"), line("d", "agrees"),
        line("a", "agrees", "default", "figure-2"), line("a", "agrees", "fitted", "figure-2"),
    ]  # fmt: skip
    assert settings_of(both) == ["default", "fitted"]
    assert [list(one) for one in statements(both)] == [
        ["default", "fitted"], ["default", "fitted"], [""], [""], ["default", "fitted"]
    ]  # fmt: skip
    assert in_a_sentence(both, quick=False) == (
        "In the default setting 3 of 4 published statements agree with what is computed, "
        "1 differs. In the fitted setting 3 of 4 published statements agree with what is computed, "
        "1 differs. No single setting gives all of them. The others: 1 shown, not judged."
    )
    tables = [*both, line("e", "agrees", "fitted", "table-i")]
    assert "1 differs (1 of 1 about tables, 3 of 4 about figures). No" in in_a_sentence(
        tables, quick=False
    )
    alone = [one for one in both if one["what"] != "b"]
    assert "No single setting" not in in_a_sentence(alone, quick=False)


def test_a_comparison_is_resolved_against_all_or_not() -> None:
    rows = pd.DataFrame({"policy": ["a", "b", "c"], "cost_relative_finding": ["less"] * 3})
    holds = resolved("cost", ["a", "b"])
    assert holds(rows) is True
    assert resolved("cost", ["a", "b"], MORE)(rows) is False
    rows.loc[1, "cost_relative_finding"] = "too close to call"
    assert holds(rows) is None
    rows.loc[0, "cost_relative_finding"] = "more"
    assert holds(rows) is False
    assert resolved("cost", ["c"])(rows) is True


@pytest.mark.parametrize("system", ["rescue", "idn", "oinc", "edr", "tapfinger"])
def test_most_of_what_a_paper_says_is_judged(system: str) -> None:
    lines = [line for one in cases.figures(system) for line in one.published]
    computed = [line for line in lines if line.computed is not None]
    assert sum(line.rule is not None for line in computed) >= 0.75 * len(computed)


def test_reasons_are_those_of_what_does_not_agree_the_most_shared_first() -> None:
    def outcome(*lines: Mapping[str, str], caveats: tuple[str, ...]) -> Any:
        return SimpleNamespace(lines=lines, caveats=caveats)

    def judged(verdict: str, why: str = "") -> Mapping[str, str]:
        return {**line("a", verdict), "why": why}

    agrees = outcome(judged("agrees"), judged("not judged"), caveats=("Never said.",))
    own = outcome(judged("differs", "Its own reason. With more."), caveats=("Left out.",))
    one = outcome(judged("differs"), caveats=("Open e.g. here. All of it.", "Size."))
    two = outcome(judged("not resolved"), caveats=("Size.",))
    found = reasons([agrees, own, one, two])
    assert [reason.said for reason in found] == ["Size.", "Its own reason.", "Open e.g. here."]
    assert found[0].figures == [one, two]
    assert reasons([agrees]) == []
