"""Records of IDN, one for each check of a system, that are wrong in this alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from edgeopt.instances.idn import small as random_instance
from edgeopt.studies import Benchmark, PolicyEntry, find_system
from edgeopt.studies.entries import Picture
from edgeopt.studies.system import Claims, Reporting

_IDN = find_system("idn")
OLAG = next(entry for entry in _IDN.policies.entries if entry.name == "olag")
SOUND = replace(
    _IDN,
    policies=replace(_IDN.policies, entries=(OLAG,), reference="olag"),
    claims=Claims("idn.cooperative.moving"),
    reporting=Reporting(),
)


def any_instance(seed: int) -> Any:
    return random_instance(np.random.default_rng())


def half(instance: Any) -> Benchmark:
    found = SOUND.offline.bounds["moving"].compute(instance)
    return replace(found, bound=0.5 * found.bound, value=0.0)


def nobody(instance: Any, found: Any) -> Any:
    raise ValueError("no policy")


def no_picture(case: Any) -> Any:
    raise ValueError("no picture")


def _with(part: str, **changes: Any) -> Any:
    return replace(SOUND, **{part: replace(getattr(SOUND, part), **changes)})


def _policies(*entries: PolicyEntry) -> Any:
    return _with("policies", entries=entries, reference=entries[0].name)


SAME = replace(OLAG, name="olag2")
BROKEN = replace(OLAG, name="broken", group="Broken", make=nobody, default=True)
PICTURE = Picture("none", no_picture, no_picture, "")
BOUNDS = {
    **SOUND.offline.bounds,
    "moving": replace(SOUND.offline.bounds["moving"], compute=half),
}

NAMELESS = replace(SOUND, title="")
TWICE = _policies(OLAG, SAME)
DRAWS_ANY = _with("instances", random_small=any_instance)
POLICY_FAILS = _policies(replace(OLAG), BROKEN)
NO_BOUND = _with("offline", bounds=BOUNDS)
PAGE_FAILS = _with("reporting", pictures=(PICTURE,))
NO_CLAIMS = replace(SOUND, claims=Claims("idn.none.*"))
UNKNOWN = replace(SOUND, name="unknown")

MUTANTS = {
    "complete": (NAMELESS, ()),
    "names": (TWICE, ()),
    "draws": (DRAWS_ANY, ()),
    "policies": (POLICY_FAILS, ("page",)),
    "bound": (NO_BOUND, ()),
    "page": (PAGE_FAILS, ()),
    "claims": (NO_CLAIMS, ()),
    "command_line": (UNKNOWN, ()),
}
"""By check: a record that fails it, and further checks that it then fails as well."""
