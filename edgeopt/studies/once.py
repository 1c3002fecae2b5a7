"""What is computed of a case at most once."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable

ValueT = TypeVar("ValueT")


class Once:
    """Keeps what functions of it have returned."""

    def once(self, compute: Callable[[Self], ValueT]) -> ValueT:
        """Compute something of this case at the first call, and keep it for title and drawing.

        Parameters
        ----------
        compute
            ``compute(case)`` returns it; one function for each thing.
        """
        if compute not in self._computed:
            self._computed[compute] = compute(self)
        return cast("ValueT", self._computed[compute])

    @cached_property
    def _computed(self) -> dict[Callable[..., Any], Any]:
        return {}
