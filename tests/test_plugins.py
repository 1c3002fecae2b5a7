"""Broken packages: one clear line that names the entry point, and no harm to anybody else."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import edgeopt
from edgeopt.bounds import claims
from edgeopt.bounds.search import spaces
from edgeopt.errors import OptionError, PluginWarning, PolicyError
from edgeopt.solvers import LinearProgram, backends
from edgeopt.studies import Offline, registry
from tests.studies import stopping

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Offer = Callable[..., None]

MODULE = """
import dataclasses

from edgeopt.solvers import Backend, Kind
from edgeopt.studies import PolicyEntry
from tests.studies.stopping import SYSTEM

ANOTHER = dataclasses.replace(SYSTEM, name="another")
HOMELESS = PolicyEntry("homeless", "H", lambda i, b: None)
LOST = PolicyEntry("lost", "L", lambda i, b: None, system="rescu")
TAKEN = PolicyEntry("srs", "S", lambda i, b: None, system="rescue")
GOOD = PolicyEntry("good", "G", lambda i, b: None, system="rescue")
TEXT = "text"
TEXTS = ["text"]
SOLVER = Backend("own", "numpy", "numpy", {Kind.LINEAR: "odd_plugin:absent"})
"""


@pytest.fixture
def offer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Offer:
    """Install, for one test, packages that offer what is said; each call adds one."""
    (tmp_path / "odd_plugin.py").write_text(MODULE)
    (tmp_path / "odd_typo.py").write_text("import nothing_of_that_name\n")
    (tmp_path / "odd_crash.py").write_text("raise RuntimeError('no\\n  licence')\n")
    monkeypatch.syspath_prepend(tmp_path)

    def add(group: str, line: str, package: str = "odd") -> None:
        metadata = tmp_path / f"{package}-1.0.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n"
        )
        (metadata / "entry_points.txt").write_text(f"[edgeopt.{group}]\n{line}\n")

    return add


WRONG = [
    ("x = odd_typo:X", "cannot be loaded, ModuleNotFoundError: No module named 'nothing_of"),
    ("x = odd_absent:X", "cannot be loaded, ModuleNotFoundError: No module named 'odd_absent'"),
    ("x = odd_plugin:ABSENT", "cannot be loaded, AttributeError: module 'odd_plugin' has no"),
    ("x = odd_crash:X", "cannot be loaded, RuntimeError: no licence"),
]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        *WRONG,
        ("x = odd_plugin:TEXT", "must be a System, not a str"),
        ("x = odd_plugin:ANOTHER", "the record calls itself 'another'; use one name"),
    ],
)
def test_a_broken_system_is_an_error_for_those_alone_who_ask(
    offer: Offer, line: str, why: str
) -> None:
    offer("systems", line)
    with pytest.raises(OptionError) as refused:
        registry.find_system("x")
    text = str(refused.value)
    assert text.startswith(f"entry point 'x' = '{line[4:]}' in edgeopt.systems of the package odd:")
    assert why in text
    assert "\n" not in text
    assert registry.find_system("rescue").name == "rescue"
    # Whose instance it is can still be told, and that of nobody as well.
    with (
        pytest.warns(PluginWarning, match="left out: entry point 'x'"),
        pytest.raises(OptionError, match="no system has instances of type Offers"),
    ):
        registry.system_of(stopping.Offers())
    assert registry.system_of(edgeopt.instances.RescueInstance.__new__(
        edgeopt.instances.RescueInstance)).name == "rescue"  # fmt: skip


def test_the_name_of_a_system_is_taken_once(offer: Offer) -> None:
    offer("systems", "rescue = odd_plugin:SYSTEM")
    with pytest.warns(PluginWarning, match="'rescue'.* of the package odd: the name rescue is tak"):
        assert registry.find_system("rescue").title.startswith("RESCUE")
    offer("systems", "stopping = odd_plugin:SYSTEM", "first")
    assert registry.find_system("stopping") is stopping.SYSTEM
    offer("systems", "stopping = odd_plugin:SYSTEM", "second")
    with pytest.raises(OptionError, match=r"offered more than once: .*package (first|second)"):
        registry.find_system("stopping")


@pytest.mark.parametrize(
    ("line", "why"),
    [
        *WRONG,
        ("x = odd_plugin:TEXT", "must be a PolicyEntry, not a str"),
        ("x = odd_plugin:HOMELESS", "does not say which system it is for; set system="),
        ("x = odd_plugin:LOST", "is for the system 'rescu'; did you mean rescue?"),
        ("x = odd_plugin:TAKEN", "the policy name 'srs' is taken"),
    ],
)
def test_a_broken_policy_is_left_out_unless_it_is_asked_for(
    offer: Offer, line: str, why: str
) -> None:
    offer("policies", f"{line}\ngood = odd_plugin:GOOD")
    rescue = registry.find_system("rescue")
    with pytest.warns(PluginWarning) as warned:
        chosen = registry.choose(rescue, ["srs", "good"])
    assert [entry.name for entry in chosen] == ["srs", "good"]
    assert chosen[0].group == "SRS"
    assert [why in str(one.message) for one in warned] == [True]
    with pytest.raises(OptionError) as refused:
        registry.choose(rescue, ["srs", "x"])
    assert why in str(refused.value)


def test_a_policy_for_one_system_is_unknown_to_another(offer: Offer) -> None:
    offer("policies", "good = odd_plugin:GOOD")
    assert "good" not in {one.name for one in registry.policies(registry.find_system("idn"))}


@pytest.mark.parametrize(
    ("line", "why"),
    [
        *WRONG,
        ("x = odd_plugin:SYSTEM", "must be a Sequence, not a System"),
        ("x = odd_plugin:TEXTS", "must hold Claim objects, not a str"),
    ],
)
def test_broken_claims_are_left_out(offer: Offer, line: str, why: str) -> None:
    offer("claims", line)
    with pytest.warns(PluginWarning) as warned:
        assert list(claims("rescue.lemma2")) == ["rescue.lemma2"]
    assert [why in str(one.message) for one in warned] == [True]


def test_broken_families_are_an_error_for_those_alone_who_search_there(offer: Offer) -> None:
    offer("parameter_spaces", "x = odd_typo:X")
    with pytest.raises(
        OptionError, match=r"odd_typo:X.* in edgeopt.parameter_spaces .* cannot be loaded"
    ):
        spaces("x")
    assert len(spaces("rescue")) > 1


@pytest.mark.parametrize(
    ("line", "why"),
    [
        *WRONG,
        ("x = odd_plugin:TEXT", "must be a Backend, not a str"),
        ("x = odd_plugin:SOLVER", "the backend calls itself 'own'; use one name"),
        ("highs = odd_plugin:SOLVER", "the solver name highs is taken"),
    ],
)
def test_a_broken_solver_is_left_out_unless_it_is_asked_for(
    offer: Offer, line: str, why: str
) -> None:
    offer("solvers", line)
    program = LinearProgram([1.0], [[1.0]], 1.0, np.inf)
    with pytest.warns(PluginWarning) as warned:
        listed = [backend.name for backend in backends()]
    assert [why in str(one.message) for one in warned] == [True]
    assert "x" not in listed
    assert listed.count("highs") == 1
    assert edgeopt.solve(program).objective == pytest.approx(1.0)
    if line.startswith("x"):
        with pytest.raises(OptionError) as refused:
            edgeopt.solve(program, "x")
        assert why in str(refused.value)


def test_a_solver_names_the_function_that_it_lacks(offer: Offer) -> None:
    offer("solvers", "own = odd_plugin:SOLVER")
    program = LinearProgram([1.0], [[1.0]], 1.0, np.inf)
    with pytest.raises(OptionError, match="'own': there is no function odd_plugin:absent"):
        edgeopt.solve(program, "own")


class Halfway:
    name = "halfway"

    def start(self, instance: object) -> None:
        return None


@pytest.mark.parametrize(
    ("attempt", "why"),
    [
        (lambda: edgeopt.study(stopping.Offers(), system=stopping.Offers(), runs=2),
         "system: must be a System or its name, not a Offers"),
        (lambda: edgeopt.study(3, system=stopping.SYSTEM, runs=2),
         "int is no instance; .* or add a method fingerprint"),
        (lambda: dataclasses.replace(stopping.SYSTEM.policies, entries=[Halfway()]),
         "Halfway object .* is not a PolicyEntry"),
        (lambda: Offline({"prophet": stopping.prophet}),
         "function prophet .* is not a BenchmarkEntry"),
        (lambda: edgeopt.solve(LinearProgram([1.0], [[1.0]], 1.0, np.inf), abs),
         "solver: must be a name or a Backend, not a builtin_function_or_method"),
        (lambda: edgeopt.check([3]), "claims: 3 is neither an identifier nor a Claim"),
    ],
)  # fmt: skip
def test_what_is_handed_over_in_a_script_is_checked_as_well(
    attempt: Callable[[], object], why: str
) -> None:
    with pytest.raises(OptionError, match=why):
        attempt()


@pytest.mark.parametrize(
    ("policies", "why"),
    [
        (Halfway(), "^Halfway.decide and Halfway.learn are missing; a policy has name, start, dec"),
        ([Halfway()], "^Halfway.decide and Halfway.learn are missing"),
        (Halfway, r"^policy Halfway is a class; pass an object: Halfway\(\)"),
        (3, "^int.name and int.start and int.decide and int.learn are missing"),
    ],
)
def test_a_study_says_what_a_policy_lacks(policies: Any, why: str) -> None:
    with pytest.raises(PolicyError, match=why):
        edgeopt.study(stopping.Offers(), policies, system=stopping.SYSTEM, runs=2)
