"""What every instance, file and generator refuses by name, one cause after another."""

from __future__ import annotations

import dataclasses
import inspect
import re
import warnings

import h5py
import numpy as np
import pytest
import scipy.sparse

from edgeopt.errors import InstanceError, OptionError
from edgeopt.instances import arrivals, edr, idn, oinc, rescue, tapfinger, validate
from edgeopt.instances.idn.generate import sliding_shares
from edgeopt.instances.traces import read_columns, read_rows
from tests.draws import every

FIELDS = [
    (edr.small(1), "rate"),
    (edr.small(1), "cap"),
    (oinc.small(1), "rate"),
    (oinc.small(1), "request_size"),
    (tapfinger.small(1), "speed"),
    (idn.small(1), "size"),
    (idn.small(1, own_cost=True), "cost"),
    (rescue.small(1), "capacity"),
]
GENERATORS = [
    (edr.generate, "frames"),
    (oinc.generate, "slots"),
    (tapfinger.generate, "tasks"),
    (idn.generate, "horizon"),
    (rescue.generate, "horizon"),
]
IDS = [f"{type(base).__name__}.{field}" for base, field in FIELDS]


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def refused(base, field, value):
    with pytest.raises(InstanceError) as caught:
        dataclasses.replace(base, **{field: value})
    assert caught.value.field == field
    return caught.value


@pytest.mark.parametrize(("base", "field"), FIELDS, ids=IDS)
def test_arrays_that_hold_no_plain_numbers_are_refused(base, field):
    values = getattr(base, field)
    rule = "must be an array of real numbers"
    for kind in (complex, str, object, "datetime64[s]"):
        assert rule in str(refused(base, field, np.ones(values.shape).astype("i8").astype(kind)))
    assert rule in str(refused(base, field, scipy.sparse.csr_matrix(np.eye(2))))


@pytest.mark.parametrize(("base", "field"), FIELDS, ids=IDS)
def test_masked_entries_are_refused_and_unmasked_arrays_taken(base, field):
    values = getattr(base, field)
    masked = np.ma.array(values, mask=False)
    assert dataclasses.replace(base, **{field: masked}) == base
    masked[(0,) * values.ndim] = np.ma.masked
    error = refused(base, field, masked)
    assert error.index == (0,) * values.ndim
    assert "must not be masked" in str(error)


def test_a_masked_entry_in_a_list_is_no_missing_number():
    with pytest.raises(InstanceError, match="rectangular array of numbers"):
        dataclasses.replace(oinc.small(0), speed=[np.ma.masked])


@pytest.mark.parametrize(("base", "field"), FIELDS, ids=IDS)
def test_ragged_lists_are_refused(base, field):
    assert "rectangular array of numbers" in str(refused(base, field, [[1.0], [2.0, 3.0]]))


class Stubborn:
    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("not me")


def test_what_a_foreign_class_raises_is_told_in_one_line():
    assert str(refused(edr.small(1), "rate", Stubborn())).endswith("numbers (not me)")


@pytest.mark.parametrize(("base", "field"), FIELDS, ids=IDS)
def test_numbers_are_at_most_1e50(base, field):
    values = np.full(getattr(base, field).shape, 1e120)
    assert "must be at most 1e+50 in magnitude" in str(refused(base, field, values))


@pytest.mark.parametrize(
    ("base", "field"),
    [(edr.small(1), "speed"), (oinc.small(1), "rate"), (oinc.small(1), "speed")],
)
def test_what_is_divided_by_is_not_too_small(base, field):
    values = np.full(getattr(base, field).shape, 5e-324)
    assert re.search("must be (0 or )?at least 1e-50", str(refused(base, field, values)))


def test_whole_numbers_beyond_64_bits_do_not_turn_around():
    huge = np.array([2**64 - 1], dtype=np.uint64)
    with pytest.raises(InstanceError, match="below"):
        validate.frozen_integers("n", huge, ("n",))


def test_arrays_that_would_not_fit_are_refused_before_they_are_copied():
    endless = np.broadcast_to(1.0, (10**6, 10**6))
    assert "at most 1073741824 entries" in str(refused(edr.small(1), "rate", endless))


def test_a_model_retrained_later_has_no_gap_until_then():
    profit = rescue.generate(servers=1, devices=1, profiles=2, horizon=3, reserved=0).profit
    later = dataclasses.replace(profit, trained=[10**9])
    np.testing.assert_array_equal(later.accuracy_gap(), 0.0)


