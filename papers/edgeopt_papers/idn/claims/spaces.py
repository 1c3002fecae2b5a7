"""The parameter spaces in which a search tries to find tight and false claims of IDN."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.bounds.search.space import Parameter, ParameterSpace, of_seeds, row, values
from edgeopt.instances.idn import IdnInstance
from edgeopt.instances.idn.named import small
from edgeopt_papers.claims.paper import space
from edgeopt_papers.idn.claims.evaluation import Adversary
from edgeopt_papers.idn.claims.instances import Projection, adversarial, edge_row
from edgeopt_papers.idn.claims.rounding_distribution import Knapsack

if TYPE_CHECKING:
    from collections.abc import Mapping


def _edge_nodes(count: int, point: Mapping[str, Any]) -> Adversary:
    size, share = np.array(values(point, "size")), np.array(values(point, "share"))
    apart = point["apart"] == 1
    kept = np.array([True, True]) if apart else _PERMANENT[point["permanent"]]
    types = 2 if apart else 1
    cost = np.empty((types, count + 1, 2))
    cost[:, :count] = values(point, "near")
    cost[:, count] = values(point, "far")
    instance = edge_row(
        size=size,
        task=np.arange(2) if apart else np.zeros(2, dtype=int),
        repository=kept,
        request_task=np.arange(types),
        cost=cost,
        budget=size @ share + point["spare"],
        requests=np.full((1, types), point["requests"]),
        capacity=point["capacity"],
        nodes=count,
        cloud=size @ kept if point["narrow"] else np.inf,
    )
    return _adversary(instance, share, np.array(values(point, "served")))


def edge_nodes(count: int) -> ParameterSpace:
    """Return the networks of edge nodes in a row before the cloud, and two models.

    Either both models serve one task, and one of them or both are permanent in the cloud; or each
    serves a task of its own and is permanent. The adversary fixes the capacities of one slot and an
    allocation that is the same at all edge nodes; their budget is its size and some spare.
    """
    parameters = (
        Parameter("apart", 0, 1, whole=True),
        Parameter("permanent", 0, 2, whole=True),
        Parameter("narrow", 0, 1, whole=True),
        Parameter("requests", 1, 10, whole=True),
        Parameter("capacity", 1, 10, whole=True, simple=10),
        *row("size", 2, 0.01, 4.0, log=True, simple=1.0),
        *row("near", 2, 0, 10, whole=True, simple=1),
        *row("far", 2, 0, 10, whole=True, simple=3),
        *row("served", 2, 0.0, 1.0, simple=1.0),
        *row("share", 2, 0.0, 1.0, simple=1.0),
        Parameter("spare", 0.0, 1.0),
    )
    return ParameterSpace(f"edge_nodes_{count}", parameters, partial(_edge_nodes, count), Adversary)


_PERMANENT = np.array([[True, False], [False, True], [True, True]])
"""Which of two models of one task stay in the cloud."""


def _adversary(
    instance: IdnInstance, share: np.ndarray[Any, Any], served: np.ndarray[Any, Any]
) -> Adversary:
    """Fix which part of the requests permanent models can take, and what edge nodes host."""
    ranking = instance.ranking
    potential = ranking.potential(instance.requests)
    part = np.where(ranking.permanent, served[ranking.model], 1.0)
    hosted = np.where(instance.repository, 1.0, share)
    hosted[instance.pinned] = instance.repository[instance.pinned]
    return Adversary(instance, np.floor(potential * part), hosted[None])


@space(
    "experts",
    IdnInstance,
    Parameter("horizon", 1, 40, whole=True, count=True),
    Parameter("tasks", 2, 4, whole=True, count=True),
    Parameter("period", 1, 4, whole=True),
)
def _experts(point: Mapping[str, Any]) -> IdnInstance:
    """Return a node that can host one of several models, and requests for their tasks in turn."""
    return adversarial(horizon=point["horizon"], tasks=point["tasks"], period=point["period"])


@space(
    "projections",
    Projection,
    *row("tenths", 3, 1, 30, whole=True),
    *row("size", 3, 1, 3, whole=True),
    Parameter("filled", 1, 10, whole=True),
)
def _projection(point: Mapping[str, Any]) -> Projection:
    """Return three entries in tenths, and a budget for so many tenths of their sizes."""
    share = tuple(tenth / 10 for tenth in values(point, "tenths"))
    size = tuple(float(one) for one in values(point, "size"))
    return Projection(share, size, sum(size) * point["filled"] / 10)


@space(
    "knapsacks", Knapsack, *row("sixths", 3, 0, 6, whole=True), *row("size", 3, 1, 4, whole=True)
)
def _knapsack(point: Mapping[str, Any]) -> Knapsack:
    """Return three entries in sixths."""
    return Knapsack.of([Fraction(one, 6) for one in values(point, "sixths")], values(point, "size"))


PARAMETER_SPACES = (
    edge_nodes(1),
    edge_nodes(2),
    of_seeds("drawn", small, IdnInstance),
    _experts,
    _projection,
    _knapsack,
)
"""In the order in which they are searched."""
