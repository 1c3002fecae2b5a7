"""Every false claim is refuted on its named instance, by the numbers that pen and paper give."""

import math

import numpy as np
import pytest

from edgeopt.bounds import check, claims
from edgeopt.bounds.tapfinger import counterexamples as named
from edgeopt.bounds.tapfinger.accumulation import early_and_late
from edgeopt.bounds.tapfinger.baselines import InTurn
from edgeopt.bounds.tapfinger.changes import five_and_twice_seven
from edgeopt.bounds.tapfinger.conflicts import empty_handed, keen_or_roomy
from edgeopt.bounds.tapfinger.noise import Gain
from edgeopt.bounds.tapfinger.placements import no_bundle, one_resource, two_clusters
from edgeopt.bounds.tapfinger.progress import Curve, Synthetic
from edgeopt.bounds.tapfinger.recorded import three_clusters, tiresias_in_rounds
from edgeopt.bounds.tapfinger.rounds import Agents, short_and_long, two_at_once
from edgeopt.bounds.tapfinger.worlds import Streams

DISCOUNTED = [(1 - 0.99**n) / (1 - 0.99) for n in (11, 1, 22)]

REFUTED = [
    # claim, instance, measured, guaranteed
    ("equation3.printed", named.lone_task(), 0, 1),
    ("equation1.printed", named.both_or_halves(), 3 + 6, 4 + 4),
    ("bundles.printed", named.last_unit(), 2, 1),
    ("equation2.slots", named.at_once(), 1 + 2, 1 + 1),
    ("equation2.printed", two_clusters(), 2, 1),
    ("equation8.printed", no_bundle(), -1, 0),
    ("equation8.one_resource", one_resource(), -1, 0),
    ("equation5.printed", named.late_arrivals(), 1, 0),
    ("equation5.running", named.cut_off(), 1, 0),
    ("accumulation.end", named.started_at_once(), 0, 1),
    ("reward.local.printed", named.waiting_twice(), 3, 2),
    ("reward.discounted", early_and_late(), sum(DISCOUNTED[1:]) - 2 * DISCOUNTED[0], 0),
    ("usage.end", named.started_at_once(), 0, 2),
    ("algorithm1.printed", Agents((2,)), 1, 0),
    ("algorithm1.endless", Agents((0,)), 1000, 1),
    ("timesteps.printed", two_at_once(), 6, 2),
    ("timesteps.uniform", short_and_long(), 3, 1),
    ("equation11.printed", keen_or_roomy(), 0.6, 0.9),
    ("equation11.ratio", keen_or_roomy(), 0.6, 0.9),
    ("conflict.printed", empty_handed(), 0, 1),
    ("durations.printed", Synthetic("sqrt"), 21, 17),
    ("noise.printed", Gain(0.0625, 0.1), 0.0625 + 0.0375**2 / 0.4, 0.0625),
    ("noise.durations.printed", named.one_gpu(), 18.405, 21),
    ("noise.durations.faster", named.insensitive(), 4.5228, 4),
    ("curve.printed", Curve(3), 2, 3),
    ("bound.fixed", named.overtaken(), 1 + 5, 1 + 4),
    ("bound.noise", named.one_gpu(), 21, 7),
    ("volume.fixed", five_and_twice_seven(), 5 + 7 + 7, 4 * 5),
    ("min.printed", InTurn((1, 10)), 10 + 11, 1 + 11),
    ("optimus.printed", named.sensitive_task(), -0.237911, 0),
    ("worlds.shared", Streams((1, 1), (2, 1)), 1, 0),
    ("tiresias.printed", tiresias_in_rounds(), 11.96, 11.98 / 2),
    ("headline.printed", three_clusters(), 100 * (1 - 6.417 / 8.562), 28.55),
]


@pytest.mark.parametrize(("claim", "instance", "measured", "guaranteed"), REFUTED)
def test_refuted_by_exact_numbers(claim, instance, measured, guaranteed):
    [found] = check(f"tapfinger.{claim}", instance)
    assert found.verdict == "violated"
    assert found.measured == pytest.approx(measured, rel=1e-5, abs=1e-8)
    assert found.guaranteed == pytest.approx(guaranteed, rel=1e-5, abs=1e-8)


def test_every_false_claim_is_refuted_by_default_and_every_true_one_holds():
    expected = {
        id: "violated" if claim.counterexample else "holds"
        for id, claim in claims("tapfinger").items()
    }
    assert {found.claim: found.verdict.value for found in check("tapfinger")} == expected
    tested = {f"tapfinger.{row[0]}" for row in REFUTED}
    assert {id for id, verdict in expected.items() if verdict == "violated"} == tested


@pytest.mark.parametrize(
    ("slots", "printed"), [(1, 1), (2, 2), (3, 2), (6, 3), (7, 4), (21, 6), (26, 7)]
)
def test_values_of_a_curve_add_up_soon(slots, printed):
    """After k slots they are k (k + 1) / 2 of the parts."""
    assert Curve(slots).replayed(printed=True) == printed
    assert printed * (printed + 1) / 2 >= slots > printed * (printed - 1) / 2
    assert Curve(slots).replayed(printed=False) == slots


@pytest.mark.parametrize(("speed", "slowing", "mean"), [(math.tanh(1 / 16), True, 18.405)])
def test_mean_duration_by_many_draws(speed, slowing, mean):
    """100,000 runs with a standard error of 0.012: further off by chance once in 10^9."""
    draw = np.random.default_rng(1)
    progress, slots = np.zeros(100_000), np.zeros(100_000)
    while (here := progress < 1 - 1e-9).any():
        law = speed * np.sqrt(np.maximum(1.2 - progress, 0)) if slowing else speed
        gain = np.maximum(0, law + draw.uniform(-0.1, 0.1, progress.size))
        progress, slots = progress + here * gain, slots + here
    assert slots.mean() == pytest.approx(mean, abs=0.075)


@pytest.mark.parametrize("tasks", [(1,), (4, 0, 2), (3, 3)])
def test_printed_loop_stops_at_the_first_round_in_which_all_start(tasks):
    rounds, left = Agents(tasks).rounds(printed=True)
    assert (rounds, left) == ((1000, 0) if 0 in tasks else (1, sum(tasks) - len(tasks)))
    assert Agents(tasks).rounds(printed=False) == (max(tasks) + 1, 0)
