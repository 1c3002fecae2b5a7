"""The roundings in an environment that holds NumPy and numba, and nothing else."""

from __future__ import annotations

import ast
import importlib.util
import subprocess
import sys
from pathlib import Path

SCRIPT = """
import sys
sys.path.insert(0, {folder!r})
from edgeopt.rounding import (
    depround,
    depround_distribution,
    independent,
    pairwise,
    pairwise_distribution,
)
from edgeopt.rounding import reduced_limit
distribution = depround_distribution([0.5, 0.25, 0.25], segments=1)
assert sum(distribution.values()) == 1
for residual in ("bernoulli", "drop", "fill", "half"):
    assert depround([0.5, 0.25, 0.25], rng=0, residual=residual).sum() == 1
assert depround([0.5, 0.25, 0.25], rng=0, residual="reserve", budget=2).sum() == 1
pairwise([2.5, 0.5], [1.0, 1.0], rng=0)
pairwise_distribution([2.5, 0.5], [1, 1])
independent([0.5], rng=0)
reduced_limit(10.0, [1.0])
print(sorted({{m.partition(".")[0] for m in sys.modules}} - sys.stdlib_module_names))
names = [m for m in sys.modules if m.startswith("edgeopt.")]
print(sorted({{m.split(".")[1] for m in names}}))
"""


def test_rounding_needs_numpy_and_numba_only(tmp_path: Path) -> None:
    for name in ("numpy", "numba", "llvmlite"):
        spec = importlib.util.find_spec(name)
        assert spec is not None
        assert spec.origin is not None
        home = Path(spec.origin).parent
        # Beside a package lie the libraries that its wheel brings.
        for part in [home, *home.parent.glob(f"{name}.libs"), *home.parent.glob(f"{name}-*")]:
            (tmp_path / part.name).symlink_to(part)
    (tmp_path / "edgeopt").symlink_to(Path(__file__).parents[2] / "edgeopt")
    script = SCRIPT.format(folder=str(tmp_path))
    # -I and -S: no packages but those of the folder.
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    loaded, parts = (set(ast.literal_eval(line)) for line in done.stdout.splitlines())
    assert {m for m in loaded if not m.startswith(("_", "cython"))} == {
        "edgeopt", "numpy", "numba", "llvmlite"
    }  # fmt: skip
    assert parts == {"archive", "cache", "errors", "kernels", "options", "rounding"}
