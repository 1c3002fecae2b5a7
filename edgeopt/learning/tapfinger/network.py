"""The network of TapFinger: its parts, and what it computes in NumPy or PyTorch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import numpy as np

from edgeopt.errors import OptionError
from edgeopt.learning import layer_norm, masked_softmax
from edgeopt.learning.arrays import layer_shapes
from edgeopt.options import check_choice, check_fields, check_whole

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from edgeopt.instances.fields import Integers as Ints
    from edgeopt.instances.tapfinger import TapFingerInstance
    from edgeopt.learning.tapfinger.adapters.encoding import Observation

    Weights = Mapping[str, Any]


TYPES: Final = ("cluster", "pending", "running", "shortcut")
"""Types of nodes."""

RELATIONS: Final = (
    "pending-cluster", "running-cluster", "shortcut-cluster",
    "cluster-pending", "cluster-running", "cluster-shortcut",
)  # fmt: skip
"""Types of edges, from the node that is heard to the one that hears; the first three share a head.
"""


@dataclass(frozen=True, kw_only=True)
class Architecture:
    """Options of the network of an actor.

    Parameters
    ----------
    width, heads, layers
        Of the attention over the graph; heads divide the width.
    hidden
        Width of the perceptron that chooses bundles.
    graph
        Whether nodes hear each other. Otherwise a perceptron of four layers reads the features of a
        task and of its cluster (No-HAN in the paper).
    self_loops
        Whether a node hears itself, too. Without, as in the authors' program, two tasks that wait
        for one and the same cluster alone get equal embeddings.
    pointer
        How a task is named: by attention (``"learnt"``), evenly among those that may be
        (``"even"``, No-pointer in the paper), or the first of them (``"first"``, vanilla).
    encoder
        Layers of a transformer over the places of a pending set before the pointer.
    reads_cluster
        Whether pointer and choice of a bundle read the embedding of the cluster, too.
    shared_actors
        Whether all clusters have the same heads, or each has its own.
    void_place
        Whether a cluster may name nobody, instead of naming a task and giving it nothing.
    mask_unfit
        Whether tasks that do not fit cannot be named.
    dummies
        Whether empty places count as nodes and in means, as in the authors' program.
    """

    width: int = 48
    heads: int = 4
    layers: int = 2
    hidden: int = 128
    graph: bool = True
    self_loops: bool = True
    pointer: Literal["learnt", "even", "first"] = "learnt"
    encoder: int = 0
    reads_cluster: bool = True
    shared_actors: bool = True
    void_place: bool = True
    mask_unfit: bool = True
    dummies: bool = False

    def __post_init__(self) -> None:
        check_fields(self)
        for name in ("width", "heads", "layers", "hidden"):
            check_whole(name, getattr(self, name), 1)
        check_whole("encoder", self.encoder, 0)
        check_choice("pointer", self.pointer, ("learnt", "even", "first"))
        if self.width % self.heads:
            raise OptionError(f"heads = {self.heads}: must divide width = {self.width}")
        if self.void_place and not (self.mask_unfit and self.pointer == "learnt"):
            raise OptionError(
                "void_place: needs a learnt pointer that cannot name tasks that do not fit"
            )


_SMALL: Final = Architecture()

PRESETS: Final[Mapping[str, Architecture]] = {
    "small": _SMALL,
    "paper": Architecture(
        width=256, layers=6, hidden=256, self_loops=False, encoder=2, reads_cluster=False,
        shared_actors=False,
        void_place=False, mask_unfit=False, dummies=True,
    ),
    "no_han": replace(_SMALL, graph=False),
    "no_pointer": replace(_SMALL, pointer="even", void_place=False),
    "vanilla": replace(_SMALL, graph=False, pointer="first", void_place=False),
    "no_self_loops": replace(_SMALL, self_loops=False),
    "no_void_place": replace(_SMALL, void_place=False),
}  # fmt: skip
"""Networks by name: a small one, the paper's, and small ones without one of their parts."""

