"""Bad data are refused with field, index, value and rule."""

from __future__ import annotations

import numpy as np
import pytest

from edgeopt.errors import InstanceError
from edgeopt.instances.idn import IdnInstance
from edgeopt.instances.validate import check_names
from tests.instances.rules import Rules, check


def sound() -> dict:
    """Two tasks on a chain 0 - 1 - 2 with a repository of task 0 at 2 and of task 1 at 1."""
    return {
        "edges": [[0, 1], [1, 2]],
        "latency": [5.0, 20.0],
        "size": np.full((3, 3), 2.0),
        "delay": np.ones((3, 3)),
        "capacity": np.full((3, 3), 10.0),
        "accuracy": [60.0, 80.0, 70.0],
        "task": [0, 0, 1],
        "budget": [4.0, 2.0, 4.0],
        "repository": [[0, 0, 0], [0, 0, 1], [1, 1, 0]],
        "request_task": [0, 1],
        "path": [[0, 1, 2], [0, 1]],
        "requests": [[3, 4], [10, 10]],
    }


put, refused = Rules(IdnInstance, sound).put, Rules(IdnInstance, sound).refused


def test_sound_data_are_accepted():
    instance = IdnInstance(**sound())
    assert instance.pinned.tolist() == [False, True, True]
    assert IdnInstance(**{**sound(), "budget": [np.inf, np.inf, np.inf]}).saturated[0]
    assert IdnInstance(**{**sound(), "capacity": np.full((3, 3), np.inf)})
    assert IdnInstance(**{**sound(), "requests": np.zeros((1, 2), dtype=int)}).horizon == 1


def test_permanent_models_may_fill_a_budget_up_to_rounding():
    size = np.full((3, 3), [0.1, 0.2, 0.1])
    full = {**sound(), "size": size, "budget": [1.0, 1.0, 0.3]}
    assert size[2, :2].sum() > full["budget"][2]  # 0.30000000000000004
    assert IdnInstance(**full).pinned[2]


@pytest.mark.parametrize(
    ("field", "value", "index", "found", "rule"),
    [
        # The cases that must be named, each.
        ("path", [[0, 1, 2], [0, 1, 2]], (1, 2), 2, "must end in a repository of task 1"),
        ("path", [[0, 1], [0, 1]], (0, 1), 1, "must end in a repository of task 0"),
        ("path", [[0, 1, 0, 1, 2], [0, 1]], (0, 2), 0, "must not visit a node twice"),
        ("path", [[0, 1, 2], [0, 1, 1]], (1, 2), 1, "must not visit a node twice"),
        ("path", [[0, 2], [0, 1]], (0, 1), 2, "no edge between nodes 0 and 2"),
        ("capacity", put("capacity", (2, 1), 9), (2, 1), 9.0, "10 in slot 1"),
        ("capacity", put("capacity", (1, 2), 9.5), (1, 2), 9.5, "must be able to serve all"),
        ("size", put("size", (1, 2), 0), (1, 2), 0.0, "must be positive"),
        ("size", put("size", (0, 1), -3), (0, 1), -3.0, "must be positive"),
        ("budget", put("budget", 2, 3.5), (2,), 3.5, "below the 4 MB that the permanent models"),
        ("requests", put("requests", (1, 0), -1), (1, 0), -1, "must not be negative"),
        ("requests", put("requests", (0, 1), 2.5), (0, 1), 2.5, "must be a whole number"),
        # Numbers that are none, or out of range.
        ("size", put("size", (1, 0), np.nan), (1, 0), np.nan, "must be finite"),
        ("size", put("size", (1, 0), np.inf), (1, 0), np.inf, "must be finite"),
        ("delay", put("delay", (1, 0), np.inf), (1, 0), np.inf, "must be finite"),
        ("delay", put("delay", (2, 1), -0.1), (2, 1), -0.1, "must not be negative"),
        ("latency", [5.0, np.nan], (1,), np.nan, "must be finite"),
        ("latency", [-1.0, 2.0], (0,), -1.0, "must not be negative"),
        ("capacity", put("capacity", (0, 0), np.nan), (0, 0), np.nan, "plus infinity"),
        ("capacity", put("capacity", (0, 0), -np.inf), (0, 0), -np.inf, "plus infinity"),
        ("capacity", put("capacity", (0, 0), -1), (0, 0), -1.0, "must not be negative"),
        ("accuracy", [60.0, 100.5, 70.0], (1,), 100.5, "percentage in 0..100"),
        ("accuracy", [-0.5, 80.0, 70.0], (0,), -0.5, "percentage in 0..100"),
        ("accuracy", [60.0, 80.0, np.nan], (2,), np.nan, "must be finite"),
        ("budget", put("budget", 0, -1), (0,), -1.0, "must not be negative"),
        ("budget", put("budget", 0, np.nan), (0,), np.nan, "plus infinity"),
        ("requests", put("requests", (0, 0), np.nan), (0, 0), np.nan, "whole number"),
        ("requests", put("requests", (0, 0), 2.0**53), (0, 0), 2**53, "below 2[*][*]53"),
        ("requests", np.full((1, 2), 2**52), (0,), 2.0**53, "sum to less than"),
        ("repository", put("repository", (0, 1), 2), (0, 1), 2, "must be 0 or 1"),
        ("alpha", -0.5, (), -0.5, "must not be negative"),
        ("alpha", np.nan, (), np.nan, "must be finite"),
        ("tier", [0, -1, 2], (1,), -1, "must be a tier"),
        # Tasks and models.
        ("task", [0, 0, -1], (2,), -1, "must be a task"),
        ("request_task", [0, 2], (1,), 2, "must be a task that has a model"),
        ("request_task", [-1, 1], (0,), -1, "must be a task"),
        # The network.
        ("edges", [[0, 1], [1, 3]], (1, 1), 3, "one of the 3 nodes"),
        ("edges", [[0, 1], [1, -1]], (1, 1), -1, "one of the 3 nodes"),
        ("edges", [[1, 1], [1, 2]], (0,), (1, 1), "two different nodes"),
        ("path", [[0, 1, 3], [0, 1]], (0, 2), 3, "one of the 3 nodes"),
        ("path", [[-2, 1, 2], [0, 1]], (0, 0), -2, "one of the 3 nodes"),
        ("path", [[0, -1, 2], [0, 1]], (0, 1), -1, "padding may only follow"),
        ("path", [[0, 1, 2], [-1]], (1,), None, "at least one node"),
        ("path", [[0, 1.5, 2], [0, 1]], (0, 1), 1.5, "whole number"),
        ("names", ("a", "b\n", "c"), (1,), r"'b\n'", "text of one line"),
        ("names", ("a", "", "c"), (1,), "''", "text of one line"),
        ("names", ("a", "b", 3), (2,), "3", "text of one line"),
    ],
)
def test_bad_entries_are_named(field, value, index, found, rule):
    check(refused(**{field: value}), field, index, found, rule)


