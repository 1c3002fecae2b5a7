"""Mutation testing: small changes of the package that some test must notice.

``python tests/mutants.py`` draws a fixed sample of changes from six subpackages, runs the tests
without any under pytest-cov, then puts each change into a copy of the tree, runs tests that run its
line, and says what was killed, survived or timed out. A change that no test can notice is named,
with the reason, in ``tests/mutants_equivalent.txt``; the sites and operators are in
``tests/mutations.py``.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.mutations import Coverage, Mutant, kinship, mutants_of

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "edgeopt"
LAYERS = ("rounding", "bounds", "online", "solvers", "models", "instances")
MARGIN = 10
"""A time-out counts as a kill if the tests take less than this share of the limit without it."""
PATIENCE = 8
"""In terms of the limit, after how long a process ends that does not compute."""
LONGEST = 7200.0
"""Seconds that the control may take."""

TESTS = (*(f"tests/{name}" for name in (
    "rounding", "bounds", "online", "solvers", "models", "instances", "rescue", "idn", "oinc",
    "tapfinger", "edr", "test_kernels.py",
)), *(f"{PACKAGE}/{layer}" for layer in LAYERS))  # fmt: skip
"""Folders of tests that may meet a mutant."""

KERNELS = "__pycache__/kernels"
DURATION = r"(?m)^([\d.]+)s (call|setup|teardown)\s+(\S.*)$"

SHORT, FEW = 0.5, 40
"""So many tests that take less than so many seconds go first, and alone."""

COMPILING = 240.0
"""Seconds that a changed kernel, and those that call it, take to be compiled, on a slow machine."""

MOST = 400
"""Tests that a mutant meets at most."""


@dataclass(frozen=True)
class Outcome:
    """What became of a mutant, after how many seconds, and in which test or for which reason."""

    mutant: Mutant
    verdict: str
    seconds: float
    said: str = ""


class Bench:
    """Copies of a tree in which mutants are run, one at a time in each."""

    def __init__(self, root: Path, place: Path, jobs: int, limit: float, budget: float) -> None:
        self.root, self.place, self.limit, self.budget = root, place, limit, budget
        self.seconds: dict[str, float] = {}
        self.running: set[int] = set()
        self.all = [place / f"tree-{number}" for number in range(jobs)]
        self.trees: SimpleQueue[Path] = SimpleQueue()
        for tree in self.all:
            self._copy(tree)
            self.trees.put(tree)

    def _copy(self, tree: Path) -> None:
        # Compiled kernels of earlier runs stay: what they are kept under tells whether they hold.
        for old in tree.rglob("*.py") if tree.exists() else ():
            old.unlink()
        listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        for name in subprocess.check_output(listed, cwd=self.root, text=True).split("\0"):
            if name and (self.root / name).is_file():
                (tree / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(self.root / name, tree / name)

    def _pytest(self, tree: Path, arguments: list[str], limit: float) -> tuple[int | None, str]:
        """Run tests; the code is None if they took too much processor time, or far too long."""
        environ = os.environ | {"PYTHONPATH": str(tree), "EDGEOPT_MUTANTS": "1"}
        environ |= {"NUMBA_OPT": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        # Processor time: another program on the machine must not make a mutant look endless.
        command = ["/bin/sh", "-c", f'ulimit -S -t {math.ceil(limit)} && exec "$@"', "sh"]
        command += [sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=no"]
        with tempfile.TemporaryFile() as sink:
            # A session of its own, so that a time-out ends what the tests have started as well.
            process = subprocess.Popen(
                [*command, *arguments], cwd=tree, env=environ, stdin=subprocess.DEVNULL,
                stdout=sink, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
            self.running.add(process.pid)
            try:
                code = process.wait(PATIENCE * limit)
            except subprocess.TimeoutExpired:
                return None, ""
            finally:
                _end(process.pid)
                process.wait()
                self.running.discard(process.pid)
            if code == -signal.SIGXCPU:
                return None, ""
            sink.seek(0)
            return code, sink.read().decode(errors="replace")

    def control(self) -> str:
        """Run all tests of the subpackages without a mutant; return what fails.

        What each test takes and which lines it runs is kept for as long as no source changes.
        """
        sources = hashlib.sha256()
        for path in sorted(self.all[0].rglob("*.py")):
            sources.update(path.read_bytes())
        measured, times = self.place / "coverage", self.place / "control.json"
        kept = json.loads(times.read_text()) if times.exists() else {}
        if kept.get("sources") != sources.hexdigest():
            folders = [name for name in TESTS if (self.all[0] / name).exists()]
            os.environ["COVERAGE_FILE"] = str(measured)
            code, said = self._pytest(
                self.all[0],
                [*folders, "--doctest-modules", "-n", str(len(self.all)), "--dist=worksteal",
                 f"--cov={self.all[0] / PACKAGE}", "--cov-context=test", "--cov-report=",
                 "--durations=0", "--durations-min=0.001", "-vv"],
                LONGEST,
            )  # fmt: skip
            del os.environ["COVERAGE_FILE"]
            failed = [line for line in said.splitlines() if line.startswith(("FAILED", "ERROR"))]
            if code != 0:
                return "\n  ".join(failed) or said[-2000:] or "took too long"
            spent: dict[str, float] = defaultdict(float)
            for seconds, _, name in re.findall(DURATION, said):
                spent[name] += float(seconds)
            kept = {"sources": sources.hexdigest(), "seconds": spent}
            times.write_text(json.dumps(kept))
            # What has been compiled serves the other trees as well.
            for tree in self.all[1:]:
                shutil.copytree(
                    self.all[0] / PACKAGE / KERNELS, tree / PACKAGE / KERNELS, dirs_exist_ok=True
                )
        self.seconds = kept["seconds"]
        self.coverage = Coverage(self.all[0], measured)
        return ""

    def _chosen(self, mutant: Mutant) -> list[str]:
        """Return tests that run the mutant, within the budget: the nearest, the quickest first."""
        every = self.coverage.tests(mutant.path, mutant.line)
        spent, chosen = 0.0, list[str]()
        for test in sorted(every, key=lambda t: (-kinship(mutant.path, t), self._takes(t), t)):
            if not chosen or (spent + self._takes(test) <= self.budget and len(chosen) < MOST):
                spent += self._takes(test)
                chosen.append(test)
        return sorted(chosen, key=self._takes)

    def _takes(self, test: str) -> float:
        return self.seconds.get(test, 0.001)

    def run(self, mutant: Mutant) -> Outcome:
        """Put a mutant into a tree, run its tests, the quickest first, and take it out again."""
        tests = self._chosen(mutant)
        if not tests:
            return Outcome(mutant, "survived", 0.0, "no test runs it")
        tree = self.trees.get()
        path = tree / mutant.path
        before = path.read_bytes()
        begun = time.monotonic()
        try:
            path.write_bytes(mutant.apply(before))
            quick = [test for test in tests if self._takes(test) < SHORT][:FEW]
            for some in filter(None, (quick, [test for test in tests if test not in set(quick)])):
                control = sum(map(self._takes, some))
                limit = max(self.limit, MARGIN * control * 1.1)
                limit += COMPILING if b"@compiled" in before else 0.0
                code, said = self._pytest(tree, ["-x", "--doctest-modules", *some], limit)
                if code != 0:
                    break
        finally:
            path.write_bytes(before)
            self.trees.put(tree)
        seconds = time.monotonic() - begun
        if code is None:
            verdict = "timed out" if control * MARGIN < limit else "undecided"
            return Outcome(
                mutant, verdict, seconds, f"after {limit:.0f} s, control {control:.1f} s"
            )
        if code == 0:
            nearest = ", ".join(sorted({test.partition("::")[0] for test in tests})[:5])
            return Outcome(mutant, "survived", seconds, f"{len(tests)} tests, of {nearest}")
        lines = [line for line in said.splitlines() if line.startswith(("FAILED", "ERROR"))]
        return Outcome(mutant, "killed", seconds, (lines or [said[-160:]])[0].split(" - ")[0])


def _end(group: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


def drawn(root: Path, layers: tuple[str, ...], sample: int, seed: int) -> list[Mutant]:
    """Draw as many mutants of each subpackage; one stays drawn as long as its text stays."""
    found = []
    for number, layer in enumerate(layers):
        every = [
            mutant
            for path in sorted((root / PACKAGE / layer).rglob("*.py"))
            for mutant in mutants_of(root, path)
        ]
        every.sort(key=lambda m: hashlib.sha256(f"{seed} {m.key}".encode()).digest())
        found += every[: (sample + number) // len(layers)]
    return found


def equivalents(root: Path) -> dict[str, str]:
    """Read the reason of each change that no test can notice."""
    path = root / "tests/mutants_equivalent.txt"
    lines = path.read_text().splitlines() if path.exists() else []
    pairs = [line.split(" || ") for line in lines if line and not line.startswith("#")]
    return {key.strip(): proof.strip() for key, proof in pairs}


def report(outcomes: list[Outcome], layers: tuple[str, ...]) -> bool:
    """Print a table; tell whether each subpackage reaches nine of ten."""
    print(f"\n{'':12}{'drawn':>7}{'killed':>8}{'timed out':>11}{'survived':>10}{'equivalent':>12}")
    good = True
    for layer in (*layers, "all"):
        inside = [o for o in outcomes if layer in ("all", o.mutant.layer)]
        n = Counter(o.verdict for o in inside)
        caught, rest = n["killed"] + n["timed out"], len(inside) - n["equivalent"]
        share = caught / rest if rest else 1.0
        good &= share >= 0.9
        print(
            f"{layer:12}{len(inside):7}{n['killed']:8}{n['timed out']:11}"
            f"{n['survived'] + n['undecided']:10}{n['equivalent']:12}{share:9.1%}"
        )
    return good


def main() -> int:
    """Draw, control, run and report."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--sample", type=int, default=300, help="mutants to draw in all")
    parser.add_argument("--seed", type=int, default=1, help="of the sample")
    parser.add_argument("--layer", choices=LAYERS, action="append", help="only this subpackage")
    parser.add_argument("--only", metavar="FILE:LINE", action="append", help="all mutants there")
    parser.add_argument("--jobs", type=int, default=2, help="mutants at a time")
    parser.add_argument("--budget", type=float, default=20.0, help="seconds of tests for a mutant")
    parser.add_argument(
        "--limit", type=float, default=40.0, help="least limit in seconds of processor time"
    )
    parser.add_argument("--place", type=Path, default=ROOT / ".mutants", help="of the copies")
    given = parser.parse_args()
    layers = tuple(given.layer or LAYERS)
    if given.only:
        mutants = []
        for spot in given.only:
            name, _, line = spot.partition(":")
            here = mutants_of(ROOT, ROOT / name)
            mutants += [m for m in here if not line or m.line == int(line)]
        layers = tuple(sorted({mutant.layer for mutant in mutants}))
    else:
        mutants = drawn(ROOT, layers, given.sample, given.seed)
    known = equivalents(ROOT)
    bench = Bench(ROOT, given.place, given.jobs, given.limit, given.budget)

    def stop(*_: object) -> None:
        for group in list(bench.running):
            _end(group)
        os._exit(130)

    # Who ends the driver ends the tests, some of which would never do so by themselves.
    for signalled in (signal.SIGINT, signal.SIGTERM):
        signal.signal(signalled, stop)
    files = len({mutant.path for mutant in mutants})
    print(f"{len(mutants)} mutants in {files} files; first the control", flush=True)
    begun = time.monotonic()
    if failures := bench.control():
        print(f"Tests fail without a mutant:\n  {failures}")
        return 1
    spent = time.monotonic() - begun
    print(f"The control, {len(bench.seconds)} tests, took {spent:.0f} s", flush=True)

    def judge(mutant: Mutant) -> Outcome:
        if mutant.key in known:
            return Outcome(mutant, "equivalent", 0.0, known[mutant.key])
        outcome = bench.run(mutant)
        print(f"{outcome.verdict:10} {outcome.seconds:5.0f} s  {mutant.line:4} {mutant.key}")
        print(f"{'':20}{outcome.said[:160]}", flush=True)
        return outcome

    with ThreadPoolExecutor(given.jobs) as pool:
        outcomes = list(pool.map(judge, mutants))
    return 0 if report(outcomes, layers) else 1


if __name__ == "__main__":
    sys.exit(main())
