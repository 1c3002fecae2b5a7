"""A store of past transitions from which batches are drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.errors import InputError
from edgeopt.options import check_whole

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray


class ReplayBuffer:
    """Rows of several arrays, of which the latest are kept and batches are drawn evenly.

    Parameters
    ----------
    capacity
        Most rows that are kept; later ones then replace the oldest.

    Raises
    ------
    OptionError
        If the capacity is not positive.

    Examples
    --------
    >>> import numpy as np
    >>> buffer = ReplayBuffer(2)
    >>> buffer.add({"reward": np.array([1.0, 2.0, 3.0])})
    >>> len(buffer), sorted(buffer.rows()["reward"])
    (2, [np.float64(2.0), np.float64(3.0)])
    """

    def __init__(self, capacity: int) -> None:
        check_whole("capacity", capacity, 1)
        self.capacity = capacity
        self._arrays: dict[str, NDArray[Any]] = {}
        self._next = self._held = 0

    def __len__(self) -> int:
        return self._held

    def add(self, rows: Mapping[str, NDArray[Any]]) -> None:
        """Add rows, along the first axis of every array.

        Parameters
        ----------
        rows
            Arrays by name, as many rows in each, [R, ...]; names, types and shapes of the rows are
            those of the first call.

        Raises
        ------
        InputError
            If names, numbers of rows or their shapes differ.
        """
        count = len(next(iter(rows.values()), ()))
        if not self._arrays:
            self._arrays = {
                name: np.zeros((self.capacity, *part.shape[1:]), part.dtype)
                for name, part in rows.items()
            }
        if rows.keys() != self._arrays.keys():
            raise InputError("rows", f"must have the arrays {sorted(self._arrays)}")
        latest = np.arange(max(0, count - self.capacity), count)
        places = (self._next + latest) % self.capacity
        for name, part in rows.items():
            kept = self._arrays[name]
            if part.shape != (count, *kept.shape[1:]):
                rule = f"must have the shape {(count, *kept.shape[1:])}, not {part.shape}"
                raise InputError(name, rule)
            kept[places] = part[latest]
        self._next = (self._next + count) % self.capacity
        self._held = min(self.capacity, self._held + count)

    def rows(self) -> dict[str, NDArray[Any]]:
        """Return what is held, in no order.

        Returns
        -------
        dict of str to numpy.ndarray
            Views, shape [R, ...] with R the number of rows held.
        """
        return {name: kept[: self._held] for name, kept in self._arrays.items()}

    def sample(self, count: int, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        """Draw rows evenly, with replacement.

        Parameters
        ----------
        count
            Number of rows.
        rng
            Generator.

        Returns
        -------
        dict of str to numpy.ndarray
            Copies, shape [count, ...].

        Raises
        ------
        InputError
            If nothing is held.
        """
        if not self._held:
            raise InputError("buffer", "holds no row to draw")
        chosen = rng.integers(self._held, size=count)
        return {name: kept[chosen] for name, kept in self._arrays.items()}

    def state(self) -> dict[str, Any]:
        """Return what :meth:`restore` needs to go on.

        Returns
        -------
        dict
            Arrays and positions.
        """
        return {"rows": self.rows(), "next": self._next, "held": self._held}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take up a state; draws and additions go on as they would have.

        Parameters
        ----------
        state
            Of a buffer of the same capacity.
        """
        self._arrays = {}
        self._next = self._held = 0
        if state["held"]:
            self.add(state["rows"])
        self._next, self._held = state["next"], state["held"]