@pytest.mark.parametrize(
    ("changes", "field", "rule"),
    [
        ({"task": [0, 0, 2], "request_task": [0, 2]}, "task", "task 1 has no model"),
        ({"task": [0, 0]}, "task", "3 entries along its axis 'model'"),
        ({"delay": np.ones((2, 3))}, "delay", "3 entries along its axis 'node'"),
        ({"capacity": np.ones(3)}, "capacity", "axes"),
        ({"size": np.ones((0, 3))}, "size", "at least one node"),
        ({"budget": np.ones(2)}, "budget", "3 entries"),
        ({"latency": [1.0]}, "latency", "2 entries"),
        ({"edges": np.zeros((2, 3))}, "edges", "2 entries along its axis 'end'"),
        ({"edges": [0, 1]}, "edges", "axes"),
        ({"requests": np.ones((2, 3))}, "requests", "2 entries along its axis 'type'"),
        ({"requests": np.ones(2)}, "requests", "axes"),
        ({"requests": np.ones((0, 2))}, "requests", "at least one slot"),
        ({"requests": [[1, 2], [3]]}, "requests", "rectangular"),
        ({"requests": [["1", "2"]]}, "requests", "real numbers"),
        ({"path": [[0, 1, 2]]}, "path", "2 paths"),
        ({"path": []}, "path", ""),
        ({"path": [0, 1]}, "path", "sequence of nodes"),
        ({"path": 3}, "path", "sequence of nodes"),
        ({"path": [["a"], [0, 1]]}, "path", "sequence of nodes"),
        ({"path": [[], [0, 1]]}, "path", "at least one node"),
        ({"request_task": []}, "request_task", "at least one type"),
        ({"tier": [0, 1]}, "tier", "3 entries"),
        ({"names": ("a", "b")}, "names", "3 texts"),
        ({"names": "abc"}, "names", "a text per node"),
        ({"names": 5}, "names", "a text per node"),
        ({"alpha": [1.0]}, "alpha", "axes"),
    ],
)
def test_bad_shapes_are_named(changes, field, rule):
    error = refused(**changes)
    assert error.field == field
    assert rule in error.rule


@pytest.mark.parametrize("again", [[0, 1], [1, 0]])
def test_edges_occur_once(again):
    error = refused(edges=[[0, 1], [1, 2], again], latency=[1.0, 2.0, 3.0])
    assert (error.field, error.index, error.value) == ("edges", (2,), tuple(again))
    assert "edge 0" in error.rule


def test_every_permanent_model_must_serve_all_that_passes():
    # Two types of task 0 pass node 1, which has a permanent model of it; each alone would fit.
    data = sound() | {
        "request_task": [0, 0],
        "path": [[0, 1, 2], [1, 2]],
        "repository": [[0, 0, 0], [1, 0, 0], [1, 0, 0]],
        "capacity": np.array([[1.0] * 3, [13.0] * 3, [14.0] * 3]),
        "requests": [[7, 7]],
    }
    with pytest.raises(InstanceError, match="14 in slot 0") as caught:
        IdnInstance(**data)
    assert caught.value.index == (1, 0)
    assert caught.value.value == 13.0
    data["capacity"] = np.array([[1.0] * 3, [14.0] * 3, [14.0] * 3])
    assert IdnInstance(**data)
    # The edge node, which is not permanent, may well be too slow.
    assert IdnInstance(**{**data, "path": [[0, 1, 2], [0, 1, 2]]})


@pytest.mark.parametrize(
    ("table", "index", "found", "rule"),
    [
        (np.full((2, 3, 3), -1.0), (0, 0, 0), -1.0, "must not be negative"),
        (np.full((2, 3, 3), np.nan), (0, 0, 0), np.nan, "must be finite"),
        (np.full((2, 2, 3), 1.0), None, "array of shape (2, 2, 3)", "axis 'position'"),
        (np.full((2, 3), 1.0), None, "array of shape (2, 3)", "axes"),
        (np.full((2, 3, 3), "a"), None, "dtype <U1", "real numbers"),
    ],
)
def test_bad_tables_of_costs_are_named(table, index, found, rule):
    check(refused(cost=table), "cost", index, found, rule)


def test_names_may_be_any_sequence_of_texts():
    assert check_names(["Zürich", "b c"], 2, "node") == ("Zürich", "b c")
