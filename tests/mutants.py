"""Mutation testing: small changes of the package that some test must notice.

``python tests/mutants.py`` draws a fixed sample of changes from six subpackages, measures the tests
without any, then runs each change in a copy of the tree against the tests nearest to it, and says
what was killed, survived or timed out. A change that no test can notice is named, with the reason,
in ``tests/mutants_equivalent.txt``; the sites and operators are in ``tests/mutations.py``.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.mutations import Mutant, mutants_of, nearest_tests

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "edgeopt"
ROOMS = ("rounding", "bounds", "online", "solvers", "models", "instances")
MARGIN = 10
"""A time-out counts as a kill if the tests take less than this share of the limit without it."""
LONGEST = 1800.0
"""Seconds that a file of tests may take in the control."""

SHORT = 5.0
"""Seconds that a file of tests that compiles nothing takes at most."""

MOST = 6
"""Files of tests that a mutant meets at most."""


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
        self.root, self.limit, self.budget = root, limit, budget
        self.trees: SimpleQueue[Path] = SimpleQueue()
        self.times: dict[str, float] = {}
        self.chosen: dict[str, list[str]] = {}
        for number in range(jobs):
            tree = place / f"tree-{number}"
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

    def _pytest(self, tree: Path, files: list[str], limit: float) -> tuple[int | None, str]:
        """Run tests up to the first failure; the code is None if they took too long."""
        environ = os.environ | {"PYTHONPATH": str(tree), "EDGEOPT_MUTANTS": "1"}
        environ |= {"NUMBA_OPT": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        command = [sys.executable, "-B", "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
        with tempfile.TemporaryFile() as sink:
            # A session of its own, so that a time-out ends what the tests have started as well.
            process = subprocess.Popen(
                [*command, "--tb=no", *files], cwd=tree, env=environ, stdin=subprocess.DEVNULL,
                stdout=sink, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
            try:
                code = process.wait(limit)
            except subprocess.TimeoutExpired:
                return None, ""
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            sink.seek(0)
            said = sink.read().decode(errors="replace")
        lines = [line for line in said.splitlines() if line.startswith(("FAILED", "ERROR"))]
        return code, lines[0] if lines else said[-600:]

    def control(self, wanted: dict[str, list[str]]) -> list[str]:
        """Choose for each source the nearest tests within the budget; return what fails there.

        Each file of tests is measured without a mutant, once more where it may have compiled
        kernels for the first time.
        """

        def measure(file: str) -> str | None:
            tree = self.trees.get()
            try:
                for _ in range(2):
                    begun = time.monotonic()
                    code, said = self._pytest(tree, [file], LONGEST)
                    self.times[file] = time.monotonic() - begun
                    if code != 0 or self.times[file] < SHORT:
                        break
            finally:
                self.trees.put(tree)
            return None if code == 0 else f"{file}: {said or 'took too long'}"

        failures: list[str] = []
        totals = dict.fromkeys(wanted, 0.0)
        with ThreadPoolExecutor(self.trees.qsize()) as pool:
            for place in range(MOST):
                nearest = {
                    source: tests[place]
                    for source, tests in wanted.items()
                    if place < len(tests) and totals[source] < self.budget
                }
                new = sorted(set(nearest.values()) - set(self.times))
                failures += [said for said in pool.map(measure, new) if said]
                for source, file in nearest.items():
                    if totals[source] == 0 or totals[source] + self.times[file] <= self.budget:
                        totals[source] += self.times[file]
                        self.chosen.setdefault(source, []).append(file)
        for files in self.chosen.values():
            files.sort(key=self.times.__getitem__)
        return failures

    def run(self, mutant: Mutant) -> Outcome:
        """Put a mutant into a tree, run its tests, the cheapest first, and take it out again."""
        files = self.chosen.get(mutant.path)
        if not files:
            return Outcome(mutant, "survived", 0.0, "no test imports it")
        control = sum(self.times[file] for file in files)
        limit = max(self.limit, MARGIN * control * 1.1)
        tree = self.trees.get()
        path = tree / mutant.path
        before = path.read_bytes()
        begun = time.monotonic()
        try:
            path.write_bytes(mutant.apply(before))
            code, said = self._pytest(tree, files, limit)
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
            return Outcome(mutant, "survived", seconds, " ".join(files))
        return Outcome(mutant, "killed", seconds, said.split(" - ")[0])


def drawn(root: Path, rooms: tuple[str, ...], sample: int, seed: int) -> list[Mutant]:
    """Draw as many mutants of each subpackage; one stays drawn as long as its text stays."""
    found = []
    for number, room in enumerate(rooms):
        every = [
            mutant
            for path in sorted((root / PACKAGE / room).rglob("*.py"))
            for mutant in mutants_of(root, path)
        ]
        every.sort(key=lambda m: hashlib.sha256(f"{seed} {m.key}".encode()).digest())
        found += every[: (sample + number) // len(rooms)]
    return found


def equivalents(root: Path) -> dict[str, str]:
    """Read the reason of each change that no test can notice."""
    path = root / "tests/mutants_equivalent.txt"
    lines = path.read_text().splitlines() if path.exists() else []
    pairs = [line.split(" || ") for line in lines if line and not line.startswith("#")]
    return {key.strip(): proof.strip() for key, proof in pairs}


def report(outcomes: list[Outcome], rooms: tuple[str, ...]) -> bool:
    """Print a table; tell whether each subpackage reaches nine of ten."""
    print(f"\n{'':12}{'drawn':>7}{'killed':>8}{'timed out':>11}{'survived':>10}{'equivalent':>12}")
    good = True
    for room in (*rooms, "all"):
        inside = [o for o in outcomes if room in ("all", o.mutant.room)]
        n = Counter(o.verdict for o in inside)
        caught, rest = n["killed"] + n["timed out"], len(inside) - n["equivalent"]
        share = caught / rest if rest else 1.0
        good &= share >= 0.9
        print(
            f"{room:12}{len(inside):7}{n['killed']:8}{n['timed out']:11}"
            f"{n['survived'] + n['undecided']:10}{n['equivalent']:12}{share:9.1%}"
        )
    return good


def main() -> int:
    """Draw, control, run and report."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--sample", type=int, default=300, help="mutants to draw in all")
    parser.add_argument("--seed", type=int, default=1, help="of the sample")
    parser.add_argument("--room", choices=ROOMS, action="append", help="only this subpackage")
    parser.add_argument("--only", metavar="FILE:LINE", action="append", help="all mutants there")
    parser.add_argument("--jobs", type=int, default=2, help="mutants at a time")
    parser.add_argument("--budget", type=float, default=60.0, help="seconds of tests for a mutant")
    parser.add_argument("--limit", type=float, default=60.0, help="least time limit in seconds")
    parser.add_argument("--place", type=Path, default=ROOT / ".mutants", help="of the copies")
    given = parser.parse_args()
    rooms = tuple(given.room or ROOMS)
    if given.only:
        mutants = []
        for spot in given.only:
            name, _, line = spot.partition(":")
            here = mutants_of(ROOT, ROOT / name)
            mutants += [m for m in here if not line or m.line == int(line)]
        rooms = tuple(sorted({mutant.room for mutant in mutants}))
    else:
        mutants = drawn(ROOT, rooms, given.sample, given.seed)
    known = equivalents(ROOT)
    tests = nearest_tests(ROOT, {mutant.path for mutant in mutants})
    bench = Bench(ROOT, given.place, given.jobs, given.limit, given.budget)
    print(f"{len(mutants)} mutants in {len(tests)} files; first the control", flush=True)
    begun = time.monotonic()
    if failures := bench.control(tests):
        print("Tests fail without a mutant:", *failures, sep="\n  ")
        return 1
    spent = time.monotonic() - begun
    print(f"The control of {len(bench.times)} files of tests took {spent:.0f} s", flush=True)

    def judge(mutant: Mutant) -> Outcome:
        if mutant.key in known:
            return Outcome(mutant, "equivalent", 0.0, known[mutant.key])
        outcome = bench.run(mutant)
        print(f"{outcome.verdict:10} {outcome.seconds:5.0f} s  {mutant.line:4} {mutant.key}")
        print(f"{'':20}{outcome.said[:160]}", flush=True)
        return outcome

    with ThreadPoolExecutor(given.jobs) as pool:
        outcomes = list(pool.map(judge, mutants))
    return 0 if report(outcomes, rooms) else 1


if __name__ == "__main__":
    sys.exit(main())
