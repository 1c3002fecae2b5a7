"""Workers start where the work is worth it; results are in order, and the same."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest

from edgeopt.processes import pool

if TYPE_CHECKING:
    from pathlib import Path


def where(number: int) -> tuple[int, int]:
    return number, os.getpid()


def waited(folder: Path, own: str, other: str) -> tuple[str, int]:
    """Return once another call, which must run at the same time, has begun."""
    (folder / own).touch()
    while not (folder / other).exists():
        time.sleep(0.01)
    return own, os.getpid()


def failing() -> None:
    raise TimeoutError("of its own")


def test_quick_calls_start_no_process() -> None:
    for workers, alone in ((1, None), (2, 1e6)):
        with pool(workers, alone=alone) as run:
            for count in (5, 1, 0):
                calls = ((where, (number,)) for number in range(count))
                assert list(run(calls)) == [(number, os.getpid()) for number in range(count)]
            with pytest.raises(TimeoutError, match="of its own"):
                list(run([(failing, ()), (where, (1,))]))


def test_calls_that_take_long_go_to_workers_beside_the_one_that_is_running(tmp_path: Path) -> None:
    with pool(2, alone=0.5) as run:
        found = list(run([(waited, (tmp_path, "a", "b")), (waited, (tmp_path, "b", "a"))]))
        assert [name for name, _ in found] == ["a", "b"]
        assert found[0][1] == os.getpid() != found[1][1]
        # From here on all is theirs.
        assert os.getpid() not in {process for _, process in run([(where, (1,)), (where, (2,))])}
