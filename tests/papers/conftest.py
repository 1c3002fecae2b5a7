"""Fixtures of the toolkit's tests that these use, too."""

from tests.studies.conftest import offering

__all__ = ["offering"]