FORWARD: Final = 2048
"""Width of the perceptrons in the transformer."""

READ: Final = 256
"""Width of the perceptron that reads single tasks."""


@dataclass(frozen=True)
class Sizes:
    """What an instance says of the shapes of weights: clusters, kinds, numbers of CPUs and GPUs."""

    clusters: int
    kinds: int
    cpus: int
    gpus: int

    @classmethod
    def of(cls, instance: TapFingerInstance) -> Sizes:
        """Return the sizes of an instance."""
        cpus, gpus = instance.speed.shape[2:]
        return cls(instance.clusters, instance.task_kinds, cpus, gpus)

    @property
    def bundles(self) -> int:
        """Number of bundles, (0, 0) and those that are too small included."""
        return self.cpus * self.gpus


def graph_shapes(form: Architecture, sizes: Sizes) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the weights that make embeddings of clusters and pending tasks."""
    d, K = form.width, sizes.kinds
    if not form.graph:
        found = layer_shapes(9 + K, READ, READ, READ, d, prefix="read.")
        return found | _affine("read.cluster", 4, d)
    wide = (form.heads, d // form.heads)
    into = {"cluster": 4, "pending": 5 + K, "running": 4 + K}
    found = {}
    for layer in range(form.layers):
        ends = layer == form.layers - 1
        for kind in TYPES:
            if layer == 0 and kind == "shortcut":
                found[f"{layer}.shortcut.bias"] = (d,)
            else:
                found |= _affine(f"{layer}.{kind}", d if layer else into[kind], d)
            hears = not ends or kind in ("cluster", "pending")
            if form.self_loops and hears:
                found |= {f"{layer}.{kind}.scale": (d,), f"{layer}.{kind}.shift": (d,)}
        for relation in RELATIONS:
            if relation in ("shortcut-cluster", "cluster-running"):
                continue  # of one neighbour nothing is to be weighed
            if ends and relation == "cluster-shortcut":
                continue
            found |= {f"{layer}.{relation}.source": wide, f"{layer}.{relation}.target": wide}
        found |= _affine(f"{layer}.semantic", d, d) | {f"{layer}.semantic.query": (d,)}
    return found


def actor_shapes(form: Architecture, sizes: Sizes) -> dict[str, tuple[int, ...]]:
    """Return the shapes of all weights of an actor."""
    d, seen = form.width, form.width * (1 + form.reads_cluster)
    each = () if form.shared_actors else (sizes.clusters,)
    heads: dict[str, tuple[int, ...]] = {}
    if form.pointer == "learnt":
        heads |= _affine("pointer.task", d, d) | {"pointer.value": (d,)}
        heads |= {"pointer.context.weight": (d, seen)}
        if form.void_place:
            heads |= _affine("void.context", seen, d) | {"void.value": (d,)}
    for layer in range(form.encoder):
        name = f"encoder.{layer}"
        for part in ("query", "key", "value", "out"):
            heads |= _affine(f"{name}.{part}", d, d)
        heads |= layer_shapes(d, FORWARD, d, prefix=f"{name}.forward.")
        for part in ("first", "second"):
            heads |= {f"{name}.{part}.scale": (d,), f"{name}.{part}.shift": (d,)}
    heads |= layer_shapes(seen, form.hidden, sizes.bundles, prefix="bundle.")
    own = {name: (*each, *shape) for name, shape in heads.items()}
    return graph_shapes(form, sizes) | own


def initial(
    shapes: Mapping[str, tuple[int, ...]], rng: np.random.Generator
) -> dict[str, NDArray[np.float32]]:
    """Draw weights evenly within 1 over the root of the number of inputs; scales begin at 1."""
    found = {}
    for name, shape in shapes.items():
        if name.endswith(("scale", "shift")):
            found[name] = np.full(shape, float(name.endswith("scale")), dtype=np.float32)
            continue
        weight = shapes.get(name.removesuffix("bias") + "weight", shape)
        bound = 1.0 / np.sqrt(weight[-1])
        found[name] = rng.uniform(-bound, bound, shape).astype(np.float32)
    return found


def _affine(name: str, into: int, out: int) -> dict[str, tuple[int, ...]]:
    return {f"{name}.weight": (out, into), f"{name}.bias": (out,)}


SLOPE: Final = 0.2
"""Of the leaky ReLU below 0."""


class NumpyBackend:
    """What differs between the backends, for NumPy."""

    norm = staticmethod(layer_norm)
    tanh = staticmethod(np.tanh)
    array = staticmethod(np.asarray)

    @staticmethod
    def softmax(logits: Any, mask: Any = None) -> Any:
        """Return shares along the last axis, 0 where masked."""
        return masked_softmax(logits, np.ones(1, dtype=np.bool_) if mask is None else mask)

    @staticmethod
    def numbers(count: int, _beside: Any) -> Any:
        """Return 0, 1, ... where an array is that they are to be used with."""
        return np.arange(count)

    @staticmethod
    def real(flags: Any) -> Any:
        """Return truth values as numbers."""
        return flags.astype(np.float32)

    @staticmethod
    def relu(values: Any) -> Any:
        """Return the positive part."""
        return np.maximum(values, 0.0)

    @staticmethod
    def leaky(values: Any) -> Any:
        """Return the positive part, and a share of the negative one."""
        return np.maximum(values, SLOPE * values)

    @staticmethod
    def join(parts: list[Any], axis: int = -1) -> Any:
        """Join arrays along an axis."""
        return np.concatenate(parts, axis=axis)

    @staticmethod
    def affine(values: Any, weight: Any, bias: Any) -> Any:
        """Apply a matrix to the last axis, and add a bias if there is one."""
        found = values @ weight.T
        return found if bias is None else found + bias

    @staticmethod
    def like(values: Any, shape: tuple[int, ...]) -> Any:
        """Repeat values up to a shape."""
        return np.broadcast_to(values, shape)


class Seen(NamedTuple):
    """What the network reads of rounds, E of them side by side.

    Attributes
    ----------
    cluster, pending, running, node, startable
        As in `Observation`, with an axis in front.
    box
        Bundles that may be given to the task of a place, from (0, 1) to before (2, 3): CPU cores
        and GPUs, shape [E, N, P, 4].
    """

    cluster: Any
    pending: Any
    running: Any
    node: Any
    startable: Any
    box: Any

    @classmethod
    def of(cls, observation: Observation, boxes: NDArray[np.int64]) -> Seen:
        """Copy an observation of rounds side by side into smaller types."""
        whole = observation.node.astype(np.int16), observation.startable.copy()
        real = observation.cluster.copy(), observation.pending.copy(), observation.running.copy()
        return cls(*real, *whole, boxes.astype(np.int16))


class Graph(NamedTuple):
    """Which nodes there are, and which of them are neighbours."""

    real: Any  # tasks that are there, [E, N, P]
    runs: Any  # tasks that run, [E, N, M]
    near: Any  # on which clusters the task of a place is pending, [E, N, P, N]
    same: Any  # places of the same task, [E, N P, N P]


def graph_of(x: Any, seen: Seen, *, dummies: bool = False) -> Graph:
    """Return the graph of rounds; with `dummies`, empty places are nodes, too."""
    E, N, P = seen.node.shape
    flat = seen.node.reshape(E, N * P)
    same = flat[:, :, None] == flat[:, None, :]
    near = same.reshape(E, N, P, N, P).any(-1)
    real = seen.pending[..., 2] < (2.0 if dummies else 0.5)
    return Graph(real, seen.running[..., 2] < 0.5, near, same)


def embed(x: Any, w: Weights, form: Architecture, seen: Seen) -> tuple[Any, Any, Graph]:
    """Return the embeddings of clusters, [E, N, D], and of pending tasks, [E, N, P, D]."""
    graph = graph_of(x, seen, dummies=form.dummies)
    E, N, P = seen.node.shape
    same = x.real(graph.same)
    # A task may take different shares of several clusters: as a node it has the mean.
    pending = (same / same.sum(-1)[..., None] @ seen.pending.reshape(E, N * P, -1)).reshape(
        E, N, P, -1
    )
    if not form.graph:
        here = x.like(seen.cluster[:, :, None], (E, N, P, seen.cluster.shape[-1]))
        values = perceptron(x, w, "read", x.join([seen.pending, here]))
        return affine(x, w, "read.cluster", seen.cluster), values, graph
    held: list[Any] = [seen.cluster, pending, seen.running, None]
    for layer in range(form.layers):
        final = layer == form.layers - 1
        held = _layer(x, w, f"{layer}.", form, graph, held, final)
    return held[0], held[1], graph


def _layer(
    x: Any, w: Weights, at: str, form: Architecture, graph: Graph, held: list[Any], final: bool
) -> list[Any]:
    """Let every node hear its neighbours once."""
    H, D = form.heads, form.width
    c, p, r = (affine(x, w, f"{at}{kind}", held[i]) for i, kind in enumerate(TYPES[:3]))
    E, N, P, _ = p.shape
    s = w[f"{at}shortcut.bias"]
    if held[3] is not None:
        s = held[3] @ w[f"{at}shortcut.weight"].T + s
    s = x.like(s, (E, D))
    axis = x.numbers(D, c)
    # Row h is 1 where a column belongs to head h, so that products of matrices weigh by head.
    block = x.real(axis[:H, None] == axis // (D // H))

    def score(relation: str, side: str, values: Any) -> Any:
        return values @ (block * w[f"{at}{relation}.{side}"].reshape(D)).swapaxes(0, 1)

    def gathered(relation: str, values: Any, mask: Any) -> Any:
        """Return what clusters hear of their own tasks, [E, N, D]."""
        sent = score(relation, "source", values).swapaxes(-1, -2)
        asked = score(relation, "target", c)[..., None]
        alpha = x.softmax(x.leaky(sent + asked), mask[:, :, None])
        return x.relu((alpha @ values * block).sum(-2))

    heard = [
        gathered("pending-cluster", p, graph.real),
        gathered("running-cluster", r, graph.runs),
        x.like(x.relu(s)[:, None], (E, N, D)),
    ]
    some, runs = (part.reshape(E, -1).any(-1)[:, None] for part in (graph.real, graph.runs))
    there = x.join([some, runs, runs | ~runs])
    worth = [
        (x.tanh(affine(x, w, f"{at}semantic", one)) * w[f"{at}semantic.query"]).sum(-1).mean(-1)
        for one in heard
    ]
    beta = x.softmax(x.join([one[:, None] for one in worth]), there)
    cluster = sum(beta[:, i, None, None] * one for i, one in enumerate(heard))

    sent = score("cluster-pending", "source", c).swapaxes(-1, -2)[:, None, None]
    asked = score("cluster-pending", "target", p)[..., None]
    alpha = x.softmax(x.leaky(sent + asked), graph.near[:, :, :, None])
    alpha = alpha.reshape(E, N * P, H, N).swapaxes(1, 2)
    values = c.reshape(E, N, H, D // H).swapaxes(1, 2)
    pending = (alpha @ values).swapaxes(1, 2).reshape(E, N, P, D)
    new: list[Any] = [cluster, x.relu(pending), None, None]
    if not final:
        new[2] = x.like(x.relu(c)[:, :, None], r.shape)
        sent = score("cluster-shortcut", "source", c).swapaxes(-1, -2)
        asked = score("cluster-shortcut", "target", s)[..., None]
        alpha = x.softmax(x.leaky(sent + asked))
        new[3] = x.relu((alpha @ c * block).sum(-2))
    if form.self_loops:
        for i, (kind, own) in enumerate(zip(TYPES, (c, p, r, s), strict=True)):
            if new[i] is not None:
                scale, shift = w[f"{at}{kind}.scale"], w[f"{at}{kind}.shift"]
                new[i] = x.norm(own + new[i], scale, shift)
    return new


def affine(x: Any, w: Weights, name: str, values: Any) -> Any:
    """Apply a layer; one whose weights have an axis more has a matrix for every cluster."""
    weight, bias = w[f"{name}.weight"], w.get(f"{name}.bias")
    if weight.ndim == 2:
        return x.affine(values, weight, bias)
    wide = values if values.ndim == 4 else values[:, :, None]
    found = wide @ weight.swapaxes(-1, -2)
    if bias is not None:
        found = found + bias[:, None]
    return found if values.ndim == 4 else found[:, :, 0]


def perceptron(x: Any, w: Weights, name: str, values: Any) -> Any:
    """Apply layers with ReLU between them."""
    layer = 0
    while f"{name}.{layer}.weight" in w:
        values = affine(x, w, f"{name}.{layer}", x.relu(values) if layer else values)
        layer += 1
    return values


def own(w: Weights, name: str, dims: int) -> Any:
    """Return a vector of each cluster, or of all, to go with values of so many axes."""
    vector = w[name]
    return vector if vector.ndim == 1 or dims == 3 else vector[:, None]


class Places(NamedTuple):
    """What an actor sees of the places of its pending set.

    Attributes
    ----------
    logits, mask
        How much each place is wanted, and whether it may be named; with a void place, that of
        nobody is the last, shape [E, N, P or P + 1].
    acts
        Whether a cluster has a task that it can name, shape [E, N].
    cluster, pending
        Embeddings of clusters and tasks, from which bundles are chosen.
    """

    logits: Any
    mask: Any
    acts: Any
    cluster: Any
    pending: Any


def places(x: Any, w: Weights, form: Architecture, seen: Seen) -> Places:
    """Return which task every cluster would name."""
    cluster, pending, graph = embed(x, w, form, seen)
    mask = seen.startable if form.mask_unfit else seen.pending[..., 2] < 0.5
    acts = mask.any(-1)
    if form.pointer == "even":
        return Places(0.0 * pending[..., 0], mask, acts, cluster, pending)
    if form.pointer == "first":
        order = x.real(mask)
        order = order * (order.cumsum(-1) < 1.5)
        return Places(0.0 * pending[..., 0], order > 0.5, acts, cluster, pending)
    hidden = pending
    for layer in range(form.encoder):
        hidden = encoded(x, w, f"encoder.{layer}", form, hidden, graph.real)
    held = x.real(graph.real)[..., None]
    count = held.sum(2)
    mean = (hidden * held).sum(2) / (count + x.real(count < 0.5))
    context = x.join([cluster, mean]) if form.reads_cluster else mean
    asked = affine(x, w, "pointer.context", context)[:, :, None]
    thought = x.tanh(affine(x, w, "pointer.task", hidden) + asked)
    logits = (thought * own(w, "pointer.value", 4)).sum(-1)
    if form.void_place:
        nobody = x.tanh(affine(x, w, "void.context", context)) * own(w, "void.value", 3)
        logits = x.join([logits, nobody.sum(-1)[..., None]])
        mask = x.join([mask, acts[..., None]])
    return Places(logits, mask, acts, cluster, pending)


def bundles(x: Any, w: Weights, form: Architecture, seen: Places, chosen: Any) -> Any:
    """Return how much each bundle is wanted for tasks with embeddings `chosen`, [E, N, A B]."""
    values = x.join([chosen, seen.cluster]) if form.reads_cluster else chosen
    return perceptron(x, w, "bundle", values)


def may_give(box: Any, cpu: Any, gpu: Any, *, nothing: bool) -> Any:
    """Return which bundles, flat, shapes [A B], a box [..., 4] allows; (0, 0) as `nothing` says."""
    inside = (cpu >= box[..., 0, None]) & (cpu < box[..., 2, None])
    inside = inside & (gpu >= box[..., 1, None]) & (gpu < box[..., 3, None])
    none = cpu + gpu == 0
    return inside | none if nothing else inside & ~none


def encoded(x: Any, w: Weights, name: str, form: Architecture, values: Any, real: Any) -> Any:
    """Let the places of a pending set hear each other, as a layer of a transformer does."""
    E, N, P, D = values.shape
    H = form.heads

    def heads(part: str) -> Any:
        found = affine(x, w, f"{name}.{part}", values)
        return found.reshape(E, N, P, H, D // H).swapaxes(2, 3)

    likeness = heads("query") @ heads("key").swapaxes(-1, -2) / (D // H) ** 0.5
    heard = x.softmax(likeness, real[:, :, None, None]) @ heads("value")
    heard = heard.swapaxes(2, 3).reshape(E, N, P, D)
    values = values + affine(x, w, f"{name}.out", heard)
    values = _normed(x, w, f"{name}.first", values)
    values = values + perceptron(x, w, f"{name}.forward", values)
    return _normed(x, w, f"{name}.second", values)


def _normed(x: Any, w: Weights, name: str, values: Any) -> Any:
    return x.norm(values, own(w, f"{name}.scale", 4), own(w, f"{name}.shift", 4))


class Actions(NamedTuple):
    """What clusters do in rounds side by side.

    Attributes
    ----------
    action
        Place, CPU cores and GPUs, shape [E, N, 3]; the place after the last names nobody.
    score
        Probability with which each cluster names its task, 1 where it names nobody, shape [E, N].
    acts
        Whether a cluster had a choice, shape [E, N].
    """

    action: Ints
    score: NDArray[np.float64]
    acts: NDArray[np.bool_]


def drawn(shares: NDArray[Any], rng: np.random.Generator | None) -> NDArray[np.int64]:
    """Draw an entry of the last axis, or take the first of the largest without a generator."""
    if rng is None:
        return np.asarray(shares.argmax(-1))
    rising = shares.cumsum(-1, dtype=np.float64)
    at = np.minimum(
        rng.random(shares.shape[:-1]) * rising[..., -1], np.nextafter(rising[..., -1], 0.0)
    )
    found = (rising <= at[..., None]).sum(-1)
    return np.asarray(np.minimum(found, shares.shape[-1] - 1))


def table(sizes: Sizes) -> tuple[Ints, Ints]:
    """Return CPU cores and GPUs of all bundles in order, shapes [A B]."""
    cpu, gpu = np.divmod(np.arange(sizes.bundles), sizes.gpus)
    return cpu, gpu


def act(
    x: Any, w: Weights, form: Architecture, sizes: Sizes, seen: Seen,
    rng: np.random.Generator | None,
) -> Actions:  # fmt: skip
    """Draw the actions of rounds, or take the likeliest without a generator."""
    wants = places(x, w, form, seen)
    shares = x.array(x.softmax(wants.logits, wants.mask))
    acts: NDArray[np.bool_] = x.array(wants.acts)
    E, N, P = seen.node.shape
    place = np.where(acts, drawn(shares, rng), P)
    names = place < P
    held = np.where(names, place, 0)
    rows, columns = np.ogrid[:E, :N]
    chosen = wants.pending[rows, columns, held]
    box = x.array(seen.box)[rows, columns, held]
    allowed = may_give(box, *table(sizes), nothing=not form.void_place)
    wanted = x.array(bundles(x, w, form, wants, chosen))
    given = np.where(names, drawn(masked_softmax(wanted, allowed), rng), 0)
    score = np.where(names, shares[rows, columns, held].astype(np.float64), 1.0)
    action = np.stack([place, *np.divmod(given, sizes.gpus)], axis=-1)
    return Actions(action, np.minimum(score, 1.0), acts)
