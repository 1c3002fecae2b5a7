"""Certificates that are made to cost endless work cannot be read, and soon.

Every attack is the smallest file of its kind that takes minutes, gigabytes or for ever without a
limit of work.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from edgeopt import checker
from edgeopt.solvers import LinearProgram, solve

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LONG = [f"1/{10**380 + 2 * i + 1}" for i in range(20_000)]
"""Fractions whose sum has a denominator of millions of digits."""


def document(kind: str, data: dict[str, Any], dual: dict[str, Any], primal: Any = None) -> Any:
    claim = {"sense": "min", "bound": "-1e999", "objective": None}
    content = {"format": "edgeopt.certificate/1", "kind": kind, "about": {}, "data": data}
    return content | {"primal": primal, "dual": dual, "claim": claim}


def program(columns: int, cost: list[str], high: list[str], column: dict[str, str]) -> Any:
    """Return a linear program with one row at least."""
    rows = 1 + max(map(int, column), default=0)
    return {
        "sense": "1", "offset": "0", "cost": cost, "low": ["0"] * columns, "high": high,
        "row_low": ["0"] * rows, "row_high": ["1"] * rows, "columns": [column] * columns,
    }  # fmt: skip


def servers(T: int, J: int, K: int, L: int, H: int, **parts: Any) -> dict[str, Any]:
    """Return the fields that both kinds of RESCUE have."""
    data = {
        "arrival": [["0.5"] * J] * T,
        "profit": [[[["1"] * L] * K] * J] * T,
        "capacity": [["1"] * T] * K,
        "demand": ["1"] * H,
        "server": ["0"] * H,
        "start": ["0"] * H,
        "end": [str(T - 1)] * H,
    }
    return data | parts


def clusters(**parts: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return one task of TapFinger on one cluster, and prices."""
    data = {
        "starts": "inf", "capacity": [["1", "1"]], "duration": [[[["1"]]]], "weight": ["1"],
        "arrival": ["0"], "kind": ["0"], "eligible": [{"0": "1"}],
    }  # fmt: skip
    dual = {"size": [[[["1"]]]], "room": [["1e9"]], "price": {}, "start": {}, "pool": ["0"]}
    return (
        {name: parts.get(name, one) for name, one in data.items()},
        {name: parts.get(name, one) for name, one in dual.items()},
    )


def costs_of_coprime_denominators() -> Any:
    n = len(LONG)
    data = program(n, [f"-{one}" for one in LONG], ["1"] * n, {})
    return document("linear-program", data, {"rows": {}})


def a_point_of_coprime_denominators() -> Any:
    n = len(LONG)
    data = program(n, ["0"] * n, ["1"] * n, {"0": "1"})
    return document("linear-program", data, {"rows": {}}, {str(j): x for j, x in enumerate(LONG)})


def multipliers_of_coprime_denominators() -> Any:
    rows = {str(i): str(i + 1) for i in range(2000)}
    data = program(100, ["0"] * 100, ["1"] * 100, rows)
    return document("linear-program", data, {"rows": dict(zip(rows, LONG, strict=False))})


def a_ray_of_coprime_denominators() -> Any:
    n = len(LONG)
    data = program(n, ["0"] * n, ["inf"] * n, {"0": "1"})
    ray = {str(j): x for j, x in enumerate(LONG)}
    return document("unbounded-program", data, {"ray": ray}, {})


def contradictions_of_coprime_denominators() -> Any:
    content = multipliers_of_coprime_denominators()
    return content | {"kind": "infeasible-program"}


def fractions_of_thousands_of_digits() -> Any:
    n = 8_000
    ray = {str(j): f"{10**740 + j}/{10**740 + 2 * j + 1}" for j in range(n)}
    return document("unbounded-program", program(n, ["0"] * n, ["inf"] * n, {}), {"ray": ray}, {})


def numbers_of_a_thousand_digits() -> Any:
    n = 50_000
    cost = [f"{10**380 + j}e-999" for j in range(30_000)]
    data = program(n, ["1e999"] * (n - 30_000) + cost, ["1"] * n, {"0": "1"})
    return document("linear-program", data, {"rows": {"0": "1e-999"}})


def entries_by_the_million() -> Any:
    n = 2_500_000
    return document("linear-program", program(n, ["0"] * n, ["1"], {}), {"rows": {}})


def runs_longer_than_the_file() -> Any:
    data = servers(30_000, 1, 1, 1, 0, survival=[["1"] * 2000])
    return document("rescue.p1-lp", data, {"occupancy": {}})


