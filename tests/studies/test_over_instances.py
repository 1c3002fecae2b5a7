from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from edgeopt.studies import Study, study
from edgeopt.studies.over_instances import over_instances
from tests.studies.stopping import SYSTEM, Offers


@pytest.fixture(scope="module")
def three() -> Study:
    instances = {str(slots): Offers(slots) for slots in (4, 9, 15)}
    return study(instances, system=SYSTEM, runs=6, rng=3, reference="choosy")


def test_means_and_intervals_over_instances(three: Study) -> None:
    found = over_instances(three, ["value", "patience"], paired=["value"])
    assert found["policy"].tolist() == ["first", "choosy", "half"]
    assert found["instances"].tolist() == [3, 3, 3]
    for row in found.to_dict("records"):
        means = [case.values(row["policy"]).mean() for case in three.cases]
        reach = stats.t.ppf(0.975, 2) * np.std(means, ddof=1) / np.sqrt(3)
        assert row["value"] == pytest.approx(np.mean(means))
        assert row["value_low"] == pytest.approx(np.mean(means) - reach)
        assert row["value_high"] == pytest.approx(np.mean(means) + reach)
        lead = [
            case.values(row["policy"]).mean() - case.values("choosy").mean() for case in three.cases
        ]
        if row["policy"] == "choosy":
            assert np.isnan(row["value_difference"])
            continue
        reach = stats.t.ppf(0.975, 2) * np.std(lead, ddof=1) / np.sqrt(3)
        assert row["value_difference"] == pytest.approx(np.mean(lead))
        assert row["value_difference_high"] == pytest.approx(np.mean(lead) + reach)


def test_intervals_of_shares_stay_between_nothing_and_all(three: Study) -> None:
    free = over_instances(three, ["violated_share"]).set_index("policy")
    kept = over_instances(three, ["violated_share"], shares=["violated_share"]).set_index("policy")
    assert (free["violated_share_low"] < 0).any()
    assert (kept["violated_share_low"] >= 0).all()
    inside = free["violated_share_high"] <= 1
    assert (kept["violated_share_high"] == free["violated_share_high"])[inside].all()


def test_an_infinite_figure_has_no_interval(three: Study) -> None:
    table = three.table.copy()
    table.loc[0, "patience"] = np.inf
    broken = Study(three.system, three.cases, three.settings)
    broken.__dict__["table"] = table
    found = over_instances(broken, ["patience"]).set_index("policy")
    assert np.isinf(found.loc["first", "patience"])
    assert np.isnan(found.loc["first", "patience_low"])
    assert np.isfinite(found.loc["half", "patience_low"])
