"""False claims of every system that says what corrects them."""

import pytest

from edgeopt.bounds import check, claims


@pytest.mark.parametrize("system", ["rescue", "idn", "edr", "oinc", "tapfinger"])
def test_named_counterexample_is_itself_violated(system):
    for claim in claims(system).values():
        if claim.counterexample:
            [found] = check(claim.id, claim.test_instances[claim.counterexample]())
            assert found.verdict == "violated", claim.id


@pytest.mark.parametrize(
    ("system", "least"), [("idn", 20), ("edr", 25), ("oinc", 30), ("tapfinger", 18)]
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