def windows_longer_than_the_file() -> Any:
    data = servers(20_000, 1, 1, 1, 5000, survival=[["1"]])
    return document("rescue.p1-lp", data, {"occupancy": {}})


def speeds_that_are_coprime() -> Any:
    """What a unit of work is worth is a reduced cost divided by a speed."""
    H, speed = 3000, [str(10**380 + 2 * i + 1) for i in range(3000)]
    slots = [str(t) for t in range(H)]
    data = servers(H, 1, 1, 1, H, survival=[["1"]], capacity=[speed], start=slots, end=slots)
    return document("rescue.p1-lp", data, {"occupancy": {f"0,{t}": "1" for t in range(H)}})


def slots_times_options() -> Any:
    S, R = 2200, 2200
    data = {
        "weight": ["1"] * S, "copies": ["1"], "requests": [["1"] * R] * S,
        "options": [{"0": "1"}] * R, "capacity": [["1"]] * S, "size": ["1"], "budget": ["1"],
        "node": ["0"],
    }  # fmt: skip
    return document("idn.cooperative", data, {"capacity": {}, "budget": {}})


def slots_times_types_times_pairs() -> Any:
    S = R = C = 200
    data = {
        "weight": ["1"] * S, "copies": ["1"] * C, "requests": [["1"] * R] * S,
        "options": [{str(c): "1" for c in range(C)}] * R, "capacity": [["1"] * C] * S,
        "size": ["1"] * C, "budget": ["1"], "node": ["0"] * C,
    }  # fmt: skip
    return document("idn.cooperative", data, {"capacity": {}, "budget": {}})


def a_task_that_may_wait_for_ever() -> Any:
    prices = {f"0,0,{t}": "1e300" for t in range(0, 1 << 17, 8)}
    data, dual = clusters(weight=["1e-999"], price=prices, duration=[[[["0"], ["100000"]]]])
    dual["size"] = [[[["0"], ["1"]]]]
    return document("tapfinger.pooled", data, dual)


def bundles_in_the_largest_room() -> Any:
    times, sizes = [[["1"] * 40] * 40], [["1"] * 40] * 40
    data, dual = clusters(capacity=[["1023", "1023"]], duration=[times], size=[[sizes]])
    return document("tapfinger.pooled", data, dual)


def bundles_of_coprime_sizes() -> Any:
    times, sizes = [[["1"] * 2000]], [LONG[:2000]]
    data, dual = clusters(capacity=[["0", "1023"]], duration=[times], size=[[sizes]])
    return document("tapfinger.pooled", data, dual)


def states_without_end() -> Any:
    T, H = 900, 30
    starts, ends = [str(3 * i) for i in range(H)], [str(T - 1 - i) for i in range(H)]
    speed = [[str(1000 + 2**t % 997) for t in range(T)]]
    data = servers(T, 1, 1, 1, H, capacity=speed, start=starts, end=ends)
    data |= {"independent": "0", "duration": [["0.05"] * 20]}
    return document("rescue.safe", data, {"price": {}, "grid": ["0"]})


def windows_by_the_thousand() -> Any:
    T, H = 3000, 3000
    slots = [str(t) for t in range(H)]
    data = servers(T, 1, 1, 1, H, start=slots) | {"independent": "0", "duration": [["1"]]}
    return document("rescue.safe", data, {"price": {}, "grid": ["0"]})


def speeds_of_coprime_denominators() -> Any:
    data = servers(20_000, 1, 1, 1, 0, capacity=[LONG])
    data |= {"independent": "0", "duration": [["1"]]}
    return document("rescue.safe", data, {"price": {}, "grid": ["0"]})


ATTACKS: list[Callable[[], Any]] = [
    costs_of_coprime_denominators,
    a_point_of_coprime_denominators,
    multipliers_of_coprime_denominators,
    a_ray_of_coprime_denominators,
    contradictions_of_coprime_denominators,
    fractions_of_thousands_of_digits,
    numbers_of_a_thousand_digits,
    entries_by_the_million,
    runs_longer_than_the_file,
    windows_longer_than_the_file,
    speeds_that_are_coprime,
    slots_times_options,
    slots_times_types_times_pairs,
    a_task_that_may_wait_for_ever,
    bundles_in_the_largest_room,
    bundles_of_coprime_sizes,
    states_without_end,
    windows_by_the_thousand,
    speeds_of_coprime_denominators,
]


def saved(make: Callable[[], Any], folder: Path) -> Path:
    path = folder / f"{make.__name__}.json"
    path.write_text(json.dumps(make(), separators=(",", ":")))
    return path


