"""Nothing that is changed in a certificate proves a bound that does not hold, or ends in an error.

What stands in a changed file is compared with an optimum that other code finds for the program in
that file.
"""

from __future__ import annotations

import copy
import json
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from edgeopt import checker
from edgeopt.instances import idn, rescue, tapfinger
from edgeopt.models.idn import solve_cooperative
from edgeopt.models.rescue import safe_bound, solve_p1_lp
from edgeopt.models.tapfinger import pooled_bound, scheduling_problem
from edgeopt.solvers import solve
from tests.certificates.cases import (
    OPTIMUM,
    drawn_program,
    drawn_without_limit,
    drawn_without_point,
    tiny,
)
from tests.draws import LEAN, draws

if TYPE_CHECKING:
    from pathlib import Path

    from edgeopt.solvers import Certificate

KINDS = list(OPTIMUM)
NAMES = [
    "-1",
    "-154",
    "007",
    "+1",
    "1_0",
    " 1",
    "1 ",
    "1.0",
    "999",
    "",
    "-0",
    "1,",
    "\u0663",
    "0,0,0",
]
NUMBERS = [
    "007", "1_0", " 1", "1 ", "+1", "-1", "-0", "0", "1e5000000", "1e999", "-1e-999", "nan", "inf",
    "-inf", "1/0", "1/-2", "-2/3", "", "1.", ".5", "0x1", "9" * 500, "1\n", "low-inf",
    "highinf", "1e300", "-1e300", None, 3, 2.5, True, [], {}, ["1"],
]  # fmt: skip


@cache
def certificates(kind: str) -> list[Certificate]:
    if kind == "linear-program":
        return [solve(drawn_program(seed)).certificate() for seed in range(12)]
    if kind == "infeasible-program":
        drawn = map(drawn_without_point, range(12))
        return [solve(one, raises=False).certificate() for one in drawn]
    if kind == "unbounded-program":
        drawn = map(drawn_without_limit, range(12))
        return [solve(one, raises=False).certificate() for one in drawn]
    if kind == "rescue.p1-lp":
        shape = {"servers": 2, "devices": 2, "profiles": 2, "horizon": 6, "longest": 4}
        shape |= {"shortest": 2, "reserved": 2, "arrival": 0.8}
        drawn = [rescue.generate(**shape, rng=seed) for seed in range(4)]
        return [solve_p1_lp(one).certificate() for one in drawn]
    if kind == "rescue.safe":
        return [safe_bound(tiny(seed), steps=20).certificate() for seed in range(8)]
    if kind == "idn.cooperative":
        small = [idn.small(rng=seed) for seed in range(3)]
        return [solve_cooperative(one).certificate() for one in small]
    drawn = [
        tapfinger.generate(
            clusters=2, tasks=4, rng=seed, capacity=[[3, 2], [2, 2]], single_start=seed % 2 == 0
        )
        for seed in range(3)
    ]
    problems = [scheduling_problem(one) for one in drawn]
    return [pooled_bound(one, [0, seed % 2]).certificate() for seed, one in enumerate(problems)]


def document(certificate: Certificate) -> dict[str, Any]:
    return copy.deepcopy(dict(certificate.content) | {"data": certificate.data})


def places(part: Any) -> list[tuple[Any, Any]]:
    """List all containers with the names or places of what they hold."""
    names = range(len(part)) if isinstance(part, list) else list(part)
    found = [(part, name) for name in names]
    for name in names:
        if isinstance(part[name], (list, dict)):
            found += places(part[name])
    return found


def changed_digit(text: str, rng: np.random.Generator) -> str:
    at = int(rng.integers(len(text)))
    return text[:at] + str(rng.choice(list("0123456789.-e/"))) + text[at + 1 :]


def mutated(content: dict[str, Any], rng: np.random.Generator) -> None:
    """Change one thing: a number, its sign, a name, what there is of it, or the claim."""
    part = content
    for name in ("dual", "dual", "data", "primal", "claim", ""):
        if rng.random() < 0.3 and isinstance(content.get(name), dict):
            part = content[name]
            break
    found = places(part)
    if not found:
        found = places(content)
    holder, name = found[int(rng.integers(len(found)))]
    old, way = holder[name], int(rng.integers(7))
    if way == 0:
        holder[name] = copy.deepcopy(NUMBERS[int(rng.integers(len(NUMBERS)))])
    elif way <= 2 and isinstance(old, str) and old:
        holder[name] = changed_digit(old, rng)
    elif way == 3 and isinstance(old, str):
        holder[name] = old[1:] if old.startswith("-") else f"-{old}"
    elif way == 4 and isinstance(holder, dict):
        holder[NAMES[int(rng.integers(len(NAMES)))]] = copy.deepcopy(old)
        if rng.random() < 0.5:
            del holder[name]
    elif way == 5:
        del holder[name]
    elif isinstance(holder, list):
        holder.insert(name, copy.deepcopy(old))
    else:
        other, place = found[int(rng.integers(len(found)))]
        holder[name], other[place] = copy.deepcopy(other[place]), copy.deepcopy(old)


