"""Instances survive a file and copies; equal data have equal fingerprints."""

from __future__ import annotations

import tempfile
from dataclasses import fields
from pathlib import Path

import numpy as np
from hypothesis import given, settings

from edgeopt.instances.idn import IdnInstance
from tests.draws import draws
from tests.idn.cases import cases
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
    for name in ("pinned", "active", "saturated", "empty", "total_requests", "replica_of"):
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
