"""No table of any system shows an interval that cannot be: below 0, above 1, or of no width."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from edgeopt_papers.figures import reproduce
from edgeopt_papers.figures.report import in_words

from edgeopt.studies import find_system, study
from edgeopt.studies.pages.study import render
from edgeopt.studies.sentences import sentences
from edgeopt.studies.wording import beside
from tests.draws import LEAN, some
from tests.studies.test_systems import GIVEN

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    import pandas as pd
    from edgeopt_papers.figures.reproduce import Outcome

    from edgeopt.studies import Study

SYSTEMS = ("rescue", "idn", "oinc", "edr", "tapfinger")

SMALL: dict[str, dict[str, Any]] = {
    "rescue": {"horizon": 12},
    **{name: given.settings for name, given in GIVEN.items()},
}

FEW = {
    "rescue": ["rescue+guard", "srs+guard"],
    "idn": ["infida", "sg"],
    "oinc": ["oinc", "near+dedas", "ekya"],
    "edr": ["saddle_point", "lyapunov", "scenario"],
    "tapfinger": ["reservation", "min", "tiresias"],
}

FIGURES = {"rescue": "5 1", "idn": "5", "oinc": "3 9", "edr": "5 8 4a 7", "tapfinger": "8 5ab"}
if LEAN:
    FIGURES = {name: numbers.split()[0] for name, numbers in FIGURES.items()}

NEGATIVE = re.compile("reward|lead|regret|gap|change|_value|_relative_p")
"""Names of figures that may be negative."""

SPANS = re.compile(r"(\N{MINUS SIGN}?[\d.]+) to (\N{MINUS SIGN}?[\d.]+)")


def ends_of(table: pd.DataFrame) -> Iterator[tuple[dict[Any, Any], str]]:
    """Yield every row with the name of every figure that has ends."""
    names = [str(name).removesuffix("_low") for name in table if str(name).endswith("_low")]
    assert names
    for row in table.to_dict("records"):
        for name in names:
            yield row, name


def check(table: pd.DataFrame, shares: Collection[str] = ()) -> int:
    """Check every interval of a table, and count them."""
    count = 0
    for row, name in ends_of(table):
        value, low, high = (float(row[f"{name}{end}"]) for end in ("", "_low", "_high"))
        kind = row.get(f"{name}_spread", row.get("spread"))
        if math.isnan(value):  # nothing is said, such as of a policy against itself
            assert math.isnan(low), (name, row)
            assert math.isnan(high), (name, row)
            continue
        assert kind in ("interval", "range", "equal", "one", "none", "exact", "as"), name
        assert math.isnan(low) == math.isnan(high)
        if kind not in ("interval", "range"):
            assert math.isnan(low), (name, row)
        if math.isnan(low):
            continue
        count += 1
        assert low < high, (name, row)
        assert low * (1 - 1e-12) <= value <= high * (1 + 1e-12) or NEGATIVE.search(name)
        assert low >= 0 or NEGATIVE.search(name), (name, row)
        assert high <= 1 + 1e-12 or name not in shares, (name, row)
        shown = beside(row, name, share=name in shares).split(",")[0].removeprefix("range ")
        one, _, other = shown.partition(" to ")
        # Ends apart by rounding alone are shown as one number, not as an interval.
        assert one != other, (name, row)
        scale = 1.0 if name in shares else max(abs(low), abs(high))
        assert other or high - low < 1e-8 * scale, (name, row)
    return count


@cache
def studied(name: str, draws: int) -> Study:
    record = replace(find_system(name), claims=None)
    make = record.instances.generate
    assert make is not None
    instances = {f"draw {one}": make(rng=one, **SMALL[name]) for one in range(draws)}
    if draws == 1:
        return study(instances, system=record, progress=False)
    return study(instances, FEW[name], system=record, runs=2, progress=False)


@pytest.mark.parametrize("name", some(SYSTEMS, "rescue"))
def test_tables_of_a_default_study(name: str) -> None:
    result = studied(name, 1)
    table = result.table
    check(table)
    few = result.settings.runs < 10
    assert set(table["spread"]) <= {"equal", "exact", "as", "range" if few else "interval"}
    found = table["relative_finding"]
    assert set(found) <= {"", "better", "worse", "the same", "too close to call"}
    assert not few or result.cases[0].exact or not set(found) & {"better", "worse"}
    [case] = result.cases
    words = sentences(case)
    page = re.sub("<script.*?</script>|<[^>]*>", " ", render(result))
    assert "are over the runs on this one instance; nothing is said of others" in " ".join(
        page.split()
    )
    for one in (*words, page):
        for spread in re.finditer(r"% interval [^;.)]*, over|equal in all", one):
            assert "on this instance" in one[spread.start() : spread.end() + 40], one
        for low, high in SPANS.findall(one):
            assert low != high, one


@pytest.mark.parametrize("name", some(SYSTEMS, "idn", "oinc", "tapfinger"))
@pytest.mark.parametrize("draws", some([1, 2, 5], 5))
def test_tables_over_instances(name: str, draws: int) -> None:
    result = studied(name, draws)
    assert draws == 1 or result.comparisons
    for comparison in result.comparisons:
        rows = result.comparison(comparison.name)
        shares = set(comparison.percent) - {"gap", "over_plan", "plan_gap", "ratio"}
        # So small, all instances of IDN are the same, and their figures equal.
        assert (check(rows, shares) > 0) == (draws > 1 and name != "idn")
        for spread in (rows[name] for name in rows if str(name).endswith("_spread")):
            assert not set(spread) & ({"interval"} if draws < 10 else {"one"})


@cache
def figures(name: str) -> list[Outcome]:
    return [
        outcome
        for number in FIGURES[name].split()
        for outcome in reproduce(name, figure=number, quick=True, progress=False).outcomes
    ]


@pytest.mark.parametrize("name", SYSTEMS)
def test_rows_and_lines_of_quick_figures(name: str) -> None:
    for outcome in figures(name):
        if any(str(one).endswith("_low") for one in outcome.rows):
            check(outcome.rows, outcome.paper_figure.percent)
        kinds = set(outcome.rows.filter(regex="_spread$").to_numpy().ravel())
        assert bool(re.search(r"intervals over \d", outcome.caption)) == ("interval" in kinds)
        assert ("ranges of" in outcome.caption) == ("range" in kinds)
        for line in outcome.lines:
            computed = in_words(line)[1]
            assert not math.isfinite(line["low"]) or line["low"] < line["high"]
            assert (line["spread"] == "range") == (" (range " in computed)
