"""Numbers that are not what they seem get a note, on the instance and its page, never an error."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import edgeopt
from edgeopt import collection
from edgeopt.errors import InstanceError
from edgeopt.instances import edr, idn, oinc, rescue, tapfinger
from edgeopt.instances.edr import EdrInstance
from edgeopt.instances.tapfinger import from_durations

SYSTEMS = {"rescue": rescue, "idn": idn, "edr": edr, "oinc": oinc, "tapfinger": tapfinger}
DAY = edr.generate(frames=6, slots=1, sites=2, tasks=1, types=1, rng=3)
NETWORK = idn.small(3)


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("seed", range(12))
def test_drawn_instances_look_like_what_they_are(system, seed):
    for made in (SYSTEMS[system].generate(rng=seed), SYSTEMS[system].small(seed)):
        assert made.notes == ()


@pytest.mark.parametrize("system", SYSTEMS)
def test_measured_instances_note_rounded_durations_alone(system):
    notes = SYSTEMS[system].from_bundled().notes
    assert [note.split(":")[0] for note in notes] == ["duration"] * (system == "tapfinger")


def prices(values, unit=None):
    series = pd.Series(values, pd.RangeIndex(len(values), name="frame"), dtype=float)
    series.attrs |= {} if unit is None else {"units": unit}
    return series


def priced(values, unit=None):
    fields = {one.name: getattr(DAY, one.name) for one in DAY._fields}
    return EdrInstance.from_labelled({**fields, "price_prior": 2e-5, "price": prices(values, unit)})


MARKET = np.array([40.0, -5.0, 30.0, 25.0, 55.0, 31.0])  # $/MWh


@pytest.mark.parametrize(
    ("scale", "said"),
    [
        (1.0, "if they are in $/MWh, give that unit"),
        (1e-3, "if they are in $/kWh, give that unit"),
        (1e-6, None),
        (1e-9, "a thousand times as much; check the unit"),
    ],
)
def test_prices_a_thousand_times_off(scale, said):
    for made in (priced(MARKET * scale), DAY.replace(price=MARKET * scale, price_prior=2e-5)):
        if said is None:
            assert made.notes == ()
        else:
            [note] = made.notes
            assert note.startswith("price: entries are about ")
            assert note.endswith(said)


@pytest.mark.parametrize(("scale", "unit"), [(1.0, "$/MWh"), (1e-3, "$/kWh"), (1e-6, "$/Wh")])
def test_prices_that_say_their_unit_are_converted(scale, unit):
    made = priced(MARKET * scale, unit)
    assert made.price == pytest.approx(MARKET * 1e-6)
    assert not any("entries are about" in note for note in made.notes)


def test_accuracies_that_are_fractions():
    fractions = NETWORK.replace(accuracy=NETWORK.accuracy / 100)
    [note] = fractions.notes
    assert note.startswith("accuracy: entries are about 0.9")
    assert note.endswith("if they are in 1, give that unit")
    several = NETWORK.accuracy / 100
    several[0] = 70.0
    assert NETWORK.replace(accuracy=several).notes == ()


@pytest.mark.parametrize("value", [-999.0, -9999.0, -99999.0, 1e30, 9.96921e36])
def test_numbers_that_stand_for_what_is_missing(value):
    price = DAY.price.copy()
    price[2] = value
    made = [DAY.replace(price=price)]
    made += [priced(price)] * (value < 0)
    for one in made:
        [note] = one.notes
        assert note.startswith(
            f"price: 1 of 6 entries may stand for what is missing, such as {value:g}"
        )
    # Converted, they would look like any other number.
    kept = MARKET.copy()
    kept[2] = value
    note = priced(kept, "$/MWh").notes[0]
    assert "1 of 6 entries may stand for what is missing" in note
    assert f"such as {value:g} at [2]" in note


def test_infinite_entries_stand_for_themselves():
    assert np.isinf(NETWORK.capacity).any()
    assert DAY.replace(cap=[np.inf] * 6).notes == ()


TASK = {"minimum": [[1, 1]], "capacity": [[1, 1]], "kind": [0, 0]}


def hours(seconds, arrival=(0, 0), slot=600.0, **more):
    table = [[[None, None], [None, seconds]]]
    return from_durations(
        table, seconds=True, arrival=list(arrival), slot_seconds=slot, **{**TASK, **more}
    )


@pytest.mark.parametrize(
    ("arrival", "noted"), [((0, 1), False), ((0, 47), False), ((0, 58417), True), ((0, 49), True)]
)
def test_arrivals_far_beyond_all_durations(arrival, noted):
    notes = hours(3600.0, arrival).notes
    assert bool(notes) == noted
    for note in notes:
        assert note.startswith(f"arrival: the last task arrives in slot {arrival[1]}, far beyond")
        assert "the 12 slots that all take one after another" in note


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (
            33.0,
            "1 of 1 durations rounded up to whole slots of 600 s, from 33 to 600 s in sum (18.2 ",
        ),
        (601.0, "from 601 to 1200 s in sum (2 times)"),
        (600.0, ""),
        (1200.0 * (1 + 1e-12), ""),
    ],
)
def test_durations_rounded_up_to_slots(seconds, said):
    notes = hours(seconds).notes
    assert len(notes) == bool(said)
    assert said in "".join(notes)


def test_durations_in_slots_are_counted_once_for_all_clusters():
    table = [[[None, None, None], [None, 1.5, 1.0], [None, 0.5, 2.0]]]
    one = {"minimum": [[1, 1]], "capacity": [[2, 2]] * 3, "kind": [0], "arrival": [0]}
    [note] = from_durations(table, **one).notes
    assert "2 of 4 durations rounded up" in note
    assert "from 5 to 6 slots in sum (1.2 times)" in note


def test_the_page_says_what_the_instance_notes():
    made = hours(33.0, (0, 9))
    study = edgeopt.study(made, ["min"], runs=2, claims=False)
    assert len(made.notes) == 2
    assert study.settings.provenance == made.notes
    both = edgeopt.study({"a": made, "b": made}, ["min"], runs=2, claims=False)
    assert f"b: {made.notes[0]}" in both.settings.provenance


@pytest.mark.parametrize("name", ["odd.nc", "odd.zip"])
def test_notes_are_the_same_after_saving(name, tmp_path):
    made = NETWORK.replace(accuracy=NETWORK.accuracy / 100)
    made.save(tmp_path / name)
    assert type(made).load(tmp_path / name).notes == made.notes


@pytest.mark.parametrize("name", collection.names(size="s"))
def test_instances_of_the_collection_are_as_they_should_be(name):
    assert {note.split(":")[0] for note in collection.load(name).notes} <= {"duration"}


def test_what_must_be_whole_says_the_way_out():
    for name, value in (("minimum", [[1, 0.46]]), ("capacity", [[1, 1.5]])):
        with pytest.raises(InstanceError, match="for parts of a GPU or core, count smaller ones"):
            hours(600.0, **{name: value})
        with pytest.raises(InstanceError, match="for parts of a GPU or core, count smaller ones"):
            hours(600.0).replace(**{name: value})
    requests = NETWORK.requests * 1.0
    requests[0, 0] = 0.09
    with pytest.raises(InstanceError) as caught:
        NETWORK.replace(requests=requests)
    said = "requests[0, 0] = 0.09: must be a whole number: for rates below one per slot, count the"
    assert str(caught.value).startswith(said)
