"""Verdicts that are kept with the package, and proven anew."""

from __future__ import annotations

import json
import math
from itertools import chain

import pytest
from edgeopt_papers import derived, provenance
from edgeopt_papers.claims import stored, stored_verdicts

from edgeopt.bounds import Finding, Relation, check, claims
from edgeopt.bounds.claim import instance_label
from tests.draws import LEAN
from tests.test_fingerprints import KEPT

SYSTEMS = ("rescue", "idn", "oinc", "edr", "tapfinger")


@pytest.mark.parametrize("system", SYSTEMS)
def test_kept_verdicts_are_those_of_this_code(system):
    """In a lean run of every twentieth claim."""
    kept, known = stored_verdicts(system), claims(system)
    assert kept is not None
    written = json.loads(KEPT.read_text(encoding="utf-8"))[system].values()
    assert list(kept.verdicts) == list(known) == list(kept.fingerprints)
    for found in check(list(known)[:: 20 if LEAN else 1]):
        old = kept.verdicts[found.claim]
        assert (old.verdict, old.source) == (found.verdict, found.source)
        # Processors round differently, and a residual is nothing but rounding.
        # An identity is compared at several points, of which any may be the worst.
        same = known[found.claim].relation is Relation.EQUAL and found.verdict is Finding.HOLDS
        for number in ("slack",) if same else ("measured", "guaranteed", "slack", "factor"):
            pair = getattr(old, number), getattr(found, number)
            close = math.isclose(*pair, rel_tol=1e-6, abs_tol=1e-9)
            assert close or all(map(math.isnan, pair)), (found.claim, number, *pair)
        build = known[found.claim].test_instances[old.instance]
        here = instance_label(build())
        # Drawn data are the same on one kind of processor only.
        elsewhere = [prints.get(f"named {old.instance}", []) for prints in written]
        assert kept.fingerprints[found.claim] in {here, *chain(*elsewhere)}
        assert bool(here) == bool(kept.fingerprints[found.claim])


def test_verdicts_of_another_format_are_none(monkeypatch, tmp_path):
    content = json.loads((stored.FOLDER / "rescue.json").read_text(encoding="utf-8"))
    monkeypatch.setattr(stored, "FOLDER", tmp_path)
    file = tmp_path / "rescue.json"
    for change in ({}, {"format": 0}):
        stored._read.cache_clear()
        file.write_text(json.dumps(content | change), encoding="utf-8")
        assert (stored_verdicts("rescue") is None) == bool(change)
    file.unlink()
    stored._read.cache_clear()
    assert stored_verdicts("rescue") is None
    assert stored_verdicts("rescue.theorem2") is None
    stored._read.cache_clear()


def test_what_is_written_is_what_is_found(monkeypatch, tmp_path, capsys):
    one = {"rescue": stored.claim_points()["rescue"]}
    few = {name: claims("rescue")[name] for name in list(claims("rescue"))[:3]}
    monkeypatch.setattr(stored, "FOLDER", tmp_path)
    monkeypatch.setattr(stored, "claim_points", lambda: one)
    monkeypatch.setattr(stored, "claims", lambda _: few)
    monkeypatch.setattr(stored, "check", lambda _: check(few.values()))
    stored._read.cache_clear()
    assert derived.main(["verdicts"]) == 0
    assert capsys.readouterr().out.startswith("verdicts, rescue: 2 differences\n")
    kept = stored_verdicts("rescue")
    assert kept is not None
    assert kept.stamp == provenance.stamp()
    for found in check(few.values()):
        old = kept.verdicts[found.claim]
        assert (old.verdict, old.instance, old.reason) == (
            found.verdict, found.instance, found.reason
        )  # fmt: skip
        assert (old.measured, old.guaranteed) == (found.measured, found.guaranteed)
    stored._read.cache_clear()
