"""Fronts of policies: who replaces whom, by hand, and what is stored."""

from __future__ import annotations

import json

from edgeopt.collection.fronts import FRONTS, SETTINGS, front_of, information
from edgeopt.studies import find_system

# Gap, violations and seconds of four policies, on each of two instances of two settings.
SAME = {
    "cvs": [0.1, 0, 1.0], "srs": [0.2, 0, 1.1], "random": [0.1, 0, 2.0], "rescue": [0.1, 0, 1.0],
}  # fmt: skip


def measured() -> list[dict[str, list[float]]]:
    return [{name: list(row) for name, row in SAME.items()} for _ in range(4)]


def replaced(found: list[dict[str, list[float]]]) -> dict[str, list[str]]:
    return {row["policy"]: row["replaced_by"] for row in front_of("rescue", found)}


def test_a_better_value_or_a_shorter_time_replaces_where_nothing_is_lost() -> None:
    # Those that follow a plan know more: RESCUE is as good as CVS, and replaces nobody.
    assert replaced(measured()) == {"cvs": [], "srs": ["cvs"], "random": ["cvs"], "rescue": []}


def test_noise_within_a_setting_and_violations_keep_a_policy() -> None:
    found = measured()
    found[1]["srs"][0] = 0.0  # better on one instance, worse on the other of its setting
    assert replaced(found)["srs"] == []
    found = measured()
    for one in found:
        one["cvs"][1] = 1.0
    assert replaced(found)["srs"] == []


def test_settings_that_differ_are_no_noise() -> None:
    found = measured()
    for one in found[2:]:
        one["srs"][0] = 0.9
    assert replaced(found)["srs"] == ["cvs"]


def test_a_policy_is_replaced_only_by_one_that_runs_where_it_does() -> None:
    found = measured()
    for one in found[2:]:
        del one["cvs"]
    assert replaced(found) == {"cvs": [], "srs": [], "random": [], "rescue": []}


def test_information_is_what_a_policy_must_know() -> None:
    assert information("rescue", "rescue") == {"distribution"}
    assert information("idn", "sg") == {"future"}
    assert information("oinc", "learned") == {"training"}
    assert information("tapfinger", "reservation") == {"durations"}
    assert information("tapfinger", "tiresias") == frozenset()


def test_the_stored_table_has_every_policy() -> None:
    rows = json.loads(FRONTS.read_text(encoding="utf-8"))
    for system in SETTINGS:
        names = [entry.name for entry in find_system(system).policies.entries]
        mine = {row["policy"]: row for row in rows if row["system"] == system}
        assert list(mine) == names
        for row in mine.values():
            assert set(row["information"]) == information(system, row["policy"])
            assert row["policy"] not in row["replaced_by"]
            assert set(row["replaced_by"]) <= set(names)
