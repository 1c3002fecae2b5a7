"""Instances keep their data in files and copies, and INFIDA its expectations over coins."""

from __future__ import annotations

import itertools
import tempfile
from collections import Counter
from dataclasses import fields
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.stats import chi2

from edgeopt.instances.idn import IdnInstance
from edgeopt.online.idn import Infida, Slot
from tests.draws import draws, every
from tests.idn.cases import cases
from tests.oracles import rounding
from tests.oracles.idn import plain


def same(a, b):
    if a is None or b is None:
        return a is b
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b)
    return a == b


@settings(max_examples=draws(50))
@given(cases())
def test_what_is_saved_is_loaded(case):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "network.nc"
        case.instance.save(path)
        loaded = IdnInstance.load(path)
    for field in fields(IdnInstance):
        assert same(getattr(case.instance, field.name), getattr(loaded, field.name)), field.name
    assert loaded.fingerprint() == case.instance.fingerprint()
    assert plain(loaded) == plain(case.instance)


@given(cases())
def test_the_fingerprint_tells_instances_apart(case):
    copy = case.instance.replace()
    assert copy.fingerprint() == case.instance.fingerprint()
    nudged = case.instance.requests.copy()
    nudged.setflags(write=True)
    nudged[-1, -1] = 0 if nudged[-1, -1] else 1
    enough = np.where(case.instance.repository, np.inf, case.instance.capacity)
    roomy = case.instance.replace(capacity=enough)
    assert roomy.replace(requests=nudged).fingerprint() != roomy.fingerprint()


@given(cases())
def test_the_oracle_reads_what_the_package_was_given(case):
    assert plain(case.instance) == case.plain


@given(cases())
def test_arrays_are_read_only(case):
    for field in fields(IdnInstance):
        value = getattr(case.instance, field.name)
        if isinstance(value, np.ndarray):
            assert not value.flags.writeable, field.name
    for name in ("pinned", "active", "saturated", "empty", "total_requests"):
        assert not getattr(case.instance, name).flags.writeable, name


@given(cases())
def test_derived_masks(case):
    oracle = case.plain
    V = range(oracle.V)
    assert case.instance.pinned.tolist() == [oracle.pinned(v) for v in V]
    assert case.instance.active.tolist() == [oracle.active(v) for v in V]
    full = [not oracle.pinned(v) and oracle.budget[v] >= sum(oracle.size[v]) for v in V]
    assert case.instance.saturated.tolist() == full
    assert case.instance.empty.tolist() == [list(row) for row in oracle.repository]
    assert case.instance.total_requests.tolist() == [sum(r) for r in oracle.requests]


FALSE_ALARM = 1e-6
RUNS = 20_000
SIZES = ((2.0, 3.0, 4.0), (1.0, 1.0))  # of the models that fit
BUDGETS = (4.5, 1.5)


def two_nodes():
    """Return two nodes with three and two models that fit, on the way to a repository."""
    return IdnInstance(
        edges=[[0, 1], [1, 2]],
        latency=[1.0, 1.0],
        size=[[*SIZES[0], 9.0], [*SIZES[1], 9.0, 9.0], [1.0] * 4],
        delay=np.zeros((3, 4)),
        capacity=np.full((3, 4), 9.0),
        accuracy=[90.0, 90.0, 90.0, 99.0],
        task=[0, 0, 0, 0],
        budget=[*BUDGETS, 1.0],
        repository=[[False] * 4, [False] * 4, [False, False, False, True]],
        request_task=[0],
        path=[[0, 1, 2]],
        requests=[[3]],
    )


@pytest.mark.parametrize("coins", every(2, ["fresh", "common"]))
@pytest.mark.parametrize("residual", every(2, ["drop", "half"]))
def test_nodes_draw_from_the_product_of_their_laws(residual, coins):
    """Chi-square on the joint deployment of both nodes; four tests share the false alarm."""
    instance = two_nodes()
    policy = Infida(step=1.0, residual=residual, coins=coins)
    start = policy.start(instance)
    distributions = []
    for v, size in enumerate(SIZES):
        share = Fraction(BUDGETS[v]) / Fraction(sum(size))
        assert start.fractional[v, : len(size)] == pytest.approx([float(share)] * len(size))
        distributions.append(
            rounding.depround([share] * len(size), [Fraction(s) for s in size], residual)
        )
    expected = {
        (*x, *y): float(p * q)
        for (x, p), (y, q) in itertools.product(distributions[0].items(), distributions[1].items())
    }
    rng = np.random.default_rng(20261121)
    found = Counter()
    for _ in range(RUNS):
        deployed, _ = policy.decide(start, Slot(0), rng)
        # what outweighs a budget is left out
        assert not deployed[0, 3:].any()
        assert not deployed[1, 2:].any()
        found[tuple(map(int, [*deployed[0, :3], *deployed[1, :2]]))] += 1
    assert set(found) <= set(expected)
    # the distribution of the statistic is trusted where every class has many draws
    assert min(expected.values()) * RUNS > 40
    statistic = sum((found[x] - RUNS * p) ** 2 / (RUNS * p) for x, p in expected.items())
    assert chi2.sf(statistic, len(expected) - 1) > FALSE_ALARM / 4