@pytest.mark.parametrize("names", [{"a", "b"}, {"a": 1}, (c for c in "ab"), 3, np.array("a")])
def test_names_without_order_or_end_are_refused(names):
    with pytest.raises(InstanceError, match="names"):
        validate.check_names(names, 2, "site")


@pytest.mark.parametrize("origin", [3, b"a", "a\x00", "caf\udce9"])
def test_origins_are_texts_that_can_be_written(origin):
    assert "must be a text" in str(refused(edr.small(1), "origin", origin))


@pytest.mark.parametrize(("function", "option"), GENERATORS)
@pytest.mark.parametrize("value", [2.5, "a", None, [3], True, np.nan, np.inf, 10**12, 0.0, -1])
def test_generators_take_whole_numbers_of_what_fits_into_memory(function, option, value):
    if value is None and inspect.signature(function).parameters[option].default is None:
        return
    with pytest.raises(OptionError, match=option):
        function(**{option: value})


@pytest.mark.parametrize("value", [-1, 2.5, "x", None, True, [1, 2], np.nan])
@pytest.mark.parametrize(
    "function",
    [
        *(function for function, _ in GENERATORS),
        edr.from_bundled, idn.from_bundled, oinc.from_bundled, rescue.from_bundled,
        tapfinger.from_bundled, edr.small, idn.small, oinc.small, rescue.small, tapfinger.small,
    ],
)  # fmt: skip
def test_seeds_are_whole_numbers_or_generators(function, value):
    with pytest.raises(OptionError, match="rng = "):
        function(rng=value)


@pytest.mark.parametrize(
    ("function", "options"),
    [
        (edr.generate, {"sites": 5, "tasks": 4, "frames": 24, "slots": 2}), (edr.small, {}),
        (oinc.generate, {"sites": 4, "devices": 6, "slots": 30, "jobs": 8, "drift": True}),
        (oinc.generate, {"sites": 4, "devices": 6, "slots": 30, "jobs": 8}), (oinc.small, {}),
        (idn.generate, {"horizon": 3}), (idn.generate, {"horizon": 3, "arrivals": "multinomial"}),
        (idn.small, {}), (rescue.generate, {}), (rescue.small, {}), (tapfinger.generate, {}),
        (tapfinger.small, {}),
    ],
)  # fmt: skip
def test_one_seed_draws_one_instance(function, options):
    first = function(rng=7, **options)
    assert first == function(rng=7, **options)
    assert first == function(rng=np.random.default_rng(7), **options)
    assert first != function(rng=8, **options)


@pytest.mark.parametrize("value", every(3, [-1.0, 0.0, np.nan, np.inf, "a", None, True, 1e308]))
def test_lengths_of_slots_are_positive(value):
    for function in (rescue.generate, rescue.from_bundled, idn.generate):
        with pytest.raises(OptionError, match="slot_seconds = "):
            function(slot_seconds=value)


@pytest.mark.parametrize("value", [-1.0, np.nan, np.inf, "a", None, 1e30])
def test_deadlines_are_not_negative(value):
    for function in (rescue.generate, rescue.from_bundled):
        with pytest.raises(OptionError, match="sla = "):
            function(sla=value)


@pytest.mark.parametrize("span", [(3.0, 2.0), (1.0,), 2.0, "ab", (1.0, "a"), (np.nan, 2.0), None])
def test_ranges_are_two_numbers_in_order(span):
    with pytest.raises(OptionError, match=r"bandwidth = .*two numbers, the smaller one first"):
        oinc.generate(bandwidth=span)


def test_a_popularity_that_never_rests_is_refused():
    with pytest.raises(OptionError, match="popularity would move 135000000000 times"):
        sliding_shares(np.ones(3), 300, 450_000_000, 1, 1)


def test_a_literal_radio_has_no_gain_at_arm_s_length():
    with pytest.raises(InstanceError, match="too short for an interpretation"):
        oinc.link_rates("literal", 1e-5, 90.0, 2.0)


@pytest.fixture
def path(tmp_path):
    place = tmp_path / "instance.nc"
    oinc.small(3).save(place)
    return place


def load_refused(path):
    with pytest.raises(InstanceError) as caught:
        oinc.OincInstance.load(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    "version", every(3, ["abc", [1, 2], np.nan, 2.5, True, 0, h5py.Empty("i8")])
)
def test_versions_of_files_are_whole_numbers(path, version):
    with h5py.File(path, "r+") as file:
        file.attrs["edgeopt_format"] = version
    assert "edgeopt_format" in load_refused(path)
    assert "must be a whole number, at least 1" in load_refused(path)


