"""What a release needs: one version everywhere, and a workflow that uploads what was checked."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import edgeopt

ROOT = Path(__file__).parents[1]
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]


def test_the_top_section_of_the_changelog_is_that_of_the_version() -> None:
    top = re.search(r"^## \[(.+?)\] - (.+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert top is not None
    assert top[1] == VERSION
    assert top[2] == "unreleased" or re.fullmatch(r"\d{4}-\d\d-\d\d", top[2])


def test_one_version_everywhere() -> None:
    citation = (ROOT / "CITATION.cff").read_text()
    assert re.search(rf"^version: {re.escape(VERSION)}$", citation, re.MULTILINE)
    assert f"Version {VERSION}" in (ROOT / "README.md").read_text()
    assert edgeopt.__version__ == VERSION
    papers = tomllib.loads((ROOT / "papers" / "pyproject.toml").read_text())["project"]
    assert (papers["version"], papers["dependencies"]) == (VERSION, [f"edgeopt=={VERSION}"])
    assert (ROOT / "papers" / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_the_workflow_uploads_what_make_release_has_checked() -> None:
    text = (ROOT / ".github" / "workflows" / "publish.yml").read_text()
    build, _, publish = text.partition("\n  publish:\n")
    assert "run: make release" in build
    assert "id-token: write" not in build
    assert "needs: build" in publish
    assert "id-token: write" in publish
    assert "password" not in text
    assert "secrets." not in text
    for folder in re.findall(r"^ +path: (.+)$", text, re.MULTILINE):
        assert folder == "dist"
    target = (ROOT / "Makefile").read_text().partition("\nrelease:")[2].partition("\n\n")[0]
    for command in ("-m build", "twine check --strict", "--builtin-schema vendor.github-workflows"):
        assert command in target
