"""Every false claim is refuted on its named instance, by the numbers that pen and paper give."""

import pytest

from edgeopt.bounds import check, claims
from edgeopt.bounds.tapfinger import instances as named
from edgeopt.bounds.tapfinger.instances import empty_handed, five_and_twice_seven, keen_or_roomy

REFUTED = [
    # claim, instance, measured, guaranteed
    ("equation3.published", named.lone_task(), 0, 1),
    ("equation1.published", named.both_or_halves(), 3 + 6, 4 + 4),
    ("bundles.published", named.last_unit(), 2, 1),
    ("equation2.slots", named.at_once(), 1 + 2, 1 + 1),
    ("equation5.published", named.late_arrivals(), 1, 0),
    ("equation5.running", named.cut_off(), 1, 0),
    ("accumulation.end", named.started_at_once(), 0, 1),
    ("reward.local.published", named.waiting_twice(), 3, 2),
    ("usage.end", named.started_at_once(), 0, 2),
    ("equation11.ratio", keen_or_roomy(), 0.6, 0.9),
    ("conflict.published", empty_handed(), 0, 1),
    ("bound.fixed", named.overtaken(), 1 + 5, 1 + 4),
    ("bound.noise", named.one_gpu(), 21, 7),
    ("volume.fixed", five_and_twice_seven(), 5 + 7 + 7, 4 * 5),
    ("optimus.published", named.sensitive_task(), -0.237911, 0),
]


@pytest.mark.parametrize(("claim", "instance", "measured", "guaranteed"), REFUTED)
def test_refuted_by_exact_numbers(claim, instance, measured, guaranteed):
    [found] = check(f"tapfinger.{claim}", instance)
    assert found.verdict == "violated"
    assert found.measured == pytest.approx(measured, rel=1e-5, abs=1e-8)
    assert found.guaranteed == pytest.approx(guaranteed, rel=1e-5, abs=1e-8)


def test_every_false_claim_is_refuted_by_default_and_every_true_one_holds():
    expected = {
        id: "violated" if claim.counterexample else "holds"
        for id, claim in claims("tapfinger").items()
    }
    assert {found.claim: found.verdict.value for found in check("tapfinger")} == expected
    tested = {f"tapfinger.{row[0]}" for row in REFUTED}
    assert {id for id, verdict in expected.items() if verdict == "violated"} == tested
