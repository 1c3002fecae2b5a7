"""Claims check the package: each calls a public name of what it is about, on its own instance."""

import importlib
import inspect
import pkgutil
import sys
from functools import cache

import pytest

from edgeopt.bounds import claims
from tests.draws import every

SUBPACKAGES = ("models", "online", "solvers", "rounding")
SYSTEMS = ("rescue", "idn", "oinc", "edr", "tapfinger")


def exported():
    """Yield what an ``__init__`` of the subpackages exports."""
    for name in SUBPACKAGES:
        root = importlib.import_module(f"edgeopt.{name}")
        inner = pkgutil.walk_packages(root.__path__, f"{root.__name__}.")
        for module in (root, *(importlib.import_module(at.name) for at in inner if at.ispkg)):
            yield from (getattr(module, public) for public in getattr(module, "__all__", ()))


@cache
def public_code():
    """Return the code of public functions and of public methods of public classes."""
    found = set()
    for public in exported():
        if inspect.isclass(public):
            own = [base for base in public.__mro__ if base.__module__.startswith("edgeopt.")]
            parts = [
                getattr(part, "__func__", part)
                for base in own
                for name, part in vars(base).items()
                if not name.startswith("_") and not isinstance(part, property)
            ]
        else:
            # A compiled function is called like any other, but never shows in a profile.
            assert not hasattr(public, "py_func"), public
            parts = [public]
        found |= {inspect.unwrap(part).__code__ for part in parts if inspect.isfunction(part)}
    return frozenset(found)


class Called(BaseException):
    """Public code has been entered, which is all that is asked."""


def calls_the_package(claim, name):
    """Tell whether the check on a named instance enters public code; the instance is built anew."""
    build = claim.test_instances[name]
    getattr(build, "cache_clear", lambda: None)()
    # What other tests have left would be found, and nothing called.
    for at in [name for name in sys.modules if name.startswith("edgeopt.bounds.")]:
        for kept in vars(sys.modules[at]).values():
            getattr(kept, "cache_clear", lambda: None)()
    instance, known = build(), public_code()

    def look(frame, event, _):
        if event == "call" and frame.f_code in known:
            raise Called

    sys.setprofile(look)
    try:
        claim.decide(instance, lambda: claim.view(instance), name)
    except Called:
        return True
    finally:
        sys.setprofile(None)
    return False


@pytest.mark.parametrize("system", every(3, SYSTEMS))
def test_every_claim_calls_the_package(system):
    """On its counterexample, or on the first of its instances of which it says something."""
    silent = [
        id
        for id, claim in claims(system).items()
        if not any(
            calls_the_package(claim, name)
            for name in ([claim.counterexample] if claim.counterexample else claim.test_instances)
        )
    ]
    assert silent == []
