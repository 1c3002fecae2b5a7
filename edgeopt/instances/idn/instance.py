"""The instance of IDN: a network, the models it may host, and the requests that travel it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.errors import InstanceError
from edgeopt.instances.identity import Identified
from edgeopt.instances.idn import replicas, rules, view
from edgeopt.instances.idn.paths import pad_paths
from edgeopt.instances.idn.ranking import Ranking, rank
from edgeopt.instances.validate import (
    check_names,
    frozen,
    frozen_array,
    frozen_flags,
    frozen_integers,
    frozen_number,
    require,
)

if TYPE_CHECKING:
    import networkx
    from numpy.typing import NDArray


__all__ = ["IdnInstance"]


@dataclass(frozen=True, eq=False, repr=False)
class IdnInstance(Identified, files="edgeopt.instances.idn.files"):
    r"""Everything that an inference delivery network is given, validated and read-only.

    Nodes, models, tasks, request types and slots count from 0. Models of different tasks are
    different; a replica of a model is a model of its own. A node that hosts any repository model is
    *pinned*: it hosts these and nothing else.

    Parameters
    ----------
    edges
        Ends of the undirected edges, shape [E, 2].
    latency
        Round-trip latency :math:`w \ge 0` of each edge, ms, shape [E].
    size
        Memory :math:`s_m^v > 0` that a model takes at a node, MB, shape [V, M].
    delay
        Time :math:`d_m^v \ge 0` that it takes to serve a request there, ms, shape [V, M].
    capacity
        Requests :math:`L_m^v \ge 0` that it can serve there per slot, infinity allowed, shape
        [V, M].
    accuracy
        Accuracy :math:`a_m` of each model, percent, shape [M].
    task
        Task of each model, shape [M]; every task has a model.
    budget
        Memory :math:`b^v \ge 0` of each node, MB, infinity allowed, shape [V].
    repository
        Which models are permanent, :math:`\omega_m^v`, shape [V, M].
    request_task
        Task :math:`i` of each request type :math:`\rho = (i, p)`, shape [R].
    path
        Nodes of each request type from its entry to a repository of its task, padded with -1 at the
        end, shape [R, J]; lists of different lengths are accepted.
    requests
        Number of requests :math:`r_\rho` of each type in each slot, shape [T, R].
    alpha
        What one percent of inaccuracy costs, ms: serving costs latency and delay and ``alpha *
        (100 - accuracy)``.
    tier
        Tier of each node, 0 being the cloud, shape [V]; for pictures and tables only.
    names
        Name of each node, for pictures and tables only.
    cost
        Cost of serving a request of each type at each position of its path by each model, ms, shape
        [R, J, M], instead of the sum above; entries that stand for no option are set to zero.

    Raises
    ------
    InstanceError
        If any rule above is broken, a path is not simple or not made of edges, a permanent model
        cannot serve all requests of its task on paths through its node, or a budget is below the
        size of the permanent models; with field, index, value and rule.

    Notes
    -----
    Si Salem et al., Toward inference delivery networks, section III. There the accuracy is a
    fraction; here, as in its experiments, a percentage, so that alpha is in ms per percent.
    """

    edges: NDArray[np.int64]
    latency: NDArray[np.float64]
    size: NDArray[np.float64]
    delay: NDArray[np.float64]
    capacity: NDArray[np.float64]
    accuracy: NDArray[np.float64]
    task: NDArray[np.int64]
    budget: NDArray[np.float64]
    repository: NDArray[np.bool_]
    request_task: NDArray[np.int64]
    path: NDArray[np.int64]
    requests: NDArray[np.int64]
    alpha: float = 1.0
    tier: NDArray[np.int64] | None = None
    names: tuple[str, ...] | None = None
    cost: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        self._set_catalogue()
        self._set_network()
        self._set_requests()
        rules.check_repositories(
            self.path, self.request_task, self.task, self.repository, self.capacity, self.requests
        )
        if self.cost is not None:
            own = rules.own_cost(self.cost, self.path, self.request_task, self.task)
            self._set(cost=own)

    def _set(self, **fields: object) -> None:
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def _set_catalogue(self) -> None:
        pair = ("node", "model")
        size = frozen_array("size", self.size, pair)
        sizes = dict(zip(pair, size.shape, strict=True))
        self._set(
            size=size,
            delay=frozen_array("delay", self.delay, pair, sizes),
            capacity=frozen_array("capacity", self.capacity, pair, sizes, infinite=True),
            accuracy=frozen_array("accuracy", self.accuracy, ("model",), sizes),
            task=frozen_integers("task", self.task, ("model",), sizes),
            request_task=frozen_integers("request_task", self.request_task, ("request_type",)),
        )
        rules.check_catalogue(
            self.size, self.delay, self.capacity, self.accuracy, self.task, self.request_task
        )
        self._set(repository=frozen_flags("repository", self.repository, pair, sizes))

    def _set_network(self) -> None:
        sizes = {"node": self.nodes}
        edges = frozen_integers("edges", self.edges, ("edge", "end"), empty=True)
        latency = frozen_array(
            "latency", self.latency, ("edge",), {"edge": edges.shape[0]}, empty=True
        )
        rules.check_edges(edges, latency, self.nodes)
        budget = frozen_array("budget", self.budget, ("node",), sizes, infinite=True)
        rules.check_pinned(self.repository, self.size, budget)
        self._set(edges=edges, latency=latency, budget=budget)
        if self.tier is not None:
            tier = frozen_integers("tier", self.tier, ("node",), sizes)
            require("tier", tier >= 0, tier, "must be a tier, counted from 0")
            self._set(tier=tier)
        if self.names is not None:
            self._set(names=check_names(self.names, self.nodes, "node"))
        alpha = frozen_number("alpha", self.alpha)
        require("alpha", alpha >= 0, np.asarray(alpha), "must not be negative")
        self._set(alpha=alpha)

    def _set_requests(self) -> None:
        types = {"request_type": self.request_task.size}
        path = pad_paths(self.path)
        if path.shape[0] != self.request_task.size:
            raise InstanceError(
                "path", f"must be {self.request_task.size} paths, one per request type",
                value=f"{path.shape[0]} paths",
            )  # fmt: skip
        rules.check_paths(path, self.edges, self.nodes)
        requests = frozen_integers("requests", self.requests, ("slot", "request_type"), types)
        rules.check_requests(requests)
        self._set(path=path, requests=requests)

    # --- sizes -----------------------------------------------------------------------------

    @property
    def nodes(self) -> int:
        """Number of nodes V."""
        return int(self.size.shape[0])

    @property
    def models(self) -> int:
        """Number of models M, of all tasks and replicas."""
        return int(self.size.shape[1])

    @property
    def tasks(self) -> int:
        """Number of tasks N."""
        return int(self.task.max()) + 1

    @property
    def types(self) -> int:
        """Number of request types R."""
        return int(self.request_task.size)

    @property
    def horizon(self) -> int:
        """Number of slots T."""
        return int(self.requests.shape[0])

    @property
    def longest(self) -> int:
        """Number of nodes J of the longest path."""
        return int(self.path.shape[1])

    # --- what follows from the data --------------------------------------------------------

    @cached_property
    def pinned(self) -> NDArray[np.bool_]:
        """Nodes that host repository models and nothing else, shape [V]."""
        return frozen(np.asarray(self.repository.any(axis=1)))

    @cached_property
    def active(self) -> NDArray[np.bool_]:
        """Nodes that can choose what to host: not pinned, budget not zero, shape [V]."""
        return frozen(~(self.pinned | (self.budget <= 0)))

    @cached_property
    def saturated(self) -> NDArray[np.bool_]:
        """Nodes that are not pinned and have room for all models at once, shape [V]."""
        return frozen(~(self.pinned | (self.budget < self.size.sum(axis=1))))

    @property
    def empty(self) -> NDArray[np.bool_]:
        """The allocation that hosts the repository models only, shape [V, M]."""
        return self.repository

    @cached_property
    def total_requests(self) -> NDArray[np.int64]:
        """Requests of all types together in each slot, shape [T]."""
        return frozen(self.requests.sum(axis=1))

    @cached_property
    def ranking(self) -> Ranking:
        """The options of every request type by cost, computed once and kept."""
        return rank(self)

    @cached_property
    def replica_of(self) -> NDArray[np.int64]:
        """Group of each model, numbered in order of first appearance, shape [M].

        Models of a group are replicas: equal in task, accuracy, size, delay, capacity and cost at
        every node, and permanent at the same nodes.
        """
        return replicas.group(self)

    @cached_property
    def graph(self) -> networkx.Graph:
        """The network as a frozen networkx graph: nodes 0..V-1.

        Nodes carry ``budget`` (MB), and ``tier`` and ``name`` where known; edges ``latency`` (ms).
        """
        return view.graph(self)

    def __repr__(self) -> str:
        return (
            f"IdnInstance(nodes={self.nodes}, models={self.models}, tasks={self.tasks}, "
            f"types={self.types}, horizon={self.horizon}, alpha={self.alpha:g})"
        )
