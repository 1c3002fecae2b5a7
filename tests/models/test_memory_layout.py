"""Kernels that may sum in any order sum in the same one wherever their arrays lie in memory."""

from __future__ import annotations

import inspect
from functools import wraps

import numpy as np
import pytest

from edgeopt.instances.rescue import generate
from edgeopt.models.rescue import first_order, kernels, solve_p1_lp
from edgeopt.models.rescue import newton_system as newton

APART, CLOSE = 512, 0
"""Numbers between two arrays: compilers guard loops against arrays that nearly overlap."""


def laid_out(arguments, gap):
    """Copy arguments; those of floats into one buffer, with a gap behind each."""
    floats = [a for a in arguments if isinstance(a, np.ndarray) and a.dtype == np.float64]
    memory = np.zeros(sum(a.size + gap for a in floats))
    copied, at = [], 0
    for argument in arguments:
        if not isinstance(argument, np.ndarray):
            copied.append(argument)
        elif argument.dtype != np.float64:
            copied.append(argument.copy())
        else:
            part = memory[at : at + argument.size].reshape(argument.shape)
            part[:] = argument
            copied.append(part)
            at += argument.size + gap
    return copied


def outcome(kernel, arguments, gap):
    """Return the bits of what a kernel returns and writes."""
    given = laid_out(arguments, gap)
    returned = kernel(*given)
    arrays = [a.tobytes() for a in given if isinstance(a, np.ndarray)]
    return np.asarray([] if returned is None else returned).tobytes(), arrays


@pytest.mark.parametrize("method", ["structured", "columns", "pdhg"])
def test_p1_lp_has_the_same_bits(monkeypatch, method):
    called = set()

    def held(kernel):
        parameters = inspect.signature(kernel.py_func).parameters

        @wraps(kernel.py_func)
        def call(*arguments):
            assert len(arguments) == len(parameters)
            called.add(kernel.py_func.__name__)
            close, apart = (outcome(kernel, arguments, gap) for gap in (CLOSE, APART))
            assert close == apart, kernel.py_func.__name__
            return kernel(*arguments)

        return call

    if method == "pdhg":
        steps = ("step_runs", "project_windows", "project_runs", "reduce_profits", "place_runs")
        products: tuple[str, ...] = ("price_runs", "occupancy", "load_by_pair")
        own = (first_order, steps)
    else:
        steps = ("begin_direction", "finish_direction", "_prepare", "_gather", "_complete")
        products = ("price_runs", "occupancy", "assemble_band", "eliminate", "load_by_pair")
        own = (newton, steps)
    for module, names in (own, (kernels, products)):
        for name in names:
            monkeypatch.setattr(module, name, held(getattr(module, name)))
    for seed in range(2):
        instance = generate(servers=2, devices=3, profiles=3, horizon=24, reserved=6, rng=seed)
        solve_p1_lp(instance, method=method, gap=1e-3 if method == "pdhg" else 1e-6)
    assert called == {*steps, *products}
