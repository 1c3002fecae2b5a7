"""What a person sees: the pages in a headless Chromium, by real clicks and keys.

Screenshots of every page, width and colour scheme are kept in the folder that the environment
variable ``EDGEOPT_SCREENSHOTS`` names, else in pytest's temporary one.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from edgeopt.studies import check_all, study
from edgeopt.studies.claims import page as claims_page
from edgeopt.studies.pages.study import pictures_of
from edgeopt.studies.pictures.overview import heading
from tests.papers.figures.test_reproduce import RECORD
from tests.studies.stopping import SYSTEM, Offers

if TYPE_CHECKING:
    from edgeopt.studies import Study
    from tests.browser import Browser, Page

WIDTHS = (400, 1000, 1400)
SCHEMES = ("light", "dark")
PUBLISHED = (718, 1032)
"""Pixels that an A4 page has between its margins of 12 mm."""

FAULTS = (Path(__file__).parent / "faults_of_layout.js").read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a page whose names are long and whose table of policies has many columns."""
    metrics = [
        replace(SYSTEM.reporting.metrics[0], name=f"patience{place}", title=f"Slots waited, {word}")
        for place, word in enumerate(["from", "the", "first", "offer", "to", "the", "one", "taken"])
    ]
    policies = [
        replace(entry, group=f"{entry.group}, with a level that was chosen beforehand")
        for entry in SYSTEM.policies.entries
    ]
    record = replace(
        SYSTEM,
        reporting=replace(SYSTEM.reporting, metrics=metrics),
        policies=replace(SYSTEM.policies, entries=policies),
    )
    return study(Offers(6), system=record, runs=5).page(tmp_path_factory.mktemp("wide"))


