"""Options of every system's generators, one by one, replaced by what does not belong there."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import pytest

from edgeopt.instances import edr, idn, oinc, rescue, tapfinger
from edgeopt.instances.edr import data as edr_built
from edgeopt.instances.idn import data as idn_built
from edgeopt.instances.oinc import data as oinc_built
from edgeopt.instances.rescue import data as rescue_built
from edgeopt.instances.tapfinger import data as tapfinger_built
from tests.fuzz.driver import Case, check, count, source
from tests.fuzz.hostile import must_refuse, shown, value_for
from tests.fuzz.test_constructors import uses

if TYPE_CHECKING:
    from collections.abc import Iterator

GENERATORS: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "rescue": (
        rescue.generate, rescue.generate,
        {"servers": 2, "devices": 2, "profiles": 2, "horizon": 6, "reserved": 2},
    ),
    "rescue from tables": (
        rescue.from_bundled, rescue_built.build,
        {"servers": 2, "devices": 2, "profiles": 2, "horizon": 6, "reserved": 2},
    ),
    "idn": (
        idn.generate, idn.generate,
        {"topology": 2, "horizon": 3, "tasks": 2, "replicas": 1, "shift_every": 10**6},
    ),
    "idn from tables": (
        idn.from_bundled, idn_built.build, {"horizon": 3, "tasks": 2, "replicas": 1},
    ),
    "edr": (edr.generate, edr.generate, {"sites": 3, "tasks": 2, "frames": 4, "slots": 4}),
    "edr from tables": (
        edr.from_bundled, edr_built.build, {"sites": 3, "tasks": 2, "frames": 4, "slots": 4},
    ),
    "oinc": (oinc.generate, oinc.generate, {"sites": 2, "devices": 3, "slots": 6, "jobs": 3}),
    "oinc from tables": (
        oinc.from_bundled, oinc_built.build, {"sites": 2, "devices": 3, "slots": 6, "jobs": 3},
    ),
    "tapfinger": (tapfinger.generate, tapfinger.generate, {"clusters": 2, "tasks": 3}),
    "tapfinger from tables": (
        tapfinger.from_bundled, tapfinger_built.build, {"clusters": 2, "tasks": 3},
    ),
}  # fmt: skip


def hostile_options(name: str) -> Iterator[Case]:
    function, signed, base = GENERATORS[name]
    parameters = {
        option: parameter.default
        for option, parameter in inspect.signature(signed).parameters.items()
        if option not in ("measured", "reduced")
    }
    draw = source("generators", name)
    for _ in range(count("generators", len(GENERATORS))):
        option = list(parameters)[int(draw.integers(len(parameters)))]
        default = parameters[option]
        value = value_for(draw)
        refused = must_refuse(option, value, default)
        if isinstance(default, tuple) and draw.random() < 0.6:
            value, refused = (value, default[1]) if draw.random() < 0.5 else (value, value), False
        given = {**base, option: value}
        if option == "shift_every":
            given["popularity"] = "sliding"
        yield Case(
            f"{name}: {option}={shown(value)}", lambda given=given: uses(function(**given)), refused
        )


@pytest.mark.parametrize("name", GENERATORS)
def test_options(name):
    check(hostile_options(name))
