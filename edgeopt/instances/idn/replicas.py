"""Which models of an instance cannot be told apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.idn.instance import IdnInstance

__all__ = ["group"]


def group(instance: IdnInstance) -> NDArray[np.int64]:
    """Group models that are equal in everything; see `IdnInstance.replica_of`."""
    columns = [instance.task, instance.accuracy]
    columns += [*instance.size, *instance.delay, *instance.capacity, *instance.repository]
    if instance.cost is not None:
        columns += list(instance.cost.reshape(-1, instance.models))
    table = np.column_stack(columns)
    _, seen, member = np.unique(table, axis=0, return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(seen))
    groups: NDArray[np.int64] = rank[member.ravel()].astype(np.int64)
    groups.flags.writeable = False
    return groups
