"""Plans as tables of pandas and arrays of xarray, with labels for the positions of entries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd
    import xarray as xr

    Labels = Mapping[str, Sequence[str]]


def named(names: Sequence[str] | None, places: Any) -> Any:
    """Return the names of entries at some places, "none" below 0; without names, the places."""
    if names is None:
        return places
    if np.max(places, initial=-1) >= len(names):
        raise InputError("labels", "are fewer than there are entries", value=len(names))
    return ["none" if place < 0 else names[place] for place in places]


class Tabular:
    """A plan that can be had as tables, with labels for its positions."""

    def _labels(self) -> Labels:
        """Return the labels that are known, by axis."""
        return {}

    def _rows(self) -> Mapping[str, Any]:
        """Return the columns of the table of what is planned: positions by axis, and numbers."""
        raise NotImplementedError

    def _arrays(self, labels: Labels) -> Mapping[str, Any]:
        """Return everything by name: axes, numbers and, where they have one, their unit."""
        raise NotImplementedError

    def to_frame(self, labels: Labels | None = None) -> pd.DataFrame:
        """Return what is planned, a row for each entry that is not 0.

        Parameters
        ----------
        labels
            Labels of all entries of an axis in their order, by axis; by default those of
            `instance`. An axis without labels has positions from 0.

        Returns
        -------
        pandas.DataFrame
            A column for each axis with labels or positions, then the numbers.

        Raises
        ------
        InputError
            If an axis has more entries than labels.

        Examples
        --------
        >>> from edgeopt.instances.rescue import generate
        >>> from edgeopt.models.rescue import P1Solution, p1_lp
        >>> instance = generate(servers=2, devices=2, profiles=2, horizon=10, rng=0)
        >>> plan = P1Solution.of(p1_lp(instance), instance)
        >>> table = plan.to_frame({"server": ["edge", "cloud"]})
        >>> list(table.columns), sorted(set(table["server"]))
        (['slot', 'device', 'server', 'profile', 'probability'], ['cloud', 'edge'])
        """
        import pandas as pd

        known = self._labels() if labels is None else labels
        return pd.DataFrame({
            name: named(known.get(name), column) for name, column in self._rows().items()
        })  # fmt: skip

    def to_xarray(self, labels: Labels | None = None) -> xr.Dataset:
        """Return everything that is planned as arrays whose axes have names and labels.

        Parameters
        ----------
        labels
            As of `to_frame`.

        Returns
        -------
        xarray.Dataset
            The unit of an array is its attribute ``units``.

        Raises
        ------
        InputError
            If an axis has another number of labels than of entries.

        Examples
        --------
        >>> from edgeopt.instances.rescue import generate
        >>> from edgeopt.models.rescue import P1Solution, p1_lp
        >>> instance = generate(servers=2, devices=2, profiles=2, horizon=10, rng=0)
        >>> plan = P1Solution.of(p1_lp(instance), instance)
        >>> found = plan.to_xarray({"server": ["edge", "cloud"]})
        >>> cloud = found["probability"].sel(server="cloud")
        >>> bool((cloud == plan.y[:, :, 1]).all())
        True
        """
        import xarray as xr

        known = self._labels() if labels is None else labels
        made = xr.Dataset(dict(self._arrays(known)))
        for axis, names in known.items():
            if axis not in made.dims:
                continue
            if len(names) != made.sizes[axis]:
                rule = f"must be {made.sizes[axis]} along {axis!r}"
                raise InputError("labels", rule, value=len(names))
            made = made.assign_coords({axis: list(names)})
        return made
