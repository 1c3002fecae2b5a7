"""The checker stands alone, survives monstrous files, and reads what the package writes."""

from __future__ import annotations

import ast
import gzip
import json
import pickle
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from edgeopt import checker
from edgeopt.cli.main import run
from edgeopt.errors import CertificateError
from edgeopt.instances import edr, idn, rescue, tapfinger
from edgeopt.models.edr import informed_bound
from edgeopt.models.idn import solve_cooperative, solve_placement
from edgeopt.models.rescue import p1_lp_matrix, safe_bound, solve_p1_lp
from edgeopt.models.tapfinger import flow_bound, pooled_bound, scenario_bound, scheduling_problem
from edgeopt.models.tapfinger.lagrangian import pooled_preemptive_bound
from edgeopt.solvers import LinearProgram, Status, solve
from edgeopt.solvers.certificates import APART, read_certificate, same_program

SOURCE = Path(checker.__file__)
ALLOWED = {"fractions", "gc", "gzip", "hashlib", "json", "math", "re", "sys", "threading"}


def program() -> LinearProgram:
    return LinearProgram([3, 5], [[1, 0], [0, 2], [3, 2]], -np.inf, [4, 12, 18], sense="max")


def checked(folder: Path, *files: str) -> subprocess.CompletedProcess[str]:
    """Run the copy of the checker in a folder, without site packages and environment."""
    command = [sys.executable, "-I", "-S", "checker.py", *files]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_it_imports_only_what_a_bare_python_has() -> None:
    tree, found = ast.parse(SOURCE.read_text(encoding="utf-8")), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        if isinstance(node, ast.ImportFrom):
            found.add(node.module)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in ("eval", "exec", "__import__", "compile")
    assert found <= ALLOWED


