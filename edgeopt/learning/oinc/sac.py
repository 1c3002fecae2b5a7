"""The published learner: a soft actor and two critics with one head per device and choice.

Zeng et al., section IV-B, print the inputs, the reward and the layers; rates, discount, levels and
the temperature are left open and are options here. The inputs hold neither channel nor objectives,
so that what is learnt holds for one instance.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, get_args

import numpy as np
import torch

from edgeopt.errors import OptionError
from edgeopt.learning import ReplayBuffer
from edgeopt.learning.networks import (
    NetworkLearner,
    Perceptron,
    by_row,
    masked_log_softmax,
    mean_over,
    set_rate,
    soft_actor_loss,
    soft_update,
    soft_value,
    step,
    to_arrays,
)
from edgeopt.learning.oinc.credit import (
    Credit,
    Latencies,
    best_latencies,
    closed_latencies,
    credits,
    expected_cost,
    level_latencies,
)
from edgeopt.learning.oinc.insertion import measured
from edgeopt.learning.oinc.published import RATE, choices, inputs_of, names_of, planned
from edgeopt.learning.oinc.slots import LATER, Rooms, later, scenario
from edgeopt.options import check_choice, check_real, check_whole

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from edgeopt.arrays import Floats


TARGETS: Final = 0.005
"""How far targets move towards critics in an update."""

CAPACITY: Final = 10_000
"""Slots that are kept; older ones were played by another policy, which critics would learn."""

LEAST: Final = 0.1
"""Part of the step size that is left at the end of its fall in the second half of a training."""

CLOSE: Final = 1.0 + 1e-9
"""Latency over objective that still counts as met, as in plans."""

CRITICS: Final = ("first", "second")
"""Names of the critics."""

Method = Literal["sampled", "exact"]
"""Whether the actor learns from critics, or from its expected latencies, objectives left out."""

Shares = Literal["levels", "exact"]
"""Shares in proportion to levels that are chosen too, or the best ones."""


def critic_target(reward: Any, discount: Any, log_p: Any, first: Any, second: Any,
                  temperature: float, mask: Any) -> Any:  # fmt: skip
    """Return reward and discounted value of the next state, [B] or by head [B, H]."""
    later = by_row(soft_value(log_p, first, second, temperature), mask) * discount
    return reward + (later if reward.dim() == 1 else later[:, None])


def factored_loss(values: Any, action: Any, target: Any, mask: Any) -> Any:
    """Return the squared error of a critic whose value is the mean over the heads that count.

    A target by head, [B, H], is that of the value of each head.
    """
    taken = values.gather(-1, action[..., None]).squeeze(-1)
    if target.dim() == 1:
        return mean_over((by_row(taken, mask) - target) ** 2, mask.any(-1))
    return mean_over((taken - target) ** 2, mask)


class SacLearner(NetworkLearner):
    """Learner of the published actor for one instance."""

    system, learner, figure = "oinc", "sac-d", "reward"
    sense: Literal["min", "max"] = "max"

    def __init__(
        self,
        *,
        seed: int,
        updates: int,
        rooms: Rooms | None = None,
        held_out: int = LATER,
        hidden: Sequence[int] = (128, 128),
        rate: float = 1e-3,
        batch: int = 128,
        played: int = 64,
        discount: float = 0.0,
        temperature: float = 0.1,
        method: Method = "sampled",
        credit: Credit = "global",
        shares: Shares = "exact",
        levels: int = 10,
    ) -> None:
        check_choice("credit", credit, get_args(Credit))
        check_choice("shares", shares, get_args(Shares))
        check_real("discount", discount, "[0, 1)")
        check_real("temperature", temperature, "[0, inf)")
        check_whole("levels", levels, 1)
        check_whole("played", played, 1)
        check_choice("method", method, get_args(Method))
        if method == "exact" and shares != "exact":
            raise OptionError('method = "exact": needs shares = "exact"')
        if discount and credit != "global":
            raise OptionError(f"credit = {credit!r}: needs discount = 0")
        super().__init__(seed, updates)
        self.batch, self.played, self.rate = batch, played, rate
        self.discount, self.temperature = discount, temperature
        self.method, self.credit, self.shares = method, credit, shares
        self.settings = {
            "hidden": list(hidden), "rate": rate, "batch": batch, "played": played,
            "discount": discount, "temperature": temperature, "method": method, "credit": credit,
            "shares": shares, "levels": levels,
        }  # fmt: skip
        self.rooms = scenario() if rooms is None else rooms
        self.instance = self.rooms.instance
        devices, sites = self.instance.devices, self.instance.sites
        kinds = choices(sites, levels if shares == "levels" else None)
        allowed = np.zeros((devices, len(kinds), max(kinds)), np.bool_)
        for kind, count in enumerate(kinds):
            allowed[:, kind, :count] = True
        self.kinds, self.shape = len(kinds), (devices * len(kinds), max(kinds))
        held = torch.from_numpy(allowed.reshape(self.shape))
        self.allowed = None if held.all() else held
        layers = (2 * devices + sites, *hidden, devices * len(kinds) * max(kinds))
        self.networks = torch.nn.ModuleDict(
            {name: Perceptron(layers) for name in ("actor", "first", "second")}
        )
        self.nets = {"networks": self.networks}
        # Without a discount nothing asks for the value of the next state.
        self.targets = {name: Perceptron(layers) for name in CRITICS} if discount else {}
        for name, target in self.targets.items():
            target.load_state_dict(self.networks[name].state_dict())
            self.nets[name] = target
        adam = torch.optim.Adam(self.networks.parameters(), rate, fused=True)
        self.optimisers = {"networks": adam}
        self.buffer = ReplayBuffer(CAPACITY)
        self.stores = {"buffer": self.buffer}
        self.slots, self.validation = later(self.rooms, held_out)
        self.training = self.rooms.busy[self.rooms.busy < self.slots[0]]
        self.mask = self.instance.active
        shape = (2, self.instance.slots, devices, sites)
        self.slo, self.times = np.full(shape[1:3], np.inf), np.zeros(shape)
        self.asked = np.zeros((self.instance.slots, 2 * devices), np.float32)
        for slot in self.rooms.busy:
            whole = self.rooms.requests(int(slot))
            self.slo[slot, whole.device] = whole.slo
            self.times[:, slot, whole.device] = whole.transmission, whole.computation
            self.asked[slot] = self.inputs(slot, np.empty(0))

    # --- inputs and outputs ------------------------------------------------------------------

    def inputs(self, slot: int, room: Floats) -> NDArray[np.float32]:
        """Return what the actor sees of a slot."""
        instance = self.instance
        device = np.flatnonzero(instance.active[slot])
        size, work = instance.request_size[slot, device], instance.request_work[slot, device]
        return inputs_of(instance.devices, device, size, work, room)

    def heads(self, network: Any, inputs: Any) -> Any:
        """Return the outputs of a network by head and choice, [B, H, A]."""
        return network(inputs).unflatten(-1, self.shape)

    def log_policy(self, inputs: Any) -> Any:
        """Return log-probabilities of the choices of every head, [B, H, A]."""
        return masked_log_softmax(self.heads(self.networks["actor"], inputs), self.allowed)

    def counting(self, slots: Any) -> NDArray[np.bool_]:
        """Return which heads count: those of devices with a request, [B, H]."""
        return np.repeat(self.mask[slots], self.kinds, axis=-1)

    def outcomes(self, slots: Any, rooms: Floats, action: NDArray[np.int64]) -> Floats:
        """Return what the devices are credited with in slots, [B, I]."""
        chosen = action.reshape(len(slots), -1, self.kinds)
        row, device = np.arange(len(slots))[:, None], np.arange(self.instance.devices)
        site, active, count = chosen[..., 0], self.mask[slots], self.mask[slots].sum(axis=-1)
        slo = self.slo[slots]
        if self.shares == "exact" and self.credit != "difference":
            latency = np.zeros(site.shape)
            best_latencies(self.times[:, slots], slo, site, rooms, active, latency)
            return credits(Latencies(latency, latency), slo * CLOSE, self.credit, count)
        sending, computing = self.times[:, slots[:, None], device, site]
        computing = computing / rooms[row, site]
        if self.shares == "exact":
            found = closed_latencies(np.sqrt(sending), np.sqrt(computing), site)
        else:
            alone = np.where(active, site, -1)
            found = level_latencies(
                sending, computing, alone, chosen[..., 1] + 1, chosen[..., 2] + 1
            )
        return credits(found, slo, self.credit, count)

    # --- training ----------------------------------------------------------------------------

    def update(self) -> None:
        """Take a gradient step, for which critics have played slots and learn from more of them."""
        if self.method == "exact":
            step(self.optimisers["networks"], self.expected())
        else:
            self._play()
            left = max(1.0 - self.done / self.updates, 0.0)
            set_rate(self.optimisers["networks"], self.rate * max(min(2.0 * left, 1.0), LEAST))
            held = self.buffer.sample(self.batch, self.rng)
            rows = {name: torch.from_numpy(part) for name, part in held.items()}
            step(self.optimisers["networks"], sum(self.losses(rows, self.temperature * left)))
            for name, target in self.targets.items():
                soft_update(target, self.networks[name], TARGETS)
        self.done += 1

    def losses(self, rows: Mapping[str, Any], temperature: float) -> tuple[Any, Any, Any]:
        """Return the losses of both critics and of the actor; none depends on another's network."""
        inputs, mask, target = rows["inputs"], rows["mask"], rows["reward"]
        if self.discount:
            with torch.no_grad():
                after = rows["next"]
                first, second = (self.heads(one, after) for one in self.targets.values())
                target = critic_target(
                    target, self.discount, self.log_policy(after), first, second, temperature,
                    rows["next_mask"],
                )  # fmt: skip
        one, other = (self.heads(self.networks[name], inputs) for name in CRITICS)
        first, second = (factored_loss(q, rows["action"], target, mask) for q in (one, other))
        actor = soft_actor_loss(self.log_policy(inputs), one, other, temperature, mask)
        return first, second, actor

    def expected(self) -> Any:
        """Return the expected latency of a request in drawn slots, objectives left out."""
        slots, _, rooms, inputs = self._drawn(self.batch)
        p = self.log_policy(torch.from_numpy(inputs)).exp()
        times = self.times[:, slots]
        times[1] /= rooms[:, None]
        roots = torch.from_numpy(np.sqrt(times).astype(np.float32))
        count = torch.from_numpy(self.mask[slots].sum(axis=1))
        return (expected_cost(p, roots) / count).mean()

    def _drawn(self, count: int) -> tuple[Any, Any, Floats, NDArray[np.float32]]:
        """Draw slots, those after them, CPU that is left, and give inputs."""
        chosen = self.rng.integers(len(self.training) - 1, size=count)
        slots, following = self.training[chosen], self.training[chosen + 1]
        rooms = self.rooms.many(self.rng, count)
        return slots, following, rooms, self._seen(slots, rooms)

    def _seen(self, slots: Any, rooms: Floats) -> NDArray[np.float32]:
        return np.concatenate([self.asked[slots], rooms], axis=1, dtype=np.float32)

    def _play(self) -> None:
        """Draw slots, sample choices, and keep what came of them."""
        slots, following, rooms, inputs = self._drawn(self.played)
        with torch.no_grad():
            p = self.log_policy(torch.from_numpy(inputs)).exp().numpy()
        up_to = p.cumsum(axis=-1)
        level = self.rng.random((*up_to.shape[:2], 1)) * up_to[..., -1:]
        action = (up_to[..., :-1] <= level).sum(axis=-1)
        found = self.outcomes(slots, rooms, action).astype(np.float32)
        rows = {
            "inputs": inputs, "action": action, "mask": self.counting(slots),
            "reward": found[:, 0] if self.credit == "global" else found.repeat(self.kinds, axis=1),
        }  # fmt: skip
        if self.discount:
            after = self.rooms.many(self.rng, self.played)
            rows |= {"next": self._seen(following, after), "next_mask": self.counting(following)}
        self.buffer.add(rows)

    # --- what the loop of training asks ----------------------------------------------------------

    def evaluate(self) -> dict[str, float]:
        """Return reward, latency and share in time of the most likely choices on other slots."""
        inputs = [
            self.inputs(int(slot), one.room)
            for slot, one in zip(self.slots, self.validation, strict=True)
        ]
        with torch.no_grad():
            best = self.log_policy(torch.from_numpy(np.stack(inputs))).argmax(-1).numpy()
        plans = [
            planned(one, action.reshape(-1, self.kinds))
            for one, action in zip(self.validation, best, strict=True)
        ]
        return measured(plans)

    def weights(self) -> dict[str, NDArray[Any]]:
        """Return copies of the weights of the actor, and the rates that it cannot see."""
        return {RATE: np.array(self.instance.rate[0]), **to_arrays(self.networks["actor"])}

    def about(self) -> dict[str, Any]:
        """Return what the checkpoint says of the training."""
        return {
            "settings": self.settings,
            "features": names_of(self.instance),
            "seeds": {"learner": [self.seed]},
            "instances": [self.instance.fingerprint()],
        }
