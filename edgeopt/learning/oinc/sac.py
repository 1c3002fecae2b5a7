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
    soft_actor_loss,
    soft_update,
    soft_value,
    step,
    to_arrays,
)
from edgeopt.learning.oinc.credit import (
    Credit,
    closed_latencies,
    credits,
    expected_cost,
    level_latencies,
    roots_of,
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

CAPACITY: Final = 100_000
"""Slots that are kept."""

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
        hidden: Sequence[int] = (1024, 512),
        rate: float = 3e-4,
        batch: int = 256,
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
        check_choice("method", method, get_args(Method))
        if method == "exact" and shares != "exact":
            raise OptionError('method = "exact": needs shares = "exact"')
        if discount and credit != "global":
            raise OptionError(f"credit = {credit!r}: needs discount = 0")
        super().__init__(seed, updates)
        self.batch, self.discount, self.temperature = batch, discount, temperature
        self.method, self.credit, self.shares = method, credit, shares
        self.settings = {
            "hidden": list(hidden), "rate": rate, "batch": batch, "discount": discount,
            "temperature": temperature, "method": method, "credit": credit, "shares": shares,
            "levels": levels,
        }  # fmt: skip
        self.rooms = scenario() if rooms is None else rooms
        self.instance = self.rooms.instance
        devices, sites = self.instance.devices, self.instance.sites
        kinds = choices(sites, levels if shares == "levels" else None)
        allowed = np.zeros((devices, len(kinds), max(kinds)), np.bool_)
        for kind, count in enumerate(kinds):
            allowed[:, kind, :count] = True
        self.kinds = len(kinds)
        self.allowed = torch.from_numpy(allowed.reshape(-1, max(kinds)))
        layers = (2 * devices + sites, *hidden, self.allowed.numel())
        self.networks = torch.nn.ModuleDict(
            {name: Perceptron(layers) for name in ("actor", "first", "second")}
        )
        self.targets = torch.nn.ModuleDict(
            {name: Perceptron(layers) for name in ("first", "second")}
        )
        for name, target in self.targets.items():
            target.load_state_dict(self.networks[name].state_dict())
        self.optimisers = {
            name: torch.optim.Adam(network.parameters(), rate)
            for name, network in self.networks.items()
        }
        self.nets = {"networks": self.networks, "targets": self.targets}
        self.buffer = ReplayBuffer(CAPACITY)
        self.stores = {"buffer": self.buffer}
        self.slots, self.validation = later(self.rooms, held_out)
        self.training = self.rooms.busy[self.rooms.busy < self.slots[0]]

    # --- inputs and outputs ------------------------------------------------------------------

    def inputs(self, slot: int, room: Floats) -> NDArray[np.float32]:
        """Return what the actor sees of a slot."""
        instance = self.instance
        device = np.flatnonzero(instance.active[slot])
        size, work = instance.request_size[slot, device], instance.request_work[slot, device]
        return inputs_of(instance.devices, device, size, work, room)

    def heads(self, network: Any, inputs: Any) -> Any:
        """Return the outputs of a network by head and choice, [B, H, A]."""
        return network(inputs).unflatten(-1, self.allowed.shape)

    def log_policy(self, inputs: Any) -> Any:
        """Return log-probabilities of the choices of every head, [B, H, A]."""
        return masked_log_softmax(self.heads(self.networks["actor"], inputs), self.allowed)

    def counting(self, slots: Any) -> Any:
        """Return which heads count: those of devices with a request, [B, H]."""
        return torch.from_numpy(np.repeat(self.instance.active[slots], self.kinds, axis=-1))

    def outcome(self, slot: int, room: Floats, action: Any) -> Floats:
        """Return what the requests of a slot are credited with."""
        problem = self.rooms.requests(slot).with_reserved(1.0 - room)
        chosen = action.reshape(-1, self.kinds)[problem.device]
        if self.shares == "exact":
            found = closed_latencies(problem, chosen[:, 0])
        else:
            found = level_latencies(problem, chosen[:, 0], chosen[:, 1] + 1, chosen[:, 2] + 1)
        return credits(found, problem.slo, self.credit)

    # --- training ----------------------------------------------------------------------------

    def update(self) -> None:
        """Play a batch of slots, and learn from as many that were played."""
        if self.method == "exact":
            step(self.optimisers["actor"], self.expected())
            self.done += 1
            return
        self._play()
        left = max(1.0 - self.done / self.updates, 0.0)
        held = self.buffer.sample(self.batch, self.rng)
        rows = {name: torch.from_numpy(part) for name, part in held.items()}
        critics, actor = self.losses(rows, self.temperature * left)
        for name, loss in critics.items():
            step(self.optimisers[name], loss)
            soft_update(self.targets[name], self.networks[name], TARGETS)
        step(self.optimisers["actor"], actor())
        self.done += 1

    def losses(self, rows: Mapping[str, Any], temperature: float) -> tuple[dict[str, Any], Any]:
        """Return the losses of the critics, and a function that gives that of the actor."""
        inputs, mask, target = rows["inputs"], rows["mask"], rows["reward"]
        if self.discount:
            with torch.no_grad():
                after = rows["next"]
                first, second = (self.heads(self.targets[one], after) for one in self.targets)
                target = critic_target(
                    target, self.discount, self.log_policy(after), first, second, temperature,
                    rows["next_mask"],
                )  # fmt: skip
        critics = {
            name: factored_loss(
                self.heads(self.networks[name], inputs), rows["action"], target, mask
            )
            for name in ("first", "second")
        }

        def actor() -> Any:
            """Return the loss of the actor, with critics as they are by then."""
            with torch.no_grad():
                first, second = (self.heads(self.networks[one], inputs) for one in critics)
            return soft_actor_loss(self.log_policy(inputs), first, second, temperature, mask)

        return critics, actor

    def expected(self) -> Any:
        """Return the expected latency of a request in drawn slots, objectives left out."""
        slots, _, rooms, inputs = self._drawn()
        p = self.log_policy(inputs).exp()
        total = torch.zeros(())
        for row, (slot, room) in enumerate(zip(slots, rooms, strict=True)):
            problem = self.rooms.requests(int(slot)).with_reserved(1.0 - room)
            roots = [torch.from_numpy(root.astype(np.float32)) for root in roots_of(problem)]
            total = (
                total
                + expected_cost(p[row, torch.tensor(problem.device)], roots) / problem.requests
            )
        return total / len(slots)

    def _drawn(self) -> tuple[Any, Any, list[Floats], Any]:
        """Draw slots, those after them, CPU that is left, and give inputs."""
        chosen = self.rng.integers(len(self.training) - 1, size=self.batch)
        slots, following = self.training[chosen], self.training[chosen + 1]
        rooms = [self.rooms.room(self.rng) for _ in slots]
        inputs = np.stack([self.inputs(*one) for one in zip(slots, rooms, strict=True)])
        return slots, following, rooms, torch.from_numpy(inputs)

    def _play(self) -> None:
        """Draw slots, sample choices, and keep what came of them."""
        slots, following, rooms, inputs = self._drawn()
        with torch.no_grad():
            p = self.log_policy(inputs).exp()
        flat = torch.multinomial(p.flatten(0, 1), 1, generator=self.generator)
        action = flat.view(len(slots), -1).numpy()
        mask = self.counting(slots).numpy()
        reward = np.zeros(mask.shape, np.float32)
        for row, (slot, room) in enumerate(zip(slots, rooms, strict=True)):
            reward[row, mask[row]] = np.repeat(
                self.outcome(int(slot), room, action[row]), self.kinds
            )
        together = reward.max(axis=1, where=mask, initial=-np.inf)
        rows = {
            "inputs": inputs.numpy(), "action": action, "mask": mask,
            "reward": together if self.credit == "global" else reward,
        }  # fmt: skip
        if self.discount:
            after = [self.rooms.room(self.rng) for _ in following]
            seen = [self.inputs(*one) for one in zip(following, after, strict=True)]
            rows |= {"next": np.stack(seen), "next_mask": self.counting(following).numpy()}
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
