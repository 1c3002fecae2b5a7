from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from edgeopt import registry as names
from edgeopt.errors import OptionError, PluginWarning
from edgeopt.studies import registry, study
from tests.draws import some
from tests.studies import stopping

if TYPE_CHECKING:
    from pathlib import Path


OWN = ["rescue", "idn", "oinc", "edr", "tapfinger"]
MOST = 210
"""Modules of the package that a study of RESCUE may load: 197 were needed when this was written."""

LOADED = """
import json, sys
import edgeopt
from edgeopt.bounds import claims
from edgeopt.studies import find_system
claims(sys.argv[1])
claimed = [one for one in sys.modules if one.startswith("edgeopt")]
edgeopt.study(find_system(sys.argv[1]).instances.random_small(1), runs=2)
print(json.dumps([claimed, [one for one in sys.modules if one.startswith("edgeopt")]]))
"""


@pytest.mark.parametrize("system", some(OWN, "rescue"))
def test_one_system_loads_itself_only(system: str) -> None:
    run = [sys.executable, "-c", LOADED, system]
    claimed, loaded = json.loads(subprocess.check_output(run, text=True).splitlines()[-1])
    others = set(OWN) - {system}
    assert [one for one in loaded if others & set(one.split("."))] == []
    assert any(one.startswith(f"edgeopt.online.{system}") for one in loaded)
    assert len(claimed) < len(loaded)
    if system == "rescue":
        assert len(loaded) <= MOST


@pytest.mark.parametrize("system", OWN)
def test_names_lead_to_the_parts_of_a_system(system: str) -> None:
    record = registry.find_system(system)
    parts = {group: names.built_in(group)[system].load() for group in names.GROUPS}
    assert parts[names.SYSTEMS] is record
    assert parts[names.INSTANCES] is record.instances.kind
    assert tuple(parts[names.POLICIES]) == tuple(record.policies.entries)


def test_the_package_brings_its_own_systems() -> None:
    assert registry.systems() == ["rescue", "idn", "oinc", "edr", "tapfinger"]
    assert registry.find_system("rescue").name == "rescue"


@pytest.mark.usefixtures("offering")
def test_a_sixth_system_is_found_by_name_and_by_type() -> None:
    assert registry.systems() == ["rescue", "idn", "oinc", "edr", "tapfinger", "stopping"]
    assert registry.find_system("stopping") is stopping.SYSTEM
    assert registry.system_of(stopping.Offers()) is stopping.SYSTEM
    result = study(stopping.Offers(), runs=3)
    assert list(result.table["policy"]) == ["first", "choosy", "half", "greedy"]


def test_without_the_package_the_sixth_system_is_unknown() -> None:
    with pytest.raises(
        OptionError, match="system 'stopping' is unknown; choose from rescue, idn, oinc, edr"
    ):
        registry.find_system("stopping")
    with pytest.raises(OptionError, match="no system has instances of type Offers"):
        registry.system_of(stopping.Offers())


def _offer(folder: Path, monkeypatch: pytest.MonkeyPatch, line: str) -> None:
    metadata = folder / "odd-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: odd\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(line)
    monkeypatch.syspath_prepend(folder)


def test_an_entry_point_must_be_a_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _offer(tmp_path, monkeypatch, "[edgeopt.systems]\nodd = tests.studies.stopping:Offers\n")
    with pytest.raises(
        OptionError, match=r"entry point 'odd'.*must be a System, not the class Offers"
    ):
        registry.find_system("odd")


def test_an_offered_policy_must_be_an_entry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _offer(tmp_path, monkeypatch, "[edgeopt.policies]\nodd = tests.studies.stopping:Offers\n")
    with pytest.warns(PluginWarning, match="left out: entry point 'odd'.*must be a PolicyEntry"):
        assert registry.policies(stopping.SYSTEM) == tuple(stopping.SYSTEM.policies.entries)


def test_all_by_default_save_those_that_stay_out() -> None:
    chosen = [entry.name for entry in registry.choose(stopping.SYSTEM)]
    assert chosen == ["first", "choosy", "half"]
    everything = [entry.name for entry in registry.choose(stopping.SYSTEM, "*")]
    assert everything == [*chosen, "never"]


def test_a_record_must_be_whole() -> None:
    policies = stopping.SYSTEM.policies
    with pytest.raises(OptionError, match="entries: must not be empty"):
        dataclasses.replace(policies, entries=())
    first = policies.entries[0]
    with pytest.raises(OptionError, match=r"policy names \['first'\] occur twice"):
        dataclasses.replace(policies, entries=(first, first))
    with pytest.raises(OptionError, match="policies: must be a Policies, not a tuple"):
        dataclasses.replace(stopping.SYSTEM, policies=(first,))


@pytest.mark.parametrize("system", OWN)
def test_policies_of_a_system_say_what_they_are(system: str) -> None:
    record = registry.find_system(system)
    entries = record.policies.entries
    names = [entry.name for entry in entries]
    assert len(set(names)) == len(names)
    assert "published" in {entry.edition for entry in entries}
    assert record.policies.reference in names
    with pytest.raises(OptionError, match="kind = 'both': must be one of 'causal'"):
        dataclasses.replace(entries[0], kind="both")


@pytest.mark.parametrize("name", list(names.built_in(names.SYSTEMS)))
def test_a_study_compares_at_most_eight_policies_by_default_and_all_on_demand(name: str) -> None:
    record = registry.find_system(name)
    shown = registry.choose(record)
    assert 4 <= len(shown) <= 8
    assert record.policies.reference in {"", *(entry.name for entry in shown)}
    assert registry.choose(record, "all") == tuple(record.policies.entries)
    assert registry.choose(record, ["all", shown[0].name]) == registry.choose(record, "*")
