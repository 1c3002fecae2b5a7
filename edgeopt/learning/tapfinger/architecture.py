"""Which network a learner has: its options, named ones, and the shapes of its weights."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from edgeopt.errors import OptionError
from edgeopt.options import check_choice, check_fields, check_whole

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from edgeopt.instances.tapfinger import TapFingerInstance

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
    """Options of the network of an actor, and of the graph of a critic.

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


def graph_shapes(form: Architecture, sizes: Sizes, *, last: bool) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the weights that make embeddings of nodes.

    `last` says whether the last layer has those of tasks that run, too.
    """
    d, K = form.width, sizes.kinds
    if not form.graph:
        sides = (9 + K, READ, READ, READ, d)
        found = _perceptron("read", sides)
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
            hears = not ends or kind in ("cluster", "pending") or (last and kind == "running")
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
        heads |= _perceptron(f"{name}.forward", (d, FORWARD, d))
        for part in ("first", "second"):
            heads |= {f"{name}.{part}.scale": (d,), f"{name}.{part}.shift": (d,)}
    heads |= _perceptron("bundle", (seen, form.hidden, sizes.bundles))
    own = {name: (*each, *shape) for name, shape in heads.items()}
    return graph_shapes(form, sizes, last=False) | own


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


def _perceptron(name: str, sides: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
    found: dict[str, tuple[int, ...]] = {}
    for layer, (into, out) in enumerate(pairwise(sides)):
        found |= _affine(f"{name}.{layer}", into, out)
    return found
