"""The command that checks claims: what it prints, its page, its exit codes."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING

import joblib
import pytest

from edgeopt import registry
from edgeopt.bounds import claims
from edgeopt.cli.main import run
from tests.papers import claims_to_check as made_up
from tests.studies import stopping
from tests.studies.conftest import offering as offering
from tests.studies.stopping import Offers
from tests.studies.test_systems import document

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from edgeopt.bounds import Claim


@pytest.fixture
def offer(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return what makes another package offer claims."""

    def install(*offered: Claim) -> None:
        class Point:
            name, value, group, dist = "toy", "toypackage.claims", "edgeopt.claims", None

            @staticmethod
            def load() -> tuple[Claim, ...]:
                return offered

        genuine = registry.offered
        added = {Point.group: [Point()]}
        monkeypatch.setattr(registry, "offered", lambda at: [*genuine(at), *added.get(at, [])])

    return install


@pytest.mark.parametrize("options", [[], ["--json"], ["--published"]])
def test_exit_code_depends_on_claims_that_should_hold(
    options: list[str], offer: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    offer(made_up.TRUE, made_up.PUBLISHED, made_up.READING, made_up.SILENT, made_up.BROKEN)
    assert run(["check", "toy.mean*", *options]) == 0
    assert run(["check", "toy.silent", *options]) == 0
    capsys.readouterr()
    assert run(["check", "toy", *options]) == 1
    assert "toy.broken" in capsys.readouterr().out


def test_document_holds_the_tightest_instance_and_the_smallest_counterexample(
    offer: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    offer(made_up.TRUE, made_up.PUBLISHED, made_up.SILENT, made_up.ENDLESS)
    assert run(["check", "toy", "--json"]) == 0
    found = document(capsys)
    assert (found["instances"], found["seed"]) == (0, 0)
    true, printed, silent, endless = found["claims"]
    verdict = ["id", "source", "verdict", "measured", "guaranteed", "slack"]
    assert list(true)[:6] == verdict
    # Of 9 and 2 against at least 1 the second leaves less: 1/2 of it, and not 8/9.
    assert (true["instance"], true["measured"], true["slack"]) == ("near", 2.0, 1.0)
    assert true["named"] == {"holds": 2, "violated": 0, "vacuous": 0}
    assert true["counterexample"] is None
    # Zeros have the least slack, but three numbers are fewer than five.
    assert (printed["instance"], printed["verdict"]) == ("large", "violated")
    assert printed["named"] == {"holds": 1, "violated": 2, "vacuous": 0}
    against = printed["counterexample"]
    assert (against["instance"], against["size"]) == ("three()", 3)
    assert (against["measured"], against["guaranteed"]) == (3.0, 4.0)
    assert against["numbers"] == {"values": "[1, 5, 3]"}
    assert against["words"] == "The numbers 1, 5 and ε ≤ 3.\n\nTheir mean is 3."
    assert printed["corrected_by"] == ["toy.mean"]
    assert (silent["verdict"], silent["reason"]) == ("vacuous", "too large to be measured")
    assert (endless["verdict"], endless["measured"], endless["slack"]) == ("loose", "inf", "inf")
    assert endless["reason"].startswith("cannot fail here")
    assert found["counts"] == {
        "hold": 1,
        "loose": 1,
        "vacuous": 1,
        "violated": 0,
        "published_refuted": 1,
        "forms_refuted": 0,
        "not_refuted": 0,
    }


def test_a_claim_that_no_factor_of_2_breaks_is_not_listed_as_holding(
    offer: Callable[..., None], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    far = dataclasses.replace(
        made_up.TRUE, id="toy.far", test_instances={"far": made_up.numbers(9.0)}
    )
    offer(made_up.TRUE, far, made_up.ENDLESS)
    assert run(["check", "toy", "--out", str(tmp_path / "page")]) == 0
    lines = capsys.readouterr().out.splitlines()
    page = (tmp_path / "page" / "index.html").read_text(encoding="utf-8")
    for name, words in (("mean", "holds"), ("far", "loose, 9 times"), ("endless", "cannot fail")):
        [line] = [line for line in lines if line.split()[:1] == [f"toy.{name}"]]
        assert words in line
        assert words in page
    assert "1 claim holds" in " ".join(lines)
    assert "2 claims are loose" in " ".join(lines)
    kept = json.loads((tmp_path / "page" / "claims.json").read_text(encoding="utf-8"))
    shown = {one["id"]: (one["verdict"], one["factor"]) for one in kept["claims"]}
    assert shown == {
        "toy.mean": ("holds", 2.0), "toy.far": ("loose", 9.0), "toy.endless": ("loose", "inf"),
    }  # fmt: skip


@pytest.mark.usefixtures("offering")
def test_drawn_instances_join_the_named_ones(
    offer: Callable[..., None], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    instances = dataclasses.replace(
        stopping.SYSTEM.instances, random_small=lambda seed: Offers(3 + seed)
    )
    record = dataclasses.replace(stopping.SYSTEM, instances=instances)
    monkeypatch.setattr(stopping, "SYSTEM", record)
    offer(made_up.FEW, made_up.TRUE)
    assert run(["check", "toy", "stopping", "--instances", "4", "--json"]) == 0
    true, few, *promised = document(capsys)["claims"]
    assert [one["id"] for one in promised] == [
        "stopping.guarantee.half",
        "stopping.valid_bound.prophet",
    ]
    # Seeds 0 to 3 draw 3, 4, 5 and 6 offers; of three nothing is said, six are just allowed.
    assert few["drawn"] == {"holds": 3, "violated": 0, "vacuous": 1}
    assert (few["instance"], few["measured"], few["slack"]) == ("drawn(3)", 6.0, 0.0)
    assert few["undrawn"] == ""
    assert true["drawn"] == {"holds": 0, "violated": 0, "vacuous": 0}
    assert true["undrawn"] == "no system draws Numbers"
    # Seven are too many.
    assert run(["check", "stopping", "--instances", "1", "--seed", "4"]) == 1
    printed = capsys.readouterr().out
    assert "drawn(4)" in printed
    assert "1 violated" in printed
    assert run(["check", "stopping", "--instances", "1", "--json"]) == 0
    few, *_ = document(capsys)["claims"]
    assert (few["instance"], few["measured"]) == ("four", 4.0)


def test_a_wide_table_has_every_claim_and_cuts_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    wanted = ["rescue.theorem1.published", "idn.average*", "tapfinger.conflict*"]
    assert run(["check", *wanted, "--instances", "2", "--wide"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("2 claims hold")
    assert "\u2026" not in printed
    for piece in ("rescue.theorem1.published", "arrivals(0.01,", "empty_handed()"):
        assert piece in printed
    for claim in claims(wanted).values():
        assert claim.source.number.split()[-1] in printed


def test_what_fails_as_published_can_be_redone_by_hand(
    offer: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    offer(made_up.TRUE, made_up.PUBLISHED, made_up.READING)
    assert run(["check", "toy", "--published"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "x̄ ≤ 1/2 <always>" in printed
    assert "three(): it is 3, but the claim says at least 4" in printed
    assert "The numbers 1, 5 and ε ≤ 3. Their mean is 3." in printed
    assert "3 numbers: values = [1, 5, 3]" in printed
    assert "corrected by toy.mean" in printed
    # What holds and what only tempts is not among them.
    assert "toy.mean Remark" not in printed
    assert "toy.mean.strict" not in printed
    assert "1 other plausible form also fails" in printed


def test_page_and_document_are_written(
    offer: Callable[..., None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    offer(made_up.TRUE, made_up.PUBLISHED)
    out = tmp_path / "claims" / "page"
    assert run(["check", "toy", "--out", str(out), "--json"]) == 0
    assert json.loads((out / "claims.json").read_text()) == document(capsys)
    assert "fails as published" in (out / "index.html").read_text()
    assert run(["check", "toy", "--out", str(out)]) == 0
    assert str(out / "index.html") in capsys.readouterr().out


def test_workers_change_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    wanted = [
        "rescue.beyond*",
        "tapfinger.conflict*",
        "rescue.routing.published",
        "--instances",
        "2",
    ]
    assert run(["check", *wanted, "--json"]) == 0
    alone = document(capsys)
    # Threads do as processes would, without the time that those take to start.
    with joblib.parallel_config(backend="threading"):
        assert run(["check", *wanted, "--workers", "2", "--json"]) == 0
    assert document(capsys) == alone
