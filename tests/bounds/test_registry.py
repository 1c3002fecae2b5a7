"""Claims by identifier and pattern, from inside and from other packages."""

import json

import pytest
from edgeopt_papers.rescue.claims import instances as named

import edgeopt
from edgeopt import registry
from edgeopt.bounds import Claim, Measurement, Relation, check, claims
from edgeopt.bounds.verdict import Source
from edgeopt.errors import OptionError, PluginWarning
from edgeopt.instances.rescue import tight


class Toy:
    """An instance of another system."""


def outside_claim(id="toy.fact", view=lambda toy: toy):
    return Claim(
        id=id,
        statement="1 = 1",
        source=Source("Nobody", "Remark 1"),
        measure=lambda toy: Measurement(1.0, 1.0),
        relation=Relation.EQUAL,
        instance_type=Toy,
        test_instances={"toy": Toy},
        view=view,
    )


@pytest.fixture
def outside(monkeypatch):
    """Install an entry point that offers the given claims."""

    def install(*offered):
        class Point:
            name, value, group, dist = "toy", "toypackage.claims", "edgeopt.claims", None

            @staticmethod
            def load():
                return offered

        genuine = registry.offered
        added = {Point.group: [Point()]}
        monkeypatch.setattr(registry, "offered", lambda at: [*genuine(at), *added.get(at, [])])

    return install


PAPERS = {
    "rescue": "Huang, Liu, Shan: RESCUE",
    "idn": "Si Salem et al.: Toward Inference",
    "edr": "Zhu, Wei, Wu, Jiao, Dong, Zhang: Scheduling Training-Inference",
    "oinc": "Zeng, Zhou, Jiao, Han, Yu, Ma: Efficient Online DNN Inference",
    "tapfinger": "Li, Zeng, Zhang, Duan, Wu: TapFinger",
}


def test_identifier_glob_system_and_all():
    assert list(claims("rescue.lemma2")) == ["rescue.lemma2"]
    lemma1 = set(claims("rescue.lemma1.*"))
    assert lemma1 == {
        "rescue.lemma1.published",
        "rescue.lemma1.absent",
        "rescue.lemma1.pathwise",
        "rescue.lemma1.expected",
        "rescue.lemma1.relaxation",
    }
    assert set(claims("rescue")) == set(claims("rescue.*"))
    assert set().union(*(claims(system) for system in PAPERS)) == set(claims())
    assert list(claims(["rescue.lemma3", "rescue.lemma2", "rescue.lemma3"])) == [
        "rescue.lemma3",
        "rescue.lemma2",
    ]


def test_every_claim_is_well_formed():
    known = claims()
    for id, claim in known.items():
        assert claim.id == id
        assert claim.statement.strip()
        if id.split(".")[1] not in ("guarantee", "valid_bound"):  # these are of the record
            assert str(claim.source).startswith(PAPERS[id.split(".")[0]])
        assert set(claim.corrected_by) <= set(known), id
        assert bool(claim.corrected_by) == bool(claim.counterexample), id
        if id.endswith(".published"):
            assert claim.counterexample, id


@pytest.mark.parametrize("unknown", ["rescue.theorem9", "rescue.lema1.published", "nothing.*"])
def test_unknown_identifier_is_an_error(unknown):
    with pytest.raises(OptionError, match="unknown"):
        check(unknown)


def test_near_matches_are_named():
    with pytest.raises(OptionError, match=r"did you mean .*rescue\.theorem1"):
        check("rescue.teorem1")


def test_shortest_name_checks_a_theorem_alone():
    [found] = edgeopt.check("rescue.theorem2")
    assert (found.claim, found.verdict) == ("rescue.theorem2", "holds")


def test_instances_give_one_verdict_each_with_their_fingerprints():
    instances = [tight(0.25), named.half_routed()]
    found = check(["rescue.observation1", "rescue.routing"], instances)
    assert [v.claim for v in found] == ["rescue.observation1", "rescue.routing"] * 2
    assert [v.instance for v in found[::2]] == [i.fingerprint() for i in instances]


def test_claims_about_other_instances_are_left_out_but_not_silently_all():
    about = {v.claim for v in check("rescue.*", tight(0.5))}
    assert "rescue.theorem1" in about
    assert "rescue.feasibility.published" in about
    with pytest.raises(OptionError, match="Toy"):
        check("rescue.*", Toy())


def test_another_package_offers_claims(outside):
    outside(outside_claim())
    assert [v.claim for v in check("toy.*")] == ["toy.fact"]
    assert "toy.fact" in claims()
    assert [v.verdict for v in check(instance=Toy())] == ["holds"]


def test_identifiers_are_unique(outside):
    outside(outside_claim("rescue.lemma2"))
    with pytest.warns(PluginWarning, match=r"'toy'.*rescue\.lemma2 is already taken"):
        assert claims("rescue.lemma2")["rescue.lemma2"].source.paper.startswith("Huang")


def test_what_lists_a_claim_twice_is_said(outside):
    outside(outside_claim(), outside_claim())
    with pytest.warns(PluginWarning, match=r"'toy'.*lists the claim toy\.fact twice"):
        assert list(claims("toy.*")) == ["toy.fact"]


def test_two_claims_of_one_name_are_refused(outside):
    one, other = outside_claim(), outside_claim()
    assert len(check([one, one])) == 1
    with pytest.raises(OptionError, match=r"two different claims are called toy\.fact"):
        check([one, other])
    outside(other)
    assert len(check([other, "toy"])) == 1
    for both in ([one, "toy"], ["toy.fact", one]):
        with pytest.raises(OptionError, match=r"two different claims are called toy\.fact"):
            check(both)


def test_view_is_made_once_per_instance():
    made = []

    def view(toy):
        made.append(toy)
        return toy

    pair = [outside_claim("toy.a", view), outside_claim("toy.b", view)]
    check(pair, [Toy(), Toy()])
    assert len(made) == 2
    assert made[0] is not made[1]


def test_options_reach_the_claims_that_take_them():
    seen = []

    def view(toy, scale=1):
        seen.append(scale)
        return toy

    check([outside_claim("toy.a", view), outside_claim("toy.b")], Toy(), scale=3)
    assert seen == [3]
    with pytest.raises(OptionError, match="these claims take scale"):
        check(outside_claim("toy.a", view), Toy(), shape=3)
    with pytest.raises(OptionError, match="none is given"):
        check("rescue.lemma2", plan=3)


def test_empty_list_of_claims_is_refused():
    with pytest.raises(OptionError, match="nothing to check"):
        check([])


def test_verdicts_of_all_claims_are_plain_json():
    keys = {"id", "source", "verdict", "measured", "guaranteed", "slack", "factor"}
    for found in check("rescue.theorem*"):
        plain = found.as_dict()
        assert set(plain) == keys
        json.dumps(plain, allow_nan=False)


def test_a_record_whose_promises_are_broken_is_left_out(monkeypatch) -> None:
    from edgeopt.bounds import registry as known

    genuine = known._promised

    def promised(point):
        if point.name == "rescue":
            raise OptionError("rescue: promises what it cannot")
        return genuine(point)

    monkeypatch.setattr(known, "_promised", promised)
    with pytest.warns(PluginWarning, match="promises what it cannot"):
        found = set(claims())
    assert "idn.valid_bound.moving" in found
    assert not [one for one in found if one.startswith("rescue.valid_bound")]
