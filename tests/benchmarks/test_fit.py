"""The fitted power law: exact laws, noisy ones in repeated draws, and too few sizes."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.fit import CONFIDENCE, fit

SIZES = (10, 20, 40, 80, 160)


@pytest.mark.parametrize("exponent", [0.0, 1.0, 1.5, 3.0])
def test_exact_law_is_found_with_an_interval_of_no_width(exponent: float) -> None:
    law = fit(SIZES, [2e-6 * n**exponent for n in SIZES])
    assert law.exponent == pytest.approx(exponent, abs=1e-12)
    assert law.factor == pytest.approx(2e-6)
    assert law.last == pytest.approx(exponent, abs=1e-12)
    assert law.high - law.low == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("count", [3, 4, 5])
def test_interval_covers_the_exponent_as_often_as_it_says(count: int) -> None:
    rng = np.random.default_rng(7)
    sizes, draws = SIZES[:count], 1000
    covered = 0
    for _ in range(draws):
        noise = np.exp(rng.normal(0.0, 0.3, count))
        law = fit(sizes, [1e-3 * n**1.3 * z for n, z in zip(sizes, noise, strict=True)])
        covered += law.low <= 1.3 <= law.high
    # Noise is normal in logarithms, so that the interval is exact; five standard errors of a
    # binomial share leave a false alarm of 6e-7.
    share, error = covered / draws, (CONFIDENCE * (1 - CONFIDENCE) / draws) ** 0.5
    assert abs(share - CONFIDENCE) < 5 * error


def test_interval_narrows_with_the_confidence_of_more_sizes() -> None:
    few, many = (fit(SIZES[:k], [n * (1.1 if n % 40 else 0.9) for n in SIZES[:k]]) for k in (3, 5))
    assert many.high - many.low < few.high - few.low


def test_fixed_cost_shows_in_the_last_step() -> None:
    law = fit(SIZES, [1e-3 + 1e-5 * n for n in SIZES])
    assert 0.0 < law.exponent < law.last < 1.0


def test_slope_is_the_least_squares_line_in_logarithms() -> None:
    # At log n = 0, 1, 3: slopes by hand from the normal equations.
    law = fit(np.exp([0.0, 1.0, 3.0]).tolist(), np.exp([0.0, 2.0, 3.0]).tolist())
    assert law.exponent == pytest.approx(13 / 14)
    # One degree of freedom; the 97.5 % quantile of Student's t is 12.7062 there.
    x, y = np.array([0.0, 1.0, 3.0]), np.array([0.0, 2.0, 3.0])
    left = y - y.mean() - 13 / 14 * (x - x.mean())
    reach = 12.7062 * np.sqrt((left @ left) / ((x - x.mean()) ** 2).sum())
    assert law.high - law.exponent == pytest.approx(reach, rel=1e-5)
    assert law.exponent - law.low == pytest.approx(reach, rel=1e-5)


@pytest.mark.parametrize("count", [0, 1, 2])
def test_fewer_than_three_sizes_are_refused(count: int) -> None:
    with pytest.raises(ValueError, match="at least 3 sizes"):
        fit(SIZES[:count], [1.0] * count)
