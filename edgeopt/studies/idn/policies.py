"""The policies that an IDN study compares: INFIDA in several forms, and what it is up against."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from edgeopt.studies.entries import PolicyEntry
from edgeopt.studies.idn.benchmarks import STATIC

if TYPE_CHECKING:
    from collections.abc import Mapping

    from edgeopt.instances.idn import IdnInstance
    from edgeopt.studies.entries import Benchmark

__all__ = ["POLICIES"]

_FORMS: tuple[tuple[str, str, dict[str, Any], bool], ...] = (
    # name, title, options of `Infida`, takes part by default
    ("infida", "INFIDA", {}, True),
    ("infida+theory", "INFIDA, proven step", {"step": "theory"}, True),
    ("infida+common", "INFIDA, common coins", {"coins": "common"}, True),
    ("infida+half", "INFIDA, safe half", {"coins": "common", "residual": "half"}, True),
    ("infida+fill", "INFIDA, safe fill", {"coins": "common", "residual": "fill"}, True),
    ("infida+shared", "INFIDA, shared credit", {"credit": "shared"}, False),
    ("infida+leader", "INFIDA, all gradients", {"ascent": "leader"}, False),
    ("infida+printed", "INFIDA, printed step", {"step": "printed"}, False),
    *(
        (f"infida+every{b}", f"INFIDA, every {b} slots", {"refresh": b}, False)
        for b in (4, 8, 16, 32)
    ),
)


def _infida(
    options: Mapping[str, Any], label: str, _instance: IdnInstance, _found: Mapping[str, Benchmark]
) -> Any:
    from edgeopt.online.idn import Infida

    return Infida(label=label, **options)


def _stretching(label: str, _instance: IdnInstance, _found: Mapping[str, Benchmark]) -> Any:
    from edgeopt.online.idn import Infida, Stretching

    return Infida(label=label, refresh=Stretching())


def _offline(instance: IdnInstance, _found: Mapping[str, Benchmark]) -> Any:
    from edgeopt.online.idn import offline_infida

    return offline_infida(instance)


def _greedy(instance: IdnInstance, _found: Mapping[str, Benchmark]) -> Any:
    from edgeopt.online.idn import StaticGreedy

    return StaticGreedy.plan(instance)


def _olag(
    options: Mapping[str, Any], _instance: IdnInstance, _found: Mapping[str, Benchmark]
) -> Any:
    from edgeopt.online.idn import Olag

    return Olag(**options)


POLICIES = (
    *(
        PolicyEntry(name, title, partial(_infida, options, title), default=default)
        for name, title, options, default in _FORMS
    ),
    PolicyEntry(
        "infida+stretching",
        "INFIDA, rarer and rarer",
        partial(_stretching, "INFIDA, rarer and rarer"),
    ),
    PolicyEntry("infida-offline", "INFIDA offline", _offline),
    PolicyEntry("sg", "Static greedy", _greedy, bound=STATIC),
    PolicyEntry("olag", "OLAG", partial(_olag, {})),
    PolicyEntry(
        "olag+forwarded",
        "OLAG, forwarded",
        partial(_olag, {"counters": "forwarded"}),
        default=False,
    ),
    PolicyEntry(
        "olag+literal",
        "OLAG, as printed",
        partial(_olag, {"counters": "forwarded", "ties": "literal"}),
        default=False,
    ),
)
