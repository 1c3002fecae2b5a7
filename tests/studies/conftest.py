from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from edgeopt.studies import study
from tests.studies.stopping import SYSTEM, Offers

if TYPE_CHECKING:
    from pathlib import Path

    from edgeopt.studies import Study


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


@pytest.fixture(scope="session")
def stopped() -> Study:
    """Return a study of two instances of the sixth system."""
    instances = {"long": Offers(12), "short": Offers(3, floor=0.9)}
    return study(instances, system=SYSTEM, runs=40, rng=7)
