"""Words of claims and errata: all of them are of one, in the order of the table."""

import importlib

import pytest
from edgeopt_papers.claims import errata
from edgeopt_papers.claims.paper import collected
from edgeopt_papers.idn.claims.evaluation import claim
from edgeopt_papers.tapfinger.claims import conflicts, program

from edgeopt.errors import OptionError

SYSTEMS = ("rescue", "idn", "oinc", "edr", "tapfinger")


@pytest.mark.parametrize("system", SYSTEMS)
def test_all_words_are_of_a_claim_or_an_erratum(system):
    package = importlib.import_module(f"edgeopt_papers.{system}.claims")
    paper = importlib.import_module(f"edgeopt_papers.{system}.claims.evaluation").claim.__self__
    title, *names = paper.statements
    assert title == "paper"
    assert [f"{system}.{name}" for name in names] == [one.id for one in package.CLAIMS]
    assert [f"{system}.{name}" for name in paper.errata] == list(errata(system))
    for one in package.CLAIMS:
        assert one.source.paper == paper.statements["paper"]
        assert "\n" not in one.statement
        assert "  " not in one.statement


def test_a_claim_or_an_instance_that_is_listed_twice_is_refused():
    assert collected(program.CLAIMS, conflicts.CLAIMS) == (*program.CLAIMS, *conflicts.CLAIMS)
    with pytest.raises(OptionError, match=rf"claim {program.CLAIMS[0].id} is listed twice"):
        collected(program.CLAIMS, conflicts.CLAIMS, program.CLAIMS)
    builder, other = list, dict
    with pytest.raises(OptionError, match=r"useful\.gain: two named instances are called here"):
        claim("useful.gain", len, ({"here": builder}, {"here": other}))
    assert len(claim("useful.gain", len, ({"here": builder}, {"here": builder})).test_instances)
