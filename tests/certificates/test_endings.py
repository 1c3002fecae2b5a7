"""Proofs that a program has no point, or no best one: what they say, and what they rest on."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from edgeopt import checker
from edgeopt.cli.main import run
from edgeopt.errors import CertificateError
from edgeopt.solvers import LinearProgram, Status, solve
from edgeopt.solvers.certificates import read_certificate
from tests.certificates.cases import drawn_program, drawn_without_limit, drawn_without_point
from tests.draws import draws
from tests.solvers.test_public_programs import FOLDER

if TYPE_CHECKING:
    from pathlib import Path

    from edgeopt.solvers import Certificate

INF = np.inf
FULL = LinearProgram([1, 1], [[1, 1]], 3, INF, 0, 1)
"""Two columns of at most 1 are to add up to 3."""

SLOPE = LinearProgram([-1, 0], [[1, -1]], -INF, 1, 0, INF)
"""The first column is at most 1 more than the second, which costs nothing."""


def certified(program: LinearProgram, status: Status) -> Certificate:
    solution = solve(program, raises=False)
    assert solution.status is status
    certificate = solution.certificate(name="drawn")
    certificate.check()
    assert certificate.bound == solution.bound
    return certificate


def code(certificate: Certificate, **parts: Any) -> int:
    try:
        checker.examine(dict(certificate.content) | parts, certificate.data)
    except checker.ProofError as error:
        return int(error.args[0])
    return 0


@pytest.mark.parametrize("dress", [{}, {"sense": "max", "integer": True}, {"quadratic": True}])
def test_programs_without_a_point(dress: dict[str, Any]) -> None:
    """Costs of any sense and curvature, and whole numbers, count for nothing."""
    for seed in range(draws(100)):
        program = drawn_without_point(seed)
        more = {"quadratic": np.eye(program.shape[1])} if "quadratic" in dress else dress
        found = certified(program.replace(**{"sense": "min"} | more), Status.PROVEN_INFEASIBLE)
        assert (found.kind, found.objective) == ("infeasible-program", None)


@pytest.mark.parametrize("whole", [False, True])
def test_programs_without_a_best_point(whole: bool) -> None:
    made = 0
    for seed in range(draws(100)):
        program = drawn_without_limit(seed)
        integer = np.arange(program.shape[1]) % 2 == 0
        program = program.replace(integer=integer) if whole else program
        solution = solve(program, raises=False)
        if solution.status is not Status.PROVEN_UNBOUNDED:
            assert whole  # whole numbers may have no point
            continue
        found, made = solution.certificate(), made + 1
        assert found.objective == found.bound == solution.bound
        assert found.violation <= 1e-9
        if whole:
            point, ray = found.content["primal"], found.content["dual"]["ray"]
            assert all(Fraction(one).denominator == 1 for one in ray.values())
            assert all(float(point.get(str(j), 0)).is_integer() for j in np.flatnonzero(integer))
    assert made > 2


def test_rays_of_long_numbers_are_made_exact() -> None:
    """On dense rows of random doubles they have hundreds of digits."""
    rng = np.random.default_rng(0)
    matrix, point = rng.normal(size=(16, 40)), rng.random(40)
    use = matrix @ point
    certified(LinearProgram(rng.normal(size=40), matrix, use, use, 0, INF), Status.PROVEN_UNBOUNDED)


@pytest.mark.parametrize(
    ("ray", "point", "expected"),
    [
        ({"0": "1", "1": "1"}, {"0": "1"}, 0),
        ({"0": "1", "1": "1.5"}, {}, 0),
        ({"0": "1/3", "1": "1/3"}, {"0": "1.0000000001"}, 0),
        ({"0": "1", "1": "0.9999999999999999999999"}, {}, 1),  # past the row
        ({"0": "-1", "1": "-1"}, {}, 1),
        ({"0": "1", "1": "1"}, {"0": "3"}, 1),  # not from a point
        ({"0": "1", "1": "1"}, {"1": "-1"}, 1),
        ({"0": "1", "1": "1"}, None, 1),
        ({"1": "1"}, {}, 1),  # to no better values
        ({}, {}, 1),
        ({"2": "1"}, {}, 1),
        ({"0": "inf"}, {}, 2),
    ],
)
def test_rays_by_hand(ray: dict[str, str], point: dict[str, str] | None, expected: int) -> None:
    certificate = certified(SLOPE, Status.PROVEN_UNBOUNDED)
    for claim in (certificate.content["claim"], {"sense": "min", "bound": "-inf"}):
        claim = {"objective": None} | claim
        assert code(certificate, dual={"ray": ray}, primal=point, claim=claim) == expected


def test_a_ray_keeps_to_lower_and_upper_sides() -> None:
    made = certified(LinearProgram([1], np.zeros((0, 1)), [], [], -INF, 5), Status.PROVEN_UNBOUNDED)
    assert code(made, dual={"ray": {"0": "-2"}}) == 0
    up = made.content["claim"] | {"sense": "max", "bound": "inf", "objective": "inf"}
    content = dict(made.content) | {"dual": {"ray": {"0": "2"}}, "claim": up}
    with pytest.raises(checker.ProofError, match="past a side"):
        checker.examine(content, dict(made.data) | {"sense": "-1"})
    with pytest.raises(checker.ProofError, match="past a side"):
        checker.examine(made.content, dict(made.data) | {"low": ["-9"]})
    floor = {"columns": [{"0": "3"}], "row_low": ["-1e9"], "row_high": ["inf"]}
    with pytest.raises(checker.ProofError, match="past a side"):
        checker.examine(made.content, dict(made.data) | floor)


@pytest.mark.parametrize(
    ("multipliers", "expected"),
    [({"0": "1"}, 0), ({"0": "1e-9"}, 0), ({"0": "-1"}, 1), ({"0": "0"}, 1), ({}, 1)],
)
def test_multipliers_by_hand(multipliers: dict[str, str], expected: int) -> None:
    certificate = certified(FULL, Status.PROVEN_INFEASIBLE)
    assert code(certificate, dual={"rows": multipliers}) == expected
    assert code(certificate, dual={"rows": multipliers}, primal={"0": "1"}) == 1
    met = dict(certificate.data) | {"row_low": ["2"]}  # by one point: the sum is 0
    with pytest.raises(checker.ProofError, match=r"do not add sides up|missing side"):
        checker.examine(dict(certificate.content) | {"dual": {"rows": multipliers}}, met)


def test_plain_words_say_what_is_proven(tmp_path: Path, capsys) -> None:
    said = {}
    for name, program in (("full", FULL), ("slope", SLOPE)):
        path = solve(program, raises=False).certificate().save(tmp_path / f"{name}.json")
        assert read_certificate(path).kind in ("infeasible-program", "unbounded-program")
        assert checker.main([str(path)]) == 0
        assert run(["verify", str(path)]) == 0
        said[name] = capsys.readouterr().out
        problem = program.write(tmp_path / f"{name}.mps")
        assert run(["verify", str(path), "--instance", str(problem)]) == 0
        assert "program is that of the instance" in capsys.readouterr().out
        assert run(["verify", str(path), "--json"]) == 0
        assert json.loads(capsys.readouterr().out)[0]["bound"] is None
    assert said["full"].count("proven: no point satisfies the rows and bounds") == 2
    assert said["slope"].count("proven: no best value") == 1
    assert said["slope"].count("proven: there is no best value") == 1


def test_whole_numbers_that_only_a_search_excludes_have_no_proof() -> None:
    half = LinearProgram([1], [[2]], 1, 1, 0, 9, integer=True)
    with pytest.raises(CertificateError, match="search tree"):
        solve(half, raises=False).certificate()


def test_an_optimum_proves_neither() -> None:
    made = solve(drawn_program(0)).certificate()
    for kind, dual in (
        ("infeasible-program", made.content["dual"]),
        ("unbounded-program", {"ray": made.content["primal"]}),
    ):
        claim = {"sense": made.sense, "bound": "0", "objective": None}
        assert code(made, kind=kind, dual=dual, claim=claim) == 1


@pytest.mark.parametrize("path", sorted(FOLDER.glob("infeasible/*.mps.gz")), ids=lambda p: p.name)
def test_public_programs_without_a_point(path: Path) -> None:
    certified(LinearProgram.read(path), Status.PROVEN_INFEASIBLE)
