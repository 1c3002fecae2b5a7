"""A solver that is right, and one for each check of a solver that is wrong in this alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from edgeopt.solvers import Backend, Kind, Quality, Status
from edgeopt.solvers.registry import find_backend, kind_of
from edgeopt.solvers.scaling import Scaling
from edgeopt.testing.conformance import CASES

KINDS = (Kind.LINEAR, Kind.MIXED_INTEGER, Kind.QUADRATIC)


def right(program: Any, request: Any) -> Any:
    return find_backend("highs").solve_function(kind_of(program))(program, request)


def backend(name: str, route: Any) -> Backend:
    return Backend(name, "highspy", "highspy", dict.fromkeys(KINDS, route))


def same(one: Any, two: Any) -> bool:
    return (
        one.shape == two.shape
        and kind_of(one) is kind_of(two)
        and one.sense == two.sense
        and all(
            np.array_equal(getattr(one, name), getattr(two, name))
            for name in ("cost", "row_lower", "row_upper", "lower", "upper")
        )
    )


def stopped(found: Any) -> Any:
    return replace(
        found, status=Status.MAX_TIME_LIMIT, quality=Quality.NO_SOLUTION, objective=float("nan"),
        bound=-np.inf * found.problem.sign, values=None, duals=None,
    )  # fmt: skip


class GivesUp:
    """Stops without a result on one problem."""

    def __init__(self, program: Any) -> None:
        scalings = Scaling.plain(program), Scaling.equilibrated(program)
        self.programs = program, *(scaling.apply(program) for scaling in scalings)

    def __call__(self, program: Any, request: Any) -> Any:
        found = right(program, request)
        return stopped(found) if any(same(program, one) for one in self.programs) else found


class Remembers:
    """Returns the first answer to problems that differ in their sides alone."""

    def __init__(self) -> None:
        self.known: dict[bytes, Any] = {}

    def __call__(self, program: Any, request: Any) -> Any:
        sides = (program.row_lower, program.row_upper, program.lower, program.upper)
        key = b"".join(np.isfinite(side).tobytes() for side in sides)
        key += program.cost.tobytes() + program.matrix.toarray().tobytes()
        found = right(program, request)
        first = self.known.setdefault(key, found)
        return found if first.values is None else replace(first, problem=program)


def boasts(program: Any, request: Any) -> Any:
    found = right(program, request)
    if not np.isfinite(found.bound):
        return found
    return replace(found, bound=found.bound + 0.01 * program.sign * max(1.0, abs(found.bound)))


def has_no_clock(program: Any, request: Any) -> Any:
    if request.time_limit is not None:
        raise RuntimeError("no clock")
    return right(program, request)


def ignores_options(program: Any, request: Any) -> Any:
    return right(program, replace(request, options={}))


def disagrees(program: Any, request: Any) -> Any:
    found = right(program, request)
    if request.threads == 2:
        values = 0.9 * found.values
        return replace(found, values=values, objective=program.objective(values))
    return found


class NeverRecovers:
    """Solves nothing any more once it was interrupted."""

    def __init__(self) -> None:
        self.interrupted = False

    def __call__(self, program: Any, request: Any) -> Any:
        self.interrupted |= request.progress is not None
        found = right(program, request)
        return stopped(found) if self.interrupted else found


SOUND = backend("sound", right)
GIVE_UP = {case.name: backend("gives up", GivesUp(case.program)) for case in CASES}
globals().update({f"GIVES_UP_{place}": one for place, one in enumerate(GIVE_UP.values())})
REMEMBERS = backend("remembers", Remembers())
BOASTS = backend("boasts", boasts)
NO_CLOCK = backend("no clock", has_no_clock)
NO_OPTIONS = backend("no options", ignores_options)
DISAGREES = backend("disagrees", disagrees)
NEVER_RECOVERS = backend("never recovers", NeverRecovers())

BOASTED = (
    "an integer optimum of 0", "integer", "mixed integer, minimised",
    "a large constant beside a knapsack",
)  # fmt: skip

MUTANTS = {
    "duals": (REMEMBERS, ()),
    "bound": (BOASTS, BOASTED),
    "time limit": (NO_CLOCK, ()),
    "unknown option": (NO_OPTIONS, ()),
    "threads": (DISAGREES, ()),
    "interrupt": (NEVER_RECOVERS, ()),
}
"""By check: a solver that fails it, and further checks that it then fails as well."""
