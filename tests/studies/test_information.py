"""What policies are told stands beside them in every table; systems without it have no column."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, get_args

import pandas as pd
import pytest

from edgeopt.cli.main import run
from edgeopt.instances.tapfinger import generate
from edgeopt.online.tapfinger.policies.efficient_bundles import Information
from edgeopt.studies import study
from edgeopt.studies.tapfinger import SYSTEM
from edgeopt.studies.tapfinger.policies import earlier
from tests.studies import stopping

if TYPE_CHECKING:
    from pathlib import Path

    from edgeopt.studies import Study

POLICIES = {"reservation": "durations", "learnt+kept": "nothing", "min": "nothing"}


@pytest.fixture(scope="module")
def small() -> Study:
    record = replace(SYSTEM, claims=None, reporting=replace(SYSTEM.reporting, pictures=(), logs=()))
    instance = generate(tasks=8, clusters=2)
    return study({"one": instance}, POLICIES, system=record, runs=2)


def test_every_policy_says_what_it_is_told() -> None:
    instance = generate(tasks=4, clusters=2)
    information = {
        entry.name: entry.make(instance, {}).information for entry in SYSTEM.policies.entries
    }
    assert set(information.values()) == set(get_args(Information))
    nothing = {name for name, what in information.items() if what == "nothing"}
    tiresias = {"tiresias", "tiresias+elastic", "tiresias+containers"}
    assert nothing == tiresias | {"learnt", "learnt+kept", "random", "min", "imitation+unknown"}


def test_tables_say_it(small: Study, tmp_path: Path) -> None:
    assert dict(zip(small.table["policy"], small.table["information"], strict=True)) == POLICIES
    rows = json.loads(small.to_json())["policies"]
    assert {row["policy"]: row["information"] for row in rows} == POLICIES
    page = small.page(tmp_path).read_text(encoding="utf-8")
    heading, body = page.split("policies</h2>")[1].split("</thead>")[:2]
    assert ">Information</th>" in heading
    assert (body.count(">durations</td>"), body.count(">nothing</td>")) == (1, 2)
    compared_rows = pd.read_csv(tmp_path / "over_instances.csv")
    assert dict(zip(compared_rows["policy"], compared_rows["information"], strict=True)) == POLICIES


def test_the_terminal_says_it(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = str(tmp_path / "one.nc")
    generate(tasks=6, clusters=2).save(path)
    chosen = ["--instance", path, "--policies", "tiresias,reservation", "--runs", "2"]
    assert run(["study", "tapfinger", *chosen, "--wide"]) == 0
    printed = capsys.readouterr().out
    assert printed.count(" information ") >= 2  # of the instance, and over all
    assert printed.count(" durations ") >= 2
    assert printed.count(" nothing ") >= 2


def test_where_no_policy_says_anything_there_is_no_column(tmp_path: Path) -> None:
    found = study({"a": stopping.Offers(4)}, system=stopping.SYSTEM, runs=2)
    assert set(found.table["information"]) == {""}
    assert ">Information<" not in found.page(tmp_path).read_text(encoding="utf-8")


def test_earlier_tasks_are_others_at_the_same_pace() -> None:
    instance = generate(tasks=60, single_start=True)
    before = earlier(instance)
    assert before != instance
    assert (before.tasks, before.arrival[-1]) == (60, instance.arrival[-1])
    assert before == earlier(instance)
    known = {(k, *row) for k, row in zip(instance.kind, instance.eligible.tolist(), strict=True)}
    assert known >= {
        (k, *row) for k, row in zip(before.kind, before.eligible.tolist(), strict=True)
    }
    tasks = {name: getattr(instance, name) for name in ("arrival", "kind", "eligible", "weight")}
    assert before.replace(**tasks) == instance  # nothing else differs
