"""The test suite on other processors, in other orders, for other users, on other versions.

``python tests/variations.py`` runs the whole suite under a few settings together, so that every
value of every axis stands at least once; names run only those, ``--quick`` a minute's worth of the
most exposed files in the environment at hand. Environments are made in ``.variations`` with uv.
"""

from __future__ import annotations

import argparse
import os
import pwd
import re
import resource
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PLACE = ROOT / ".variations"
OTHER_USER = "nobody"
QUICK = (
    "tests/tapfinger/test_speed_fit.py", "tests/rounding/test_exact_distributions.py",
    "tests/rounding/test_kernels.py", "tests/solvers/test_transport.py",
    "tests/solvers/test_residuals.py", "tests/instances/test_physical.py",
    "tests/instances/test_oinc_generate.py", "tests/instances/test_tapfinger_generate.py",
    "tests/idn/test_olag.py", "tests/bounds/test_growth.py", "tests/test_cli_check.py",
    "tests/collection/test_entries.py::test_instance_is_drawn_as_it_is_named",
)  # fmt: skip
"""Golden numbers, fingerprints, iterative references and messages, in the fastest files."""


@dataclass(frozen=True)
class Variation:
    """One run: packages and interpreter, and what of its surroundings differs from the usual."""

    packages: str = "pins"
    python: str = ""
    core: str = ""
    simd: bool = True
    environ: dict[str, str] = field(default_factory=dict)
    data: bool = True
    other_user: bool = False

    def says(self) -> str:
        """Say in words what it is."""
        parts = [f"Python {self.python or 'at hand'}", self.packages]
        parts += [self.core] * bool(self.core) + ["least SIMD"] * (not self.simd)
        parts += [f"{name}={value}" for name, value in self.environ.items()]
        parts += ["no EDGEOPT_DATA"] * (not self.data)
        parts += [f"user {OTHER_USER}, home not writable"] * self.other_user
        return ", ".join(parts)


def _seeds(number: int) -> dict[str, str]:
    return {"PYTHONHASHSEED": str(number), "EDGEOPT_TEST_ORDER": str(number)}


ALL = {
    "oldest-processor": Variation(
        python="3.12", core="Prescott", simd=False,
        environ=_seeds(1) | {"LC_ALL": "C", "TZ": "Pacific/Chatham"},
    ),
    "other-user": Variation(
        python="3.11", core="Haswell", other_user=True,
        environ=_seeds(2) | {"LC_ALL": "de_DE.UTF-8", "TZ": "America/St_Johns"},
    ),
    "lowest": Variation("lowest", "3.11", core="SkylakeX", data=False),
    "newest": Variation("newest", "3.13"),
}  # fmt: skip

QUICKLY = Variation(
    core="Prescott", simd=False, environ=_seeds(1) | {"LC_ALL": "C", "TZ": "Pacific/Chatham"}
)


class NotHereError(Exception):
    """This machine lacks what a variation needs."""


def _output(*command: object, **how: object) -> str:
    try:
        done = subprocess.run(  # type: ignore[call-overload]
            [str(part) for part in command], capture_output=True, text=True, check=False, **how
        )
    except PermissionError:
        return ""
    return str(done.stdout).strip() if done.returncode == 0 else ""


def _as_other(variation: Variation) -> dict[str, object]:
    if not variation.other_user or os.getuid():
        return {}
    user = pwd.getpwnam(OTHER_USER)
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


def _interpreter(variation: Variation) -> str:
    """Return an interpreter of the version that the user of the run can start."""
    name = f"python{variation.python}"
    places = [*os.get_exec_path(), *(Path.home() / ".pyenv/versions").glob("*/bin")]
    for place in sorted(map(str, places), reverse=True):
        path = f"{place}/{name}"
        asked = "import sys; print('own' if sys.prefix == sys.base_prefix else '')"
        if os.path.exists(path) and _output(path, "-c", asked, cwd="/", **_as_other(variation)):
            return path
    raise NotHereError(f"no {name} that the user can start")


def _uv() -> Path | str:
    """Return uv, from the path or installed with the environments."""
    found = shutil.which("uv")
    if found:
        return found
    if not (PLACE / "uv/bin/uv").exists():
        subprocess.run([sys.executable, "-m", "venv", PLACE / "uv"], check=True)
        subprocess.run(
            [PLACE / "uv/bin/python", "-m", "pip", "install", "--quiet", "uv"], check=True
        )
    return PLACE / "uv/bin/uv"


def _environment(variation: Variation, folder: Path, tree: Path) -> Path:
    """Make the environment of a run, renewed only when the interpreter or requirements change."""
    base = _interpreter(variation)
    wanted = base + (ROOT / "pyproject.toml").read_text() + (ROOT / "constraints.txt").read_text()
    stamp, python = folder / "made-of", folder / "venv/bin/python"
    if not (stamp.exists() and stamp.read_text() == wanted):
        shutil.rmtree(folder / "venv", ignore_errors=True)
        how = {
            "pins": ["--constraint", ROOT / "constraints.txt"],
            "lowest": ["--resolution", "lowest-direct"],
            "newest": ["--resolution", "highest", "--upgrade"],
        }[variation.packages]
        quiet = [_uv(), "--quiet"]
        subprocess.run([*quiet, "venv", "--seed", "--python", base, folder / "venv"], check=True)
        install = [*quiet, "pip", "install", "--python", python, *how, "--editable"]
        subprocess.run([*install, f"{tree}[dev]"], check=True)
        stamp.write_text(wanted)
    return python


