"""Every line, bar and mark of a picture is where its label, its title or the table says."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from functools import cache
from itertools import combinations
from math import isfinite, isnan
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from edgeopt.instances.rescue import ReservedTasks
from edgeopt.studies import find_system, registry, study
from edgeopt.studies.drawing import Bars, Curves, Lanes, Panels, visible
from edgeopt.studies.live import live_of
from edgeopt.studies.pages.instance import view_of
from edgeopt.studies.pages.study import pictures_of
from edgeopt.studies.pictures import overview, vector
from edgeopt.studies.pictures.canvas import (
    HATCHES,
    INK,
    MUTED,
    PALETTE,
    PAPER,
    curve_styles,
    foremost,
    lead,
    policy_styles,
    styles,
    svg,
)
from edgeopt.studies.pictures.figure import draw
from edgeopt.studies.wording import counted, number
from tests.draws import some
from tests.studies import test_edr, test_idn, test_oinc, test_tapfinger
from tests.studies.svg_marks import HAIR, agrees, away, box, numeric, read
from tests.studies.test_impossible_intervals import SMALL, SYSTEMS
from tests.studies.test_page import overlapping

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from edgeopt.studies.drawing import Curve, Drawing
    from edgeopt.studies.entries import Picture
    from edgeopt.studies.results import Case
    from edgeopt.studies.standings import Standings
    from tests.studies.svg_marks import Marks, Panel

ODD = {
    "idn": {name: test_idn.drawn for name in ("silent", "own cost")},
    "oinc": {name: test_oinc.drawn for name in ("nothing", "hopeless")},
    "edr": {name: test_edr.drawn for name in ("negative prices", "free")},
    "tapfinger": {name: test_tapfinger.drawn for name in ("no tasks", "many clusters")},
}
"""Instances without requests or tasks, with values of 0 and below, and with many resources."""

NAMES = [f"{system}, usual" for system in SYSTEMS]
NAMES += ["rescue, nothing arrives", "rescue, outages"]
NAMES += [f"{name}, {one}" for name, of in ODD.items() for one in of]
LEAN = [*NAMES[:7], "idn, silent", "edr, negative prices"]


def twins(system: str) -> list[Any]:
    """Return the default policies, and the reference once more: of one title, with equal values."""
    record = find_system(system)
    entries = list(registry.choose(record))
    own = next(one for one in record.policies.entries if one.name == record.policies.reference)
    return [*entries, replace(own, name="twin")]


@cache
def case_of(name: str) -> Case:
    system, which = name.split(", ", 1)
    record = replace(find_system(system), claims=None)
    make = record.instances.generate
    assert make is not None
    if which == "usual":
        instance = make(rng=1, **SMALL[system])
    elif which == "nothing arrives":
        instance = make(rng=1, **SMALL[system])
        instance = instance.replace(arrival=0.0 * instance.arrival)
    elif which == "outages":
        instance = make(rng=1, **SMALL[system])
        instance = instance.replace(reserved=ReservedTasks([0], [4], [7], [0.5]))
        last = instance.horizon - 1
        instance = instance.down(0, 0, 3).down(0, last, last).down(1, 5, 6).down(1, 7, 8)
    else:
        instance = ODD[system][which]()[which]
    given = study({name: instance}, twins(system), system=record, runs=6, progress=False)
    return given.cases[0]


def described(case: Case) -> Iterator[tuple[Picture, Drawing, Marks]]:
    """Yield the pictures that have a description, with it and as they are read from the SVG."""
    for picture in case.system.reporting.pictures:
        yield picture, picture.draw(case), read(svg(draw(picture, case)))


def parts(found: Drawing) -> list[Any]:
    return list(found.parts) if isinstance(found, Panels) else [found]


named = pytest.mark.parametrize("name", some(NAMES, *LEAN))


@named
def test_what_is_drawn_is_what_is_described(name: str) -> None:
    for picture, found, marks in described(case_of(name)):
        every = parts(found)
        assert len(marks.panels) == len(every), picture.name
        for one, panel in zip(every, marks.panels, strict=True):
            _CHECK[type(one)](one, panel, marks)


def check_curves(found: Curves, panel: Panel, marks: Marks) -> None:
    for curve in found.curves:
        if curve.name:
            check_curve(curve, panel, marks)
    for line in filter(lambda one: isfinite(one.value), found.lines):
        said = "".join(one.text for one in line.beside)
        label = next(name for name, _ in marks.legend if name.startswith(f"{line.label}{said}"))
        drawn = [one for one in panel.lines if one.style == marks.style(label)]
        if label.endswith("the axis)"):
            assert all(not panel.inside(one.at).any() for one in drawn)
            at = panel.y.of(line.value)
            assert at < panel.frame[1] if "above" in label else at > panel.frame[3]
        else:
            [one] = drawn
            assert np.abs(one.at[:, 1] - panel.y.of(line.value)).max() < HAIR, label


def check_curve(curve: Curve, panel: Panel, marks: Marks) -> None:
    style = marks.style(curve.name)
    if len(panel.x.labels) < 2:
        return  # an axis of a single tick says no other place
    at = np.stack([panel.x.of(curve.x), panel.y.of(curve.y)], axis=1)
    inside = panel.inside(np.where(np.isfinite(at), at, -1e9))
    if not curve.style:
        points = [one.at for one in panel.points if one.style == style]
        points += [one.at for one in panel.points if one.style.shape == style.shape]
        for one in at[inside]:
            assert any(np.hypot(*(each - one).T).min() < HAIR for each in points), curve.name
        return
    lines = [one.at for one in panel.lines if one.style == style]
    assert lines or not inside.any(), curve.name
    for one in at[inside]:
        assert min(away(one, line) for line in lines) < HAIR, (curve.name, one)
    # Nothing is drawn elsewhere: no corner is away from the curve.
    whole = at[np.isfinite(at).all(axis=1)]
    if curve.step and len(whole):
        turns = np.stack([whole[1:, 0], whole[:-1, 1]], axis=1)
        whole = np.insert(whole, np.arange(1, len(whole)), turns, axis=0)
    # Several curves may share a name, such as lines of equal cost.
    if len(lines) == 1:
        for corner in lines[0][panel.inside(lines[0])]:
            assert away(corner, whole) < HAIR, (curve.name, corner)


def check_bars(found: Bars, panel: Panel, marks: Marks) -> None:
    for row in found.rows:
        at, ends = panel.y.row(row.title), {True: 0.0, False: 0.0}
        here = [box(one) for one in panel.areas if box(one)[1] < at < box(one)[3]]
        inked = {one.style.fill: box(one) for one in panel.areas if box(one)[1] < at < box(one)[3]}
        for style, width in row.parts.items():
            start = ends[width >= 0]
            ends[width >= 0] += width
            left, right = sorted(panel.x.of([start, start + width]))
            near = [abs(one[0] - left) + abs(one[2] - right) for one in here]
            assert min(near, default=0.0 if not width else np.inf) < HAIR, (row.title, style)
            if width and row.kind == "plain":
                drawn = inked[marks.style(style).fill]
                assert abs(drawn[0] - left) + abs(drawn[2] - right) < HAIR, (row.title, style)
        if found.two_sided:
            sums = [one.at for one in panel.points if one.style == marks.style("sum of all parts")]
            place = np.array([panel.x.of(row.value), at])
            assert min(np.hypot(*(sums[0] - place).T)) < HAIR, row.title
        for said in filter(None, ("".join(one.text for one in row.beside),)):
            assert agrees(said, row.value), (said, row.value)
            assert any(abs(y - at) < 6 and text == said for text, _, y in panel.texts)
    for line in filter(lambda one: isfinite(one.value), found.lines):
        label = next(name for name, _ in marks.legend if name.startswith(line.label))
        [drawn] = [one for one in panel.lines if one.style == marks.style(label)]
        assert np.abs(drawn.at[:, 0] - panel.x.of(line.value)).max() < HAIR, label


def check_lanes(found: Lanes, panel: Panel, marks: Marks) -> None:
    left, top, _, bottom = panel.frame
    tall = sum(map(found.height, found.lanes)) or 1.0
    unit, floor = (bottom - top) / tall, 0.0
    drawn: dict[str, list[Any]] = {}
    for one in panel.areas:
        drawn.setdefault(one.style.fill, []).append(box(one))
    for name, spans in found.lanes.items():
        height = found.height(name)
        floor += height
        assert abs(panel.y.row(name) - (top + unit * (floor - height / 2))) < 4 * HAIR
        for one in filter(visible, spans):
            x = panel.x.of([one.begin, one.end])
            # A lane is filled up to 85 %, with space on both sides.
            y = [top + unit * (floor - 0.075 - 0.85 * height * end) for end in (one.high, one.low)]
            wanted = np.array([x[0], y[0], x[1], y[1]])
            nearest = min(
                np.abs(np.array(each) - wanted).max()
                for each in drawn.get(marks.style(one.style).fill, [])
            )
            assert nearest < HAIR, (name, one)
    assert left < bottom


_CHECK: dict[type, Any] = {Curves: check_curves, Bars: check_bars, Lanes: check_lanes}


@named
def test_every_look_is_of_one_thing_and_the_same_in_all_pictures(name: str) -> None:
    case = case_of(name)
    known = {case.entries[policy].title: style for policy, style in policy_styles(case).items()}
    assert len(known) == len(case.entries)
    for picture, found, marks in described(case):
        labels = [label for label, _ in marks.legend]
        assert len(set(labels)) == len(labels), picture.name
        drawn = [style for _, style in marks.legend]
        assert len(set(drawn)) == len(drawn), picture.name
        for one in parts(found):
            for curve in one.curves if isinstance(one, Curves) else ():
                titles = [title for title in known if f"{curve.name}, ".startswith(f"{title}, ")]
                for title in sorted(titles, key=len)[-1:]:
                    assert curve.colour == known[title].colour, (picture.name, title)
        text = svg(draw(picture, case))
        used = set(re.findall(r"(?:fill|stroke): (#[0-9a-f]{6})", text))
        assert used <= {*PALETTE, MUTED, INK, PAPER, "#ffffff"}, picture.name


def contrast(one: str, other: str) -> float:
    def light(colour: str) -> float:
        parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
        red, green, blue = (
            part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
        )
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    dark, bright = sorted((light(one), light(other)))
    return (bright + 0.05) / (dark + 0.05)


def test_no_two_curves_of_a_picture_have_the_same_dashes() -> None:
    case: Any = SimpleNamespace(causal=list("abcdefgh"), entries=dict.fromkeys("abcdefgh"))
    found, usual = curve_styles(case, "aebfc"), policy_styles(case)
    assert len({str(one.dashes) for one in found.values()}) == len(found) == 5
    assert all(one.colour == usual[name].colour for name, one in found.items())


def test_colours_are_seen_on_light_and_on_dark_paper_and_styles_never_repeat() -> None:
    for colour in (*PALETTE, MUTED):
        for paper in ("#ffffff", "#14171b"):
            assert contrast(colour, paper) >= 3.0, (colour, paper)
    many = styles(map(str, range(60)))
    assert len({(one.colour, str(one.dashes)) for one in many.values()}) == 60
    assert len({(one.colour, one.mark) for one in list(many.values())[:60]}) == 60
    assert len({(one.colour, one.pattern) for one in list(many.values())[:55]}) == 55
    assert len({one.colour for one in list(many.values())[:11]}) == 11


@named
def test_texts_of_pictures_do_not_meet(name: str) -> None:
    case = case_of(name)
    for picture in pictures_of(case):
        assert overlapping(draw(picture, case, titled=True)) == [], picture.name
    standings = case.standings
    narrow = overview.drawn(standings, narrow=True, bounds=overview.bounds_of(case))
    assert overlapping(narrow) == []
    assert meeting(view_of(case).svg) == []


def meeting(drawing: str) -> list[tuple[str, str]]:
    """Return pairs of texts of a small picture that meet, and those that leave it."""
    root = ElementTree.fromstring(re.sub(r'\sxmlns="[^"]*"', "", drawing))
    placed = []
    for group in root.findall("g"):
        moved = re.search(r"translate\(0 ([\d.]+)\)", group.get("transform", ""))
        assert moved is not None
        for text in group.iter("text"):
            said = "".join(text.itertext())
            # Widths of the letters of a font without serifs, on average.
            wide = (0.6 if text.get("font-weight") else 0.52) * vector.TEXT * len(said)
            x, y = float(text.get("x", 0)), float(text.get("y", 0)) + float(moved[1])
            left = x - wide * {"end": 1.0, "middle": 0.5}.get(text.get("text-anchor", ""), 0.0)
            placed.append((said, left, left + wide, y))
    over = [(said, "") for said, left, right, _ in placed if left < -2 or right > vector.WIDTH + 2]
    return over + [
        (a[0], b[0])
        for a, b in combinations(placed, 2)
        if min(a[2], b[2]) - max(a[1], b[1]) > 1 and abs(a[3] - b[3]) < 0.8 * vector.TEXT
    ]


@named
def test_the_first_picture_has_marks_at_ratios_and_the_line_at_the_bound(name: str) -> None:
    case = case_of(name)
    standings, bounds = case.standings, overview.bounds_of(case)
    rows = case.rows
    for narrow in (False, True):
        marks = read(svg(overview.drawn(standings, narrow=narrow, bounds=bounds)))
        check_first(marks.panels[0], standings, rows, bounds, narrow=narrow)


def check_first(
    panel: Panel,
    standings: Standings,
    rows: Mapping[str, Any],
    bounds: Mapping[str, float],
    *,
    narrow: bool,
) -> None:
    valued = not any(isfinite(one.ratio.centre) for one in standings.rows)
    scale = 100.0 if standings.objective.sense == "max" and not valued else 1.0
    points = np.concatenate([one.at for one in panel.points])
    heights = sorted({round(y, 2) for _, y in points})
    every = overview.shown(standings)
    for place, one in enumerate(every):
        row = rows[one.policy]
        value = row["value"] if valued else row["bound_ratio" if one.bounded else "ratio"]
        if not isfinite(value):
            continue
        at = panel.x.of(scale * value)
        assert agrees(number(scale * value), scale * (one.value if valued else one.ratio.centre))
        top = panel.y.row(one.title) if not narrow else None
        near = [p for p in points if abs(p[0] - at) < HAIR and (top is None or abs(p[1] - top) < 3)]
        assert near, (one.title, value)
        if valued:
            stroke = panel.x.of(bounds[one.policy])
            assert any(abs(p[0] - stroke) < HAIR for p in points), one.title
        if not isnan(one.violated):
            said = [text for text, _, y in panel.texts if top is None or abs(y - top) < 6]
            assert any(text == counted(one.violated) for text in said), (place, said)
        if isfinite(one.ratio.low) and not valued:
            ends = panel.x.of([scale * row[f"{'bound_' * one.bounded}ratio_{end}"]
                               for end in ("low", "high")])  # fmt: skip
            assert any(
                np.abs(np.sort(line.at[:, 0])[[0, -1]] - ends).max() < HAIR for line in panel.lines
            ), one.title
    assert len(heights) >= len(every) or any(not isfinite(one.ratio.centre) for one in every)
    upright = [line for line in panel.lines if np.ptp(line.at[:, 0]) < HAIR]
    if not valued and panel.frame[0] <= panel.x.of(scale) <= panel.frame[2]:
        assert any(np.abs(line.at[:, 0] - panel.x.of(scale)).max() < HAIR for line in upright)


@named
def test_bars_of_the_small_picture_are_where_their_numbers_say(name: str) -> None:
    case = case_of(name)
    drawing = view_of(case).svg
    root = ElementTree.fromstring(re.sub(r'\sxmlns="[^"]*"', "", drawing))
    group = root.find("g")
    assert group is not None
    said = {one.get("data-number"): "".join(one.itertext()) for one in group.iter("tspan")}
    bars = [one for one in group.iter("rect") if one.get("class") == "bar"]
    kept = [policy for policy in case.trajectories if isfinite(case.rows[policy]["value"])]
    assert len(bars) == len(kept)
    values = {policy: float(case.rows[policy]["value"]) for policy in kept}
    for policy, value in values.items():
        assert agrees(said[f"{policy}.value"], value)
    assert agrees(said["bound"], case.benchmark.bound)
    ends = []
    for one, policy in zip(bars, kept, strict=True):
        left, wide = float(one.get("x", 0)), float(one.get("width", 0))
        # A bar begins at 0: at its left for what is positive, at its right for what is negative.
        ends.append((values[policy], left + wide * (values[policy] >= 0)))
        ends.append((0.0, left + wide * (values[policy] < 0)))
    [line] = [one for one in group.iter("path") if one.get("class") == "bound"]
    at = {float(x) for x in re.findall(r"M([\d.]+) ", line.get("d", ""))}
    assert len(at) == 1
    ends.append((case.benchmark.bound, *at))
    x, places = np.array(ends).T
    if np.ptp(x) > 0:
        slope, offset = np.polyfit(x, places, 1)
        assert slope > 0
        assert np.abs(slope * x + offset - places).max() < 0.05
    shown = [one for one in root.findall("g")[1].iter("rect") if one.get("stroke-width") == "0.3"]
    check_small_lanes(case, shown, root.findall("g")[1])


def check_small_lanes(case: Case, shown: list[Any], group: Any) -> None:
    ticks = [
        (numeric("".join(one.itertext())), float(mark.get("d")[1:].split()[0]))
        for mark, one in zip(
            [one for one in group.iter("path") if one.get("d", "").endswith("v4")],
            [
                one
                for one in group.iter("text")
                if one.get("x") and NUMERAL.fullmatch(one.text or "")
            ],
            strict=True,
        )
    ]
    make = live_of(case.system).lanes
    assert make is not None
    found = make(case, lead(case))
    spans = [one for of in found.lanes.values() for one in filter(visible, of)]
    assert len(shown) == min(len(spans), vector.MOST_SPANS)
    if len(ticks) < 2:
        return
    values, places = np.array(ticks).T
    slope, offset = np.polyfit(values, places, 1)
    for one, span in zip(shown, spans, strict=False):
        x, wide = float(one.get("x")), float(one.get("width"))
        assert abs(x - (slope * span.begin + offset)) < 0.05
        assert abs(wide - max(0.5, slope * (span.end - span.begin))) < 0.05


NUMERAL = re.compile(r"[\d.]+")


@named
def test_what_is_described_is_what_the_table_says(name: str) -> None:
    case = case_of(name)
    for picture in case.system.reporting.pictures:
        found = parts(picture.draw(case))
        for one in found:
            for line in getattr(one, "lines", ()):
                check_bound(
                    case, line.label, line.value, "".join(part.text for part in line.beside)
                )
        _SAYS.get((case.system.name, picture.name), ends_at_values)(case, found)


def check_bound(case: Case, label: str, value: float, said: str) -> None:
    """Check a line by the bound of its name, and by the number that stands beside it."""
    bounds = case.system.offline.bounds
    known = {bounds[name].label: one.bound for name, one in case.benchmarks.items()}
    if label in known:
        assert value == pytest.approx(known[label], rel=1e-9), label
    if re.search(r"\d", said):
        assert agrees(said, value), (label, said, value)


def policy_of(case: Case, label: str) -> str:
    """Return the policy whose title a label begins with."""
    titles = {entry.title: name for name, entry in case.entries.items()}
    fits = [title for title in titles if f"{label}, ".startswith(f"{title}, ")]
    return titles[max(fits, key=len)]


def shown_in(case: Case, lanes: Lanes) -> str:
    """Return the policy whose run is drawn."""
    make = live_of(case.system).lanes
    assert make is not None
    return next(name for name in case.entries if make(case, name) == lanes)


def ends_at_values(case: Case, found: list[Any]) -> None:
    """Check curves that end at the value of a policy."""
    seen = set()
    for curve in (curve for one in found for curve in one.curves):
        policy = policy_of(case, curve.name)
        seen.add(policy)
        assert curve.y[-1] == pytest.approx(case.rows[policy]["value"], rel=1e-9, abs=1e-12)
    assert seen == set(foremost(case))


def sums_are_values(case: Case, found: list[Any]) -> None:
    """Check bars whose parts add up to the value of a policy."""
    [bars] = found
    rows = [row for row in bars.rows if not row.title.startswith("bound")]
    assert {policy_of(case, row.title) for row in rows} == set(case.order[:8])
    for row in rows:
        value = case.rows[policy_of(case, row.title)]["value"]
        assert row.value == pytest.approx(value, rel=1e-9, abs=1e-9), row.title
    for row in bars.rows[: len(bars.rows) - len(rows)]:
        assert row.value == pytest.approx(bars.lines[0].value, rel=1e-9)
        assert row.value <= case.benchmark.bound * (1 + 1e-9)


def energy_and_caps(case: Case, found: list[Any]) -> None:
    """Check heights of energy in proportion, and above the cap what the table counts."""
    for lanes in found:
        policy = shown_in(case, lanes)
        run = case.trajectories[policy]
        first, *_ = lanes.lanes.values()
        tops = np.zeros(case.instance.frames)
        for span in first:
            if span.style != "cap":
                tops[int(span.begin)] = max(tops[int(span.begin)], span.high)
        energy = np.asarray(run.energy)[0]
        assert tops * energy.max() == pytest.approx(energy * tops.max(), abs=1e-9 * energy.max())
        above = {int(span.begin) for span in first if span.style == "above the cap"}
        assert above == set(np.flatnonzero(energy > np.asarray(case.instance.cap)).tolist())


def latency_and_inaccuracy(case: Case, found: list[Any]) -> None:
    [curves] = found
    marks = {curve.name: curve for curve in curves.curves if curve.mark}
    assert len(marks) == len(case.entries)
    for label, curve in marks.items():
        row = case.rows[policy_of(case, label)]
        at = (*curve.x, *curve.y)
        assert at == pytest.approx((row["latency"], row["inaccuracy"]), nan_ok=True)
    for line in (curve for curve in curves.curves if curve.name == "equal cost"):
        cost = np.asarray(line.x) + case.instance.alpha * np.asarray(line.y)
        assert np.ptp(cost) < 1e-9 * np.abs(cost).max()


def memory(case: Case, found: list[Any]) -> None:
    [lanes] = found
    policy = shown_in(case, lanes)
    instance, hosted = case.instance, np.asarray(case.replay(policy).hosted[-1])
    nodes = np.flatnonzero(instance.active & np.isfinite(instance.budget))
    for node, spans in zip(nodes.tolist(), lanes.lanes.values(), strict=False):
        used = float((hosted * instance.size)[node].sum() / instance.budget[node])
        assert max([0.0, *(span.end for span in spans)]) == pytest.approx(100 * used)


def answered(case: Case, found: list[Any]) -> None:
    """Check that as many requests are answered at their objective as a label says."""
    [curves] = found
    for curve in curves.curves:
        if curve.name != "objective":
            policy = policy_of(case, curve.name)
            share = 100 * float(case.trajectories[policy].request_success()[0])
            x, y = np.asarray(curve.x), np.asarray(curve.y)
            said = curve.name.removeprefix(case.entries[policy].title)
            if len(x) > 2:
                assert agrees(said, y[x <= 1.0][-1]), curve.name
                assert agrees(said, share), curve.name


def jobs(case: Case, found: list[Any]) -> None:
    [lanes] = found
    policy = shown_in(case, lanes)
    run = case.replay(policy)
    ends = {}
    for span in (span for spans in lanes.lanes.values() for span in spans):
        ends[span.label] = max(span.end, ends.get(span.label, 0.0))
    for job in range(case.instance.jobs):
        label = case.instance.name_of("job", job)
        if label in ends and run.complete[0, job]:
            assert ends[label] == pytest.approx(float(run.completion[0, job]))


def flow_times(case: Case, found: list[Any]) -> None:
    """Check means by the area above a distribution, and by the value in the table."""
    [curves] = found
    for curve in curves.curves:
        if curve.name != "impossible for all":
            policy = policy_of(case, curve.name)
            said = curve.name.removeprefix(case.entries[policy].title)
            mean = float(np.asarray(curve.x[1:-1]) @ np.diff(curve.y[:-1]) / 100)
            assert agrees(said, mean), curve.name
            alike = np.unique(case.instance.weight).size == 1
            assert not alike or agrees(said, case.rows[policy]["value"] / case.instance.tasks)


def held(case: Case, found: list[Any]) -> None:
    """Check that boxes have the area that tasks held."""
    [lanes] = found
    policy = shown_in(case, lanes)
    of, instance = case.replay(policy).held, case.instance
    resource = int(instance.capacity[:, 1].any())
    for cluster, spans in enumerate(lanes.lanes.values()):
        here = of.cluster == cluster
        used = float(((of.end - of.begin) * of.bundle[:, resource])[here].sum())
        drawn = sum((span.end - span.begin) * (span.high - span.low) for span in spans)
        assert drawn * instance.capacity[cluster, resource] == pytest.approx(used)


def safety(case: Case, found: list[Any]) -> None:
    [curves] = found
    shares = {name: 100 * row["violated_share"] * bool(case.constraints)
              for name, row in case.rows.items()}  # fmt: skip
    points = sorted((shares[name], case.rows[name]["value"]) for name in case.causal)
    drawn = sorted(
        (float(x), float(y))
        for curve in curves.curves
        if curve.name == "other methods"
        for x, y in zip(curve.x, curve.y, strict=True)
    )
    assert np.array(drawn) == pytest.approx(np.array(points))
    for curve in curves.curves:
        if curve.name != "other methods":
            policy = policy_of(case, curve.name)
            at = (*curve.x, *curve.y)
            assert at == pytest.approx((shares[policy], case.rows[policy]["value"]))


def retraining(case: Case, found: list[Any]) -> None:
    """Check spans by the slots that their labels name."""
    for span in (span for one in found for spans in one.lanes.values() for span in spans):
        if slots := re.search(r"slots (\d+) to (\d+)$", span.label):
            assert (span.begin, span.end) == (int(slots[1]), int(slots[2]))
    if case.instance.outage is not None:
        for one in found:
            for server, spans in enumerate(one.lanes.values()):
                down = [span for span in spans if span.style == "planned outage"]
                drawn = np.zeros(case.instance.horizon, dtype=bool)
                for span in down:
                    drawn[int(span.begin) : int(span.end)] = True
                assert np.array_equal(drawn, case.instance.outage[server])
                # Those that touch are one.
                assert len(down) == (np.diff(drawn, prepend=False) & drawn).sum()
            # Hatched, and not the colour of anything that happens.
            assert list(one.styles).index("planned outage") % len(HATCHES)
            assert list(one.styles.values()).count(one.styles["planned outage"]) == 1
            assert contrast(one.styles["planned outage"], PAPER) >= 3.0


_SAYS: dict[tuple[str, str], Any] = {
    ("edr", "cost"): sums_are_values,
    ("edr", "energy"): energy_and_caps,
    ("idn", "trade_off"): latency_and_inaccuracy,
    ("idn", "hosted"): memory,
    ("oinc", "weighted"): sums_are_values,
    ("oinc", "latency"): answered,
    ("oinc", "gantt"): jobs,
    ("tapfinger", "flow_times"): flow_times,
    ("tapfinger", "gantt"): held,
    ("rescue", "safety"): safety,
    ("rescue", "gantt"): retraining,
}
