"""How long tasks take in print, in the simulations, and when measured progress is replayed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from edgeopt.bounds.claim import Assumption, Measurement
from edgeopt.bounds.tapfinger.statement import claim
from edgeopt.bounds.verdict import Relation
from edgeopt.instances.tapfinger import synthetic_workload
from edgeopt.instances.tapfinger.laws import COMPLETE, solo_durations

if TYPE_CHECKING:
    from collections.abc import Callable

    from edgeopt.instances.tapfinger.workloads import Law

__all__ = ["CLAIMS", "Curve", "Synthetic"]


@dataclass(frozen=True)
class Synthetic:
    """The made-up tasks that are sensitive to resources.

    Parameters
    ----------
    law
        How their progress goes on; see `synthetic_workload`.
    """

    law: Law

    def slots(self) -> list[int]:
        """Return how long they take with each bundle."""
        made = synthetic_workload(self.law)
        slots = solo_durations(made.speed[None, 1:], made.slowing[1:])
        return [int(number) for number in slots[slots > 0]]


@dataclass(frozen=True)
class Curve:
    """A task whose progress was measured slot by slot, always the same.

    Parameters
    ----------
    slots
        Slots that it took.
    """

    slots: int

    def replayed(self, *, printed: bool) -> int:
        """Return how many slots it takes if it is replayed."""
        progress, slots = 0.0, 0
        while progress < COMPLETE:
            slots += 1
            progress += (slots if printed else 1) / self.slots
        return slots


def _longest(tasks: Synthetic) -> Measurement:
    return Measurement(float(max(tasks.slots())), 17.0)


def _shortest(tasks: Synthetic) -> Measurement:
    return Measurement(float(min(tasks.slots())), 2.0)


_STEADY = Assumption(
    "steady progress",
    "No kind of task slows down as it makes progress.",
    lambda tasks: tasks.law == "constant",
)
_SYNTHETIC = {"instance_type": Synthetic, "view": lambda tasks: tasks}
_CURVE = {"instance_type": Curve, "view": lambda curve: curve}
_LAWS: dict[str, Callable[[], Synthetic]] = {
    "Synthetic('constant')": lambda: Synthetic("constant"),
    "Synthetic('sqrt')": lambda: Synthetic("sqrt"),
}
_CURVES = {f"Curve({slots})": lambda slots=slots: Curve(slots) for slots in (1, 2, 3, 7, 26)}

CLAIMS = (
    claim(
        "durations",
        r"A task that is sensitive to resources takes at most 17 slots, if $\tanh(g / 16)$ with g "
        "GPUs is its progress in every slot.",
        "Section V-A, synthetic ML tasks",
        _longest,
        Relation.AT_MOST,
        _LAWS,
        assumptions=(_STEADY,),
        **_SYNTHETIC,
    ),
    claim(
        "durations.printed",
        r"It takes 2 to 17 slots in the simulations of the paper. There its progress falls as "
        r"$\tanh(g / 16) \sqrt{1.2 - p}$, and it takes up to 21.",
        "Section V-A, synthetic ML tasks",
        _longest,
        Relation.AT_MOST,
        {"Synthetic('sqrt')": _LAWS["Synthetic('sqrt')"]},
        counterexample="Synthetic('sqrt')",
        corrected_by=("tapfinger.durations", "tapfinger.durations.shortest"),
        **_SYNTHETIC,
    ),
    claim(
        "durations.shortest",
        "It takes 2 slots at least, with either progress.",
        "Section V-A, synthetic ML tasks",
        _shortest,
        Relation.EQUAL,
        _LAWS,
        **_SYNTHETIC,
    ),
    claim(
        "curve",
        "A task that is replayed by what it gained in each slot takes as long as it took.",
        "Section V-A, test-bed traces, corrected",
        lambda curve: Measurement(float(curve.replayed(printed=False)), float(curve.slots)),
        Relation.EQUAL,
        _CURVES,
        **_CURVE,
    ),
    claim(
        "curve.printed",
        "It does if each slot adds the progress that it had reached by its end, as in the program "
        "behind the paper's figures: after a few slots it is complete.",
        "Section V-A, test-bed traces",
        lambda curve: Measurement(float(curve.replayed(printed=True)), float(curve.slots)),
        Relation.EQUAL,
        {"Curve(3)": _CURVES["Curve(3)"]},
        counterexample="Curve(3)",
        corrected_by=("tapfinger.curve",),
        **_CURVE,
    ),
)
