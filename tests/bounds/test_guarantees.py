"""What records promise: kept by all systems, and found broken where it is."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from edgeopt import registry
from edgeopt.bounds import check, claims
from edgeopt.bounds.guarantees import guarantees
from edgeopt.bounds.registry import offered
from edgeopt.bounds.verdict import Finding
from edgeopt.cli.main import run
from edgeopt.studies import find_system
from tests.draws import some
from tests.studies.stopping import SYSTEM

SYSTEMS = ("rescue", "idn", "oinc", "edr", "tapfinger")


@pytest.mark.parametrize("system", some(SYSTEMS, "rescue", "edr"))
def test_every_system_keeps_what_its_record_promises(system: str) -> None:
    record = find_system(system)
    found = check(guarantees(record))
    assert {one.verdict for one in found} == {Finding.HOLDS}
    bounds = {
        name
        for name, bound in record.offline.bounds.items()
        if all(one.measure or one.declared for one in bound.checks)
    }
    assert {one.claim for one in found} >= {f"{system}.valid_bound.{name}" for name in bounds}


def test_they_are_claims_like_others() -> None:
    known = claims("rescue.guarantee.*")
    assert list(known) == ["rescue.guarantee.rescue", "rescue.guarantee.rescueplus"]
    assert known["rescue.guarantee.rescue"] is claims("rescue")["rescue.guarantee.rescue"]
    assert not set(known) & {claim.id for claim in offered("rescue")}


def lowered(record, name, share):
    """Return a record with a bound that is smaller than it should be."""
    entry = record.offline.bounds[name]

    def compute(instance):
        found = entry.compute(instance)
        return replace(found, bound=share * found.bound)

    bounds = {**record.offline.bounds, name: replace(entry, compute=compute)}
    return replace(record, offline=replace(record.offline, bounds=bounds))


def test_a_bound_that_a_policy_passes_is_found() -> None:
    record = lowered(find_system("rescue"), "safe", 0.99)
    broken = [one for one in check(guarantees(record)) if one.verdict is Finding.VIOLATED]
    [found] = broken
    assert found.claim == "rescue.valid_bound.safe"
    # `offers` earns the whole bound of this instance.
    assert found.measured == pytest.approx(found.certificate["bound"] / 0.99)


def promising(record, share):
    """Return a record whose first policy promises a share of the reference bound."""
    first, *others = record.policies.entries
    entries = (replace(first, guarantee=share), *others)
    return replace(record, policies=replace(record.policies, entries=entries))


def test_a_guarantee_that_a_policy_misses_is_found_by_the_interval_of_its_mean() -> None:
    name = SYSTEM.policies.entries[0].name
    verdicts = {}
    for share in (0.6, 1.0):
        [kept, *_] = guarantees(promising(SYSTEM, share))
        assert kept.id == f"stopping.guarantee.{name}"
        verdicts[share] = check(kept)[0]
    assert [one.verdict for one in verdicts.values()] == [Finding.HOLDS, Finding.VIOLATED]
    # The upper end of the interval counts: means of 200 runs are not the expectation.
    instance = next(iter(SYSTEM.instances.sources.values())).make()
    environment = SYSTEM.policies.environment(instance)
    from edgeopt import simulate

    policy = SYSTEM.policies.entries[0].make(instance, {})
    runs = simulate(environment, policy, runs=SYSTEM.policies.runs).total
    error = runs.std(ddof=1) / np.sqrt(runs.size)
    [kept, *_] = guarantees(promising(SYSTEM, 0.2))
    assert kept.view(instance).compared(
        SYSTEM.policies.entries[0], SYSTEM.offline.reference, 0.2, toward_bound=True
    ).measured == pytest.approx(runs.mean() + 3.3 * error, rel=0.02)


def test_costs_are_bounded_from_below(monkeypatch: pytest.MonkeyPatch) -> None:
    source = Path(__file__).parents[2] / "examples" / "sixth_system" / "src"
    monkeypatch.syspath_prepend(source)
    from sixth_system.record import SYSTEM as SIXTH

    kept, bound = check(guarantees(SIXTH))
    assert (kept.claim, bound.claim) == ("sixth.guarantee.balance", "sixth.valid_bound.opt")
    assert kept.measured <= kept.guaranteed
    assert bound.measured >= bound.guaranteed
    [broken] = [
        one
        for one in check(guarantees(lowered(SIXTH, "opt", 1.5)))
        if one.verdict is Finding.VIOLATED
    ]
    assert broken.claim == "sixth.valid_bound.opt"
    for name in [name for name in sys.modules if name.startswith("sixth_system")]:
        monkeypatch.delitem(sys.modules, name)


def test_the_program_shows_them_where_no_package_has_claims(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(registry, "offered", lambda group: [])
    assert run(["check", "rescue"]) == 0
    said = capsys.readouterr().out
    assert "guarantee.rescueplus" in said
    assert "valid_bound.safe" in said
    assert "theorem1" not in said
