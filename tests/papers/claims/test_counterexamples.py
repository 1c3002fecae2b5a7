"""Every false claim is refuted on its named instance, by the numbers that pen and paper give."""

import pytest
from edgeopt_papers.claims import stored_verdicts

from edgeopt.bounds import check, claims
from tests.draws import every
from tests.papers.edr.claims import test_counterexamples as edr
from tests.papers.idn.claims import test_counterexamples as idn
from tests.papers.oinc.claims import test_counterexamples as oinc
from tests.papers.rescue.claims import test_counterexamples as rescue
from tests.papers.tapfinger.claims import test_true_claims as tapfinger

REFUTED = {
    "rescue": rescue.REFUTED,
    "idn": idn.REFUTED,
    "edr": edr.REFUTED,
    "oinc": oinc.REFUTED,
    "tapfinger": tapfinger.REFUTED,
}
"""Claim, instance, measured and guaranteed, by system."""

CLOSE = dict.fromkeys(REFUTED, 1e-5) | {"rescue": 1e-6, "idn": 1e-6}
"""Relative distance from the numbers, some of which are printed with six digits."""


@pytest.mark.parametrize(
    ("system", "claim", "instance", "measured", "guaranteed"),
    every(5, ((system, *row) for system, rows in REFUTED.items() for row in rows), rows=True),
)
def test_refuted_by_exact_numbers(system, claim, instance, measured, guaranteed):
    [found] = check(f"{system}.{claim}", instance)
    assert found.verdict == "violated"
    assert found.measured == pytest.approx(measured, rel=CLOSE[system], abs=1e-8)
    assert found.guaranteed == pytest.approx(guaranteed, rel=CLOSE[system], abs=1e-8)


@pytest.mark.parametrize("system", REFUTED)
def test_every_false_claim_is_refuted_by_default_and_every_true_one_holds(system):
    known = claims(system)
    expected = {id: "violated" if claim.counterexample else "holds" for id, claim in known.items()}
    # Another test proves these verdicts anew.
    kept = stored_verdicts(system)
    assert kept is not None
    # A loose one holds, but would not be seen to fail.
    said = {id: found.verdict.value for id, found in kept.verdicts.items()}
    assert {id: verdict.replace("loose", "holds") for id, verdict in said.items()} == expected
    tested = {f"{system}.{row[0]}" for row in REFUTED[system]}
    assert {id for id, verdict in expected.items() if verdict == "violated"} == tested


@pytest.mark.parametrize("system", every(4, REFUTED))
def test_named_counterexample_is_itself_violated(system):
    for claim in claims(system).values():
        if claim.counterexample:
            [found] = check(claim.id, claim.test_instances[claim.counterexample]())
            assert found.verdict == "violated", claim.id


@pytest.mark.parametrize(
    ("system", "least"),
    every(4, [("idn", 20), ("edr", 25), ("oinc", 30), ("tapfinger", 18)], rows=True),
)
def test_what_corrects_a_false_claim_holds_where_that_one_fails(system, least):
    """A correction may be vacuous there, since it assumes more, but never violated."""
    said = 0
    for claim in claims(system).values():
        if claim.counterexample:
            instance = claim.test_instances[claim.counterexample]()
            for id in claim.corrected_by:
                if isinstance(instance, claims(id)[id].instance_type):
                    [found] = check(id, instance)
                    assert found.verdict != "violated", (claim.id, id)
                    said += found.verdict == "holds"
    assert said >= least
