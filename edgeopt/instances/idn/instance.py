"""The instance of IDN, and the options of each request type ranked by their cost."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

import numpy as np

from edgeopt.errors import InputError, InstanceError, OptionError
from edgeopt.instances.fields import Flags, Floats, Integers, Names, Usual, field
from edgeopt.instances.idn.topology import paths_to_nearest
from edgeopt.instances.instance import Instance
from edgeopt.instances.records import Size, rule
from edgeopt.instances.validate import frozen, frozen_integers, real_numbers, require
from edgeopt.options import check_whole, listed
from edgeopt.representation import compact_repr

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Self

    import networkx
    from numpy.typing import ArrayLike


PADDING: Final = -1  # stands behind the last node of a path that is shorter than the longest one


def pad_paths(path: ArrayLike | Sequence[Sequence[int]]) -> Integers:
    """Bring paths into one array, as wide as the longest of them."""
    rows: Any = path
    if not isinstance(path, np.ndarray):
        try:
            rows = [np.asarray(row) for row in rows]
        except (TypeError, ValueError):
            raise InstanceError("path", "must be a sequence of nodes per request type") from None
        width = max((row.shape[0] for row in rows if row.ndim == 1), default=0)
        for rho, row in enumerate(rows):
            if row.ndim != 1 or (row.size and row.dtype.kind not in "iuf"):
                raise InstanceError("path", "must be a sequence of nodes", index=(rho,), value=row)
        rows = np.array(
            [np.concatenate((row, np.full(width - row.size, PADDING))) for row in rows]
        ).reshape(len(rows), width)
    array = frozen_integers("path", rows, ("type", "position"))
    on_path = array != PADDING
    length = on_path.sum(axis=1)
    for rho in range(array.shape[0]):
        if length[rho] == 0:
            raise InstanceError("path", "must have at least one node", index=(rho,))
        if not on_path[rho, : length[rho]].all():
            gap = int(np.argmin(on_path[rho]))
            raise InstanceError(
                "path", "padding may only follow the last node", index=(rho, gap), value=PADDING
            )
    trimmed = array[:, : int(length.max())].copy()
    trimmed.flags.writeable = False
    return trimmed


def edge_between(edges: Integers, nodes: int, start: Integers, end: Integers) -> Integers:
    """Look up undirected edges by their ends."""
    missing = np.full(np.shape(start), -1, dtype=np.int64)
    if edges.shape[0] == 0:
        return missing
    key = edges.min(axis=1) * nodes + edges.max(axis=1)
    order = np.argsort(key, kind="stable")
    wanted = np.minimum(start, end) * nodes + np.maximum(start, end)
    place = np.minimum(np.searchsorted(key[order], wanted), key.size - 1)
    return np.where(key[order][place] == wanted, order[place], missing)


def network_latency(path: Integers, edges: Integers, latency: Floats, nodes: int) -> Floats:
    """Add up round-trip latencies from the entry of each path to each of its nodes."""
    total = np.zeros(path.shape)
    start, end = path[:, :-1], path[:, 1:]
    step = end != PADDING
    index = edge_between(edges, nodes, np.where(step, start, 0), np.where(step, end, 0))
    hop = np.zeros(step.shape)
    hop[step] = latency[index[step]]
    np.cumsum(hop, axis=1, out=total[:, 1:])
    return total


class Columns(NamedTuple):
    """What compiled loops read of a ranking."""

    first: Integers
    pair: Integers
    cost: Floats
    capacity: Floats
    permanent: Flags


@compact_repr
@dataclass(frozen=True, eq=False)
class Ranking:
    r"""All options of all request types, one type after another, cheapest first.

    An option of a type :math:`\rho = (i, p)` is a pair of a node of its path and a model of its
    task. Ties go to the option nearer to the entry, then to the smaller model index.

    Parameters
    ----------
    first
        Where the options of each type begin; its last entry is the number P of all options, shape
        [R + 1].
    type
        Request type, shape [P].
    node, model
        The pair itself, shape [P].
    position
        Position of the node on the path, 0 being the entry, shape [P].
    pair
        Index of the pair in a flattened allocation, ``node * M + model``, shape [P].
    cost
        Cost :math:`\gamma` of serving one request, ms, ascending within a type, shape [P].
    latency
        Network latency and delay of the model, ms, shape [P].
    inaccuracy
        100 minus the accuracy of the model, percent, shape [P].
    permanent
        Whether the pair belongs to a repository, shape [P].
    repository_cost
        Cost of the cheapest permanent option of each type, ms, shape [R].
    capacity
        Requests per slot that the model serves at the node, for all types together, shape [P].

    Notes
    -----
    Si Salem et al., Toward inference delivery networks, equations (6) and (11).

    Examples
    --------
    >>> from edgeopt.instances.idn import small
    >>> ranking = small(1).ranking
    >>> options = ranking.options(0)
    >>> ranking.node[options], ranking.model[options], ranking.cost[options].round(1)
    (array([2, 0]), array([1, 1]), array([2., 2.]))
    """

    first: Integers
    type: Integers
    node: Integers
    model: Integers
    position: Integers
    pair: Integers
    cost: Floats
    latency: Floats
    inaccuracy: Floats
    permanent: Flags
    repository_cost: Floats
    capacity: Floats

    def __len__(self) -> int:
        return int(self.pair.size)

    def options(self, type: int) -> slice:
        """Return the range of the options of one request type."""
        return slice(int(self.first[type]), int(self.first[type + 1]))

    @cached_property
    def columns(self) -> Columns:
        """The arrays that compiled loops read."""
        return Columns(self.first, self.pair, self.cost, self.capacity, self.permanent)

    @cached_property
    def repository(self) -> Integers:
        """The cheapest permanent option of each type, shape [R]."""
        permanent = np.flatnonzero(self.permanent)
        array = permanent[np.searchsorted(permanent, self.first[:-1])]
        array.flags.writeable = False
        return array

    def potential(self, requests: ArrayLike) -> Floats:
        r"""Compute the requests that every option could serve of its type if nothing else used it.

        ``requests`` holds those of every type in a slot, shape [..., R]; the result, shape [...,
        P], is r for permanent options and :math:`\min(L, r)` else: each type counts as if it were
        alone.
        """
        amount = np.asarray(requests, dtype=np.float64)
        types = self.first.size - 1
        if amount.ndim == 0 or amount.shape[-1] != types:
            raise InputError(
                "requests", f"must have {types} types", value=f"array of shape {amount.shape}"
            )
        wanted = amount[..., self.type]
        return np.where(self.permanent, wanted, np.minimum(self.capacity, wanted))


_EXACT: Final = 2**53  # whole numbers up to here are exact as float64
_PAIR: Final = ("node", "model")
_AXES: Final = {
    "node": "V", "model": "M", "edge": "E", "end": 2, "type": "R", "position": "J", "slot": "T",
}  # fmt: skip


def _padded(instance: IdnInstance, path: Any) -> Integers:
    padded, types = pad_paths(path), instance.request_task.size
    if padded.shape[0] != types:
        says = f"must be {types} paths, one per request type"
        raise InstanceError("path", says, value=f"{padded.shape[0]} paths")
    return padded


def _zero_where_no_option(instance: IdnInstance, cost: ArrayLike) -> Floats:
    mine = (instance.task == instance.request_task[:, None])[:, None, :]
    used = (instance.path != PADDING)[:, :, None] & mine
    array = real_numbers("cost", cost)
    if array.ndim == 3:  # columns that no path reaches go the way of the padding
        array = array[:, : used.shape[1]]
    return np.where(used, array, 0.0) if array.shape == used.shape else array


class IdnInstance(Instance, kind="idn", axes=_AXES, empty=("edge",)):
    r"""Everything that an inference delivery network is given, validated and read-only.

    Nodes, models, tasks, request types and slots count from 0. Models of different tasks are
    different; a replica of a model is a model of its own. A node that hosts any repository model is
    *pinned*: it hosts these and nothing else.

    Notes
    -----
    Si Salem et al., Toward inference delivery networks, section III. There the accuracy is a
    fraction; here, as in its experiments, a percentage, so that alpha is in ms per percent.

    Examples
    --------
    >>> from edgeopt.instances.idn import IdnInstance, small
    >>> instance = small(1)
    >>> instance.requests.shape, instance.budget.shape
    ((4, 4), (3,))
    """

    edges: Integers = field("edge", "end", of="node", doc="Nodes that an undirected edge joins.")
    latency: Floats = field("edge", unit="ms", symbol="w", least=0, doc="Round-trip latency.")
    size: Floats = field(
        *_PAIR, unit="MB", symbol="s_m^v", above=0, first=True, rounds="down",
        doc="Memory that a model takes.",
    )  # fmt: skip
    delay: Floats = field(
        *_PAIR, unit="ms", symbol="d_m^v", least=0, doc="Time to serve a request."
    )
    capacity: Floats = field(
        *_PAIR, unit="1/slot", symbol="L_m^v", least=0, infinite=True, rounds="up",
        doc="Requests served per slot.",
    )  # fmt: skip
    accuracy: Floats = field(
        "model", unit="percent", symbol="a_m", least=0, most=100,
        message="must be a percentage in 0..100", doc="Accuracy.", usual=Usual(1, 100, ("1",)),
    )  # fmt: skip
    task: Integers = field(
        "model", least=0, message="must be a task, counted from 0",
        doc="Task of a model. Every task has one.",
    )  # fmt: skip
    budget: Floats = field(
        "node", unit="MB", symbol="b^v", least=0, infinite=True, rounds="up",
        doc="Memory of a node.",
    )  # fmt: skip
    repository: Flags = field(
        *_PAIR, symbol=r"\omega_m^v", doc="Whether a model is permanent at a node."
    )
    request_task: Integers = field(
        "type", least=0, message="must be a task, counted from 0",
        doc=r"Task of a request type. A type is a pair :math:`\rho = (i, p)` of task and path.",
    )  # fmt: skip
    path: Integers = field(
        "type", "position", of="node", prepare=_padded, missing=PADDING,
        doc="Nodes from entry to repository, then -1. Lists of different lengths are accepted.",
    )  # fmt: skip
    requests: Integers = field(
        "slot", "type", unit="1/slot", symbol=r"r_\rho", least=0, doc="Requests.",
        parts="for rates below one per slot, count the requests of longer slots",
    )  # fmt: skip
    alpha: float = field(
        unit="ms/percent", least=0, default=1.0, always=True,
        doc="Cost of inaccuracy. Serving costs latency, delay and ``alpha * (100 - accuracy)``.",
    )  # fmt: skip
    tier: Integers | None = field(
        "node", least=0, message="must be a tier, counted from 0", default=None,
        doc="Tier of a node, 0: cloud. For pictures and tables only.",
    )  # fmt: skip
    names: Names | None = field(
        "node", default=None, doc="Name of a node. For pictures and tables only."
    )
    cost: Floats | None = field(
        "type", "position", "model", unit="ms", least=0, default=None, missing=np.nan,
        prepare=_zero_where_no_option,
        doc="Cost of serving a request. It stands instead of the sum above; entries that stand for "
        "no option become 0.",
    )  # fmt: skip

    nodes = Size("node", "Number of nodes V.")
    models = Size("model", "Number of models M, of all tasks and replicas.")
    types = Size("type", "Number of request types R.")
    horizon = Size("slot", "Number of slots T.")
    longest = Size("position", "Number of nodes J of the longest path.")

    # --- what joins fields -----------------------------------------------------------------

    @rule
    def _check_tasks(self) -> None:
        """Check that tasks have models, and are numbered without gaps."""
        task, asked = self.task, self.request_task
        require("request_task", np.isin(asked, task), asked, "must be a task that has a model")
        for i in sorted(set(range(int(task.max()))) - set(np.unique(task).tolist())):
            raise InstanceError("task", f"task {i} has no model (number tasks without gaps)")

    @rule
    def _check_edges(self) -> None:
        """Check that edges join two nodes, each pair once."""
        edges = self.edges
        for e in np.flatnonzero(edges[:, 0] == edges[:, 1]).tolist():
            ends = tuple(edges[e].tolist())
            raise InstanceError("edges", "must join two different nodes", index=(e,), value=ends)
        key = edges.min(axis=1) * self.nodes + edges.max(axis=1)
        _, original = np.unique(key, return_index=True)
        for e in sorted(set(range(key.size)) - set(original.tolist())):
            same, ends = int(np.argmax(key == key[e])), tuple(edges[e].tolist())
            says = f"joins the same nodes as edge {same} (edges are undirected)"
            raise InstanceError("edges", says, index=(e,), value=ends)

    @rule
    def _check_pinned(self) -> None:
        """Check that permanent models fit into the budget of their node, up to rounding."""
        for v in np.flatnonzero(self.repository.any(axis=1)).tolist():
            used = float(self.size[v, self.repository[v]].sum())
            if self.budget[v] < used and not np.isclose(self.budget[v], used, 1e-12, 0.0):
                says = f"is below the {used:g} MB that the permanent models of the node need"
                raise InstanceError("budget", says, index=(v,), value=float(self.budget[v]))

    @rule
    def _check_paths(self) -> None:
        """Check that paths are simple walks along edges."""
        path, nodes = self.path, self.nodes
        on_path = path != PADDING
        rows = np.where(on_path, path, nodes + np.arange(path.shape[1]))
        order = np.argsort(rows, axis=1, kind="stable")
        ordered = np.take_along_axis(rows, order, axis=1)
        again = np.zeros(path.shape, dtype=np.bool_)
        np.put_along_axis(again[:, :], order[:, 1:], ordered[:, 1:] == ordered[:, :-1], axis=1)
        require("path", ~again, path, "must not visit a node twice")
        start, end = path[:, :-1], path[:, 1:]
        step = on_path[:, 1:]
        edge = edge_between(self.edges, nodes, np.where(step, start, 0), np.where(step, end, 0))
        for rho, j in np.argwhere(step & (edge < 0))[:1].tolist():
            says = f"there is no edge between nodes {path[rho, j]} and {path[rho, j + 1]}"
            raise InstanceError("path", says, index=(rho, j + 1), value=int(path[rho, j + 1]))

    @rule
    def _check_requests(self) -> None:
        """Check that numbers of requests, and their sum in a slot, are exact as real numbers."""
        requests = self.requests
        require("requests", requests < _EXACT, requests, "must be below 2**53")
        total = requests.sum(axis=1, dtype=np.float64)
        says = "requests of the slot must sum to less than 2**53"
        require("requests", total < _EXACT, total, says)

    @rule
    def _check_repositories(self) -> None:
        """Check that paths end in repositories, and that these can serve everything.

        A permanent model is offered to every type of its task whose path visits its node; it must
        be able to serve all their requests in every slot, alone.
        """
        path, asked, task = self.path, self.request_task, self.task
        last = (path != PADDING).sum(axis=1) - 1
        serves = np.zeros((self.nodes, self.tasks), dtype=np.bool_)
        v, m = np.nonzero(self.repository)
        serves[v, task[m]] = True
        end = path[np.arange(self.types), last]
        for rho in np.flatnonzero(~serves[end, asked])[:1].tolist():
            says = f"must end in a repository of task {asked[rho]}: the node has no permanent model"
            where = (rho, int(last[rho]))
            raise InstanceError("path", f"{says} of it", index=where, value=int(end[rho]))
        demand = np.zeros((*serves.shape, self.horizon), dtype=np.int64)
        for rho, nodes in enumerate(path):
            demand[nodes[nodes != PADDING], asked[rho]] += self.requests[:, rho]
        peak = demand.max(axis=2)[v, task[m]]
        for k in np.flatnonzero(self.capacity[v, m] < peak)[:1].tolist():
            raise InstanceError(
                "capacity",
                f"a permanent model must be able to serve all requests of its task on the paths "
                f"through its node: {peak[k]} in slot {int(demand[v[k], task[m[k]]].argmax())}",
                index=(int(v[k]), int(m[k])),
                value=float(self.capacity[v[k], m[k]]),
            )

    @classmethod
    def from_graph(
        cls,
        graph: networkx.Graph[Any],
        *,
        models: Any,
        requests: Any,
        budget: Any,
        repositories: Any,
        latency: str | Mapping[Any, float] = "latency",
        paths: str | Mapping[Any, Any] = "shortest",
        origin: int = 0,
        **fields: Any,
    ) -> Self:
        """Build an instance from a graph in memory and tables by label.

        Parameters
        ----------
        graph
            An undirected graph, whose nodes keep their names as labels.
        models
            A table with one line per model, a frame or a mapping of Series, with the columns
            ``task``, ``accuracy`` (percent), ``size`` (MB), ``delay`` (ms) and ``capacity``
            (requests per slot). The last three may each be a frame by ``node`` and ``model``.
        requests
            A frame with the columns ``task``, ``node`` (where they enter), ``requests`` and, if
            there are several, ``slot``; or a mapping from pairs (task, node) to numbers per slot.
            Slots are whole numbers, or all timestamps of their beginnings.
        budget
            Memory of nodes, MB: a number, a Series or mapping by node, or an attribute of nodes.
            Repositories for which none is given have no limit.
        repositories
            Node or nodes where all models are permanent, or a mapping from models to nodes.
        latency
            Attribute of edges that holds the round-trip latency, ms, or a mapping from pairs.
        paths
            ``"shortest"`` to a repository of the task, or a mapping from (task, node) to nodes.
        origin
            Number of the first slot in the frame of requests.
        **fields
            Other fields of the instance, such as ``alpha``.

        Raises
        ------
        InstanceError
            If the graph has parallel edges, a self-loop with a latency, or an edge without one; a
            node, model or task is unknown; a repository cannot be reached; or a rule is broken.

        Examples
        --------
        >>> import networkx, pandas
        >>> cables = networkx.path_graph(["paris", "lyon", "nice"])
        >>> networkx.set_edge_attributes(cables, 8.0, "latency")
        >>> columns = {"task": "detect", "accuracy": [65.7, 38.7], "size": [1577, 187]}
        >>> columns |= {"delay": [24, 3], "capacity": [42, 300]}
        >>> models = pandas.DataFrame(columns, index=["large", "tiny"])
        >>> instance = IdnInstance.from_graph(
        ...     cables, models=models, requests={("detect", "nice"): [100, 80]},
        ...     budget=500, repositories="paris",
        ... )
        >>> instance.labels["type"], instance.path.tolist()
        (('detect at nice',), [[2, 1, 0]])
        """
        from edgeopt.instances.idn.from_graph import instance_from_graph

        made = instance_from_graph(
            cls, graph, models=models, requests=requests, budget=budget,
            repositories=repositories, latency=latency, paths=paths, origin=origin, fields=fields,
        )  # fmt: skip
        return cast("Self", made)

    # --- failures --------------------------------------------------------------------------

    def without(self, *, links: Iterable[tuple[int, int]] = (), nodes: Iterable[int] = ()) -> Self:
        """Return a copy in which links or nodes are down.

        No request goes over a link that is down. A node that is down hosts and serves nothing, but
        requests still pass it; where they do not, its links are down, too. A type whose path is
        broken, or whose repository is down, takes the path of least latency that is left from its
        entry to a repository of its task; all others keep theirs.

        Parameters
        ----------
        links
            Ends of the edges.
        nodes
            The nodes.

        Raises
        ------
        OptionError
            If there is no such link or node.
        InstanceError
            If a type can reach no repository any more, one that it reaches now cannot serve all
            requests, or paths change where `cost` stands instead of latencies.
        """
        down = listed("nodes", nodes)
        for v in down:
            check_whole("nodes", v, 0, self.nodes - 1)
        cut = np.zeros(self.edges.shape[0], dtype=np.bool_)
        for link in listed("links", links):
            ends = listed("links", link)
            if len(ends) != 2:
                raise OptionError(f"links = {link!r}: must be pairs of nodes")
            for v in ends:
                check_whole("links", v, 0, self.nodes - 1)
            joins = (np.sort(self.edges, axis=1) == np.sort(ends)).all(axis=1)
            if not joins.any():
                raise OptionError(f"links: there is none between nodes {ends[0]} and {ends[1]}")
            cut |= joins
        fields = {one.name: getattr(self, one.name) for one in self._fields}
        fields |= {"edges": self.edges[~cut], "latency": self.latency[~cut]}
        for name in ("repository", "budget", "capacity"):
            fields[name] = np.array(fields[name])
            fields[name][down] = 0
        fields["path"] = self._paths_without(cut, fields["repository"])
        orders = dict(self._orders)
        if "edge" in orders:
            orders["edge"] = tuple(np.array(orders["edge"], dtype=object)[~cut])
        return self._with(fields, orders, self._notes)

    def _paths_without(self, cut: Flags, repository: Flags) -> Any:
        """Return the path of every type where some edges are cut and fewer nodes repositories."""
        start, end = self.path[:, :-1], self.path[:, 1:]
        step = end != PADDING
        ends = np.where(step, start, 0), np.where(step, end, 0)
        edge = edge_between(self.edges, self.nodes, *ends)
        last = self.path[np.arange(self.types), step.sum(axis=1)]
        mine = self.task == self.request_task[:, None]
        broken = ~(repository[last] & mine).any(axis=1)
        if cut.any():
            broken |= (step & cut[edge]).any(axis=1)
        if not broken.any():
            return self.path
        if self.cost is not None:
            says = "stands for the costs of paths that change: give both to replace(path=, cost=)"
            raise InstanceError("cost", says, index=(int(np.argmax(broken)),))
        found = [row[row != PADDING].tolist() for row in self.path]
        network = self.edges[~cut], self.latency[~cut], self.nodes
        for task in np.unique(self.request_task[broken]):
            goals = np.flatnonzero(repository[:, self.task == task].any(axis=1))
            tree = paths_to_nearest(*network, goals)
            for rho in np.flatnonzero(broken & (self.request_task == task)).tolist():
                if (entry := int(self.path[rho, 0])) not in tree:
                    says = f"node {entry} can reach no repository of task {task} any more; keep a "
                    says += "link on the way to one, or make a model of it permanent where it can"
                    raise InstanceError("path", says, index=(rho,))
                found[rho] = list(tree[entry])
        return found

    # --- what follows from the data --------------------------------------------------------

    @property
    def tasks(self) -> int:
        """Number of tasks N."""
        return int(self.task.max()) + 1

    @cached_property
    def pinned(self) -> Flags:
        """Nodes that host repository models and nothing else, shape [V]."""
        return frozen(np.asarray(self.repository.any(axis=1)))

    @cached_property
    def active(self) -> Flags:
        """Nodes that can choose what to host: not pinned, budget not zero, shape [V]."""
        return frozen(~(self.pinned | (self.budget <= 0)))

    @cached_property
    def saturated(self) -> Flags:
        """Nodes that are not pinned and have room for all models at once, shape [V]."""
        return frozen(~(self.pinned | (self.budget < self.size.sum(axis=1))))

    @property
    def empty(self) -> Flags:
        """The allocation that hosts the repository models only, shape [V, M]."""
        return self.repository

    @cached_property
    def total_requests(self) -> Integers:
        """Requests of all types together in each slot, shape [T]."""
        return frozen(self.requests.sum(axis=1))

    @cached_property
    def ranking(self) -> Ranking:
        """The options of every request type by cost, computed once and kept."""
        task, types = self.task, self.types
        models = np.bincount(task, minlength=self.tasks)
        by_task = np.argsort(task, kind="stable")
        begin = np.concatenate(([0], np.cumsum(models)))
        wide = models[self.request_task]
        count = (self.path != PADDING).sum(axis=1) * wide
        first = np.concatenate(([0], np.cumsum(count))).astype(np.int64)

        # Laid out by (type, position, model): a stable sort by cost then breaks ties as documented.
        kind = np.repeat(np.arange(types), count)
        position, nth = np.divmod(np.arange(first[-1]) - first[kind], wide[kind])
        model = by_task[begin[self.request_task[kind]] + nth]
        node = self.path[kind, position]
        network = network_latency(self.path, self.edges, self.latency, self.nodes)
        latency = network[kind, position] + self.delay[node, model]
        inaccuracy = 100.0 - self.accuracy[model]
        if self.cost is None:
            cost = latency + self.alpha * inaccuracy
        else:
            cost = self.cost[kind, position, model]

        order = np.lexsort((cost, kind))
        node, model, cost = node[order], model[order], cost[order]
        permanent = self.repository[node, model]
        arrays = {
            "first": first,
            "type": kind,
            "node": node,
            "model": model,
            "position": position[order],
            "pair": node * self.models + model,
            "cost": cost,
            "latency": latency[order],
            "inaccuracy": inaccuracy[order],
            "permanent": permanent,
            "repository_cost": np.minimum.reduceat(np.where(permanent, cost, np.inf), first[:-1]),
            "capacity": self.capacity[node, model],
        }
        for array in arrays.values():
            array.flags.writeable = False
        return Ranking(**arrays)

    @cached_property
    def graph(self) -> networkx.Graph:
        """The network as a frozen networkx graph: nodes 0..V-1.

        Nodes carry ``budget`` (MB), and ``tier`` and ``name`` where known; edges ``latency`` (ms).
        """
        import networkx

        network, names = networkx.Graph(), self.called("node")
        for v in range(self.nodes):
            network.add_node(v, budget=float(self.budget[v]))
            if self.tier is not None:
                network.nodes[v]["tier"] = int(self.tier[v])
            if names is not None:
                network.nodes[v]["name"] = names[v]
        for (u, v), trip in zip(self.edges.tolist(), self.latency.tolist(), strict=True):
            network.add_edge(u, v, latency=trip)
        return networkx.freeze(network)

    def __repr__(self) -> str:
        return (
            f"IdnInstance(nodes={self.nodes}, models={self.models}, tasks={self.tasks}, "
            f"types={self.types}, horizon={self.horizon}, alpha={self.alpha:g})"
        )
