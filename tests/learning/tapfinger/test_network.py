"""The network in NumPy: what it may see, what it may do, and that order does not matter."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from edgeopt.errors import OptionError
from edgeopt.learning import masked_softmax
from edgeopt.learning.tapfinger.network import (
    PRESETS,
    Architecture,
    NumpyBackend,
    Seen,
    act,
    bundles,
    drawn,
    embed,
    graph_of,
    may_give,
    places,
    table,
)
from tests.draws import LEAN, every
from tests.learning.tapfinger.rounds import SIZES, reordered, rounds, weights, widened

SMALL = PRESETS["small"]
NAMES = ("small", "no_han", "no_self_loops", "no_void_place")


def shares(seen, name="small", w=None):
    wants = places(NumpyBackend, w or weights(name), PRESETS[name], seen)
    return masked_softmax(wants.logits, wants.mask), wants


@pytest.mark.parametrize("name", NAMES)
def test_order_of_places_and_clusters_does_not_matter(name):
    seen, rng = rounds(), np.random.default_rng(3)
    before, wants = shares(seen, name)
    P = seen.node.shape[2]
    order = rng.permutation(P)
    after, _ = shares(reordered(seen, order, 2), name)
    ends = np.append(order, P) if PRESETS[name].void_place else order
    np.testing.assert_allclose(after, before[..., ends], atol=1e-5)
    turned, others = shares(reordered(seen, [2, 0, 1], 1), name)
    np.testing.assert_allclose(turned, before[:, [2, 0, 1]], atol=1e-5)
    for one, other in ((wants.cluster, others.cluster), (wants.pending, others.pending)):
        np.testing.assert_allclose(other, one[:, [2, 0, 1]], atol=1e-4)


def test_tasks_hear_the_clusters_on_which_they_are_pending():
    seen, form = rounds(), replace(SMALL, layers=1)
    w = {name: part for name, part in weights().items() if not name.startswith("1.")}
    _, N, _ = seen.node.shape
    near = graph_of(NumpyBackend, seen).near
    real = seen.pending[..., 2] < 0.5
    assert near[real].any(-1).all()
    assert not near[real].all()

    def tasks(of):
        return embed(NumpyBackend, w, form, of)[1]

    for n in range(N):
        other = seen.cluster.copy()
        other[:, n] += 1.0
        moved = np.abs(tasks(seen._replace(cluster=other)) - tasks(seen)).max(-1) > 1e-5
        assert not (moved & ~near[..., n])[real].any()
        assert (moved & near[..., n])[real].sum() > 0.9 * near[..., n][real].sum()


def test_empty_places_and_rows_change_nothing():
    seen = rounds()
    P = seen.node.shape[2]
    before, _ = shares(seen)
    after, _ = shares(widened(seen, 3, 2))
    np.testing.assert_allclose(after[..., [*range(P), -1]], before, atol=1e-5)
    assert (after[..., P:-1] == 0.0).all()


@pytest.mark.parametrize("name", ["small", "no_han"])
def test_a_round_alone_is_as_among_others(name):
    seen = rounds()
    together, _ = shares(seen, name)
    for e in range(0, len(seen.node), 7):
        alone, _ = shares(Seen(*(part[e : e + 1] for part in seen)), name)
        np.testing.assert_allclose(alone[0], together[e], atol=1e-6)


@pytest.mark.parametrize("name", every(3, ["small", "no_void_place", "no_pointer", "vanilla"]))
def test_extreme_weights_take_nothing_that_is_not_allowed(name):
    seen, form = rounds(), PRESETS[name]
    w, rng = weights(name, scale=100.0), np.random.default_rng(5)
    cpu, gpu = table(SIZES)
    E, N, P = seen.node.shape
    rows, columns = np.ogrid[:E, :N]
    drawn_in_all = 0
    with np.errstate(over="raise", invalid="raise"):
        while drawn_in_all < (1_000 if LEAN else 5_000):
            made = act(NumpyBackend, w, form, SIZES, seen, rng)
            place, named = made.action[..., 0], made.action[..., 0] < P
            assert (made.acts == seen.startable.any(-1)).all()
            assert not named[~made.acts].any()
            assert seen.startable[rows, columns, np.where(named, place, 0)][named].all()
            allowed = may_give(
                seen.box[rows, columns, np.where(named, place, 0)], cpu, gpu,
                nothing=not form.void_place,
            )  # fmt: skip
            given = made.action[..., 1] * SIZES.gpus + made.action[..., 2]
            assert allowed[rows, columns, given][named].all()
            assert np.isfinite(made.score).all()
            drawn_in_all += int(made.acts.sum())
    if name == "vanilla":
        assert (place[named] == seen.startable.argmax(-1)[named]).all()
    given, wants = shares(seen, name, w)
    mine, may = given[wants.acts], wants.mask[wants.acts]
    each = 1 + 100_000 // len(mine)
    many = drawn(np.repeat(mine, each, axis=0), rng)
    assert np.repeat(may, each, axis=0)[np.arange(len(many)), many].all()
    assert np.isfinite(given).all()


def test_drawing_keeps_to_the_shares():
    rng = np.random.default_rng(0)
    given = np.array([0.0, 0.2, 0.0, 0.5, 0.3, 0.0], dtype=np.float32)
    found = np.bincount(drawn(np.tile(given, (100_000, 1)), rng), minlength=6)
    assert (found[given == 0.0] == 0).all()
    # Six standard errors: a false alarm has a probability below 1e-8.
    assert np.abs(found / 100_000 - given).max() < 6 * 0.5 / math.sqrt(100_000)
    assert drawn(given, None) == 3


def test_probabilities_of_all_actions_sum_to_one():
    seen = Seen(*(part[:3] for part in rounds()))
    w, P = weights(), seen.node.shape[2]
    named, wants = shares(seen)
    cpu, gpu = table(SIZES)
    for e, n in np.argwhere(wants.acts):
        total = named[e, n, P]  # nobody
        for place in np.flatnonzero(seen.startable[e, n]):
            chosen = wants.pending[:, :, place]
            logits = bundles(NumpyBackend, w, SMALL, wants, chosen)[e, n]
            low_cpu, low_gpu, cpus, gpus = seen.box[e, n, place].tolist()
            exponents = {
                (a, b): math.exp(logits[a * SIZES.gpus + b])
                for a in range(low_cpu, cpus)
                for b in range(low_gpu, gpus)
            }
            allowed = may_give(seen.box[e, n, place], cpu, gpu, nothing=False)
            assert allowed.sum() == len(exponents)
            given = masked_softmax(logits, allowed)
            for (a, b), one in exponents.items():
                share = one / sum(exponents.values())
                assert given[a * SIZES.gpus + b] == pytest.approx(share, rel=1e-4)
                total += named[e, n, place] * share
        assert total == pytest.approx(1.0, abs=1e-5)


def test_kinds_on_one_cluster_are_told_apart_only_by_nodes_that_hear_themselves():
    seen = rounds()
    alone = (seen.pending[..., -1] == 1.0) & (seen.pending[..., 2] == 0.0)
    twice = [(e, n, *np.flatnonzero(alone[e, n])[:2]) for e, n in np.argwhere(alone.sum(-1) > 1)]
    pairs = [
        (e, n, i, j)
        for e, n, i, j in twice
        if (seen.pending[e, n, i, 3:5] != seen.pending[e, n, j, 3:5]).any()
    ]
    assert len(pairs) > 5
    for name, apart in (("small", True), ("no_self_loops", False)):
        _, held, _ = embed(NumpyBackend, weights(name), PRESETS[name], seen)
        for e, n, i, j in pairs:
            assert (np.abs(held[e, n, i] - held[e, n, j]).max() > 1e-3) == apart


def test_options_that_contradict_each_other_are_refused():
    with pytest.raises(OptionError, match="must divide"):
        Architecture(width=10, heads=4)
    for changed in ({"pointer": "even"}, {"mask_unfit": False}):
        with pytest.raises(OptionError, match="void_place"):
            replace(SMALL, **changed)
