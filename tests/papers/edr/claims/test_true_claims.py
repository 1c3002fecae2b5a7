"""Every true claim on hundreds of drawn instances, none of them left without a case."""

from collections import Counter

import numpy as np
import pytest
from edgeopt_papers.edr.claims.evaluation import Planned
from edgeopt_papers.edr.claims.instances import moving
from edgeopt_papers.edr.claims.rounded import Frame
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.bounds import check, claims
from edgeopt.instances.edr import EdrInstance, generate
from edgeopt.instances.edr.named import small, steady, tiled
from edgeopt.testing.strategies import edr_instances
from tests.draws import LEAN, draws

ABOUT = {
    id: claim
    for id, claim in claims("edr").items()
    if not claim.counterexample and issubclass(EdrInstance, claim.instance_type)
}
SOLVED = [
    id
    for id in ABOUT
    if id.startswith(("edr.price", "edr.elimination", "edr.value", "edr.theorem1"))
]
"""Claims that solve many programs."""

FAST = [id for id in ABOUT if id not in SOLVED]
ROUNDED = [id for id, claim in ABOUT.items() if Frame in np.atleast_1d(claim.instance_type)]


def refuted(ids, instance):
    return [found for found in check(ids, instance) if found.verdict == "violated"]


@settings(max_examples=draws(60))
@given(edr_instances())
def test_instances(instance):
    assert refuted(FAST, instance) == []


@settings(max_examples=draws(40))
@given(edr_instances(frames=3, slots=2, sites=3))
def test_instances_solved(instance):
    assert refuted(SOLVED, instance) == []


@st.composite
def always_open(draw):
    """Draw an instance whose tasks may train all the time, whatever caps and prices are."""
    instance = draw(edr_instances(frames=3, slots=2, sites=3))
    instance = instance.replace(
        arrival=np.zeros(instance.tasks, dtype=int),
        deadline=np.full(instance.tasks, instance.frames - 1),
    )
    return tiled(instance, draw(st.integers(1, 4)), keep_rate=True)


@settings(max_examples=draws(40))
@given(always_open())
def test_instances_with_open_windows(instance):
    assert refuted(FAST, instance) == []


@st.composite
def planned(draw):
    """Draw an instance with fractional rounds within its windows."""
    instance = draw(edr_instances(frames=2, slots=2, sites=3, tasks=3))
    size = (instance.frames, instance.tasks)
    quarters = draw(st.lists(st.sampled_from([1, 2, 3, 0, 4, 6]), min_size=1, max_size=6))
    rounds = np.resize(np.array(quarters) / 4, size) if instance.tasks else np.zeros(size)
    return Planned(instance, rounds * instance.active)


@settings(max_examples=draws(60))
@given(planned())
def test_instances_with_fixed_rounds(given):
    about = [id for id in ABOUT if id.startswith(("edr.theorem1", "edr.fit", "edr.equation8"))]
    assert refuted([*about, *ROUNDED], given) == []


@st.composite
def frames(draw):
    """Draw fractional rounds and energies of up to five tasks."""
    width = draw(st.integers(1, 5))
    rounds = draw(st.lists(st.fractions(0, 3, max_denominator=9), min_size=width, max_size=width))
    energy = draw(st.lists(st.fractions(0, 4, max_denominator=5), min_size=width, max_size=width))
    return Frame.of(rounds, energy)


@settings(max_examples=draws(60))
@given(frames())
def test_rounding_of_single_frames(frame):
    assert refuted(ROUNDED, frame) == []


@pytest.mark.parametrize("first", range(0, 40 if LEAN else 200, 40))
def test_theory_under_its_assumptions(first):
    """Lemmas 3 and 4 and Theorem 2 on 200 training problems that move, vacuous on none."""
    ids = ["edr.equation22", "edr.lemma3", "edr.lemma4", "edr.theorem2", "edr.theorem2.multipliers"]
    for seed in range(first, first + 40):
        for found in check(ids, moving(seed)):
            assert found.verdict == "holds", (seed, found)


def test_no_claim_goes_untested():
    """Count the verdicts that say something."""
    said = Counter()
    seeds = range(3 if LEAN else 12)
    cases = [make(seed) for make in (small, steady) for seed in seeds]
    for case in cases:
        for found in check(list(ABOUT), case):
            assert found.verdict != "violated", found
            said[found.claim] += found.verdict == "holds"
    # A frame with a single fraction is given as such, not looked for in an instance.
    for id in ABOUT:
        assert said[id] >= (0 if id == "edr.lemma1.either" else 1 if LEAN else 5), (id, said[id])


def test_claims_that_scale_say_something_in_the_setting_of_the_paper():
    instance = generate(sites=12, tasks=10, frames=12, slots=3)
    verdicts = {found.claim: found for found in check(list(ABOUT), instance)}
    assert [id for id, found in verdicts.items() if found.verdict == "violated"] == []
    speaking = {id.split(".")[1] for id, found in verdicts.items() if found.verdict == "holds"}
    assert speaking >= {
        "lemma1", "lemma2", "margin", "equation22", "equation27", "equation46",
        "theorem2", "cap", "comparator", "fit", "value", "elimination", "even_split",
        "price", "h2", "equation8", "capacity", "compliance",
    }  # fmt: skip
    assert "assumption fails" in verdicts["edr.lemma3"].reason
