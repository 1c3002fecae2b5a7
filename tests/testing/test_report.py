"""What checks report: failures expected and not, lines that reproduce them, cases of pytest."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from functools import partial

import numpy as np
import pytest

from edgeopt.content import alike, content, difference
from edgeopt.errors import EdgeOptError, OptionError
from edgeopt.studies import find_system
from edgeopt.testing import CheckError, check_policy, check_rounding, parametrize_with_checks
from edgeopt.testing.policy import CHECKS
from tests.testing.policies import ChangesItsState, ExceedsBudgets, Sound


def test_all_failures_are_raised_at_once() -> None:
    with pytest.raises(CheckError) as caught:
        check_policy(ExceedsBudgets(), "idn", expected={})
    assert isinstance(caught.value, EdgeOptError)
    assert isinstance(caught.value, AssertionError)
    assert caught.value.report.failed == ("promises",)
    assert "from tests.testing.policies import ExceedsBudgets" in str(caught.value)
    back = pickle.loads(pickle.dumps(caught.value))
    assert back.report == caught.value.report


def test_expected_failures_carry_their_reason_and_must_fail() -> None:
    report = check_policy(ChangesItsState(), "idn", seeds=1, expected={"state": "it logs"})
    assert report.of("expected") == ("state",)
    assert report["state"].message == "it logs"
    with pytest.raises(CheckError, match=r"name: it was expected to fail .*take it out"):
        check_policy(Sound(), "idn", seeds=1, expected={"name": "long"})
    with pytest.raises(OptionError, match="there is no check 'nome'"):
        check_policy(Sound(), "idn", expected={"nome": ""})
    with pytest.raises(OptionError, match="there is no check 'nome'"):
        check_policy(Sound(), "idn", checks=["nome"])


def test_instances_of_ones_own_are_checked() -> None:
    drawn = find_system("idn").instances.random_small(1)
    report = check_policy(ExceedsBudgets(), "idn", instances=[drawn], seeds=[3], raises=False)
    assert "seeds=[3], instances=instances[0:1]" in report["promises"].example


@parametrize_with_checks([partial(check_policy, Sound(), "idn", seeds=1)])
def test_cases_are_run_by_pytest(check) -> None:
    check()


def test_cases_say_what_is_expected_and_what_does_not_apply() -> None:
    expected = {"state": "it logs"}
    call = partial(check_policy, ChangesItsState(), "idn", seeds=1, expected=expected)
    cases = {one.id: one.values[0] for one in parametrize_with_checks([call]).args[1]}
    assert list(cases) == [f"sound-{name}" for name in CHECKS]
    with pytest.raises(pytest.xfail.Exception, match="it logs"):
        cases["sound-state"]()
    rounding = partial(check_rounding, np.round, keeps=(), checks=["budget"])
    with pytest.raises(pytest.skip.Exception, match="does not promise"):
        parametrize_with_checks([rounding]).args[1][0].values[0]()
    with pytest.raises(OptionError, match="is no call of a check"):
        parametrize_with_checks([partial(print, 1)])


def test_content_is_all_that_an_object_holds() -> None:
    thing = {"a": [np.arange(3.0), (1, "b")], "c": np.random.default_rng(1)}
    other = copy.deepcopy(thing)
    assert alike(thing, other)
    other["a"][0][1] = 9.0
    assert difference(thing, other).startswith("['a'][0][1]: ")
    assert content(1) != content(1.0) != content(np.float32(1.0))
    other = copy.deepcopy(thing)
    other["c"].random()
    assert not alike(thing, other)
    loop: list = []
    loop.append(loop)
    assert content(loop)


@pytest.mark.long
def test_without_hypothesis_checks_work_and_strategies_say_what_to_install() -> None:
    code = (
        "import sys, importlib.util as u\n"
        "find = u.find_spec\n"
        "u.find_spec = lambda name, *a: None if name == 'hypothesis' else find(name, *a)\n"
        "sys.modules['hypothesis'] = None\n"
        "from edgeopt.testing import check_policy\n"
        "assert check_policy('olag', 'idn', seeds=1).failed == ()\n"
        "import edgeopt.testing.strategies\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert ended.stderr.splitlines()[-1] == (
        "edgeopt.errors.MissingDependencyError: edgeopt.testing.strategies needs hypothesis: "
        'pip install "edgeopt[testing]"'
    )
