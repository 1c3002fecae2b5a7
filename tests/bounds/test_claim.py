"""The verdict logic on claims made up for the purpose."""

import json
import math
import re

import pytest

from edgeopt.bounds import Assumption, Claim, Finding, Measurement, NotApplicableError, Relation
from edgeopt.bounds.claim import worst
from edgeopt.bounds.verdict import Source, worst_verdict
from edgeopt.errors import EdgeOptError, OptionError

SOURCE = Source("Someone: Something", "Theorem 7")


def claim_about(value, relation=Relation.AT_LEAST, guaranteed=1.0, **rest):
    """Build a claim on numbers: the instance itself is what is measured."""
    fields = {
        "id": "made.up",
        "statement": "x",
        "source": SOURCE,
        "measure": lambda x: Measurement(x, guaranteed, {"x": x}),
        "relation": relation,
        "instance_type": float,
        "test_instances": {"one": lambda: value},
    }
    return Claim(**(fields | rest))


@pytest.mark.parametrize(
    ("relation", "value", "verdict", "slack"),
    [
        (Relation.AT_LEAST, 1.5, "holds", 0.5),
        (Relation.AT_LEAST, 0.75, "violated", -0.25),
        (Relation.AT_MOST, 0.75, "holds", 0.25),
        (Relation.AT_MOST, 1.5, "violated", -0.5),
        (Relation.EQUAL, 1.0, "holds", 0.0),
        (Relation.EQUAL, 1.25, "violated", -0.25),
        (Relation.EQUAL, 0.75, "violated", -0.25),
        (Relation.AT_LEAST, -math.inf, "violated", -math.inf),
    ],
)
def test_relation_decides(relation, value, verdict, slack):
    found = claim_about(value, relation).check(value)
    assert found.verdict == verdict
    assert found.slack == slack
    assert (found.measured, found.guaranteed) == (value, 1.0)
    assert found.certificate == {"x": value}


@pytest.mark.parametrize("guaranteed", [100.0, 1.0, 2.0**-40, 2.0**40])
def test_tolerance_is_a_share_of_the_numbers_whatever_their_unit(guaranteed):
    claim = claim_about(0.0, guaranteed=guaranteed, tolerance=1e-3)
    assert claim.check(guaranteed * (1 - 0.99e-3)).verdict is Finding.HOLDS
    assert claim.check(guaranteed * (1 - 1.01e-3)).verdict is Finding.VIOLATED


@pytest.mark.parametrize("unit", [2.0**-40, 1.0, 2.0**40])
def test_difference_is_compared_with_0_to_a_share_of_the_size_that_it_states(unit):
    def differ(x, size=100.0):
        return Measurement(x, 0.0, size=size * unit)

    claim = claim_about(0.0, measure=differ, tolerance=1e-3)
    assert claim.check(-0.099 * unit).verdict is Finding.HOLDS
    assert claim.check(-0.101 * unit).verdict is Finding.VIOLATED
    silent = claim_about(0.0, guaranteed=0.0, tolerance=1e-3)
    assert silent.check(-1e-300).verdict is Finding.VIOLATED
    assert silent.check(0.0).verdict is Finding.HOLDS


def test_tolerance_of_nothing_allows_not_even_rounding():
    claim = claim_about(0.0, guaranteed=1.0, tolerance=0.0)
    assert claim.check(1.0 - 2.0**-53).verdict is Finding.VIOLATED


def test_rounding_is_allowed_beyond_a_tolerance_below_it():
    claim = claim_about(0.0, guaranteed=1.0, tolerance=1e-20)
    assert claim.check(1.0 - 100 * 2.0**-52).verdict is Finding.HOLDS
    assert claim.check(1.0 - 200 * 2.0**-52).verdict is Finding.VIOLATED


def test_failing_assumption_makes_it_vacuous_without_measuring():
    positive = Assumption("positive", "x > 0", lambda x: x > 0)

    def explode(x):
        raise AssertionError("measured all the same")

    claim = claim_about(1.0, measure=explode, assumptions=(positive,))
    found = claim.check(-1.0)
    assert found.verdict is Finding.VACUOUS
    assert found.reason == "assumption fails: positive"
    assert math.isnan(found.measured)


