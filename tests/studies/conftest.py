from __future__ import annotations

import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
import xarray as xr

from edgeopt.errors import OptionError
from edgeopt.studies import study
from edgeopt.studies.files import write_plan
from tests import browser as browsers
from tests.studies.stopping import SYSTEM, Offers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from edgeopt.studies import Benchmark, Study
    from tests.browser import Browser, Page

    Plans = Callable[[Benchmark], tuple[Any, Any]]


@pytest.fixture
def offering(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install, for one test, a package that offers a system and a policy by entry points."""
    metadata = tmp_path / "sixth-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: sixth\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(
        "[edgeopt.systems]\nstopping = tests.studies.stopping:SYSTEM\n"
        "[edgeopt.policies]\ngreedy = tests.studies.stopping:EXTRA\n"
    )
    monkeypatch.syspath_prepend(tmp_path)


@pytest.fixture
def torch_stub(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let training that needs no PyTorch run without it."""
    stub = SimpleNamespace(torch=SimpleNamespace(set_num_threads=lambda count: None))
    monkeypatch.setitem(sys.modules, "edgeopt.learning.networks", stub)


@pytest.fixture
def plans(tmp_path: Path) -> Plans:
    """Write the plan of a benchmark to both kinds of files, and read them."""

    def write(benchmark: Benchmark) -> tuple[Any, Any]:
        for name in ("plan.csv", "plan.nc"):
            write_plan(benchmark, tmp_path / name)
        with xr.open_dataset(tmp_path / "plan.nc", engine="h5netcdf") as stored:
            whole = stored.load()
        assert whole.attrs["bound"] == pytest.approx(benchmark.bound)
        with pytest.raises(OptionError, match=r"ends in \.csv or \.nc"):
            write_plan(benchmark, tmp_path / "plan.txt")
        return pd.read_csv(tmp_path / "plan.csv"), whole

    return write


@pytest.fixture(scope="session")
def stopped() -> Study:
    """Return a study of two instances of the sixth system."""
    instances = {"long": Offers(12), "short": Offers(3, floor=0.9)}
    return study(instances, system=SYSTEM, runs=40, rng=7)


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    path = browsers.find()
    if path is None:
        pytest.skip(f"no Chromium here: none of {', '.join(browsers.NAMES)} starts")
    with browsers.chromium(path, tmp_path_factory.mktemp("profile")) as running:
        yield running


@pytest.fixture(scope="session")
def screenshots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    chosen = os.environ.get("EDGEOPT_SCREENSHOTS")
    folder = Path(chosen) if chosen else tmp_path_factory.mktemp("screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def report(stopped: Study, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return stopped.page(tmp_path_factory.mktemp("stopped"))


@pytest.fixture
def page(browser: Browser, report: Path) -> Iterator[Page]:
    """Open the page of two instances; whatever the test does there must happen in silence."""
    opened = browser.page()
    opened.look(width=1400)
    opened.open(report.as_uri())
    yield opened
    assert opened.complaints == []
