"""The page of claims, the formulas on it, and instances that are written out."""
# ruff: noqa: RUF001 - signs of formulas are meant although they look like letters.

from __future__ import annotations

import functools
import math
import re
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import numpy as np
import pytest

from edgeopt.bounds import claims
from edgeopt.cli.claims import table as in_terminal
from edgeopt.studies import check_all
from edgeopt.studies.claims import counterexample as written_out
from edgeopt.studies.pages.rendering import in_html, in_text
from tests.papers import claims_to_check as made_up
from tests.studies.test_page_in_browser import faults

if TYPE_CHECKING:
    from pathlib import Path

    from edgeopt.studies import Checked
    from tests.browser import Browser


@pytest.fixture(scope="module")
def checked() -> Checked:
    offered = (made_up.TRUE, made_up.PUBLISHED, made_up.READING, made_up.SILENT, made_up.BROKEN)
    known = claims("tapfinger.conflict*").values()
    return check_all([*offered, *known], instances=1, rng=3)


def test_page_begins_with_a_summary_in_words(checked: Checked, tmp_path: Path) -> None:
    page = checked.page(tmp_path).read_text(encoding="utf-8")
    lead = re.search(r'<p class="lead">(.*?)</p>', page, re.DOTALL)
    assert lead is not None
    for said in (
        "2 claims hold on every instance checked",
        "2 statements of the papers fail as published.",
        "1 other plausible form fails too.",
        "1 claim applied to no instance.",
        "Violated, but should hold: toy.broken.",
    ):
        assert said in lead[1]
    assert "seeds 3 to 3" in page
    assert not re.search(r'(src|href)="(?!#|data:)', page)


def test_page_refutes_false_claims_and_links_their_corrections(
    checked: Checked, tmp_path: Path
) -> None:
    page = checked.page(tmp_path).read_text(encoding="utf-8")
    article = re.search(r'<article class="refuted" id="toy.mean.published-refuted">.*?</article>',
                        page, re.DOTALL)  # fmt: skip
    assert article is not None
    words = " ".join(re.sub(r"<[^>]+>", "", article[0]).split())
    assert "Counterexample three(): it is 3, but the claim says at least 4." in words
    assert "values&nbsp;[1, 5, 3]" in words
    assert 'href="#toy.mean"' in article[0]
    assert 'id="toy.mean"' in page
    assert "&lt;always&gt;" in article[0]
    assert 'id="toy.mean.strict-refuted"' in page
    assert 'id="toy.broken-refuted"' not in page


def test_table_has_a_row_per_claim(checked: Checked) -> None:
    rows = {row["claim"]: row for row in checked.table.to_dict("records")}
    assert list(rows) == [one.claim.id for one in checked.claims]
    mean = rows["toy.mean"]
    assert (mean["instance"], mean["named_holds"], mean["slack"]) == ("near", 2, 1.0)
    assert sum(row["known_false"] for row in rows.values()) == 3
    assert checked.broken == tuple(one for one in checked.claims if one.claim.id == "toy.broken")


def test_infinite_slack_is_shown_as_such(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = check_all([made_up.ENDLESS])
    [endless] = found.claims
    assert endless.slack == math.inf
    text = found.page(tmp_path).read_text(encoding="utf-8")
    row = re.search(r'<td id="toy.endless".*?</tr>', text, re.DOTALL)
    assert row is not None
    assert row[0].count("∞") == 2
    in_terminal(found, wide=False)
    assert capsys.readouterr().out.count("∞") == 2


def test_nothing_leaves_its_box(checked: Checked, tmp_path: Path, browser: Browser) -> None:
    page = checked.page(tmp_path / "page")
    assert faults(browser, page, tmp_path, "claims") == []


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        ("plain, nothing else", "plain, nothing else"),
        (r"so $a_k^2 \le -\frac12 b$, `as said'", "so a_k² ≤ −1/2 b, ‘as said’"),
        (r"$\mathbb{E}[\mathrm{ALG}] \ge \sum_{t < T} \mathcal{B}_k(t)$",
         "𝔼[ALG] ≥ ∑_(t < T) ℬ_k(t)"),
        (r"$\bar x + \widetilde{G} = \sqrt{2 D / \theta}$", "x̄ + G̃ = √(2D/θ)"),
        (r"$\|x^{t*} - v'_i\| \in [-1, 1]$", "‖x^(t∗) − v′_i‖ ∈ [−1, 1]"),
        (r"$\frac{a + b}{2 T} \cdot x^* \to 0$", "(a + b)/(2T) · x* → 0"),
    ],
)  # fmt: skip
def test_formulas_in_plain_text(statement: str, text: str) -> None:
    assert in_text(statement) == text


def test_formulas_in_mathml() -> None:
    assert in_html(r"a < b, $x_k$") == "a &lt; b, <math><msub><mi>x</mi><mi>k</mi></msub></math>"
    half = in_html(r"$\frac12 < y$")
    assert half == (
        "<math><mfrac><mn>1</mn><mn>2</mn></mfrac></math><wbr/>"
        '<math><mo form="infix">&lt;</mo><mi>y</mi></math>'
    )


def test_every_statement_is_understood() -> None:
    for id, claim in claims().items():
        text, page = in_text(claim.statement), in_html(claim.statement)
        assert not re.search(r"[\\${}^]\w*[a-z]{3}|\\|\$", text), id
        found = ElementTree.fromstring(f"<p>{page}</p>")
        # Long words in italics would be commands that nobody knows.
        names = [one.text or "" for one in found.iter("mi")]
        assert not {"frac", "sqrt", "bar", "left", "right", "mathrm", "quad"} & set(names), id


@dataclass
class Part:
    shares: tuple[Fraction, ...] = (Fraction(1, 3), Fraction(2, 3))
    name: str = ""


@dataclass
class Whole:
    few: np.ndarray
    many: np.ndarray
    even: np.ndarray
    part: Part = field(default_factory=Part)
    nothing: None = None
    cap: float = np.inf
    origin: str = "drawn by nobody"


def test_instance_is_written_out_and_counted() -> None:
    whole = Whole(np.array([[0.5, -1.0]]), np.arange(50.0), np.ones((3, 4), dtype=bool))
    assert written_out.size(whole) == 2 + 50 + 12 + 2 + 1
    assert written_out.numbers(whole) == [
        ("few", "[[0.5, \N{MINUS SIGN}1]]"),
        ("many", "50, from 0 to 49"),
        ("even", "3 \N{MULTIPLICATION SIGN} 4, all 1"),
        ("shares", "[1/3, 2/3]"),
        ("cap", "∞"),
    ]


def test_words_are_those_of_the_builder() -> None:
    built = functools.cache(functools.partial(made_up.three))
    assert written_out.words(built) == "The numbers 1, 5 and ε ≤ 3.\n\nTheir mean is 3."
    assert written_out.words(lambda: None) == ""
    assert written_out.words(Part).startswith("Part(")


def test_every_counterexample_says_what_it_is() -> None:
    for claim in claims("rescue").values():
        if claim.counterexample:
            build = claim.test_instances[claim.counterexample]
            assert len(written_out.words(build)) > 20, claim.id
            assert 0 < written_out.size(build()) < 1000, claim.id
