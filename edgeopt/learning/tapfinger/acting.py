"""Actions drawn from what an actor wants, in NumPy or PyTorch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from edgeopt.learning import masked_softmax
from edgeopt.learning.tapfinger.network import bundles, may_give, places

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.learning.tapfinger.architecture import Architecture, Sizes
    from edgeopt.learning.tapfinger.network import Seen, Weights

    Ints = NDArray[np.int64]


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
