"""Text in pictures can be read at every width, of every system, in a headless Chromium."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from edgeopt_papers.figures.reproduce import Reproduction

from edgeopt.studies import find_system
from tests.draws import some
from tests.studies.test_impossible_intervals import figures, studied
from tests.studies.test_page_in_browser import FAULTS

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.browser import Browser, Page

SYSTEMS = ("rescue", "idn", "oinc", "edr", "tapfinger")
PHONE, WIDTHS = 390, (390, 800, 1000, 1280, 1600)
SCROLLBAR = 15
"""Pixels that the bar of a long page takes of a window."""

LEAST = 9.0
"""Pixels of the smallest text in a picture."""

SIZES = (Path(__file__).parent / "text_sizes.js").read_text(encoding="utf-8")
MEETING = (Path(__file__).parent / "texts_that_meet.js").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return a function that writes the page of a small study of a system, once."""
    return cache(lambda name: studied(name, 1).page(tmp_path_factory.mktemp(name)))


def look(browser: Browser, path: Path) -> Page:
    page = browser.page()
    page.look(width=PHONE)
    page.open(path.as_uri())
    return page


def check(page: Page) -> None:
    """Check at every width that texts are large and apart, and that pictures and tables scroll."""
    for width in WIDTHS:
        page.look(width=width)
        found: list[list[Any]] = page.evaluate(SIZES)
        assert len(found) > 20
        assert found[0][0] >= LEAST, (width, found[:3])
        assert page.evaluate(FAULTS) == [], width
        assert page.evaluate(MEETING) == [], width
    assert page.complaints == []


@pytest.mark.parametrize("name", some(SYSTEMS, "rescue"))
def test_text_in_pictures_of_a_study(
    browser: Browser, name: str, written: Callable[[str], Path]
) -> None:
    page = look(browser, written(name))
    check(page)
    # On a telephone the first picture is drawn for its width, and does not scroll.
    page.look(width=PHONE)
    assert page.evaluate(
        "(() => { const box = document.querySelector('.pictures > figure');"
        " return [box.scrollWidth <= box.clientWidth,"
        " [...box.querySelectorAll('svg')].filter((it) => it.checkVisibility()).length]; })()"
    ) == [True, 1]


@pytest.mark.parametrize("name", some(SYSTEMS, "rescue"))
def test_the_first_picture_needs_no_bar_of_its_own(
    browser: Browser, name: str, written: Callable[[str], Path]
) -> None:
    page = look(browser, written(name))
    page.evaluate(f"document.body.style.marginRight = '{SCROLLBAR}px'")
    # 641 and 1241 are the least widths of one and of two columns.
    for width in (PHONE, 641, 1241, 1280, 1600):
        page.look(width=width)
        wide = page.evaluate(
            "[...document.querySelectorAll('.pictures > :first-child, #case0-policies > div')]"
            ".filter((box) => box.scrollWidth > box.clientWidth)"
            ".map((box) => [box.className, box.scrollWidth, box.clientWidth])"
        )
        assert wide == [], width


@pytest.mark.parametrize("name", some(SYSTEMS, "tapfinger"))
def test_text_in_the_picture_over_instances(browser: Browser, name: str, tmp_path: Path) -> None:
    result = studied(name, 5)
    settings = replace(result.settings, detailed=1)
    check(look(browser, replace(result, settings=settings).page(tmp_path)))


@pytest.mark.parametrize("name", some(SYSTEMS, "rescue", "tapfinger"))
def test_text_in_pictures_of_a_reproduction(browser: Browser, name: str, tmp_path: Path) -> None:
    found = Reproduction(find_system(name), tuple(figures(name)), quick=True, seconds=0.0)
    check(look(browser, found.page(tmp_path)))


def test_the_first_screen_has_the_sentence_and_the_first_two_pictures(
    browser: Browser, written: Callable[[str], Path]
) -> None:
    page = look(browser, written("rescue"))
    page.look(width=1280, height=720)
    boxes = page.evaluate(
        "[...document.querySelectorAll('.lead, figure:nth-of-type(-n+2)')]"
        ".map((one) => one.getBoundingClientRect().bottom)"
    )
    assert len(boxes) == 3
    assert max(boxes) < 720
