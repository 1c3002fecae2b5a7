"""Proximal policy optimisation of all clusters together; needs the extra ``rl``."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
import torch

from edgeopt.learning import advantages
from edgeopt.learning.arrays import layer_shapes
from edgeopt.learning.networks import from_arrays, mean_over, ppo_loss, step
from edgeopt.learning.tapfinger.imitation import Common
from edgeopt.learning.tapfinger.network import (
    FEW,
    Architecture,
    Seen,
    embed,
    graph_shapes,
    initial,
    perceptron,
)
from edgeopt.learning.tapfinger.tensors import TorchBackend, Weighted, log_shares, on, seen_by
from edgeopt.options import check_choice, check_flag, check_real, check_whole

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from edgeopt.instances.fields import Floats
    from edgeopt.instances.tapfinger import TapFingerInstance
    from edgeopt.learning.tapfinger.tensors import Device, LogShares

    Rows = dict[str, NDArray[Any]]

RUNS, ROUNDS = 64, 16
"""Runs side by side, and rounds of each of them in an update."""

CRITIC: Final = Architecture(width=64)
"""The graph of a critic with weights of its own."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of the updates.

    Parameters
    ----------
    discount, decay
        Of later rewards, and of later errors of the critic.
    per_slot
        Whether both act once in a slot, instead of once in a round.
    reward
        What an agent is to keep small: all tasks in the system, or those of its cluster.
    critic
        What the critic reads: sums over the nodes of a graph of its own (``"pooled"``), the places
        of one cluster (``"own"``) or of all (``"all"``) of such a graph, or sums over the nodes of
        the actor's (``"shared"``). With ``"own"`` every cluster has a value.
    scaled
        Whether the critic learns returns less their mean over their deviation in the first batch.
    rate, critic_rate
        Step sizes at first.
    clip, entropy, gradient
        Of the ratio; weight of the entropy; most norm of a gradient.
    kl
        Weight of the divergence from the anchor, if there is one.
    epochs, batch
        Passes over the rounds of an update, and rounds in a minibatch.
    """

    discount: float = 0.97
    decay: float = 0.95
    per_slot: bool = True
    reward: Literal["shared", "local"] = "shared"
    critic: Literal["pooled", "own", "all", "shared"] = "pooled"
    scaled: bool = True
    rate: float = 3e-4
    critic_rate: float = 1e-3
    clip: float = 0.2
    entropy: float = 0.01
    gradient: float = 0.5
    kl: float = 0.02
    epochs: int = 2
    batch: int = 512

    def __post_init__(self) -> None:
        for name in ("discount", "decay"):
            check_real(name, getattr(self, name), "[0, 1]")
        for name in ("rate", "critic_rate", "clip", "gradient"):
            check_real(name, getattr(self, name), "(0, inf)")
        for name in ("entropy", "kl"):
            check_real(name, getattr(self, name), "[0, inf)")
        for name in ("per_slot", "scaled"):
            check_flag(name, getattr(self, name))
        check_choice("reward", self.reward, ("shared", "local"))
        check_choice("critic", self.critic, ("pooled", "own", "all", "shared"))
        check_whole("epochs", self.epochs, 1)
        check_whole("batch", self.batch, 1)


class Mappo(Common):
    """Proximal policy optimisation with one critic for all clusters.

    Parameters
    ----------
    form, pool, validation, seed, updates, device
        See `Common`.
    options
        Of the updates.
    begin
        Weights with which it begins; drawn by default.
    anchor
        Weights of a frozen policy that it is to stay near.
    """

    learner = "mappo"
    counted = ("done", "mean", "deviation", "explained")

    def __init__(
        self, form: Architecture, pool: Sequence[TapFingerInstance],
        validation: Sequence[TapFingerInstance], *, seed: int, updates: int, runs: int = RUNS,
        options: Options | None = None, begin: Mapping[str, NDArray[Any]] | None = None,
        anchor: Mapping[str, NDArray[Any]] | None = None, device: Device = "cpu",
    ) -> None:  # fmt: skip
        self.options = options = options or Options()
        super().__init__(
            form, pool, validation, seed=seed, updates=updates, rate=options.rate, runs=runs,
            device=device,
        )  # fmt: skip
        if begin is not None:
            from_arrays(self.actor, begin)
        self.anchor = None
        if anchor is not None:
            self.anchor = Weighted(anchor, options.rate, device).tensors
        self.critic_form = form if options.critic == "shared" else CRITIC
        places = self.runs.seen.node.shape[2]
        parts = {"own": places, "all": self.sizes.clusters * places}.get(options.critic, 3)
        if options.reward == "local" and options.critic != "own":
            parts += 1
        shapes = layer_shapes(parts * self.critic_form.width, 128, 1, prefix="value.")
        if options.critic != "shared":
            shapes |= graph_shapes(CRITIC, self.sizes, last=True)
        self.critic = Weighted(initial(shapes, self.rng), options.critic_rate, device)
        self.nets = {"actor": self.actor, "critic": self.critic}
        self.mean, self.deviation, self.explained = 0.0, 1.0, 0.0

    def value(self, seen: Seen) -> Any:
        """Return the critic's view of rounds, in its own scale, [E], or [E, N] of clusters."""
        x, w, options = TorchBackend, self.critic.tensors, self.options
        if options.critic == "shared":
            cluster, pending, running, graph = embed(x, self.actor.tensors, "", self.form, seen)
        else:
            cluster, pending, running, graph = embed(x, w, "", CRITIC, seen, last=True)
        E, N = cluster.shape[:2]
        if options.critic in ("own", "all"):
            places = pending * x.real(graph.real)[..., None]
            read = places.reshape(*((E, N) if options.critic == "own" else (E,)), -1)
        else:
            first = x.real(graph.first)[..., None]
            parts = [cluster.mean(1), (pending * first).sum((1, 2)) / FEW]
            if running is None:  # the actor has no use for those of tasks that run
                parts.append(torch.zeros_like(parts[0]))
            else:
                parts.append((running * x.real(graph.runs)[..., None]).sum((1, 2)) / FEW)
            read = torch.cat(parts, -1)
        if options.reward == "local" and options.critic != "own":
            read = torch.cat([read[:, None].expand(E, N, -1), cluster], -1)
        return perceptron(x, w, "value", read)[..., 0]

    def _values(self, seen: Seen) -> Floats:
        with torch.no_grad():
            found = self.value(seen_by(seen, self.device)).cpu().numpy()
        return np.asarray(self.mean + self.deviation * found, dtype=np.float64)

    def update(self) -> None:
        """Play some rounds, and learn from them."""
        rows = self.played()
        self.anneal(self.actor, self.critic)
        count = len(rows["label"])
        for _ in range(self.options.epochs):
            order = self.rng.permutation(count)
            for at in range(0, count, self.options.batch):
                some = order[at : at + self.options.batch]
                self.learn({name: part[some] for name, part in rows.items()})

    def played(self) -> Rows:
        """Play rounds, and return them with advantages and targets."""
        options, steps, found = self.options, [], []
        gone: list[NDArray[np.int64]] = []
        for _ in range(ROUNDS):
            seen = self.runs.seen
            made = self.act(seen, self.rng)
            came, last = self.runs.act(made)
            reward = came.local.copy()
            if options.reward == "shared":
                each = reward.shape if options.critic == "own" else came.shared.shape
                reward = np.broadcast_to(came.shared[:, *[None] * (len(each) - 1)], each).copy()
            passes = came.passed > 0 if options.per_slot else np.ones_like(came.terminated)
            discount = np.where(came.terminated, 0.0, np.where(passes, options.discount, 1.0))
            decay = np.where(passes, options.decay, 1.0)
            if last is not None:  # what is cut goes on in the critic's view
                later = discount.reshape(-1, *[1] * (reward.ndim - 1)) * self._values(last)
                reward[came.truncated] += later[came.truncated]
                discount = np.where(came.truncated, 0.0, discount)
            steps.append((reward, discount, decay))
            label = made.action[..., 0], made.action[..., 1] * self.sizes.gpus + made.action[..., 2]
            gone.append(np.stack([*label, came.stood, made.acts], axis=-1))
            found.append(seen)
        reward, discount, decay = (np.stack(part) for part in zip(*steps, strict=True))
        values = np.stack([self._values(seen) for seen in (*found, self.runs.seen)])
        if reward.ndim == 3:
            discount, decay = discount[..., None], decay[..., None]
        ahead = advantages(reward, values, discount, decay)
        target = ahead + values[:-1]
        self.explained = 1.0 - float(ahead.var() / max(target.var(), 1e-12))
        if self.done == 0 and options.scaled:
            self.mean, self.deviation = float(target.mean()), float(target.std()) + 1e-6
        flat = {
            name: np.concatenate(parts)
            for name, parts in zip(Seen._fields, zip(*found, strict=True), strict=True)
        }
        rows: Rows = flat | {"label": np.concatenate(gone)}
        acts = rows["label"][..., 3] > 0
        ahead = np.broadcast_to(ahead.reshape(len(acts), -1), acts.shape)
        mine = ahead[acts]
        if mine.size:
            ahead = (ahead - mine.mean()) / (mine.std() + 1e-8)
        rows["advantage"] = ahead.astype(np.float32)
        scaled = (target - self.mean) / self.deviation
        rows["target"] = scaled.reshape(len(acts), *scaled.shape[2:]).astype(np.float32)
        with torch.no_grad():
            parts = [
                self._chances({name: part[at : at + options.batch] for name, part in rows.items()})
                for at in range(0, len(acts), options.batch)
            ]
        rows["before"] = np.concatenate([part[1].cpu().numpy() for part in parts])
        return rows

    def _chances(self, rows: Rows) -> tuple[LogShares, Any, Any]:
        """Return the policy at rounds, the logarithm of what was done, and what stood."""
        label = on(self.device, rows["label"])
        place, bundle, stood = label[..., 0], label[..., 1], label[..., 2] > 0
        seen = seen_by(rows, self.device)
        shares = log_shares(self.actor.tensors, self.form, self.sizes, seen, place)
        return shares, shares.of(place, bundle, stood), stood

    def learn(self, rows: Rows) -> None:
        """Take a step of actor and critic."""
        options = self.options
        loss, critic = self.losses(rows)
        if options.critic == "shared":
            step(self.actor.optimiser, loss + 0.5 * critic, self.actor.tensors.values(),
                 options.gradient)  # fmt: skip
            _, critic = self.losses(rows)
        else:
            step(self.actor.optimiser, loss, self.actor.tensors.values(), options.gradient)
        step(self.critic.optimiser, critic, self.critic.tensors.values(), options.gradient)

    def losses(self, rows: Rows) -> tuple[Any, Any]:
        """Return what the actor and what the critic is to keep small."""
        options = self.options
        shares, now, stood = self._chances(rows)
        before, ahead = (on(self.device, rows[name]) for name in ("before", "advantage"))
        loss = ppo_loss(now, before, ahead, shares.acts, options.clip)
        if options.entropy:
            spread = -_weighed(shares.place, shares.place) - torch.where(
                stood, _weighed(shares.bundle, shares.bundle), 0.0
            )
            loss = loss - options.entropy * mean_over(spread, shares.acts)
        if self.anchor is not None and options.kl:
            loss = loss + options.kl * self.divergence(rows, shares, stood)
        value = self.value(seen_by(rows, self.device))
        target = on(self.device, rows["target"]).to(value.dtype)
        return loss, torch.nn.functional.smooth_l1_loss(value, target)

    def divergence(self, rows: Rows, shares: LogShares, stood: Any) -> Any:
        """Return the mean divergence of the policy from the anchor."""
        assert self.anchor is not None
        place = on(self.device, rows["label"])[..., 0]
        with torch.no_grad():
            seen = seen_by(rows, self.device)
            other = log_shares(self.anchor, self.form, self.sizes, seen, place)
        apart = _weighed(shares.place, shares.place - other.place)
        given = _weighed(shares.bundle, shares.bundle - other.bundle)
        return mean_over(apart + torch.where(stood, given, 0.0), shares.acts)

    def evaluate(self) -> dict[str, float]:
        """Return the mean flow time on validation instances, and what the critic explains."""
        return super().evaluate() | {"explained": self.explained}

    def about(self) -> dict[str, Any]:
        """Return the record of the checkpoint."""
        return self.record(options=asdict(self.options), anchored=self.anchor is not None)


def _weighed(logs: Any, values: Any) -> Any:
    """Return the mean of values under a policy given by logarithms of its probabilities."""
    shares = logs.exp()
    return torch.where(shares > 0.0, shares * values, 0.0).sum(-1)
