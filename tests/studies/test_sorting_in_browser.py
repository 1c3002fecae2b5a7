"""Tables of a page sort by real clicks and keys, in a headless Chromium."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from edgeopt.studies import Study
    from tests.browser import Browser, Page


def column(page: Page, table: str, place: int) -> list[str]:
    """Texts of a column from top to bottom, without their small print."""
    found: list[str] = page.evaluate(
        f"[...document.querySelectorAll('{table} tbody tr')].map((row) =>"
        f" row.cells[{place}].childNodes[0].textContent.trim().replaceAll('\\u00a0', ' '))"
    )
    return found


def direction(page: Page, table: str, place: int) -> str | None:
    heads = f"document.querySelectorAll('{table} th')"
    said: str | None = page.evaluate(f"{heads}[{place}].getAttribute('aria-sort')")
    return said


def test_table_sorts_by_clicks_and_by_keys(page: Page, stopped: Study) -> None:
    table = "#case0-table table"
    rows = stopped.case("long").ranked
    titles = {name: entry.title for name, entry in stopped.cases[0].entries.items()}
    names = [titles[name] for name in rows["policy"]]
    by_value = [titles[name] for name in rows.sort_values("value")["policy"]]
    button = f"{table} th:nth-child(3) button"
    seen = []
    for _ in range(3):
        page.click(button)
        seen.append((direction(page, table, 2), column(page, table, 0)))
    assert seen == [
        ("descending", by_value[::-1]),
        ("ascending", by_value),
        ("none", names),
    ]
    page.evaluate(f"document.querySelector('{table} th:first-child button').focus()")
    page.press("Enter")
    assert (direction(page, table, 0), column(page, table, 0)) == ("ascending", sorted(names))
    page.press(" ")
    assert (direction(page, table, 0), column(page, table, 0)) == (
        "descending",
        sorted(names)[::-1],
    )
    for _ in range(2):
        page.press("Tab")
    page.press("Enter")
    assert direction(page, table, 0) == "none"
    assert (direction(page, table, 2), column(page, table, 0)) == ("descending", by_value[::-1])


COLUMNS = {
    "power": ("\N{MINUS SIGN}6.9·10⁻¹⁶", "3.1·10⁷", "2.5", "\N{EN DASH}", "∞"),
    "share": ("9.5 % 9.1 to 9.9 %", "68.4 to 69.4 %", "\N{MINUS SIGN}213.4 %", "100.0 %", "0 %"),
    "time": ("3 min 20 s", "12 ms", "0.84 s", "119 s", "7 µs"),
    "name": ("server 10", "server 9", "Server 1", "3-1 way", "1/10"),
    "tied": ("1", "0", "1", "0", "1"),
}
"""Columns of texts as pages write them."""

RISING = {
    "power": [0, 2, 1, 4, 3],
    "share": [2, 4, 0, 1, 3],
    "time": [4, 1, 2, 3, 0],
    "name": [4, 3, 2, 1, 0],
    "tied": [1, 3, 0, 2, 4],
}
"""Their rows from the least to the greatest; what does not exist comes last."""


def test_texts_sort_as_the_numbers_they_stand_for(
    browser: Browser, report: Path, tmp_path: Path
) -> None:
    heads = "".join(f"<th scope='col'>{name}</th>" for name in COLUMNS)
    cells = [
        "".join(f"<td>{text.replace(' %', '&nbsp;%')}</td>" for text in row)
        for row in zip(*COLUMNS.values(), strict=True)
    ]
    body = "".join(f"<tr>{row}</tr>" for row in cells)
    text = report.read_text(encoding="utf-8").replace(
        "<main>",
        "<main><table id='made' class='sortable'>"
        f"<thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>",
    )
    (tmp_path / "made.html").write_text(text, encoding="utf-8")
    page = browser.page()
    page.look(width=1400)
    page.open((tmp_path / "made.html").as_uri())
    for place, (name, texts) in enumerate(COLUMNS.items()):
        button = f"#made th:nth-child({place + 1}) button"
        page.click(button)
        if direction(page, "#made", place) == "descending":
            page.click(button)
        assert direction(page, "#made", place) == "ascending"
        assert column(page, "#made", place) == [texts[row] for row in RISING[name]]
    # Rows that are alike stay in the order they had: here that of the names, then of the rows.
    assert column(page, "#made", 3) == ["3-1 way", "server 9", "1/10", "Server 1", "server 10"]
    assert page.complaints == []
