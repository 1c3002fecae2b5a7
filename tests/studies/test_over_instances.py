from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from edgeopt.studies import Study, study
from edgeopt.studies.comparison import over_instances
from tests.studies.stopping import SYSTEM, Offers


@pytest.fixture(scope="module")
def three() -> Study:
    instances = {str(slots): Offers(slots) for slots in (4, 9, 15)}
    return study(instances, system=SYSTEM, runs=6, rng=3, reference="choosy")


@pytest.fixture(scope="module")
def six() -> Study:
    instances = {str(slots): Offers(slots) for slots in (6, 9, 12, 15, 20, 25)}
    return study(instances, system=SYSTEM, runs=40, rng=3, reference="choosy")


def test_three_instances_have_median_range_and_no_finding(three: Study) -> None:
    found = over_instances(three, ["value", "patience"], paired=["value"])
    assert found["policy"].tolist() == ["first", "choosy", "half"]
    assert found["instances"].tolist() == [3, 3, 3]
    for row in found.to_dict("records"):
        means = [case.values(row["policy"]).mean() for case in three.cases]
        assert row["value"] == pytest.approx(np.median(means))
        assert (row["value_low"], row["value_high"]) == (min(means), max(means))
        assert (row["value_spread"], row["value_each"]) == ("range", means)
        if row["policy"] == "choosy":
            assert np.isnan(row["value_relative"])
            assert row["value_relative_finding"] == ""
        else:
            assert row["value_relative_finding"] == "not resolved"


def test_six_instances_have_geometric_means_intervals_and_findings(six: Study) -> None:
    found = over_instances(six, ["value"], paired=["value"]).set_index("policy")
    tests: dict[tuple[str, str], float] = {}
    each: dict[str, np.ndarray] = {}
    for policy in ("first", "choosy", "half"):
        row = found.loc[policy]
        logs = np.log([case.values(policy).mean() for case in six.cases])
        reach = stats.t.ppf(0.975, 5) * logs.std(ddof=1) / np.sqrt(6)
        ends = np.exp([logs.mean(), logs.mean() - reach, logs.mean() + reach])
        assert list(row[["value", "value_low", "value_high"]]) == pytest.approx(list(ends))
        assert row["value_spread"] == "interval"
        lead = logs - np.log([case.values("choosy").mean() for case in six.cases])
        if policy != "choosy":
            tests[policy, "choosy"] = stats.ttest_1samp(lead, 0.0).pvalue
            assert row["value_relative"] == pytest.approx(np.exp(lead.mean()))
        each[policy] = logs
    tests["first", "half"] = stats.ttest_1samp(each["first"] - each["half"], 0.0).pvalue
    raised, largest = {}, 0.0
    for place, pair in enumerate(sorted(tests, key=lambda one: tests[one])):
        largest = max(largest, (3 - place) * tests[pair])
        raised[pair] = min(1.0, largest)
    for policy in ("first", "half"):
        probability = raised[policy, "choosy"]
        assert found.loc[policy, "value_relative_p"] == pytest.approx(probability)
        word = "less" if found.loc[policy, "value_relative"] < 1 else "more"
        finding = found.loc[policy, "value_relative_finding"]
        assert finding == (word if probability <= 0.05 else "not resolved")
    assert set(found["value_relative_finding"]) >= {"less"}


def test_intervals_of_shares_stay_between_nothing_and_all(six: Study) -> None:
    # One instance in six, on which a share of .9 fails: the plain interval begins below 0.
    table = six.table.assign(violated_share=[0.9, *[0.0] * (len(six.table) - 1)])
    signed, kept = (
        over_instances(six, ["violated_share"], table=table, **kind).set_index("policy")
        for kind in ({"signed": ["violated_share"]}, {"shares": ["violated_share"]})
    )
    assert signed.loc["first", "violated_share_low"] < 0
    assert 0 <= kept.loc["first", "violated_share_low"] < 0.15
    assert 0.15 < kept.loc["first", "violated_share_high"] <= 1
    assert kept.loc["first", "violated_share"] == pytest.approx(0.15)
    assert kept.loc["half", "violated_share_spread"] == "equal"


def test_an_infinite_figure_has_no_interval(three: Study) -> None:
    table = three.table.copy()
    table.loc[0, "patience"] = np.inf
    broken = Study(three.system, three.cases, three.settings)
    broken.__dict__["table"] = table
    found = over_instances(broken, ["patience"]).set_index("policy")
    assert np.isinf(found.loc["first", "patience"])
    assert np.isnan(found.loc["first", "patience_low"])
    assert np.isfinite(found.loc["half", "patience_low"])
