from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import pytest

from edgeopt.errors import OptionError, PluginWarning
from edgeopt.studies import PolicyEntry, registry, study
from tests.studies import stopping

if TYPE_CHECKING:
    from pathlib import Path


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
        assert registry.policies(stopping.SYSTEM) == tuple(stopping.SYSTEM.policies)


def test_all_by_default_save_those_that_stay_out() -> None:
    chosen = [entry.name for entry in registry.choose(stopping.SYSTEM)]
    assert chosen == ["first", "choosy", "half"]
    everything = [entry.name for entry in registry.choose(stopping.SYSTEM, "*")]
    assert everything == [*chosen, "never"]


def test_a_record_must_be_whole() -> None:
    with pytest.raises(OptionError, match="policies must not be empty"):
        dataclasses.replace(stopping.SYSTEM, policies=())
    entry = PolicyEntry("x", "X", lambda _i, _b: None, bound="nothing")
    with pytest.raises(OptionError, match="names the benchmark 'nothing'; it has prophet"):
        dataclasses.replace(stopping.SYSTEM, policies=(entry,))
    first = stopping.SYSTEM.policies[0]
    with pytest.raises(OptionError, match=r"policy names \['first'\] occur twice"):
        dataclasses.replace(stopping.SYSTEM, policies=(first, first))
