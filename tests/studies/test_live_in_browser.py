"""The live page in a headless Chromium: sliders move, the view follows, nothing goes outside."""

from __future__ import annotations

import html
import json
import re
import time
import urllib.request
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest

from edgeopt.studies import find_system
from edgeopt.studies.live import live_of
from tests.browser import PATIENCE
from tests.draws import some

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.browser import Browser, Page

SYSTEMS = ("tapfinger", "rescue", "idn", "oinc", "edr")
pytestmark = pytest.mark.skipif(find_spec("marimo") is None, reason="marimo is not installed")

STAMP = "document.querySelector('#stamp')?.textContent ?? ''"
SLIDERS = "[...document.querySelectorAll('marimo-slider')]"
PRELOADED = "was preloaded using link preload but not used"
"""What the framework says of pictures of its own."""


def until(seen: Callable[[], Any]) -> Any:
    """Wait for something to be seen on the page."""
    limit = time.monotonic() + PATIENCE
    while not (found := seen()):
        assert time.monotonic() < limit
        time.sleep(0.1)
    return found


@pytest.fixture(scope="session")
def served(browser: Browser) -> Iterator[str]:
    """Serve the pages of all systems: one server, told by the address which one."""
    from edgeopt.explore.server import serve

    page = serve("rescue")

    def answers() -> bool:
        try:
            with urllib.request.urlopen(page.address.replace("/?", "/health?")):
                return True
        except OSError:
            assert page.process.poll() is None
            return False

    until(answers)
    yield page.address.replace("&system=rescue", "")
    page.process.terminate()
    page.process.wait()


def opened(browser: Browser, address: str) -> Page:
    page = browser.page()
    page.look(width=390)
    page.open(address)
    until(lambda: page.evaluate(STAMP))
    return page


def press(page: Page, place: int, key: str) -> None:
    """Press a key on a slider; those of the framework are in a tree of their own."""
    thumb = f"{SLIDERS}[{place}].shadowRoot.querySelector('[role=slider]')"
    page.evaluate(f"{thumb}.focus()")
    page.press(key)


def click(page: Page, label: str) -> None:
    page.evaluate(
        "[...document.querySelectorAll('marimo-button')].find(one => one.shadowRoot.textContent"
        f".includes({json.dumps(label)})).shadowRoot.querySelector('button').click()"
    )


@pytest.mark.parametrize("name", some(SYSTEMS, "idn"))
def test_every_slider_changes_the_stamp(
    name: str, browser: Browser, served: str, screenshots: Path
) -> None:
    live = live_of(find_system(name))
    # Two policies and few scenarios are enough to see a change.
    few = ",".join(live.policies[:2])
    page = opened(browser, f"{served}&system={name}&policies={few}&runs={min(live.runs, 20)}")
    count = page.evaluate(f"{SLIDERS}.length")
    assert count == len(live.sliders) + 2
    for place, slider in enumerate(live.sliders):
        stamp = page.evaluate(STAMP)
        press(page, place, "ArrowLeft" if slider.start > slider.low else "ArrowRight")
        until(lambda stamp=stamp: page.evaluate(STAMP) not in ("", stamp))
    for place in (count - 2, count - 1):
        stamp = page.evaluate(STAMP)
        press(page, place, "ArrowRight")
        until(lambda stamp=stamp: page.evaluate(STAMP) not in ("", stamp))
    until(lambda: "seed=1" in page.evaluate("location.search"))
    assert f"system={name}" in page.evaluate("location.search")
    page.screenshot(screenshots / f"live-{name}.png", whole=False)
    # Text of the picture is at least 9 pixels high.
    scale = page.evaluate(
        "(() => { const it = document.querySelector('#view svg');"
        " return it.getBoundingClientRect().width / it.viewBox.baseVal.width; })()"
    )
    assert 10.5 * scale >= 9
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert [told for told in page.complaints if PRELOADED not in told] == []
    own = served.partition("?")[0]
    inner = (own, "data:", "blob:", "about:")
    assert [one for one in page.requests if not one.startswith(inner)] == []