@pytest.mark.parametrize("value", [[1, 2], 3.0, h5py.Empty("S1")])
def test_kinds_and_fingerprints_of_files_are_texts(path, value):
    with h5py.File(path, "r+") as file:
        file.attrs["edgeopt_fingerprint"] = value
    assert "do not match its fingerprint" in load_refused(path)
    with h5py.File(path, "r+") as file:
        file.attrs["edgeopt_kind"] = value
    assert "must hold an instance of kind 'oinc'" in load_refused(path)


@pytest.mark.parametrize("value", [3, 2.5, np.arange(300), b"caf\xe9"])
def test_other_attributes_of_files_are_texts_too(path, value):
    with h5py.File(path, "r+") as file:
        text = h5py.string_dtype() if isinstance(value, bytes) else None
        file.attrs.create("foreign", value, dtype=text)
    assert "foreign" in load_refused(path)
    assert "must be a text in UTF-8" in load_refused(path)


@pytest.mark.parametrize("compression", [None, "gzip"])
def test_files_that_declare_more_than_they_hold_are_refused_unread(path, compression):
    with h5py.File(path, "r+") as file:
        del file["work"]
        file.create_dataset("work", (9 * 10**9 // 8,), "f8", chunks=(64,), compression=compression)
    assert path.stat().st_size < 10**6
    assert "declares more numbers than a file of" in load_refused(path)


def test_arrays_outside_the_file_are_refused(path):
    with h5py.File(path, "r+") as file:
        del file["work"]
        file.create_dataset("work", (8,), "u1", external=[("/dev/zero", 0, 8)])
    assert "must be an array within the file" in load_refused(path)
    with h5py.File(path, "r+") as file:
        del file["work"]
        file["work"] = h5py.ExternalLink("elsewhere.nc", "/work")
    assert "no group and no link" in load_refused(path)


def test_what_holds_no_numbers_is_refused(path):
    with h5py.File(path, "r+") as file:
        del file["work"]
        file.create_dataset("work", data=["a", "b"], dtype=h5py.string_dtype())
    assert "must hold numbers" in load_refused(path)


@pytest.mark.parametrize("place", [None, 3, b"a.nc", object()])
def test_paths_are_texts_or_paths(place):
    for read in (oinc.OincInstance.load, read_rows, edr.from_raw, idn.from_raw):
        with pytest.raises(InstanceError, match="must be the path of a file"):
            read(place)


@pytest.mark.parametrize("place", ["\x00", "x" * 5000, "/dev/zero"])
def test_what_is_no_file_is_named(place):
    for read in (oinc.OincInstance.load, read_rows):
        with pytest.raises(InstanceError, match=r"no such file|not a readable CSV"):
            read(place)


def test_columns_that_occur_twice_are_refused(tmp_path):
    table = tmp_path / "table.csv"
    table.write_text("a,b,a\n1,2,3\n")
    any_number = (lambda x: True, "must be a number")
    assert read_columns(table, {"b": any_number})["b"].tolist() == [2.0]
    with pytest.raises(InstanceError, match="has two columns 'a'"):
        read_columns(table, {"a": any_number})


@pytest.mark.parametrize("content", ["\ufeffa\n10\n", "a\r\n10\r\n", "a\n10"])
def test_marks_and_line_ends_do_not_matter(tmp_path, content):
    table = tmp_path / "table.csv"
    table.write_bytes(content.encode())
    assert read_columns(table, {"a": (lambda x: True, "")})["a"].tolist() == [10.0]


@pytest.mark.parametrize("text", ["1_0", "0x10", "1,0", "ten", ""])
def test_numbers_are_written_as_anywhere(tmp_path, text):
    table = tmp_path / "table.csv"
    table.write_text(f'a,b\n"{text}",1\n')
    with pytest.raises(InstanceError, match=r"a\[2\] = .*must be a number"):
        read_columns(table, {"a": (lambda x: True, "")})


@pytest.mark.parametrize("text", ["now", "99999-01-01", "2023-11-16", "1500-01-01 00:00"])
def test_times_on_record_are_dates_within_reach(tmp_path, text):
    trace = tmp_path / "trace.csv"
    trace.write_text(f"TIMESTAMP\n{text}\n")
    with pytest.raises(InstanceError, match="must be a date and time"):
        arrivals.read_timestamps(trace)