def test_measurement_that_cannot_be_made_is_vacuous():
    def refuse(x):
        raise NotApplicableError("too large for exact enumeration")

    found = claim_about(1.0, measure=refuse).check(1.0)
    assert found.verdict is Finding.VACUOUS
    assert found.reason == "too large for exact enumeration"


@pytest.mark.parametrize("several", [list, iter])
def test_of_several_measurements_that_of_least_slack_counts(several):
    claim = claim_about(
        0.0, measure=lambda x: several([Measurement(g, 1.0) for g in (3.0, x, 2.0)])
    )
    assert claim.check(1.5).measured == 1.5
    assert claim.check(2.5).measured == 2.0
    nothing = claim_about(0.0, measure=lambda x: several([])).check(1.0)
    assert nothing.reason.startswith("there is nothing to compare")


def test_nan_is_an_error_not_a_verdict():
    with pytest.raises(EdgeOptError, match="claim made"):
        claim_about(1.0).check(math.nan)


def test_worst_test_instance_is_reported():
    test_instances = {
        "good": lambda: 3.0,
        "bad": lambda: 0.5,
        "worse": lambda: 0.25,
        "fine": lambda: 1.0,
    }
    found = claim_about(0.0, test_instances=test_instances).check()
    assert (found.instance, found.verdict, found.measured) == ("worse", "violated", 0.25)
    assert "4 named instances" in found.reason


def test_verdict_is_vacuous_only_if_it_is_on_all_test_instances():
    positive = Assumption("positive", "x > 0", lambda x: x > 0)
    mixed = {"out": lambda: -1.0, "in": lambda: 2.0}
    claim = claim_about(0.0, test_instances=mixed, assumptions=(positive,))
    assert claim.check().instance == "in"
    assert "1 of them vacuous" in claim.check().reason
    out = claim_about(
        0.0, test_instances={"a": lambda: -1.0, "b": lambda: -2.0}, assumptions=(positive,)
    )
    assert out.check().verdict is Finding.VACUOUS


def test_verdict_is_plain_json():
    found = claim_about(2.0).check(2.0).as_dict()
    assert json.loads(json.dumps(found, allow_nan=False)) == {
        "id": "made.up",
        "source": "Someone: Something, Theorem 7",
        "verdict": "holds",
        "measured": 2.0,
        "guaranteed": 1.0,
        "slack": 1.0,
        "factor": 2.0,
    }


@pytest.mark.parametrize(
    ("measured", "relation", "slack"),
    [
        (math.inf, Relation.AT_LEAST, math.inf),
        (math.inf, Relation.AT_MOST, -math.inf),
        (-math.inf, Relation.AT_MOST, math.inf),
        (-math.inf, Relation.AT_LEAST, -math.inf),
        (math.inf, Relation.EQUAL, -math.inf),
    ],
)
def test_infinite_numbers_are_words_in_json_that_read_back(measured, relation, slack):
    verdict = claim_about(1.0, relation, 31.0).check(measured)
    assert verdict.slack == slack
    assert (verdict.verdict is Finding.HOLDS) == (slack > 0)
    found = json.loads(json.dumps(verdict.as_dict(), allow_nan=False))
    assert (float(found["measured"]), float(found["slack"])) == (measured, slack)
    assert found["guaranteed"] == 31.0


def test_numbers_that_do_not_exist_are_null_in_json():
    silent = claim_about(1.0, assumptions=(Assumption("no", "never", lambda _: False),)).check(1.0)
    found = json.loads(json.dumps(silent.as_dict(), allow_nan=False))
    assert (found["measured"], found["guaranteed"], found["slack"]) == (None, None, None)


