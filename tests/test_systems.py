"""Nothing of the package needs what only Linux has; a workflow tries three systems."""

from __future__ import annotations

import ast
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))

POSIX = {"fcntl", "grp", "posix", "pty", "pwd", "resource", "syslog", "termios"}
"""Modules that Windows lacks."""

STUDY = """
import os, signal

import joblib, matplotlib.figure, numba, pandas, scipy.sparse  # on this system they may need these

for module, names in {
    os: "fork getloadavg getpgid getuid killpg posix_spawn sched_getaffinity setsid sysconf",
    signal: "SIGHUP SIGKILL SIGQUIT pthread_sigmask",
}.items():
    for name in names.split():
        if hasattr(module, name):
            delattr(module, name)

import edgeopt
from edgeopt.instances.rescue import generate
from edgeopt.writing import write_file

study = edgeopt.study(generate(servers=2, devices=4, horizon=10), ["rescue"], runs=5, claims=False)
study.page("report")
write_file("done.txt", str(study.table["value"][0] > 0))
"""


def test_no_module_imports_what_windows_lacks() -> None:
    for path in sorted((ROOT / "edgeopt").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
            names += [str(node.module)] if isinstance(node, ast.ImportFrom) else []
            assert not POSIX & {name.partition(".")[0] for name in names}, path


def test_a_study_runs_without_what_windows_lacks(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", STUDY], cwd=tmp_path, check=True, timeout=300)
    assert (tmp_path / "done.txt").read_text(encoding="utf-8") == "True"
    assert (tmp_path / "report" / "index.html").is_file()


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_can_be_read_and_run_what_exists(path: Path) -> None:
    yaml = pytest.importorskip("yaml", reason="comes with the documentation's packages")
    workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
    # `on` is the word for true in YAML 1.1.
    assert {"name", True, "permissions", "jobs"} <= workflow.keys()
    for job in workflow["jobs"].values():
        assert job["runs-on"]
        for step in job["steps"]:
            assert len({"uses", "run"} & step.keys()) == 1
            assert "uses" not in step or "@" in step["uses"]
            for word in shlex.split(step.get("run", "")):
                if word.startswith(("tests/", "examples/")):
                    assert (ROOT / word).exists(), word


def test_three_systems_are_tried() -> None:
    yaml = pytest.importorskip("yaml", reason="comes with the documentation's packages")
    text = (ROOT / ".github" / "workflows" / "systems.yml").read_text(encoding="utf-8")
    matrix = yaml.safe_load(text)["jobs"]["try"]["strategy"]["matrix"]
    systems = [one.partition("-")[0] for one in matrix["system"]]
    assert systems == ["ubuntu", "macos", "windows"]