def test_the_address_keeps_the_state_and_buttons_answer(browser: Browser, served: str) -> None:
    page = opened(
        browser, f"{served}&system=tapfinger&tasks=10&seed=3&policies=reservation,min&noise=9"
    )
    assert "5 scenarios, seed 3, 2 policies" in page.evaluate(STAMP)
    until(lambda: "tasks=10" in page.evaluate("location.search"))
    assert "noise=0&" in page.evaluate("location.search")  # 9 was out of its range
    # The last of many moves is what is shown.
    for _ in range(6):
        press(page, 6, "ArrowRight")
    until(lambda: "seed 9" in page.evaluate(STAMP))
    text = until(lambda: page.evaluate("document.querySelector('#uncertified')?.textContent"))
    assert "has no certificate" in text
    click(page, "three lines")
    text = until(lambda: page.evaluate("document.querySelector('#python')?.textContent"))
    assert "tasks=10" in text
    assert "rng=9" in text
    click(page, "hunt")
    text = until(lambda: page.evaluate("document.querySelector('#hunted')?.textContent"))
    assert "tapfinger.equation1.published" in text
    assert "Found just now" in text or "known instance" in text


SEEN = """
(() => {
  window.seen = [];
  const note = () => {
    const found = document.querySelector('#hunted') ? 'hunted' : %s;
    if (found && found !== window.seen.at(-1)) window.seen.push(found);
  };
  note();
  new MutationObserver(note).observe(document.body, {subtree: true, childList: true});
})()
"""
"""Note every stamp that is shown, and whether a search has an end."""


def test_of_many_moves_few_are_computed(browser: Browser, served: str) -> None:
    page = opened(browser, f"{served}&system=idn")
    stamp = page.evaluate(STAMP)
    page.evaluate(SEEN % STAMP)
    moves = 25
    for _ in range(moves):
        press(page, 6, "ArrowRight")
    until(lambda: f"seed {moves}," in page.evaluate(STAMP))
    shown = page.evaluate("window.seen")
    assert shown[0] == stamp
    # The first one, and what was newest whenever another was done.
    assert len(shown) <= 1 + moves // 2


def test_a_moved_slider_ends_the_search(browser: Browser, served: str) -> None:
    page = opened(browser, f"{served}&system=rescue&policies=random&runs=10")
    stamp = page.evaluate(STAMP)
    page.evaluate(SEEN % STAMP)
    click(page, "hunt")
    until(lambda: page.evaluate("document.querySelector('#hunting') !== null"))
    press(page, 0, "ArrowLeft")
    until(lambda: page.evaluate(STAMP) not in ("", stamp))
    until(lambda: page.evaluate("document.querySelector('#hunting') === null"))
    assert "hunted" not in page.evaluate("window.seen")


def test_large_sizes_wait_for_the_button(browser: Browser, served: str) -> None:
    page = opened(browser, f"{served}&system=oinc&sites=12&devices=40&policies=ekya")
    assert page.evaluate(STAMP) == "not computed yet"
    # The page may make the button anew while it starts.
    until(lambda: click(page, "compute") or page.evaluate(STAMP) != "not computed yet")
    until(lambda: "1 policy" in page.evaluate(STAMP))


def test_the_first_result_comes_with_the_page(browser: Browser, served: str) -> None:
    address = f"{served}&system=tapfinger&tasks=10&policies=reservation,min"
    with_cookies = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    times = []
    for _ in range(2):
        start = time.monotonic()
        with with_cookies.open(address) as answer:
            sent = answer.read().decode()
            assert answer.headers["ETag"] is None
        times.append(time.monotonic() - start)
    assert min(times) < 2
    table = html.unescape(re.sub("<[^>]*>", "", re.findall("<table.*?</table>", sent, re.S)[0]))
    page = opened(browser, address)
    assert page.evaluate("document.querySelector('#first')") is None
    assert page.evaluate("document.querySelector('#view table').textContent") == table
    assert page.evaluate("document.body.innerText").count(table.split()[0]) == 1
    with with_cookies.open(f"{served}&system=oinc&sites=12&devices=40&policies=ekya") as answer:
        assert 'id="first"' not in answer.read().decode()


def test_without_the_token_there_is_no_page(served: str) -> None:
    own = served.partition("?")[0]
    with urllib.request.urlopen(own) as answer:
        assert b"marimo-filename" not in answer.read()
