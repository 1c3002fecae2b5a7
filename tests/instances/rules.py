"""Instances that are refused: their data, sound but for one field, and what the error says."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest

from edgeopt.errors import InstanceError

if TYPE_CHECKING:
    from collections.abc import Callable


class Rules(NamedTuple):
    """A class or function that builds instances, and sound data for it."""

    build: Callable[..., Any]
    sound: Callable[[], dict[str, Any]]

    def put(self, field: str, index: Any, value: Any) -> np.ndarray:
        """Return the sound values of a field with some of them changed."""
        array = np.array(self.sound()[field], dtype=np.float64)
        array[index] = value
        return array

    def refused(self, **changes: Any) -> InstanceError:
        with pytest.raises(InstanceError) as caught:
            self.build(**{**self.sound(), **changes})
        return caught.value


def check(error: InstanceError, field: str, index: Any, found: Any, rule: str) -> None:
    assert isinstance(error, ValueError)
    assert (error.field, error.index) == (field, index)
    assert error.value == found or (found != found and error.value != error.value)
    assert re.search(rule, str(error))