def test_wrong_type_instances_or_options_are_refused():
    with pytest.raises(OptionError, match="str"):
        claim_about(1.0).check("text")
    with pytest.raises(OptionError, match="at least one"):
        claim_about(1.0, test_instances={})
    with pytest.raises(OptionError, match="nowhere"):
        claim_about(1.0, counterexample="nowhere")
    with pytest.raises(OptionError, match="plan"):
        claim_about(1.0).check(plan=3)


def test_relative_slack_is_a_share_of_the_numbers_compared():
    # Of 1 against 2 half is left, of 90 against 100 a tenth, though that is ten times as much.
    found = [claim_about(m, Relation.AT_MOST, g).check(m) for m, g in [(1.0, 2.0), (90.0, 100.0)]]
    assert [one.relative_slack for one in found] == [0.5, 0.1]
    assert worst_verdict(found) is found[1]
    # So it is of broken ones: a tenth beyond 10 is worse than a hundredth beyond 1,000.
    broken = [claim_about(m, Relation.AT_MOST, g).check(m) for m, g in [(11.0, 10.0), (1e3, 990.0)]]
    assert worst_verdict(broken) is broken[0]


def test_comparing_nothing_with_nothing_is_not_tight():
    nothing = claim_about(0.0, guaranteed=0.0).check(0.0)
    rounding = claim_about(3.0 - 1e-12, guaranteed=3.0).check(3.0 - 1e-12)
    assert worst_verdict([nothing, rounding]) is rounding
    assert (nothing.relative_slack, rounding.relative_slack) == (math.inf, 0.0)
    # What rounding leaves of large terms is nothing, too.
    left = claim_about(1.0, measure=lambda _: Measurement(0.0, 1e-14, size=100.0)).check(1.0)
    assert (left.guaranteed, left.slack, left.relative_slack) == (0.0, 0.0, math.inf)
    # Where no instance guarantees more than nothing, nothing is tight.
    loose = claim_about(2.0, guaranteed=0.0).check(2.0)
    assert worst_verdict([loose, nothing]) is nothing


def test_rounding_does_not_choose_between_measurements():
    def least(tolerance, *measured):
        several = [Measurement(one, one + left) for one, left in measured]
        return worst(Relation.AT_MOST, several, tolerance).measured

    assert least(1e-9, (3.0, 0.0), (5.0, -1e-15)) == 3.0
    assert least(1e-9, (3.0, 0.0), (5.0, -1e-8)) == 5.0
    assert least(0.0, (3.0, 0.0), (5.0, -1e-15)) == 5.0
    assert least(1e-9, (3.0, math.inf), (5.0, math.inf)) == 3.0


def test_violated_comes_before_tight_and_vacuous_last():
    silent = claim_about(1.0, assumptions=(Assumption("no", "never", lambda _: False),)).check(1.0)
    tight, broken = claim_about(1.0).check(1.0), claim_about(0.9).check(0.9)
    assert worst_verdict([silent, tight, broken]) is broken
    assert worst_verdict([silent, tight]) is tight
    assert worst_verdict([silent]) is silent
    barely = claim_about(1.0 - 1e-12, tolerance=0.0).check(1.0 - 1e-12)
    assert worst_verdict([tight, barely]) is barely


@pytest.mark.parametrize(
    ("measure", "said"),
    [
        (lambda x: x, "claim made.up: its measure returned a float; it must return Measurement(m"),
        (lambda x: None, "claim made.up: its measure returned a NoneType; it must return Meas"),
        (lambda x: (x, 1.0), "claim made.up: its measure returned a tuple; it must return Meas"),
        (lambda x: Measurement([x], 1.0), "Measurement.measured = [0.5]: must be a number"),
        (lambda x: Measurement(x, "1"), "Measurement.guaranteed = '1': must be a number"),
    ],
)
def test_a_measure_returns_a_measurement(measure, said):
    with pytest.raises(OptionError, match=re.escape(said)):
        claim_about(0.5, measure=measure).check()


def test_errors_of_a_measure_of_its_own_pass_with_a_note():
    with pytest.raises(ZeroDivisionError) as own:
        claim_about(0.5, measure=lambda x: 1 / 0).check()
    assert own.value.__notes__ == ["in the measurement of claim made.up on one"]


