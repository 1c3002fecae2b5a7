"""Words of claims and errata: all of them are of one, in the order of the table."""

import importlib

import pytest
from edgeopt_papers.claims import errata

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