def better(sense: str, bound: float, optimum: float | None) -> bool:
    """Tell whether a bound excludes an optimum by more than rounding."""
    if optimum is None:  # nothing is feasible, or there is no optimum to compare with
        return False
    sign = 1.0 if sense == "min" else -1.0
    return sign * (bound - optimum) > 1e-6 * max(abs(bound), abs(optimum)) + 1e-9


def outcome(content: dict[str, Any], unchanged: Certificate | None, optimum: float | None) -> int:
    """Return the exit code of a content, having compared what it proves with an optimum."""
    data = content.pop("data", None)
    try:
        sense, bound, point = checker.examine(content, data)
    except checker.ProofError as error:
        code, why = error.args
        return code if code in (1, 2) and isinstance(why, str) else 3
    if unchanged is None or data != unchanged.data:
        optimum = OPTIMUM[content["kind"]](data)
    if abs(bound) == np.inf:
        assert optimum is None  # there is none, as is proven
        return 0
    if abs(bound) > 10**300:
        return 0
    assert not better(sense, float(bound), optimum)
    if point is not None and point[1] == 0 and optimum is not None:
        assert not better("max" if sense == "min" else "min", float(point[0]), optimum)
    claimed = content["claim"]["bound"]
    if "inf" not in claimed:
        assert (Fraction(claimed) <= bound) if sense == "min" else (Fraction(claimed) >= bound)
    else:
        assert claimed == ("-inf" if sense == "min" else "inf")
    return 0


@pytest.mark.parametrize("kind", KINDS)
def test_mutations_prove_nothing_false(kind: str) -> None:
    rng, codes = np.random.default_rng(KINDS.index(kind)), []
    given = [(one, OPTIMUM[kind](dict(one.data))) for one in certificates(kind)]
    for _ in range(max(100, draws(500))):
        certificate, optimum = given[int(rng.integers(len(given)))]
        content = document(certificate)
        mutated(content, rng)
        codes.append(outcome(content, certificate, optimum))
    assert set(codes) == {0, 1, 2}


@pytest.mark.parametrize("kind", KINDS)
def test_prices_of_any_size_and_sign_prove_nothing_false(kind: str) -> None:
    rng = np.random.default_rng(9)
    for certificate in certificates(kind):
        optimum = OPTIMUM[kind](dict(certificate.data))
        for _ in range(draws(40)):
            content = document(certificate)
            content["claim"]["bound"] = "-1e999" if certificate.sense == "min" else "1e999"
            content["claim"]["objective"] = None
            for name, part in content["dual"].items():
                if isinstance(part, dict) and part:
                    for key in part:
                        factor = float(rng.choice([1.0, 1.0, 0.0, 0.9, 1.2, -1.0, 30.0]))
                        part[key] = repr(factor * _value(part[key]))
                elif name == "room":
                    part[0][0] = str(int(part[0][0]) + int(rng.integers(-1, 2)))
            outcome(content, certificate, optimum)


def _value(text: str) -> float:
    above, _, below = text.partition("/")
    return float(above) / float(below or 1)


