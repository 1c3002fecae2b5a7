"""Kernels that come with the package, compiled beforehand for levels of processors.

An archive holds what numba keeps of kernels, each under a name made of all that identifies it, so
that none is taken for another. ``python -m edgeopt.archive`` compiles the kernels of the studies of
all systems and writes the archive beside the sources; with a wheel, it takes that of the wheel.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from zipfile import ZIP_DEFLATED, ZipFile

from llvmlite.binding import get_host_cpu_features

from edgeopt.cache import PACKAGE, VARIABLE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Target = tuple[str, str, str]
"""What numba compiles for: a triple, the name of a processor, and features, each with its sign."""

ARCHIVE: Final = PACKAGE / "kernels.zip"

_SECOND: Final = {
    "64bit", "cmov", "crc32", "cx16", "cx8", "fxsr", "mmx", "popcnt", "sahf", "sse", "sse2", "sse3",
    "sse4.1", "sse4.2", "ssse3",
}  # fmt: skip
_THIRD: Final = {"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave"}

LEVELS: Final = {"x86-64-v3": _SECOND | _THIRD, "x86-64-v2": _SECOND}
"""Features that LLVM may use for a level of processors, by its name there; the best comes first.

System V Application Binary Interface, AMD64 Architecture Processor Supplement, section 3.1.1.
"""

SYSTEMS: Final = ("rescue", "idn", "oinc", "tapfinger", "edr")


def targets(host: Target) -> Iterator[Target]:
    """Yield for what kernels may be compiled that run here: this processor first, then levels."""
    triple, _, features = host
    yield host
    present = {one[1:] for one in features.split(",") if one.startswith("+")}
    for level, needed in LEVELS.items():
        if needed <= present:
            yield triple, level, ""


def read(module: str, index: str, version: str, digest: str, key: str) -> Any:
    """Return what numba kept of a variant of a kernel; None if the archive lacks it."""
    archive = _opened()
    name = _name(module, index, version, digest, key)
    if archive is None or name not in archive.NameToInfo:
        return None
    return pickle.loads(archive.read(name))


@cache
def _opened() -> ZipFile | None:
    # Whatever is wrong with an archive, kernels can be compiled.
    with contextlib.suppress(Exception):
        return ZipFile(ARCHIVE)
    return None


def _name(*identity: str) -> str:
    return hashlib.sha256(repr(identity).encode()).hexdigest()[:32]


def pack(folder: Path, path: Path) -> int:
    """Write the kernels of a cache folder that Python calls, and return how many there are.

    Those that only kernels call are part of the others.
    """
    kept = {}
    for place in sorted(folder.rglob(f"{PACKAGE.name}.*/*.nbi")):
        with place.open("rb") as opened:
            version, (digest, variants) = pickle.load(opened), pickle.load(opened)
        for key, file in variants.items():
            data = (place.parent / file).read_bytes()
            (_, _, (code, _)), function, *_ = pickle.loads(data)
            if function.llvm_cpython_wrapper_name.encode() in code:
                kept[_name(place.parent.name, place.name, version, digest, key)] = data
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        for name, data in sorted(kept.items()):
            archive.writestr(name, data)
    return len(kept)


def make(systems: Iterable[str] = SYSTEMS, levels: Iterable[str] = tuple(LEVELS)) -> None:
    """Compile the kernels of the studies of systems for levels, and write the archive."""
    here = {name for _, name, _ in targets(("", "", get_host_cpu_features().flatten()))}
    if missing := set(levels) - here:
        raise SystemExit(f"kernels for {', '.join(sorted(missing))} cannot run on this processor")
    ARCHIVE.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        for level in levels:
            for system in systems:
                print(f"compiling the kernels of {system} for {level}", flush=True)
                _run(["study", system, "--out", f"{scratch}/{level}/{system}"], level, scratch)
        print(f"{ARCHIVE}: {pack(Path(scratch), ARCHIVE)} kernels")


def _run(command: list[str], level: str, folder: str) -> None:
    """Run a command of edgeopt; its kernels are compiled for a level and kept in a folder."""
    chosen = {"CPU_NAME": level, "CPU_FEATURES": "", "DISABLE_INTEL_SVML": "1"}
    environ = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    environ |= {f"NUMBA_{name}": value for name, value in chosen.items()} | {VARIABLE: folder}
    code = "from edgeopt.cli import main; main()"
    done = [sys.executable, "-c", code, *command]
    subprocess.run(done, env=environ, check=True, stdout=subprocess.DEVNULL)


def take(wheel: str) -> None:
    """Take the archive of a wheel; kernels that have changed since are not found in it."""
    with ZipFile(wheel) as opened:
        ARCHIVE.write_bytes(opened.read(f"{PACKAGE.name}/{ARCHIVE.name}"))


if __name__ == "__main__":
    take(sys.argv[1]) if sys.argv[1:] else make()
