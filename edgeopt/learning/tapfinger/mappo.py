"""Proximal policy optimisation of all clusters together; needs the extra ``rl``."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
import torch

from edgeopt.learning import advantages
from edgeopt.learning.networks import from_arrays, mean_over, ppo_loss, step
from edgeopt.learning.tapfinger.aggregates import aggregates
from edgeopt.learning.tapfinger.critic import Critic
from edgeopt.learning.tapfinger.imitation import Common
from edgeopt.learning.tapfinger.network import Seen
from edgeopt.learning.tapfinger.tensors import Weighted, log_shares, on, seen_by
from edgeopt.options import check_choice, check_flag, check_real, check_whole

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from edgeopt.instances.tapfinger import TapFingerInstance
    from edgeopt.learning.tapfinger.network import Architecture
    from edgeopt.learning.tapfinger.tensors import Device, LogShares

    Rows = dict[str, NDArray[Any]]

RUNS, ROUNDS = 64, 32
"""Runs side by side, and rounds of each of them in an update."""

CRITIC_BATCH: Final = 256
"""Rounds in a minibatch of the critic."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of the updates.

    Parameters
    ----------
    discount, decay
        Of later rewards, and of later errors of the critic.
    per_slot
        Whether both act once in a slot, instead of once in a round.
    credit
        What an agent is to keep small: all tasks in the system (``"team"``), or as printed those of
        its cluster (``"own"``), with a value of its own.
    told
        Whether the critic reads, in training alone, the slots that running tasks still take and the
        arrivals to come. This is ours; the paper's critic knows what the actor sees.
    rate, critic_rate
        Step sizes, the actor's at first.
    clip, entropy, gradient
        Of the ratio; weight of the entropy at first, which falls as the rate does; most norm of a
        gradient.
    far
        Divergence from the policy that played, in the mean of a pass, after which an update ends.
    kl
        Weight of the divergence from the anchor, if there is one.
    epochs, batch
        Most passes over the rounds of an update, and rounds in a minibatch of the actor.
    """

    discount: float = 0.97
    decay: float = 0.8
    per_slot: bool = True
    credit: Literal["team", "own"] = "team"
    told: bool = True
    rate: float = 1e-3
    critic_rate: float = 1e-3
    clip: float = 0.2
    entropy: float = 0.015
    gradient: float = 1.0
    far: float = 0.03
    kl: float = 0.02
    epochs: int = 3
    batch: int = 512

    def __post_init__(self) -> None:
        for name in ("discount", "decay"):
            check_real(name, getattr(self, name), "[0, 1]")
        for name in ("rate", "critic_rate", "clip", "gradient", "far"):
            check_real(name, getattr(self, name), "(0, inf)")
        for name in ("entropy", "kl"):
            check_real(name, getattr(self, name), "[0, inf)")
        for name in ("per_slot", "told"):
            check_flag(name, getattr(self, name))
        check_choice("credit", self.credit, ("team", "own"))
        check_whole("epochs", self.epochs, 1)
        check_whole("batch", self.batch, 1)


class Mappo(Common):
    """Proximal policy optimisation with one critic for all clusters.

    Parameters
    ----------
    form, pool, validation, seed, updates, device, first
        See `Common`.
    options
        Of the updates.
    begin
        Weights with which it begins; drawn by default.
    anchor
        Weights of a frozen policy that it is to stay near.
    """

    learner, eps = "mappo", 1e-5
    counted = ("done", "rounds", "steps", "explained", "left")

    def __init__(
        self, form: Architecture, pool: Sequence[TapFingerInstance],
        validation: Sequence[TapFingerInstance], *, seed: int, updates: int, runs: int = RUNS,
        options: Options | None = None, begin: Mapping[str, NDArray[Any]] | None = None,
        anchor: Mapping[str, NDArray[Any]] | None = None, device: Device = "cpu",
        first: Sequence[TapFingerInstance] = (),
    ) -> None:  # fmt: skip
        self.options = options = options or Options()
        super().__init__(
            form, pool, validation, seed=seed, updates=updates, rate=options.rate, runs=runs,
            device=device, first=first,
        )  # fmt: skip
        if begin is not None:
            from_arrays(self.actor, begin)
        self.anchor = None
        if anchor is not None:
            self.anchor = Weighted(anchor, options.rate, device).tensors
        size = self._read().shape[-1]
        self.critic = Critic(size, options.critic_rate, self.rng, device)
        self.nets = {"actor": self.actor, "critic": self.critic}
        self.rounds = self.steps = 0
        self.explained, self.left, self.team = 0.0, 1.0, options.credit == "team"

    def _read(self) -> NDArray[np.float32]:
        return aggregates(self.runs.session.batch.state, told=self.options.told)

    def update(self) -> None:
        """Play some rounds, and learn from them."""
        rows, options = self.played(), self.options
        self.left = self.anneal()
        count = len(rows["label"])
        for _ in range(options.epochs):
            for some in self._shuffled(np.arange(count), CRITIC_BATCH):
                error = self.error({name: rows[name][some] for name in ("read", "target")})
                step(self.critic.optimiser, error, self.critic.tensors.values(), options.gradient)
        acting = np.flatnonzero(rows["label"][..., 3].any(1))
        for _ in range(options.epochs):
            apart = []
            for some in self._shuffled(acting, options.batch):
                loss, moved = self.loss({name: part[some] for name, part in rows.items()})
                step(self.actor.optimiser, loss, self.actor.tensors.values(), options.gradient)
                apart.append(float(moved))
            self.steps += len(apart)
            if np.mean(apart) > options.far:
                break

    def _shuffled(self, rows: NDArray[np.int64], batch: int) -> Iterator[NDArray[np.int64]]:
        order = self.rng.permutation(rows)
        return (order[at : at + batch] for at in range(0, len(order), batch))

    def played(self) -> Rows:
        """Play rounds, and return them with advantages and targets; the critic's scale follows."""
        options, steps, found = self.options, [], []
        gone: list[NDArray[np.int64]] = []
        reads = [self._read()]
        for _ in range(ROUNDS):
            seen = self.runs.seen
            made = self.act(seen, self.rng)
            came = self.runs.act(made)
            reward = (came.shared if self.team else came.local).copy()
            passes = came.passed > 0 if options.per_slot else np.ones_like(came.terminated)
            discount = np.where(came.terminated, 0.0, np.where(passes, options.discount, 1.0))
            decay = np.where(passes, options.decay, 1.0)
            if came.truncated.any():  # what is cut goes on in the critic's view
                later = self.critic.values(self._read(), team=self.team)
                later *= discount.reshape(-1, *[1] * (reward.ndim - 1))
                reward[came.truncated] += later[came.truncated]
                discount = np.where(came.truncated, 0.0, discount)
            self.runs.renew(came)
            reads.append(self._read())
            steps.append((reward, discount, decay))
            label = made.action[..., 0], made.action[..., 1] * self.sizes.gpus + made.action[..., 2]
            gone.append(np.stack([*label, came.stood, made.acts], axis=-1))
            found.append(seen)
        self.rounds += ROUNDS * len(came.terminated)
        reward, discount, decay = (np.stack(part) for part in zip(*steps, strict=True))
        read = np.stack(reads)
        values = self.critic.values(read, team=self.team)
        if reward.ndim == 3:
            discount, decay = discount[..., None], decay[..., None]
        ahead = advantages(reward, values, discount, decay)
        target = ahead + values[:-1]
        self.explained = 1.0 - float(ahead.var() / max(target.var(), 1e-12))
        self.critic.rescale(target)
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
        scaled = (target - self.critic.mean) / self.critic.spread
        rows["target"] = scaled.reshape(len(acts), *scaled.shape[2:]).astype(np.float32)
        rows["read"] = read[:-1].reshape(len(acts), *read.shape[2:])
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

    def loss(self, rows: Rows) -> tuple[Any, Any]:
        """Return what the actor is to keep small, and how far it is from the policy that played."""
        options = self.options
        shares, now, stood = self._chances(rows)
        before, ahead = (on(self.device, rows[name]) for name in ("before", "advantage"))
        loss = ppo_loss(now, before, ahead, shares.acts, options.clip)
        if options.entropy:
            spread = -_weighed(shares.place, shares.place) - torch.where(
                stood, _weighed(shares.bundle, shares.bundle), 0.0
            )
            loss = loss - self.left * options.entropy * mean_over(spread, shares.acts)
        if self.anchor is not None and options.kl:
            loss = loss + options.kl * self.divergence(rows, shares, stood)
        change = torch.where(shares.acts, now - before, 0.0).detach()
        return loss, mean_over(change.exp() - 1.0 - change, shares.acts)

    def error(self, rows: Rows) -> Any:
        """Return what the critic is to keep small."""
        value = self.critic.value(on(self.device, rows["read"]), team=self.team)
        target = on(self.device, rows["target"]).to(value.dtype)
        return torch.nn.functional.smooth_l1_loss(value, target)

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
        """Return the mean flow time on validation instances, and how the training stands.

        That is what the critic explains of the variance of returns, and the rounds so far.
        """
        found = {"explained": self.explained, "rounds": self.rounds}
        return super().evaluate() | found

    def about(self) -> dict[str, Any]:
        """Return the record of the checkpoint."""
        anchored = self.anchor is not None
        told = "durations" if self.options.told or anchored else "nothing"
        return self.record(options=asdict(self.options), anchored=anchored, told=told)


def _weighed(logs: Any, values: Any) -> Any:
    """Return the mean of values under a policy given by logarithms of its probabilities."""
    shares = logs.exp()
    return torch.where(shares > 0.0, shares * values, 0.0).sum(-1)
