"""The formula that Optimus fits to speeds."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import curve_fit

from edgeopt.errors import OptionError
from edgeopt.instances.tapfinger import TapFingerInstance
from edgeopt.online.tapfinger.policies.optimus import fitted_slots
from edgeopt.testing.strategies import tapfinger_instances
from tests.draws import draws


def kinds(speed: Any, minimum: Any = (1, 1), **changes: Any) -> TapFingerInstance:
    """Return a cluster of (9, 9) with a table of speeds of one kind of task."""
    data: dict[str, Any] = {
        "capacity": [[9, 9]],
        "minimum": [minimum],
        "speed": [speed],
        "arrival": [],
        "kind": [],
        "eligible": np.zeros((0, 1), dtype=bool),
    }
    return TapFingerInstance(**data | changes)


def formula(cpu: Any, gpu: Any, theta: Any) -> Any:
    return theta[0] / gpu + theta[1] + theta[2] * gpu / cpu + theta[3] * gpu + theta[4] * cpu


def least_squares(cpu: np.ndarray, gpu: np.ndarray, slots: np.ndarray) -> list[float]:
    """Return the values of the best formula in rational arithmetic, proven by its multipliers.

    Every set of terms is tried, until coefficients and slopes have the signs of an optimum. The
    values there are unique, whatever the coefficients.
    """
    rows = [
        [Fraction(1, w), Fraction(1), Fraction(w, p), Fraction(w), Fraction(p)]
        for p, w in zip(cpu.tolist(), gpu.tolist(), strict=True)
    ]
    wanted = [Fraction(value) for value in slots.tolist()]
    for count in range(6):
        for chosen in combinations(range(5), count):
            found = projected([[row[i] for i in chosen] for row in rows], wanted)
            if found is None or min(found, default=0) < 0:
                continue
            value = [
                sum((row[i] * x for i, x in zip(chosen, found, strict=True)), Fraction(0))
                for row in rows
            ]
            left = [v - b for v, b in zip(value, wanted, strict=True)]
            slope = [sum(row[i] * d for row, d in zip(rows, left, strict=True)) for i in range(5)]
            if min(slope) >= 0:
                assert all(slope[i] == 0 for i in chosen)
                return [float(v) for v in value]
    raise AssertionError("no set of terms is optimal")


def projected(rows: list[list[Fraction]], wanted: list[Fraction]) -> list[Fraction] | None:
    """Solve the normal equations, or return None if terms depend on each other."""
    size = len(rows[0])
    table = [
        [sum(row[i] * row[j] for row in rows) for j in range(size)]
        + [sum(row[i] * b for row, b in zip(rows, wanted, strict=True))]
        for i in range(size)
    ]
    for i in range(size):
        pivot = next((r for r in range(i, size) if table[r][i]), None)
        if pivot is None:
            return None
        table[i], table[pivot] = table[pivot], table[i]
        table[i] = [entry / table[i][i] for entry in table[i]]
        for r in range(size):
            if r != i:
                share = table[r][i]
                table[r] = [a - share * b for a, b in zip(table[r], table[i], strict=True)]
    return [row[-1] for row in table]


weights = st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=5, max_size=5).filter(any)


@settings(max_examples=draws(30))
@given(weights, st.booleans())
def test_speeds_that_follow_the_formula_are_met(theta: list[float], slowing: bool) -> None:
    cpu, gpu = np.maximum(np.indices((6, 5)), 1)
    slots = formula(cpu, gpu, theta)
    instance = kinds(1 / slots, slowing=[slowing])
    fitted = fitted_slots(instance)[0, 0]
    first = np.sqrt(1.2) if slowing else 1.0
    assert fitted[1:, 1:] == pytest.approx(slots[1:, 1:] / first, rel=1e-9)
    assert np.isinf(fitted[0]).all()
    assert np.isinf(fitted[:, 0]).all()


@settings(max_examples=draws(30))
@given(tapfinger_instances())
def test_least_squares_without_negative_coefficients(instance: TapFingerInstance) -> None:
    fitted = fitted_slots(instance)
    assert instance.slowing is not None
    for n, k in np.ndindex(*instance.speed.shape[:2]):
        first = np.sqrt(1.2) if instance.slowing[k] else 1.0
        allowed = instance.speed[n, k] > 0
        slots = 1 / (instance.speed[n, k][allowed] * first)
        cpu, gpu = np.nonzero(allowed)
        some = (cpu > 0) & (gpu > 0)
        assert fitted[n, k][allowed][~some] == pytest.approx(slots[~some])
        if some.any():
            best = least_squares(cpu[some], gpu[some], slots[some])
            assert fitted[n, k][allowed][some] == pytest.approx(best, rel=1e-9)


def test_a_table_that_says_nothing_of_cpu_cores_stays_so() -> None:
    gpu = np.indices((9, 9))[1]
    fitted = fitted_slots(kinds(np.tanh(gpu / 16)))[0, 0]
    assert np.abs(np.diff(fitted[1:, 1:], axis=0)).max() < 1e-9
    assert (np.diff(fitted[1:, 1:], axis=1) < 0).all()


@pytest.mark.parametrize("shape", [(9, 9), (9, 5)])
def test_the_published_fit_mixes_cpu_cores_and_gpus_up(shape: tuple[int, int]) -> None:
    cpu, gpu = np.indices(shape)
    speed = np.where((cpu >= 2) & (gpu >= 1), np.tanh(gpu / 16), 0.0)
    fitted = fitted_slots(kinds(speed, (2, 1)), "published")[0, 0]
    # Bundles with the number of CPU cores first, against speeds with that of GPUs first.
    listed = [(max(p, 1e-3), max(w, 1e-3)) for w in range(shape[1]) for p in range(shape[0])]
    theta, _ = curve_fit(
        lambda x, *theta: 1 / formula(*x, theta), np.array(listed).T, speed.ravel(), p0=np.ones(5)
    )
    # It has arrived: the error is at right angles to what coefficients can change.
    p, w = np.array(listed).T
    terms = np.stack([1 / w, np.ones_like(w), w / p, w, p])
    slope = terms / (terms.T @ theta) ** 2
    excess = 1 / (terms.T @ theta) - speed.ravel()
    size = np.linalg.norm(slope, axis=1) * np.linalg.norm(excess)
    assert (abs(slope @ excess) <= 1e-4 * size).all()
    believed = formula(cpu[2:, 1:], gpu[2:, 1:], theta)
    assert fitted[2:, 1:] == pytest.approx(believed, rel=1e-4)
    if shape[0] == shape[1]:
        # So CPU cores, which do nothing, are believed to help.
        assert (np.diff(fitted[2:, 1:], axis=0) < 0).all()


def test_clusters_have_fits_of_their_own() -> None:
    slots = np.arange(1.0, 5.0)[:, None] + np.ones(4)
    tables = np.stack([1 / slots, 0.5 / slots])[:, None]
    pair = kinds(1 / slots).replace(
        capacity=[[9, 9]] * 2, speed=tables, eligible=np.zeros((0, 2), dtype=bool)
    )
    fitted = fitted_slots(pair)
    assert fitted[1, 0, 1:, 1:] == pytest.approx(2 * fitted[0, 0, 1:, 1:])


def test_an_unknown_fit_is_refused() -> None:
    with pytest.raises(OptionError, match="fit = 'other': must be one of 'correct', 'published'"):
        fitted_slots(kinds(np.ones((2, 2))), "other")  # type: ignore[arg-type]
