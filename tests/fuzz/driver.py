"""Run hostile cases: each must end in a named error or a right answer, in time and without a word.

The cases of a test are drawn with a fixed seed. ``EDGEOPT_FUZZ_CASES`` says how many all tests of
this folder run together: 1500 unless it is set, 10000 with ``make fuzz``. Those that change a
number of a small table take a millisecond; of the others a lean run has fewer.
"""

from __future__ import annotations

import contextlib
import io
import os
import resource
import signal
import sys
import traceback
import warnings
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from edgeopt.errors import EdgeOptError, EdgeOptWarning
from tests.draws import LEAN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

CASES: Final = int(os.environ.get("EDGEOPT_FUZZ_CASES", "1500"))
"""Cases of all tests together."""

SLOW: Final = 0.08 if LEAN else 0.4
"""Which part of the cases those of `PARTS` are; the others are quick."""

PARTS: Final = {
    "constructors": 0.10,
    "generators": 0.08,
    "named_instances": 0.03,
    "methods": 0.08,
    "files": 0.10,
    "traces": 0.10,
    "commands": 0.12,
    "policies": 0.08,
    "entry points": 0.05,
    "jobs": 0.06,
    "claims": 0.05,
    "headers": 0.05,
    "archives": 0.10,
}
"""Which part of the slow cases each test runs."""

QUICK: Final = {"words": 0.4, "units": 0.3, "magnitudes": 0.3}
"""Which part of the quick cases each test runs."""

SECONDS: Final = 60.0
"""What no case may take, however busy the machine is."""

MEMORY: Final = 2 * 2**30
"""What a case may ask for beyond what the process holds already, bytes."""


@dataclass(frozen=True)
class Case:
    """Something hostile to try.

    Attributes
    ----------
    label
        How to do it again, for whoever reads the failure.
    call
        What is tried.
    refused
        Whether nothing but a named error is right.
    right
        What the answer must fulfil where there is one.
    """

    label: str
    call: Callable[[], Any]
    refused: bool = False
    right: Callable[[Any], bool] | None = None


class Ended(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


class _Hang(BaseException):
    """The time of a case is over."""


def count(part: str, among: int = 1) -> int:
    """Return how many cases a part runs in each of several tests."""
    share = SLOW * PARTS[part] if part in PARTS else (1 - SLOW) * QUICK[part]
    return max(1, round(CASES * share / among))


def source(part: str, *also: str) -> np.random.Generator:
    """Return the source of randomness of a part, always the same."""
    return np.random.default_rng([ord(letter) for letter in "/".join((part, *also))])


def check(cases: Iterable[Case]) -> None:
    """Try all cases, and fail with the wrong ones, counted by cause."""
    tried, wrong = 0, []
    for case in cases:
        tried += 1
        cause = complaint(case)
        if cause is not None:
            wrong.append((cause, case.label))
    if wrong:
        causes = Counter(cause for cause, _ in wrong).most_common()
        example = {cause: label for cause, label in reversed(wrong)}
        lines = [f"{number:4} x {cause}\n         {example[cause]}" for cause, number in causes]
        raise AssertionError(f"{len(wrong)} of {tried} cases are wrong:\n" + "\n".join(lines))
    assert tried > 0


def complaint(case: Case) -> str | None:
    """Try a case and return what is wrong with how it ended, if anything is."""
    try:
        with _limits(), warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", EdgeOptWarning)
            warnings.simplefilter("ignore", ResourceWarning)
            answer = case.call()
    except EdgeOptError as error:
        return None if str(error).strip() else "an error without a word"
    except _Hang:
        return f"takes longer than {SECONDS:g} s"
    except (Exception, SystemExit) as error:  # whatever it is: that is what is asked
        where = [f for f in traceback.extract_tb(error.__traceback__) if "edgeopt" in f.filename]
        place = f"{Path(where[-1].filename).name}:{where[-1].lineno}" if where else "elsewhere"
        return f"{type(error).__name__} at {place}: {str(error)[:90]}"
    if case.refused:
        return "accepted without a word"
    if case.right is not None and not case.right(answer):
        return f"a wrong answer: {str(answer)[:200]}"
    return None


def command(arguments: Sequence[str], *, refused: bool = True) -> Case:
    """Return the case of a command: exit code 2 and one line, or success where that is right."""

    def right(ended: Ended) -> bool:
        if ended.code == 0 and not refused:
            return True
        return ended.code == 2 and len(ended.err.strip().splitlines()) == 1

    return Case(f"edgeopt {' '.join(arguments)}"[:300], lambda: ran(arguments), right=right)


def ran(arguments: Sequence[str]) -> Ended:
    """Run a command in this process and return how it ended."""
    from edgeopt.cli.main import run

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(arguments)
    return Ended(code, out.getvalue(), err.getvalue())


@contextlib.contextmanager
def _limits() -> Iterator[None]:
    """Stop what hangs, and what asks for more memory than a case may have."""

    def stop(*_: object) -> None:
        raise _Hang

    before = signal.signal(signal.SIGALRM, stop)
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        if sys.platform == "linux":
            held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (held + MEMORY, hard))
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
