"""What is required is pinned, explained and credited."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
UNPINNED = {"rl", "cluster"}
"""Extras for other machines: what they bring is left to the user."""


def requirements(texts: list[str]) -> list[Requirement]:
    return [one for one in map(Requirement, texts) if one.name != "edgeopt"]


DIRECT = requirements(PROJECT["dependencies"])
OPTIONAL = [one for extra in EXTRAS for one in requirements(EXTRAS[extra])]
PINNED_EXTRAS = [one for e in EXTRAS if e not in UNPINNED for one in requirements(EXTRAS[e])]


def pins() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pairs = [line.split("==") for line in lines if not line.startswith("#")]
    assert all(len(pair) == 2 for pair in pairs)
    return {canonicalize_name(name): version for name, version in pairs}


def closure(roots: list[Requirement]) -> dict[str, set[str]]:
    """Everything that the installed metadata say `roots` need, with the extras asked for.

    What a package needs that is installed in another version than the pinned one is left out.
    """
    pinned = pins()
    found: dict[str, set[str]] = {}
    waiting = list(roots)
    while waiting:
        wanted = waiting.pop()
        name = canonicalize_name(wanted.name)
        extras = found.get(name, set()) | wanted.extras
        if found.get(name) == extras:
            continue
        try:
            installed = distribution(name)
        except PackageNotFoundError:
            continue
        found[name] = extras
        same = installed.version == pinned.get(name, installed.version)
        needs = (installed.requires or []) if same else []
        for need in map(Requirement, needs):
            scopes = [{"extra": extra} for extra in extras | {""}]
            if need.marker is None or any(need.marker.evaluate(scope) for scope in scopes):
                waiting.append(need)
    return found


@pytest.mark.parametrize("requirement", DIRECT + PINNED_EXTRAS, ids=str)
def test_pin_satisfies_requirement(requirement: Requirement) -> None:
    assert requirement.specifier.contains(pins()[canonicalize_name(requirement.name)])


def test_transitive_dependencies_are_pinned() -> None:
    assert set(closure(DIRECT + PINNED_EXTRAS)) - set(pins()) == set()


def test_constraints_name_no_place() -> None:
    text = (ROOT / "constraints.txt").read_text()
    assert not re.search(r"://|--|@|^/|^-e", text, flags=re.MULTILINE)


def test_every_pinned_package_is_credited_with_a_licence() -> None:
    credits = re.findall(r"^\| (\S+) \| (.+) \|$", (ROOT / "THIRD_PARTY.md").read_text(), re.M)
    assert {canonicalize_name(name) for name, _ in credits} >= set(pins())


def test_every_data_table_is_credited() -> None:
    packages = ROOT / "edgeopt", ROOT / "papers" / "edgeopt_papers"
    tables = {path.name for package in packages for path in package.rglob("*.csv")}
    credited = set(re.findall(r"^\| `(\S+\.csv)` \|", (ROOT / "THIRD_PARTY.md").read_text(), re.M))
    assert tables
    assert credited == tables


def test_nothing_required_is_under_the_gpl() -> None:
    copyleft = re.compile(r"(?<![LA])GPL|GNU General Public")
    offenders = []
    for name in closure(DIRECT):
        metadata = distribution(name).metadata
        declared = [metadata.get("License-Expression"), *(metadata.get_all("Classifier") or ())]
        if any(copyleft.search(text or "") for text in declared):
            offenders.append(name)
    assert offenders == []


@pytest.mark.parametrize("requirement", DIRECT + OPTIONAL, ids=str)
def test_reason_for_dependency_is_given(requirement: Requirement) -> None:
    section = (ROOT / "CHANGELOG.md").read_text().partition("### Dependencies")[2]
    assert re.search(rf"\b{re.escape(requirement.name)}\b", section)
