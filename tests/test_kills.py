"""A run of each command is killed at a random moment; `make kills` kills a hundred."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.draws import LEAN


@pytest.mark.skipif(not hasattr(os, "fork"), reason="runs are forked")
def test_what_is_killed_is_made_good_by_the_next_run() -> None:
    moments = 2 if LEAN else 4
    done = subprocess.run(
        [sys.executable, "-m", "tests.kills", "--moments", str(moments), "--seed", "1"],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=False,
    )
    assert f"\n{moments} moments: " in done.stdout, done.stderr
    assert done.stdout.endswith("; 0 faults\n"), done.stdout
    assert done.returncode == 0
