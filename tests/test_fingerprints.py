"""The fingerprints of all sources and named instances are those that were written down.

``python -m tests.test_fingerprints`` adds those of this processor.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.record import SYSTEMS, fingerprints

KEPT = Path(__file__).parent / "fingerprints.json"


def processor() -> str:
    """Return a hash of what NumPy makes of functions whose last digit the processor decides."""
    x = np.random.default_rng(0).uniform(0.01, 4.0, 10_000)
    parts = (np.exp(x), np.log(x), np.tanh(x), np.sin(x), np.power(x, 0.37), np.log1p(x))
    return hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()[:16]


def found(system: str) -> dict[str, Any]:
    """Return the fingerprints of a system in one flat table."""
    table = fingerprints(system)
    sources = {f"source {name}": [print_] for name, print_ in table["sources"].items()}
    return sources | {f"named {name}": prints for name, prints in table["named"].items()}


@pytest.mark.parametrize("system", SYSTEMS)
def test_instances_are_those_that_were_written_down(system: str) -> None:
    kept = json.loads(KEPT.read_text())[system]
    here = found(system)
    assert set(here) == set(next(iter(kept.values())))
    if processor() not in kept:
        pytest.skip("nobody has written down the last digits of this processor")
    there = kept[processor()]
    wrong = {name: prints for name, prints in here.items() if not known(prints, there[name])}
    assert wrong == {}


def known(prints: list[str], written: list[str]) -> bool:
    """Tell whether prints are written down; of a source there may be several.

    Processors of one kind for NumPy differ in products of matrices.
    """
    return prints == written or (len(prints) == 1 and prints[0] in written)


def added(before: dict[str, Any], here: dict[str, Any]) -> dict[str, Any]:
    """Add the prints of this processor to those that are written down of its kind."""
    return {
        name: old if known(prints, old := before.get(name, [])) else [*old, *prints]
        for name, prints in here.items()
    }


if __name__ == "__main__":
    stored = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    key = processor()
    tables = {
        name: stored.get(name, {}) | {key: added(stored.get(name, {}).get(key, {}), found(name))}
        for name in SYSTEMS
    }
    KEPT.write_text(json.dumps(tables, indent=1, ensure_ascii=False) + "\n")