def checked(*arguments: Path | str) -> subprocess.CompletedProcess[str]:
    """Run the checker as users do; the seconds are those of a broken limit, not a promise."""
    command = [sys.executable, "-I", "-S", checker.__file__, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)


@pytest.mark.parametrize("make", ATTACKS)
def test_endless_work_is_not_begun(make: Callable[[], Any], tmp_path: Path) -> None:
    found = checked(saved(make, tmp_path))
    assert (found.returncode, found.stderr) == (2, "")
    assert "too much work" in found.stdout or "too many digits" in found.stdout


@pytest.mark.parametrize("text", ["[" + "{}," * 5_000_000 + "0]", '{"a":' + "[]" * 20_000_000])
def test_brackets_by_the_million_cannot_be_read(text: str, tmp_path: Path) -> None:
    (tmp_path / "brackets.json").write_text(text)
    found = checked(tmp_path / "brackets.json")
    assert (found.returncode, found.stderr) == (2, "")


def test_endless_work_in_data_beside_a_certificate_is_not_begun(tmp_path: Path) -> None:
    content = costs_of_coprime_denominators()
    packed = gzip.compress(json.dumps(content.pop("data")).encode())
    (tmp_path / "data.json.gz").write_bytes(packed)
    content |= {"data_file": "data.json.gz", "data_sha256": hashlib.sha256(packed).hexdigest()}
    (tmp_path / "one.json").write_text(json.dumps(content))
    found = checked(tmp_path / "one.json")
    assert found.returncode == 2
    assert "too m" in found.stdout


def test_a_file_that_is_its_own_data_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "circle.json"
    path.write_text(json.dumps({"data_file": path.name, "data_sha256": None}))
    assert checked(path).returncode == 1


def test_one_endless_file_takes_nothing_from_others(tmp_path: Path) -> None:
    """The limit is one of every file, so any number of honest ones are checked at once."""
    honest = (
        solve(LinearProgram([1.0], [[1.0]], 1.0, 2.0)).certificate().save(tmp_path / "one.json")
    )
    bad = [saved(make, tmp_path) for make in (bundles_in_the_largest_room, windows_by_the_thousand)]
    found = checked(honest, *bad, *[honest] * 3)
    assert found.returncode == 2
    said = [line.split(": ")[1] for line in found.stdout.splitlines()]
    assert said == ["proven", "unreadable", "unreadable", "proven", "proven", "proven"]


def test_patience_allows_more_work(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys) -> None:
    path = solve(LinearProgram([1.0], [[1.0]], 1.0, 2.0)).certificate().save(tmp_path / "one.json")
    monkeypatch.setattr(checker, "WORK", 40)
    assert checker.main([str(path)]) == 2
    assert "--patience" in capsys.readouterr().out
    assert checker.main(["--patience", "100", str(path)]) == 0
    for odd in ([], ["many", str(path)], ["-1", str(path)]):
        assert checker.main(["--patience", *odd]) == 2


POINTS = [
    ({"0": "0"}, "misses row 0 by 1"),
    ({"0": "3"}, "misses row 0 by 1"),
    ({"0": "1e9"}, "misses row 0 by 999999998"),
    ({"0": "1.00001", "1": "-0.5"}, "misses column 1 by 0.5"),
    ({"0": "1", "1": "0"}, None),
    ({"0": "0.9999999999", "1": "0"}, None),
]


@pytest.mark.parametrize("scale", [1, 10**-9, 10**9])
@pytest.mark.parametrize(("x", "words"), POINTS)
def test_a_grossly_infeasible_point_proves_no_value(
    x: dict[str, str], words: str | None, scale: float, tmp_path: Path
) -> None:
    """A row is judged by its own size, whatever the unit of the program."""
    made = solve(LinearProgram([1.0, 1.0], [[1.0, 0.0]], scale, 2 * scale)).certificate()
    content = dict(made.content) | {"data": made.data}
    content["primal"] = {j: repr(float(one) * scale) for j, one in x.items()}
    path, codes = tmp_path / "one.json", []
    for value in ("1e300", None):
        content["claim"] = {"sense": "min", "bound": made.content["claim"]["bound"]}
        content["claim"]["objective"] = value
        path.write_text(json.dumps(content))
        found = checked(path)
        codes.append(found.returncode)
        first = found.stdout.splitlines()[0]
        assert ("a point has" in first) == (words is None)
        if words and scale == 1:
            assert words in first
        assert words is None or "misses" in first
    assert codes == ([0, 0] if words is None else [1, 0])
