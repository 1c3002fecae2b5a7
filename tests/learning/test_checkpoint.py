"""Files of what was learnt: equal after a round trip, and refused by name when damaged."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from edgeopt.errors import EdgeOptError, InputError, OptionError
from edgeopt.learning import Checkpoint
from edgeopt.learning.checkpoint import flattened, nested, read_arrays, write_arrays


def _checkpoint(seed: int = 0) -> Checkpoint:
    draw = np.random.default_rng(seed)
    return Checkpoint(
        weights={
            "0.weight": draw.normal(size=(32, 12)).astype(np.float32),
            "0.bias": draw.normal(size=32),
            "count": draw.integers(9, size=(2, 3)),
        },
        system="oinc",
        learner="insertion",
        settings={"hidden": [32, 32], "tau": 0.5},
        features=("a", "e"),
        seeds={"training": range(3), "validation": (7,)},
        instances=("0" * 64,),
        updates=20,
        planned=40,
        kept=0,
        curve=[{"updates": 0, "reward": -1.5}, {"updates": 20, "reward": None}],
    )


def test_a_saved_checkpoint_is_read_again_whole(tmp_path):
    made = _checkpoint()
    path = made.save(tmp_path / "policy.safetensors")
    read = Checkpoint.load(path, system="oinc", learner="insertion")
    for name, array in made.weights.items():
        assert read.weights[name].dtype == array.dtype
        np.testing.assert_array_equal(read.weights[name], array)
    assert read.settings == made.settings
    assert read.seeds == {"training": [0, 1, 2], "validation": [7]}
    assert read.curve == [{"updates": 0, "reward": -1.5}, {"updates": 20, "reward": None}]
    assert read.stopped
    assert read.kept == 0
    silent = replace(read, kept=None)
    assert "kept" not in read_arrays(silent.save(tmp_path / "silent"), "a test")[1]
    assert Checkpoint.load(tmp_path / "silent").kept is None
    with pytest.raises(OptionError, match="kept = -1: must be at least 0"):
        replace(read, kept=-1)
    assert read.versions["numpy"] == np.__version__
    assert repr(read) == "Checkpoint(oinc insertion, 422 weights, 20 of 40 updates)"
    assert read.fingerprint() == made.fingerprint()
    assert read_arrays(path, "a test")[1]["shapes"]["0.weight"] == [32, 12]
    assert read.fingerprint() in path.read_bytes().decode(errors="replace")
    assert replace(read, updates=21).fingerprint() != read.fingerprint()
    again = read.save(tmp_path / "again.safetensors")
    assert again.read_bytes() == path.read_bytes()


def test_a_hundred_damages_are_each_refused_by_name(tmp_path):
    whole = _checkpoint().save(tmp_path / "whole.safetensors").read_bytes()
    header = 8 + int.from_bytes(whole[:8], "little")
    draw = np.random.default_rng(5)
    damaged = []
    for first, last, count in ((header, len(whole), 50), (0, header, 25)):
        for place in draw.integers(first, last, count):
            bits = bytearray(whole)
            bits[place] ^= 1 << int(draw.integers(8))
            damaged.append(bytes(bits))
    damaged += [whole[: int(cut)] for cut in draw.integers(0, len(whole), 15)]
    foreign = (b"", b"{}", b"PK\x03\x04", b"\x80\x04K\x01.", b"\xff" * 40, whole + b"\0", whole * 2)
    damaged += [*foreign, b"\x02" + bytes(7) + b"{}", b"\x02" + bytes(7) + b"[]", b"\x93NUMPY"]
    assert len(damaged) == 100
    path = tmp_path / "damaged.safetensors"
    for content in damaged:
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"damaged|is not a checkpoint|is missing"):
            Checkpoint.load(path)


def test_every_bit_of_a_header_counts(tmp_path):
    whole = _checkpoint().save(tmp_path / "whole.safetensors").read_bytes()
    header = 8 + int.from_bytes(whole[:8], "little")
    path = tmp_path / "damaged.safetensors"
    for place in range(0, header, 7):
        bits = bytearray(whole)
        bits[place] ^= 1 << place % 8
        path.write_bytes(bytes(bits))
        with pytest.raises(EdgeOptError):
            Checkpoint.load(path)


@pytest.mark.parametrize(
    ("record", "words"),
    [
        ({"format": 2, "system": "oinc", "learner": "insertion"}, "has format 2"),
        ({"format": 1, "system": "edr", "learner": "macro"}, "for the system 'edr', not 'oinc'"),
        ({"format": 1, "system": "oinc", "learner": "sac-d"}, "for the learner 'sac-d'"),
        ({"format": 1, "system": "oinc", "learner": "insertion", "what": 1}, "not a checkpoint"),
    ],
)
def test_a_file_for_something_else_is_refused(tmp_path, record, words):
    path = write_arrays(tmp_path / "other.safetensors", {"a": np.zeros(2)}, record)
    with pytest.raises(InputError, match=words):
        Checkpoint.load(path, system="oinc", learner="insertion")


def test_weights_are_held_against_a_network():
    made = _checkpoint()
    shapes = {"0.weight": (32, 12), "0.bias": (32,), "count": (2, 3)}
    made.require(shapes)
    with pytest.raises(InputError, match=r"1\.weight: is missing"):
        made.require(shapes | {"1.weight": (1, 32)})
    with pytest.raises(InputError, match=r"0\.bias: has shape \(32,\)"):
        made.require(shapes | {"0.bias": (31,)})
    with pytest.raises(InputError, match="count: is a weight that this network does not have"):
        made.require({name: shapes[name] for name in ("0.weight", "0.bias")})
    with pytest.raises(InputError, match=r"bias\[1\]: a weight must be finite"):
        Checkpoint(system="oinc", learner="insertion", weights={"bias": np.array([0.0, np.nan])})


def test_trees_of_arrays_come_back():
    tree = {
        "optimiser": {"state": {"0": {"step": np.array(3.0)}}, "rates": [0.1]},
        "generator": {"state": {"state": 2**127 + 1}},
        "empty": {},
        "done": 4,
    }
    arrays, rest = flattened(tree)
    assert set(arrays) == {"optimiser/state/0/step"}
    assert json.loads(json.dumps(rest)) == rest
    found = nested(arrays, rest)
    assert found["generator"] == tree["generator"]
    assert found["optimiser"]["rates"] == [0.1]
    np.testing.assert_array_equal(found["optimiser"]["state"]["0"]["step"], np.array(3.0))


def test_scalars_and_empty_arrays_are_kept(tmp_path):
    arrays = {"step": np.array(3.0, np.float32), "none": np.zeros((0, 4))}
    read, record = read_arrays(write_arrays(tmp_path / "a", arrays, {"x": 1}), "a test")
    assert read["step"].shape == ()
    assert read["none"].shape == (0, 4)
    assert record == {"x": 1}
    with pytest.raises(InputError, match="type <U1 cannot be written"):
        write_arrays(tmp_path / "b", {"text": np.array(["a"])}, {})