def test_an_assumption_tells_true_or_false():
    odd = Assumption("odd", "x is odd", lambda x: None)
    with pytest.raises(OptionError, match="the assumption 'odd' must tell True or False, not a No"):
        claim_about(0.5, assumptions=(odd,)).check()


@pytest.mark.parametrize(
    ("relation", "measured", "guaranteed", "size", "factor"),
    [
        (Relation.AT_MOST, 2.0, 6.0, 0.0, 3.0),
        (Relation.AT_LEAST, 6.0, 2.0, 0.0, 3.0),
        (Relation.AT_MOST, -6.0, -2.0, 0.0, 3.0),
        (Relation.AT_LEAST, -2.0, -6.0, 0.0, 3.0),
        (Relation.AT_MOST, 6.0, 6.0, 0.0, 1.0),
        (Relation.EQUAL, 6.0, 6.0, 0.0, 1.0),
        # No positive factor brings a guarantee across 0.
        (Relation.AT_MOST, -1.0, 6.0, 0.0, math.inf),
        (Relation.AT_LEAST, 1.0, -6.0, 0.0, math.inf),
        (Relation.AT_LEAST, math.inf, 1.0, 0.0, math.inf),
        # 7 of at most 10 are used: a difference that is compared with 0 says of what.
        (Relation.AT_MOST, 7.0 - 10.0, 0.0, 10.0, 10 / 7),
        (Relation.AT_MOST, -3.0, 0.0, 0.0, math.inf),
        (Relation.AT_MOST, 0.0, 0.0, 10.0, 1.0),
    ],
)
def test_factor_is_by_how_much_a_guarantee_could_be_stronger(
    relation, measured, guaranteed, size, factor
):
    one = Measurement(measured, guaranteed, size=size)
    found = claim_about(1.0, relation, measure=lambda _: one).check(1.0)
    assert found.verdict is Finding.HOLDS
    assert found.factor == pytest.approx(factor)
    if 1.0 < factor < math.inf and guaranteed != 0.0:
        for strength, verdict in [(0.999, Finding.HOLDS), (1.001, Finding.VIOLATED)]:
            larger = (relation is Relation.AT_LEAST) == (guaranteed > 0)
            change = factor * strength if larger else 1 / (factor * strength)
            changed = Measurement(measured, guaranteed * change)
            again = claim_about(1.0, relation, measure=lambda _, one=changed: one)
            assert again.check(1.0).verdict is verdict


def test_a_claim_that_no_factor_of_2_breaks_is_not_shown_as_holding():
    def over(*values, relation=Relation.AT_LEAST):
        named = {str(value): lambda value=value: value for value in values}
        return claim_about(0.0, relation, test_instances=named).check()

    tight = over(9.0, 2.0)
    assert (tight.verdict, tight.words, tight.factor) == (Finding.HOLDS, "holds", 2.0)
    loose = over(9.0, 2.5)
    assert (loose.verdict, loose.words) == (Finding.LOOSE, "loose, 2.5 times")
    assert (loose.instance, loose.slack) == ("2.5", 1.5)
    assert loose.reason.endswith("could be 2.5 times as strong on all instances checked")
    endless = over(-1.0, -5.0, relation=Relation.AT_MOST)
    assert (endless.verdict, endless.words) == (Finding.LOOSE, "cannot fail here")
    assert (over(9.0, 0.5).verdict, over(9.0, 0.5).factor) == (Finding.VIOLATED, 1.0)
    # Of one instance it is not said: others may be tight.
    assert claim_about(9.0).check(9.0).verdict is Finding.HOLDS


def test_room_is_the_least_of_all_that_is_measured_on_an_instance():
    """The least slack is that of 1 against 3, the least factor that of 90 against 100."""
    several = [Measurement(1.0, 3.0), Measurement(90.0, 100.0), Measurement(0.0, 0.0)]
    found = claim_about(1.0, Relation.AT_MOST, measure=lambda _: several).check(1.0)
    assert found.factor == pytest.approx(10 / 9)