def test_it_runs_alone_in_an_empty_folder(tmp_path: Path) -> None:
    certificate = solve(program()).certificate(name="glass")
    certificate.save(tmp_path / "glass.json", checker=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["checker.py", "glass.json"]
    found = checked(tmp_path, "glass.json")
    assert (found.returncode, found.stderr) == (0, "")
    assert "max <= 36.0" in found.stdout
    (tmp_path / "bad.json").write_text(
        (tmp_path / "glass.json").read_text().replace('"bound":"36"', '"bound":"35.9"')
    )
    found = checked(tmp_path, "glass.json", "bad.json")
    assert (found.returncode, found.stderr) == (1, "")
    assert "refused" in found.stdout
    assert checked(tmp_path, "bad.json", "nothing.json").returncode == 2
    assert checked(tmp_path).returncode == 2


@pytest.mark.long
def test_large_data_are_in_a_file_of_their_own_with_a_hash(tmp_path: Path) -> None:
    instance = rescue.generate(servers=3, devices=6, horizon=32, reserved=6, rng=7)
    certificate = solve(p1_lp_matrix(instance)).certificate(point=False)
    assert len(json.dumps(certificate.data)) > APART
    path = certificate.save(tmp_path / "large.json.gz", checker=True)
    names = ["checker.py", "large.data.json.gz", "large.json.gz"]
    assert sorted(one.name for one in tmp_path.iterdir()) == names
    assert path.stat().st_size < 100_000
    assert checked(tmp_path, "large.json.gz").returncode == 0
    assert read_certificate(path).bound == certificate.bound
    # Another program in its place: the hash tells.
    other = json.loads(gzip.decompress((tmp_path / names[1]).read_bytes()))
    other["cost"][0] = "0"
    (tmp_path / names[1]).write_bytes(gzip.compress(json.dumps(other).encode()))
    found = checked(tmp_path, "large.json.gz")
    assert found.returncode == 1
    assert "sha256" in found.stdout
    (tmp_path / names[1]).unlink()
    assert checked(tmp_path, "large.json.gz").returncode == 2


@pytest.mark.parametrize("name", ["../data.json", "/etc/hostname", "a/b", "..", "", "a\\b", "é", 3])
def test_data_are_read_from_beside_the_certificate_only(name: object, tmp_path: Path) -> None:
    content = dict(solve(program()).certificate().content)
    content |= {"data_file": name, "data_sha256": "0"}
    (tmp_path / "one.json").write_text(json.dumps(content))
    assert checker.main([str(tmp_path / "one.json")]) in (1, 2)


def monsters(folder: Path) -> dict[str, bytes]:
    """Files that take a careless reader minutes or gigabytes."""
    certificate = solve(program()).certificate()
    text = json.dumps(dict(certificate.content) | {"data": certificate.data})
    number = text.replace('"36"', '"' + "9" * 10**7 + '"', 1)
    return {
        "long.json": number.encode(),
        "bare.json": text.replace('"36"', "9" * 10**7, 1).encode(),
        "exponent.json": text.replace('"36"', '"1e5000000"', 1).encode(),
        "deep.json": b"[" * 10**5 + b"]" * 10**5,
        "deeper.json": b'{"data":' * 10**5,
        "bomb.json.gz": gzip.compress(b"0" * 10**7, 1) * 100,
        "binary.json": bytes(range(256)) * 100,
        "half.json.gz": gzip.compress(text.encode())[:-9],
        "empty.json": b"",
        "list.json": b"[]",
        "number.json": b"3",
        "null.json": b"null",
        "utf16.json": text.encode("utf-16"),
        "nan.json": text.replace('"36"', "NaN", 1).encode(),
    }


def test_monstrous_files_cannot_be_read(tmp_path: Path) -> None:
    for name, content in monsters(tmp_path).items():
        (tmp_path / name).write_bytes(content)
        began = time.process_time()
        assert checker.main([str(tmp_path / name)]) == 2, name
        assert time.process_time() - began < 20.0, name  # hours without the limits


def test_a_number_of_a_thousand_million_digits_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "huge.json"
    with path.open("wb") as file:
        file.write(b'{"data":"')
        file.seek(10**9)  # zeros, which take no room on the disk
        file.write(b'"}')
    shutil.copy(SOURCE, tmp_path / "checker.py")
    found = checked(tmp_path, "huge.json")
    assert (found.returncode, found.stderr) == (2, "")
    assert "more than" in found.stdout


def test_certificates_pass_through_files_and_processes(tmp_path: Path) -> None:
    certificate = solve(program()).certificate(name="glass")
    other = pickle.loads(pickle.dumps(certificate))
    other.check()
    assert (other.bound, other.about["name"]) == (36.0, "glass")
    back = read_certificate(certificate.save(tmp_path / "glass.json.gz"))
    assert dict(back.content) == dict(certificate.content)
    assert back.data == certificate.data
    assert "36" in repr(back)
    assert "36" in back._repr_html_()
    back.content["dual"]["rows"]["0"] = "100"
    with pytest.raises(CertificateError, match="claim"):
        back.check()
    with pytest.raises(CertificateError, match=r"nothing.json: no such file"):
        read_certificate(tmp_path / "nothing.json")


def test_words_say_why_there_is_no_certificate() -> None:
    def why(make, *arguments, **how) -> str:
        with pytest.raises(CertificateError, match=r"^no certificate: ") as raised:
            make(*arguments, **how)
        return str(raised.value)

    # The third row is the first two, but for rounding, so that in exact numbers there is a point.
    rows = [[0.1, 0.7, 0.3], [0.7, 0.2, 0.9], [0.1 + 0.7 / 3, 0.7 + 0.2 / 3, 0.3 + 0.9 / 3]]
    open_sided = LinearProgram(
        [0, 0, 0], rows, [1, 1, 2], [1, 1, 2], -np.inf, np.inf, column_names=["z[3,7]", "x", "y"]
    )
    half = solve(open_sided, raises=False)
    assert half.status is Status.PROVEN_INFEASIBLE
    assert "has no finite" in why(half.certificate)
    curved = LinearProgram([1, -1], [[1, 0]], 0, 1, 0, np.inf, quadratic=np.diag([1, 0]))
    endless = solve(curved, raises=False)
    assert endless.status is Status.PROVEN_UNBOUNDED
    assert "quadratic" in why(endless.certificate)
    whole = solve(LinearProgram([1], [[2]], 1, 9, integer=[True]))
    assert "relaxed" in why(whole.certificate)
    assert "relaxed" in why(solve_placement(idn.small(3)).certificate)
    tasks = tapfinger.generate(clusters=2, tasks=4, rng=1, capacity=[[3, 2], [2, 2]])
    assert "shortest path" in why(pooled_preemptive_bound(tasks).certificate)
    assert "no prices" in why(flow_bound(tasks, method="volume").certificate)
    assert "pooled_bound" in why(scenario_bound(tasks, [0]).certificate)
    servers = rescue.generate(servers=1, devices=2, horizon=8, reserved=2, rng=1)
    week = edr.generate(rng=1, sites=2, tasks=2, frames=6, slots=2, distribution=True)
    assert "expectation" in why(informed_bound(week, draws=2, steps=2).certificate)
    plan = solve_p1_lp(servers)
    other = rescue.generate(servers=1, devices=2, horizon=8, reserved=2, rng=2)
    assert "another" in why(plan.solution.certificate, instance=other)


def test_a_bound_on_a_free_column_follows_from_an_equation() -> None:
    """A free column without sides of its own rests on those of the others in its row."""
    build = LinearProgram(
        [0.1, 0.7, 0.3], [[1, -1 / 3, -0.7]], 0.3, 0.3, [-np.inf, 0, 0], [np.inf, 5, 7]
    )
    solution = solve(build)
    certificate = solution.certificate()
    assert certificate.bound == pytest.approx(solution.bound, rel=1e-12)


def commands(tmp_path: Path) -> dict[str, Path]:
    """Instances and certificates of all kinds as files."""
    servers = rescue.generate(servers=2, devices=2, horizon=8, reserved=2, rng=1)
    network = idn.small(rng=1)
    tasks = tapfinger.generate(clusters=2, tasks=4, rng=1, capacity=[[3, 2], [2, 2]])
    made = {
        "rescue": (servers, solve_p1_lp(servers, forbid_unsafe=True).certificate()),
        "safe": (servers, safe_bound(servers).certificate()),
        "idn": (network, solve_cooperative(network).certificate()),
        "tapfinger": (
            tasks,
            pooled_bound(scheduling_problem(tasks)).certificate(instance=tasks),
        ),
    }
    for name, (instance, certificate) in made.items():
        instance.save(tmp_path / f"{name}.nc")
        certificate.save(tmp_path / f"{name}.json")
        assert certificate.about["instance"] == instance.fingerprint()
    return {name: tmp_path / f"{name}.json" for name in made}


def test_verify_says_what_is_proven_and_of_which_instance(tmp_path: Path, capsys) -> None:
    files = commands(tmp_path)
    assert run(["verify", *map(str, files.values())]) == 0
    assert capsys.readouterr().out.count("proven: the optimum is at") == 4
    for name, path in files.items():
        assert run(["verify", str(path), "--instance", str(tmp_path / f"{name}.nc")]) == 0
        assert "is that of the instance" in capsys.readouterr().out
    rescue.generate(servers=2, devices=2, horizon=8, reserved=2, rng=2).save(tmp_path / "other.nc")
    assert run(["verify", str(files["rescue"]), "--instance", str(tmp_path / "other.nc")]) == 1
    assert "its program is not that of" in capsys.readouterr().out
    (tmp_path / "half.json").write_text(files["idn"].read_text()[:-5])
    assert run(["verify", str(files["rescue"]), str(tmp_path / "half.json"), "--json"]) == 2
    found = json.loads(capsys.readouterr().out)
    assert [one["code"] for one in found] == [0, 2]
    assert found[0]["sense"] == "max"


def test_programs_are_the_same_up_to_rounding() -> None:
    given = {"cost": ["1", "-inf", "2/3"], "rows": [{"0,1": "0.1"}], "n": "3"}

    def other(**parts: object) -> bool:
        return same_program(given, given | parts)

    assert other()
    assert other(cost=["1.0000000000000002", "-inf", "0.66666666666666663"])
    assert other(rows=[{"0,1": "0.10000000000000001"}])
    assert not other(cost=["1.00000001", "-inf", "2/3"])
    assert not other(cost=["1", "inf", "2/3"])
    assert not other(cost=["1", "-inf"])
    assert not other(cost="1")
    assert not other(rows=[{"0,2": "0.1"}])
    assert not other(m="3")


def test_verify_compares_a_linear_program_with_its_file(tmp_path: Path, capsys) -> None:
    path = program().write(tmp_path / "glass.mps")
    solve(program()).certificate().save(tmp_path / "glass.json")
    command = ["verify", str(tmp_path / "glass.json"), "--instance"]
    assert run([*command, str(path)]) == 0
    program().replace(cost=[3, 4]).write(path)
    assert run([*command, str(path)]) == 1
    assert run([*command, "paper"]) == 2
    assert ".mps" in capsys.readouterr().err


def test_it_is_short_enough_to_be_read() -> None:
    """All lines count: 200 for the first four kinds, 60 for each one more, 100 for the limit."""
    lines = SOURCE.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 300 + 60 * (len(checker.FIELDS) - 4)
    assert max(map(len, lines)) <= 100


@pytest.mark.parametrize(("x", "most"), [({}, 1.0), ({"0": "3"}, 2.0), ({"0": "-0.5"}, 1.5)])
def test_a_point_violates_what_it_misses_most(x: dict[str, str], most: float) -> None:
    """One column between 0 and 9 with a row between 1 and 1: by hand."""
    certificate = solve(LinearProgram([1.0], [[1.0]], 1.0, 1.0, 0.0, 9.0)).certificate()
    content = dict(certificate.content) | {"primal": x}
    content["claim"] = {"sense": "min", "bound": "1", "objective": None}
    assert checker.examine(content, certificate.data)[2][1] == most
