"""Views: pure, equal in words, table and picture, and the same as those of a study."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from typing import Any

import numpy as np
import pandas as pd
import pytest

from edgeopt.instances.rescue import generate
from edgeopt.studies import find_system, study, systems
from edgeopt.studies.claims.counterexample import hunt
from edgeopt.studies.drawing import Lanes, Span
from edgeopt.studies.live import instance_of, lines, live_of, offered
from edgeopt.studies.pages.instance import View, view_of, written
from edgeopt.studies.pictures.vector import TEXT, WIDTH, _ticks, lanes
from edgeopt.studies.registry import choose
from edgeopt.studies.view import ViewSettings, view
from edgeopt.studies.wording import gap_said
from tests.draws import every

SYSTEMS = ("rescue", "idn", "oinc", "edr", "tapfinger")
PHONE = 390
NAMESPACE = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def views() -> dict[str, View]:
    return {name: view(instance_of(find_system(name))) for name in SYSTEMS}


def texts(svg: str) -> list[ElementTree.Element]:
    return [one for one in ElementTree.fromstring(svg).iter() if one.tag.endswith("text")]


def test_what_rounding_leaves_is_no_bar() -> None:
    styles = {"used": "#009e73", "above the limit": "#d55e00"}

    def bars(high: float) -> int:
        spans = [Span(0, 1, "used", 0.0, 0.5), Span(0, 1, "above the limit", 0.5, high)]
        return lanes(Lanes("energy", "slot", 1.0, {"site": spans}, styles))[1].count("<rect")

    assert bars(0.5 + 1e-15) + 1 == bars(0.51)


@pytest.mark.parametrize("name", every(2, SYSTEMS))
def test_a_view_is_pure(name: str, views: dict[str, View]) -> None:
    instance = instance_of(find_system(name))
    before = instance.fingerprint()
    again = view(instance)
    assert instance.fingerprint() == before
    assert again.text == views[name].text
    assert again.svg == views[name].svg
    pd.testing.assert_frame_equal(again.table, views[name].table)


@pytest.mark.parametrize("name", every(2, SYSTEMS))
def test_numbers_of_the_picture_are_those_of_the_table(name: str, views: dict[str, View]) -> None:
    found = views[name]
    root = ElementTree.fromstring(found.svg)
    table = found.table.set_index("policy")
    keys = [one for one in root.iter() if "data-number" in one.attrib]
    assert len(keys) >= 2 + len(table) + table["gap"].notna().sum()
    case = _case_of(name)
    for one in keys:
        key = one.attrib["data-number"]
        policy, _, column = key.rpartition(".")
        if policy in table.index:
            assert table.loc[policy, column] == pytest.approx(found.numbers[key])
        assert one.text == written(case, key, found.numbers[key])
    # Bars are as long as the values say, up to hundredths of a unit.
    widths = [float(one.attrib["width"]) for one in root.iter() if one.get("class") == "bar"]
    shares = table["value"] / table["value"].iloc[0]
    np.testing.assert_allclose(np.array(widths) / widths[0], shares, atol=1e-3)


def _case_of(name: str, bound: float = 1.0) -> Any:
    """Return what `written` asks of a case: the unit, and whether there is a bound."""
    from types import SimpleNamespace

    return SimpleNamespace(
        objective=find_system(name).objective, benchmark=SimpleNamespace(bound=bound)
    )


def shown_bound(name: str) -> str:
    """The bound that the view of a system draws."""
    record = find_system(name)
    return (record.live.bound if record.live else "") or record.offline.reference


@pytest.mark.parametrize("name", every(2, SYSTEMS))
def test_labels_stand_in_the_picture(name: str) -> None:
    instance = instance_of(find_system(name), rng=1)
    axis = {"rescue": "server", "idn": "node", "oinc": "site", "edr": "task"}.get(name, "cluster")
    if name == "idn" and instance.names:
        instance = instance.replace(names=None)
    labels = [f"my {axis} {n}" for n in range(instance.axes[axis])]
    shown = view(instance.with_labels({axis: labels})).svg
    assert "my " in shown
    assert f">{axis} 0<" not in shown


@pytest.mark.parametrize("name", every(2, SYSTEMS))
def test_a_gap_is_written_in_one_way(name: str, views: dict[str, View]) -> None:
    found = views[name]
    drawn = {
        one.attrib["data-number"]: one.text
        for one in ElementTree.fromstring(found.svg).iter()
        if one.attrib.get("data-number", "").endswith(".gap")
    }
    for row in found.table.to_dict("records"):
        other = row["bound"] not in ("", shown_bound(name))
        assert f">{gap_said(row)}{' to ' if other else '<'}" in found.written
        if np.isfinite(row["gap"]):
            assert drawn[f"{row['policy']}.gap"] == gap_said(row)
        else:
            assert f" · {gap_said(row)}" in found.svg
    unit = find_system(name).objective.unit
    expected = gap_said({"gap": 0.42, "gap_unit": unit})
    assert written(_case_of(name, bound=0.0), "x.gap", 0.42) == expected
    assert "from a bound of 0" in expected


def test_the_run_that_is_drawn_is_of_the_policy_that_is_named() -> None:
    # Two policies have the same value here; the text names one of them.
    record = find_system("tapfinger")
    found = view(instance_of(record, rng=1), ViewSettings(rng=1))
    table = found.table.set_index("policy")
    assert table["value"]["optimus"] == table["value"]["reservation"] == table["value"].min()
    title = found.text.partition(": ")[2].partition(", ")[0]
    assert f"in one run of {title}<" in found.svg


@pytest.mark.parametrize("name", every(2, SYSTEMS))
def test_pictures_are_self_contained_and_readable_on_a_phone(
    name: str, views: dict[str, View]
) -> None:
    svg = views[name].svg
    root = ElementTree.fromstring(svg)
    assert root.attrib["role"] == "img"
    assert [one.tag.removeprefix(NAMESPACE) for one in root][:2] == ["title", "desc"]
    assert root[1].text == views[name].text
    assert not {one.tag.removeprefix(NAMESPACE) for one in root.iter()} & {"script", "image", "a"}
    assert not re.search(r"url\(|href|@import|\bon\w+=", svg)
    assert [found for found in re.findall(r"https?://[^\"]*", svg) if "w3.org" not in found] == []
    # A margin of 16 pixels on both sides.
    assert TEXT * (PHONE - 32) / WIDTH >= 9
    assert {one.attrib.get("font-size") for one in root.iter()} == {str(TEXT), None}
    assert len(views[name]._repr_html_().encode()) <= 100_000


@pytest.mark.parametrize("name", every(2, SYSTEMS))
def test_the_text_has_two_sentences(name: str, views: dict[str, View]) -> None:
    assert len(re.findall(r"\.(?= [A-Z]|$)", views[name].text)) == 2


def test_gaps_are_from_the_bound_in_both_senses(views: dict[str, View]) -> None:
    for name, found in views.items():
        drawn = found.table["bound"].isin(["", shown_bound(name)])
        table, bound = found.table[drawn], found.numbers["bound"]
        sign = 1 if find_system(name).objective.sense == "max" else -1
        expected = sign * (bound - table["value"]) / abs(bound)
        bounded = table["gap"].notna()
        np.testing.assert_allclose(table["gap"][bounded], expected[bounded])
        case = found.case
        assert case is not None
        assert bounded.tolist() == [bool(case.bound_of(one)) for one in table["policy"]]
        assert bounded.any(), name


def test_a_policy_that_violates_or_knows_the_future_is_marked(views: dict[str, View]) -> None:
    for found in views.values():
        best = found.text.partition(" is best")[0]
        bars = [
            one for one in ElementTree.fromstring(found.svg).iter() if one.get("class") == "bar"
        ]
        for bar, row in zip(bars, found.table.to_dict("records"), strict=True):
            if row["violated"] > 0:
                assert bar.attrib["fill"] == "#8a9099"
            elif row["kind"] == "hindsight":
                assert bar.attrib["fill"] == "none"
                assert "(hindsight)" in row["title"]
            else:
                assert bar.attrib["fill"] not in ("none", "#8a9099")
            assert row["kind"] == "causal" or row["title"] != best
    assert (views["idn"].table["kind"] == "hindsight").any()
    assert (views["rescue"].table["violated"] > 0).any()


def test_a_view_of_own_policies_reads_no_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    def offered(group: str) -> list[Any]:
        raise AssertionError(group)

    instance = instance_of(find_system("tapfinger"))
    monkeypatch.setattr("edgeopt.registry.offered", offered)
    assert view(instance, ViewSettings(("min", "random"), runs=2)).svg
    with pytest.raises(AssertionError, match=r"edgeopt\.policies"):
        view(instance, ViewSettings(("mi*",), runs=2))


def test_labels_are_escaped() -> None:
    from edgeopt.studies.entries import PolicyEntry

    record = find_system("rescue")
    [plain] = choose(record, ["random+guard"])
    hostile = PolicyEntry("x", '<script>alert("&")</script>', plain.make)
    found = view(generate(horizon=12, servers=1, reserved=1), ViewSettings((hostile,), runs=3))
    assert ElementTree.fromstring(found.svg) is not None
    assert "<script" not in found._repr_html_()


def test_the_view_of_a_study_is_the_view() -> None:
    instance = generate(rng=2, horizon=20, servers=2, devices=3, reserved=3)
    policies = ("rescue+guard", "random")
    result = study(instance, policies, runs=20, rng=5)
    shown = view(instance, ViewSettings(policies, 20, 5, "safe"))
    of_study = view_of(result.cases[0])
    assert shown.svg == of_study.svg
    assert shown.text == of_study.text
    assert shown._repr_html_() == of_study._repr_html_()
    pd.testing.assert_frame_equal(shown.table, of_study.table)
    assert of_study.svg in result._repr_html_()


def test_errors_are_told_in_the_text() -> None:
    instance = generate(horizon=12)
    for settings, said in (
        (ViewSettings(("recsue",)), "did you mean"),
        (ViewSettings(runs=1), "runs"),
        (ViewSettings(bound="nothing"), "bound 'nothing' is unknown"),
        (ViewSettings(rng=-1), "rng"),
    ):
        found = view(instance, settings)
        assert said in found.text
        assert found.table.empty
        assert found.svg == ""
    assert "no system has instances" in view(object()).text


@pytest.mark.parametrize("name", every(2, SYSTEMS))
def test_sliders_move_the_instance(name: str) -> None:
    record = find_system(name)
    live = live_of(record)
    first = instance_of(record)
    assert live.columns(first) <= live.most
    assert offered(record, live.source) == list(live.sliders)
    for one in offered(record, live.source):
        assert one.low <= one.start <= one.high
        moved = one.high if one.start < one.high else one.low
        changed = instance_of(record, **{one.name: moved})
        assert changed != first, one.name
    assert instance_of(record, rng=1) != first


@pytest.mark.parametrize("name", every(2, SYSTEMS))
def test_a_file_has_the_sliders_that_change_an_instance(name: str, tmp_path: Any) -> None:
    record = find_system(name)
    path = str(tmp_path / "given.nc")
    given = instance_of(record, rng=3)
    given.save(path)
    sliders = offered(record, path)
    assert sliders
    assert all(one.change for one in sliders)
    assert instance_of(record, path) == given
    with pytest.raises(ValueError, match="no slider 'seed'"):
        instance_of(record, path, seed=3)
    with pytest.raises(ValueError, match="neither a file, a folder nor a source"):
        instance_of(record, "nowhere")


@pytest.mark.parametrize("name", every(2, SYSTEMS))
def test_three_lines_give_the_same_table(name: str) -> None:
    record = find_system(name)
    moved = {one.name: one.start for one in offered(record, live_of(record).source)}
    changing = next(one for one in live_of(record).sliders if one.change)
    moved[changing.name] = changing.high
    policies = live_of(record).policies[:2]
    settings = ViewSettings(policies, runs=3, rng=4)
    source = lines(record, live_of(record).source, 4, moved, settings)
    assert source.count("\n") == 2
    space: dict[str, Any] = {}
    exec(source, space)
    expected = view(instance_of(record, rng=4, **moved), settings)
    pd.testing.assert_frame_equal(space["shown"].table, expected.table)


@pytest.mark.parametrize("name", every(2, SYSTEMS))
def test_a_published_claim_is_hunted(name: str) -> None:
    record = find_system(name)
    known = hunt(record, seconds=0.0)
    assert not known.found
    assert "known instance" in known.text
    assert known.verdict.verdict == "violated"


def test_a_hunt_can_be_ended() -> None:
    asked = []

    def ended() -> bool:
        asked.append(None)
        return len(asked) > 2

    found = hunt(find_system("rescue"), ended=ended)
    assert len(asked) == 3
    assert not found.found


def test_hunting_says_when_it_has_found_one() -> None:
    found = hunt(find_system("tapfinger"))
    assert found.found
    assert "Found just now" in found.text
    assert found.verdict.verdict == "violated"


def test_ticks_are_round_and_reach_the_end() -> None:
    for end in (1.0, 7.0, 60.0, 100.0, 113.7, 10_000.0):
        ticks = _ticks(end)
        assert ticks[0] == 0
        assert 2 <= len(ticks) <= 7
        assert ticks[-1] <= end < ticks[-1] + (ticks[1] - ticks[0]) * (1 + 1e-9)


def test_every_built_in_system_has_a_live_page() -> None:
    assert set(SYSTEMS) <= set(systems())
    assert all(find_system(name).live is not None for name in SYSTEMS)


def test_an_exact_value_has_no_interval_of_samples() -> None:
    instance = generate(servers=2, devices=4, horizon=20, rng=3)
    case = study(instance, ["rescue", "srs"], runs=20, claims=False, progress=False).cases[0]
    rows = view_of(case).table.set_index("policy")
    assert rows["spread"].to_dict() == {"rescue": "exact", "srs": "interval"}
    assert np.isnan(rows.loc["rescue", ["low", "high"]].astype(float)).all()
    assert np.isfinite(rows.loc["srs", ["low", "high"]].astype(float)).all()
    assert view_of(case).written.count("exact") == 1