def _surroundings(variation: Variation, python: Path, tree: Path) -> dict[str, str]:
    """Return the variables of a run, without what a user may have set but the share of draws."""
    environ = {"PATH": f"{python.parent}:{os.environ['PATH']}", "HOME": os.environ.get("HOME", "/")}
    environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "NUMBA_OPT": "1"}
    environ |= {"PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"} | variation.environ
    if share := os.environ.get("EDGEOPT_DRAWS"):
        environ["EDGEOPT_DRAWS"] = share
    data = os.environ.get("EDGEOPT_DATA") or ROOT.parent / "shared/data"
    if variation.data and Path(data).is_dir():
        environ["EDGEOPT_DATA"] = str(Path(data).resolve())
    if variation.other_user:
        environ["HOME"] = "/nonexistent"
    if "LC_ALL" in environ and environ["LC_ALL"].replace("UTF-8", "utf8") not in _output(
        "locale", "-a"
    ).split("\n"):
        environ["LC_ALL"] = "C"
    if not variation.simd:
        # Names differ between versions of NumPy, and unknown ones are refused.
        names = "__cpu_dispatch__ as d, __cpu_features__ as f"
        asked = f"from numpy._core._multiarray_umath import {names}; print(*[n for n in d if f[n]])"
        environ["NPY_DISABLE_CPU_FEATURES"] = _output(python, "-c", asked)
    if variation.core:
        product = "import numpy as n; n.linalg.svd(n.ones((64, 64)) @ n.ones((64, 64)))"
        coretype = {"OPENBLAS_CORETYPE": variation.core}
        asked = f"{product}; print('starts')"
        if _output(python, "-c", asked, env=environ | coretype) == "starts":
            environ |= coretype
        else:
            print(f"  {variation.core} does not start on this processor: left as it is")
    return environ


def _copy(tree: Path) -> None:
    """Copy what git knows or would take, for everyone to read and for nobody else to write."""
    shutil.rmtree(tree, ignore_errors=True)
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    for name in subprocess.check_output(listed, cwd=ROOT, text=True).split("\0"):
        if name and (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, tree / name)


def _cpu() -> float:
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def run(name: str, variation: Variation, arguments: list[str], *, here: bool) -> bool:
    """Run the suite once and print one line; tell whether all went well."""
    folder = PLACE / name
    tree = ROOT if here else folder / "tree"
    folder.mkdir(parents=True, exist_ok=True)
    begun, used = time.monotonic(), _cpu()
    try:
        if not here:
            _copy(tree)
        python = Path(sys.executable) if here else _environment(variation, folder, tree)
        environ = _surroundings(variation, python, tree)
    except NotHereError as missing:
        print(f"{name} ({variation.says()}): not run, {missing}")
        return True
    command = [python, "-m", "pytest", "-p", "no:cacheprovider", *arguments]
    log = folder / "log"
    with log.open("w") as sink:
        code = subprocess.run(
            command, cwd=tree, env=environ, stdout=sink, stderr=subprocess.STDOUT, check=False,
            **_as_other(variation),  # type: ignore[call-overload]
        ).returncode  # fmt: skip
    text = log.read_text(errors="replace")
    counts = {kind: 0 for kind in ("passed", "failed", "error", "skipped")}
    for number, kind in re.findall(r"\b(\d+) (passed|failed|error|skipped)", text[-2000:]):
        counts[kind] = int(number)
    counted = ", ".join(f"{number} {kind}" for kind, number in counts.items())
    took = f"{time.monotonic() - begun:.0f} s, {_cpu() - used:.0f} s of one core"
    print(f"{name} ({variation.says()}): {counted}, exit {code}, {took}", flush=True)
    if code:
        failed = re.findall(r"^(?:FAILED|ERROR) .*", text, re.M)
        print(*(f"  {line[:200]}" for line in failed or text.splitlines()[-30:]), sep="\n")
        print(f"  {log}")
    return code == 0


def main() -> int:
    """Run the variations named, all of them by default."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("names", nargs="*", help=f"of {', '.join(ALL)}; all by default")
    parser.add_argument("--quick", action="store_true", help="a few files, in this environment")
    parser.add_argument("--files", default="", help="run only these tests, separated by blanks")
    given = parser.parse_args()
    if unknown := set(given.names) - set(ALL):
        parser.error(f"no variation {', '.join(sorted(unknown))}; there are {', '.join(ALL)}")
    if given.quick:
        return not run("quick", QUICKLY, given.files.split() or [*QUICK], here=True)
    parallel = ["-n", "2", "--dist", "worksteal"]
    chosen = {name: ALL[name] for name in given.names or ALL}
    print(*(f"{name}: {one.says()}" for name, one in chosen.items()), sep="\n", flush=True)
    files = given.files.split() or ["--doctest-modules", "tests", "edgeopt"]
    return not all([run(n, one, [*parallel, *files], here=False) for n, one in chosen.items()])


if __name__ == "__main__":
    sys.exit(main())
