"""Fixtures of the toolkit's tests that these use, too."""

from tests.studies.conftest import offering, torch_stub

__all__ = ["offering", "torch_stub"]