@pytest.fixture(scope="session")
def claims(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return claims_page.write(check_all("rescue.theorem2*"), tmp_path_factory.mktemp("claims"))


@pytest.fixture(scope="session")
def reproduction(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return RECORD().page(tmp_path_factory.mktemp("reproduction"))


@pytest.fixture(params=("report", "wide", "claims", "reproduction"))
def written(request: pytest.FixtureRequest) -> Path:
    path: Path = request.getfixturevalue(request.param)
    return path


def test_page_is_quiet_and_everything_stays_in_its_box(
    browser: Browser, written: Path, screenshots: Path, request: pytest.FixtureRequest
) -> None:
    name = request.node.callspec.params["written"]
    assert faults(browser, written, screenshots, name) == []


def faults(browser: Browser, path: Path, screenshots: Path, name: str) -> list[str]:
    """Open a page, unfold all of it, and say what is wrong at any width, in any colours."""
    page = browser.page()
    page.look(width=WIDTHS[0])
    page.open(path.as_uri())
    wrong = []
    for folded in (True, False):
        if not folded:
            page.evaluate(
                "document.querySelectorAll('details').forEach((it) => { it.open = true; })"
            )
        for width in WIDTHS:
            for scheme in SCHEMES:
                page.look(width=width, scheme=scheme)
                found = page.evaluate(FAULTS)
                wrong += [f"{fault} ({width} px, {scheme})" for fault in found]
                if folded:
                    page.screenshot(screenshots / f"{name}-{width}-{scheme}.png")
    asked = [address for address in page.requests if not address.startswith("data:")]
    wrong += [f"asked for {address}" for address in asked if address != path.as_uri()]
    return wrong + page.complaints


def test_wide_table_scrolls_in_its_own_frame_and_keeps_the_names_in_sight(
    browser: Browser, wide: Path
) -> None:
    page = browser.page()
    page.look(width=400)
    page.open(wide.as_uri())
    left, hidden = page.evaluate(
        "(() => { const frame = document.querySelector('#case0-table .scroll');"
        " frame.scrollLeft = 300;"
        " return [frame.querySelector('tbody td').getBoundingClientRect().x"
        " - frame.getBoundingClientRect().x, frame.scrollWidth - frame.clientWidth]; })()"
    )
    assert hidden > 300
    assert left == pytest.approx(0, abs=1)


def large(page: Page) -> tuple[bool, str, int]:
    """Whether the large view is open, its title, and the width of its picture."""
    seen = page.evaluate(
        "(() => { const view = document.getElementById('large');"
        " return [view.open, view.querySelector('h2').textContent,"
        " view.querySelector('svg')?.getBoundingClientRect().width ?? 0]; })()"
    )
    return bool(seen[0]), str(seen[1]), int(seen[2])


def test_pictures_enlarge_by_clicks_and_by_keys(
    page: Page, stopped: Study, screenshots: Path
) -> None:
    titles = [
        title
        for case in stopped.cases
        for title in (heading(case.standings), *(one.title(case) for one in pictures_of(case)[1:]))
    ]
    inline = page.evaluate(
        "document.querySelector('#case0-policies svg').getBoundingClientRect().width"
    )
    assert large(page)[0] is False
    page.click("#case0-policies svg")
    seen = large(page)
    assert seen[:2] == (True, titles[0])
    assert seen[2] > 1.5 * inline
    page.screenshot(screenshots / "report-large.png", whole=False)
    page.press("ArrowRight")
    assert large(page)[1] == titles[1]
    page.press("ArrowLeft")
    page.press("ArrowLeft")
    assert large(page)[1] == heading(stopped.standings)
    page.click("#large [data-step='1']")
    assert large(page)[1] == titles[0]
    page.press("Escape")
    assert large(page)[0] is False
    label = "document.activeElement.getAttribute('aria-label')"
    assert page.evaluate(label) == f"Enlarge: {titles[0]}"
    page.press("Tab")
    assert page.evaluate(label) == f"Enlarge: {titles[1]}"
    page.press("Enter")
    assert large(page)[:2] == (True, titles[1])
    page.click("#large [data-step='0']")
    assert large(page) == (False, titles[1], 0)


PAPER = "getComputedStyle(document.body).backgroundColor"


def test_colours_follow_the_system_until_the_switch_says_otherwise(
    page: Page, report: Path
) -> None:
    light, dark = "rgb(255, 255, 255)", "rgb(20, 23, 27)"
    assert page.evaluate(PAPER) == light
    page.look(width=1400, scheme="dark")
    assert page.evaluate(PAPER) == dark
    ink = page.evaluate("getComputedStyle(document.querySelector('figure svg text')).fill")
    assert ink == "rgb(230, 233, 237)"
    page.click("#scheme")
    assert page.evaluate(PAPER) == light
    page.click("#scheme")
    assert page.evaluate(PAPER) == dark
    page.click("#scheme")
    page.open(report.as_uri())
    assert page.evaluate(PAPER) == dark


def test_without_scripts_nothing_is_missing_but_the_buttons(
    browser: Browser, report: Path, page: Page
) -> None:
    plain = browser.page()
    plain.look(width=1000)
    plain.open(report.as_uri(), scripts=False)
    buttons = "[...document.querySelectorAll('button')].filter((it) => it.checkVisibility()).length"
    assert plain.evaluate(buttons) == 0
    assert page.evaluate(buttons) > 10
    text = "[...document.querySelectorAll('main')].map((it) => it.textContent).join()"
    words = plain.evaluate(text).split()
    assert len(words) > 500
    assert words == page.evaluate(text).replace("Enlarge", " ").split()


def test_print_has_no_buttons_and_cuts_nothing(page: Page, report: Path, screenshots: Path) -> None:
    width, height = PUBLISHED
    page.look(width=width, height=height, scheme="dark", media="print")
    assert page.evaluate(FAULTS) == []
    assert page.evaluate(PAPER) == "rgb(255, 255, 255)"
    shown = (
        "[...document.querySelectorAll('button, nav, dialog')]"
        ".filter((it) => it.checkVisibility() && !it.closest('th')).length"
    )
    assert page.evaluate(shown) == 0
    tallest = page.evaluate(
        "Math.max(...[...document.querySelectorAll('figure')].map((it) => it.offsetHeight))"
    )
    assert tallest < height
    breaks = "getComputedStyle(document.querySelector('figure')).breakInside"
    assert page.evaluate(breaks) == "avoid"
    page.pdf(screenshots / "report.pdf")
    sheets = len(re.findall(rb"/Type\s*/Page\b", (screenshots / "report.pdf").read_bytes()))
    assert 2 <= sheets <= 8
