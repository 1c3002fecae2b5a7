"""The entries are complete, agree with each other, and name the data that they say."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from itertools import product

import pytest

from edgeopt import checker, collection
from edgeopt.collection.certification import is_program_of
from edgeopt.collection.entries import (
    CLOSED,
    FILE,
    LARGEST,
    OPTIMAL,
    PARTS,
    Entry,
    Offline,
    Online,
    certificate_of,
    copy_of,
    made,
    read,
    row_of,
    stored,
)
from edgeopt.collection.jobs import published, scenarios_of
from edgeopt.collection.make import SCOREBOARD, policies_of
from edgeopt.collection.optima import ENUMERATED, solved
from edgeopt.errors import CertificateError, CollectionError, OptionError
from edgeopt.solvers.certificates import completed
from edgeopt.solvers.tolerance import relative_gap
from edgeopt.studies import find_system
from tests.draws import LEAN, every

ROWS = read()["entries"]
NAMES = [row["name"] for row in ROWS]
SYSTEMS = ("rescue", "idn", "oinc", "edr", "tapfinger")
KINDS, SIZES = ("paper", "real", "tight", "odd"), ("s", "m", "l")
SCHEMA = {
    "name": str, "system": str, "kind": str, "size": str, "generator": str, "options": dict,
    "rng": int, "digits": int, "fingerprint": str, "dimensions": dict, "goal": str,
    "offline": dict, "online": dict, "source": str, "licence": str,
}  # fmt: skip
OFFLINE = {
    "problem": str, "best": float, "bound": float, "status": str, "method": str,
    "certificate": dict, "by": str, "date": str, "version": str,
}  # fmt: skip
ONLINE = {
    "best": float, "se": float, "policy": str, "bound": (float, type(None)), "bounds": str,
    "scenarios": int, "by": str, "date": str,
}  # fmt: skip
rows = pytest.mark.parametrize("row", ROWS, ids=NAMES)


def has(found: dict, schema: dict) -> bool:
    return list(found) == list(schema) and all(
        isinstance(found[name], kind) for name, kind in schema.items()
    )


@rows
def test_entry_has_the_schema(row) -> None:
    assert has(row, SCHEMA)
    assert has(row["offline"], OFFLINE)
    assert has(row["online"], ONLINE)
    assert row["goal"] == find_system(row["system"]).objective.sense
    assert row["generator"].startswith(f"edgeopt.instances.{row['system']}:")
    assert re.fullmatch("[0-9a-f]{64}", row["fingerprint"])
    certificate = row["offline"]["certificate"]
    assert list(certificate) in (["none"], ["kind", "sha256"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", row["offline"]["date"])
    assert row["source"]
    assert row["licence"]


def test_every_system_has_every_kind_in_every_size() -> None:
    found = [(row["system"], row["kind"], row["size"]) for row in ROWS]
    assert sorted(found) == sorted(product(SYSTEMS, KINDS, SIZES))
    assert len(set(NAMES)) == 60
    assert len({row["fingerprint"] for row in ROWS}) == 60
    assert collection.names() == tuple(NAMES)
    chosen = collection.names("idn", "odd", "m")
    assert chosen == ("idn-odd-v36-r15",)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
def test_instance_is_drawn_as_it_is_named(row) -> None:
    """Under every version of NumPy and with every kind of vector code: see variations."""
    instance = made(row)
    assert instance is not None
    assert instance.fingerprint() == row["fingerprint"]
    assert instance.rounded(row["digits"]) is instance
    parts = PARTS[row["system"]](instance)
    assert parts == row["dimensions"]
    dimensions = "-".join(f"{letter}{number}" for letter, number in parts.items())
    assert row["name"] == f"{row['system']}-{row['kind']}-{dimensions}"


def test_small_instances_have_copies_of_the_same_data() -> None:
    total = 0
    for row in ROWS[:: 5 if LEAN else 1]:
        place = copy_of(row)
        if not place.exists():
            assert row["size"] == "l"
            continue
        total += place.stat().st_size
        assert place.stat().st_size <= LARGEST
        assert stored(row).fingerprint() == row["fingerprint"]
    assert total <= 2_000_000


def test_a_copy_is_read_where_others_are_drawn(monkeypatch) -> None:
    from edgeopt.collection import entries as loading

    name, other = "tapfinger-odd-c1-n7", "edr-real-i40-f96"
    by_name = {row["name"]: row for row in ROWS}
    wrong = made(by_name["tapfinger-paper-c2-n6"])
    monkeypatch.setattr(loading, "drawn", lambda _: wrong)
    assert collection.load(name).fingerprint() == by_name[name]["fingerprint"]
    says = rf"{other}: drawn data have fingerprint .* instead of .*; this processor or NumPy"
    with pytest.raises(CollectionError, match=says):
        collection.load(other)
    monkeypatch.setattr(loading, "stored", lambda _: wrong)
    with pytest.raises(CollectionError, match="install edgeopt anew"):
        collection.load(name)


@rows
def test_values_are_on_their_side_of_the_bound_and_status_follows(row) -> None:
    offline, online = row["offline"], row["online"]
    sign = 1.0 if row["goal"] == "max" else -1.0
    size = max(abs(offline["best"]), abs(offline["bound"]))
    assert sign * (offline["bound"] - offline["best"]) >= -1e-12 * size
    gap = relative_gap(offline["best"], offline["bound"])
    proven = "sha256" in offline["certificate"]
    confirmed = ";" in offline["method"] or ENUMERATED in offline["method"]
    wanted = {
        "optimal": gap <= OPTIMAL and proven,
        "optimal-solver": gap <= OPTIMAL and confirmed,
        "closed": gap <= CLOSED,
        "open": gap > CLOSED,
    }  # fmt: skip
    assert wanted[offline["status"]]
    if online["bound"] is not None:
        over = sign * (online["best"] - online["bound"])
        assert over <= 4 * online["se"] + 1e-6 * abs(online["bound"])


def test_sizes_are_what_they_say() -> None:
    for row in ROWS:
        gap = relative_gap(row["offline"]["best"], row["offline"]["bound"])
        if row["size"] == "s":
            assert row["offline"]["status"] in ("optimal", "optimal-solver")
        if row["size"] == "m":
            assert gap <= 1e-4 or row["system"] == "oinc"


def test_half_of_all_bounds_have_certificates_and_those_here_are_accepted() -> None:
    certified = [row for row in ROWS if "sha256" in row["offline"]["certificate"]]
    assert len(certified) >= 30
    here = [row for row in certified if certificate_of(row).exists()]
    assert len(here) >= len(certified) - 1
    largest = {"rescue-paper-k7-t400", "rescue-odd-k5-t250", "rescue-real-k6-t300"}
    for row in here[:: 4 if LEAN else 1]:
        if LEAN and row["name"] in largest:
            continue
        proof = collection.certificate(row["name"])
        _, bound, _ = checker.examine(proof.content, proof.data)
        assert relative_gap(float(bound), row["offline"]["bound"]) <= OPTIMAL
        assert proof.about["instance"] == row["fingerprint"]
        file = certificate_of(row).read_bytes()
        assert hashlib.sha256(file).hexdigest() == row["offline"]["certificate"]["sha256"]


@pytest.mark.parametrize("system", every(2, SYSTEMS))
def test_programs_of_certificates_are_those_of_their_instances(system) -> None:
    for name in collection.names(system=system, size="s"):
        if certificate_of(row_of(name)).exists():
            proof, instance = collection.certificate(name), collection.load(name)
            assert is_program_of(proof.kind, proof.data, system, instance)
            other = next(one for one in collection.names(system=system) if one != name)
            assert not is_program_of(proof.kind, proof.data, system, collection.load(other))


def test_a_large_certificate_is_completed_by_its_instance(tmp_path) -> None:
    name = "rescue-odd-k3-t110"
    kept = json.loads(gzip.decompress(certificate_of(row_of(name)).read_bytes()))
    assert "data" not in kept
    proof = collection.certificate(name)
    file = proof.save(tmp_path / "one.json.gz")
    assert checker.main([str(file)]) == 0
    # Prices of another instance prove less, or nothing.
    other = collection.certificate("rescue-odd-k1-t50")
    with pytest.raises(CertificateError):
        completed(kept, other.data)
    for missing in ("idn-odd-v36-r48", "oinc-odd-n1-t30"):
        with pytest.raises(CertificateError, match=f"{missing}: the package has no certificate"):
            collection.certificate(missing)


@pytest.mark.filterwarnings("ignore::edgeopt.errors.ScalingWarning")
@pytest.mark.parametrize("name", every(3, (row["name"] for row in ROWS if row["size"] == "s")))
def test_small_optima_are_found_again(name) -> None:
    row = next(row for row in ROWS if row["name"] == name)
    solver = {"rescue": "scipy", "idn": "scipy", "edr": "scipy", "tapfinger": "scip"}
    found = solved(
        row["system"], collection.load(name), solver.get(row["system"], "auto"), 1e-6, 60.0
    )
    assert found.value == pytest.approx(row["offline"]["best"], rel=2e-6)


def test_scoreboard_has_every_policy_on_every_instance() -> None:
    scores = json.loads(SCOREBOARD.read_text())["policies"]
    found = {(one["instance"], one["policy"]) for one in scores}
    assert found == {(row["name"], policy) for row in ROWS for policy in policies_of(row)}
    best = {(row["name"], row["online"]["policy"]): row["online"]["best"] for row in ROWS}
    for one in scores:
        if (key := (one["instance"], one["policy"])) in best:
            assert one["mean"] == best[key]
    for system in SYSTEMS:
        entries = published(find_system(system))
        assert entries
        assert all(entry.causal for entry in entries)


def test_reading_entries() -> None:
    one = collection.entry(NAMES[0])
    assert isinstance(one, Entry)
    assert isinstance(one.offline, Offline)
    assert isinstance(one.online, Online)
    assert collection.best(NAMES[0]) == one.offline.best
    table = collection.table()
    assert len(table) == 60
    assert {"name", "offline_best", "offline_gap", "online_policy"} <= set(table.columns)
    assert table.set_index("name").loc[NAMES[5], "fingerprint"] == ROWS[5]["fingerprint"]
    for how in ({"system": "rescu"}, {"kind": "papers"}, {"size": "xl"}):
        with pytest.raises(OptionError, match=next(iter(how))):
            collection.names(**how)
    for call in (collection.entry, collection.best, collection.load):
        with pytest.raises(OptionError, match="did you mean rescue-paper-k2-t30"):
            call("rescue-paper-k2-t3")


def test_scenarios_depend_on_edition_and_data_alone() -> None:
    assert scenarios_of("a") == scenarios_of("a") != scenarios_of("b")
    assert len({scenarios_of(row["fingerprint"]) for row in ROWS}) == 60


def test_file_is_as_make_writes_it() -> None:
    text = FILE.read_text(encoding="utf-8")
    assert text == json.dumps(read(), indent=1, ensure_ascii=False) + "\n"