def odd(name: str) -> list[str]:
    """Other ways to write an index."""
    return [
        f"0{name}",
        f" {name}",
        f"+{name}",
        f"{name} ",
        f"{name}.0",
        name.replace("0", "\u0660"),
        "",
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_negative_indices_are_refused_wherever_they_stand(kind: str) -> None:
    refused = 0
    for certificate in certificates(kind):
        original = document(certificate)
        spots = [
            (at, name)
            for at, (holder, name) in enumerate(places(original))
            if isinstance(holder, dict) and name[:1].isdigit()
        ]
        for at, name in spots[:: 1 + len(spots) // (2 if LEAN else 8)]:
            for negative in (f"-{name}", f"-1,{name}", f"{name},-1", "-1", "-154", *odd(name)):
                content = document(certificate)
                holder = places(content)[at][0]
                if negative == name:
                    continue
                holder[negative] = holder[name]
                assert outcome(content, certificate, None) in (1, 2)
                refused += 1
    assert refused > 10


@pytest.mark.parametrize("kind", KINDS)
def test_a_text_that_is_no_number_cannot_be_read_wherever_it_stands(kind: str) -> None:
    certificate = certificates(kind)[0]

    def numbers(content: dict[str, Any]) -> list[tuple[Any, Any]]:
        found = places([content["data"], content["dual"]])
        return [(holder, name) for holder, name in found if isinstance(holder[name], str)]

    count = len(numbers(document(certificate)))
    for at in range(0, count, 1 + count // (20 if LEAN else 200)):
        for text in ("", "+", "<K", "<T"):
            content = document(certificate)
            holder, name = numbers(content)[at]
            holder[name] = text
            assert outcome(content, certificate, None) == 2


@pytest.mark.parametrize("kind", KINDS)
def test_files_with_a_changed_character_prove_nothing_false(kind: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    certificate = certificates(kind)[0]
    optimum = OPTIMUM[kind](dict(certificate.data))
    raw = bytearray(certificate.save(tmp_path / "one.json").read_bytes())
    other, codes = tmp_path / "two.json", set()
    for _ in range(draws(200)):
        changed = raw.copy()
        at = int(rng.integers(len(raw)))
        changed[at] = int(rng.choice(list(b'0123456789-.e,:"{}[]x\xff\x00')))
        if rng.random() < 0.2:
            del changed[at:]
        other.write_bytes(bytes(changed))
        codes.add(checker.main([str(other)]))
        try:
            content, data = checker.opened(str(other))
        except checker.ProofError:
            continue
        outcome(content | {"data": data}, certificate, optimum)
    assert codes == {0, 1, 2} or codes == {1, 2}


@pytest.mark.parametrize("kind", KINDS)
def test_better_claims_are_refused(kind: str) -> None:
    for certificate in certificates(kind):
        for name in ("bound", "objective"):
            text = certificate.content["claim"][name]
            up = (certificate.sense == "min") == (name == "bound")
            best = "inf" if up else "-inf"
            better_ones = [best] * (text != best)
            if text is None or "inf" in text:
                better_ones += ["0"] * (text != best)  # there is no point, or no limit
            else:
                step = 1e-12 * max(1e-3, abs(float(text)))
                better_ones.append(f"{float(text) + (step if up else -step):.20e}")
            for one in better_ones:
                content = document(certificate)
                content["claim"][name] = one
                assert outcome(content, certificate, None) == 1
        content = document(certificate)
        content["claim"]["sense"] = "max" if certificate.sense == "min" else "min"
        assert outcome(content, certificate, None) == 1


@pytest.mark.parametrize(
    ("kind", "part"), [("rescue.p1-lp", "occupancy"), ("rescue.safe", "price")]
)
def test_negative_prices_count_as_none(kind: str, part: str) -> None:
    """Any prices prove a bound; those below 0 prove what 0 does."""
    for certificate in certificates(kind):
        bounds = []
        for price in ("0", "-1"):
            content = document(certificate)
            content["claim"] = {"sense": "max", "bound": "1e9", "objective": None}
            prices = content["dual"][part]
            prices[next(iter(prices), "0,0")] = price
            bounds.append(checker.examine(content, content.pop("data"))[1])
        assert bounds[0] == bounds[1]
        # The prices of safe policies are those of a descent, which may stop before the least bound.
        assert float(bounds[0]) >= certificate.bound or kind == "rescue.safe"


def test_chances_that_are_none_are_refused() -> None:
    """The recursion is one of chances: of arrivals up to 1 in a slot, of durations exactly 1."""
    for certificate in certificates("rescue.safe"):
        for part, odd in (("arrival", "1.0001"), ("arrival", "-0.1"), ("duration", "0.12345")):
            content = document(certificate)
            content["data"][part][0][0] = odd
            assert outcome(content, certificate, None) == 1


def test_too_little_room_is_refused() -> None:
    """The limits that prices rest on are worked out anew, not believed."""
    refused = 0
    for certificate in certificates("tapfinger.pooled"):
        for i, rooms in enumerate(certificate.content["dual"]["room"]):
            for g, room in enumerate(rooms):
                content = document(certificate)
                content["dual"]["room"][i][g] = str(int(room) - 1)
                refused += outcome(content, certificate, None) == 1
    assert refused > 2


def test_a_name_twice_is_refused(tmp_path: Path) -> None:
    certificate = certificates("linear-program")[0]
    text = certificate.save(tmp_path / "one.json").read_text()
    for name in ('"kind":', '"dual":', '"bound":', '"0":'):
        doubled = text.replace(name, f'{name}"1",{name}', 1)
        (tmp_path / "two.json").write_text(doubled)
        assert checker.main([str(tmp_path / "two.json")]) == 1
    json.loads(doubled)  # Python's own reader takes the last
