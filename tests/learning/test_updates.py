"""Losses, targets and layers against plain loops, and gradients against differences."""

from __future__ import annotations

import numpy as np
import pytest

from edgeopt.learning import advantages, layer_norm, masked_softmax, perceptron

torch = pytest.importorskip("torch", reason="the updates need PyTorch")
pytestmark = pytest.mark.trains

from edgeopt.learning import networks  # noqa: E402


def _differences(function, at, step=1e-6):
    """Return the central differences of a function of a float64 array."""
    slopes = np.zeros_like(at)
    for place in np.ndindex(at.shape):
        ends = []
        for sign in (step, -step):
            moved = at.copy()
            moved[place] += sign
            ends.append(function(moved))
        slopes[place] = (ends[0] - ends[1]) / (2 * step)
    return slopes


def _gradient(function, at):
    tensor = torch.tensor(at, dtype=torch.float64, requires_grad=True)
    function(tensor).backward()
    return tensor.grad.numpy()


def test_advantages_are_the_double_sum():
    draw = np.random.default_rng(0)
    for _ in range(20):
        steps = int(draw.integers(1, 7))
        rewards, discount, decay = draw.random((3, steps, 2))
        values = draw.normal(size=(steps + 1, 2))
        found = advantages(rewards, values, discount, decay)
        errors = rewards + discount * values[1:] - values[:-1]
        for first in range(steps):
            for lane in range(2):
                total, weight = 0.0, 1.0
                for later in range(first, steps):
                    total += weight * errors[later, lane]
                    weight *= discount[later, lane] * decay[later, lane]
                assert found[first, lane] == pytest.approx(total, abs=1e-12)


def test_undiscounted_advantages_are_sums_of_rewards():
    rewards = np.random.default_rng(1).normal(size=(9, 3))
    found = advantages(rewards, np.zeros((10, 3)), 1.0, 1.0)
    np.testing.assert_allclose(found, rewards[::-1].cumsum(0)[::-1], atol=1e-12)


def test_ppo_is_the_definition_and_its_gradient_the_difference():
    draw = np.random.default_rng(2)
    for _ in range(10):
        new, old, gain = draw.normal(size=(3, 12))
        new = old + 0.4 * new
        mask = draw.random(12) < 0.7
        held = [torch.tensor(part) for part in (old, gain, mask)]

        def loss(at, held=held):
            return networks.ppo_loss(torch.as_tensor(at), *held)

        plain = [
            min(np.exp(n - o) * g, np.clip(np.exp(n - o), 0.8, 1.2) * g)
            for n, o, g, m in zip(new, old, gain, mask, strict=True)
            if m
        ]
        assert float(loss(new)) == pytest.approx(-np.mean(plain) if plain else 0.0)
        slopes = _gradient(loss, new)
        np.testing.assert_allclose(slopes, _differences(lambda a: float(loss(a)), new), atol=1e-8)
        assert (slopes[~mask] == 0.0).all()


def test_entries_that_do_not_count_may_be_infinite():
    new = torch.tensor([0.0, -torch.inf], requires_grad=True)
    loss = networks.ppo_loss(
        new, torch.tensor([0.0, -torch.inf]), torch.tensor([1.0, torch.inf]),
        torch.tensor([True, False]),
    )  # fmt: skip
    loss.backward()
    assert loss.item() == -1.0
    assert new.grad.tolist() == [-1.0, 0.0]


def test_soft_values_are_sums_over_actions():
    draw = np.random.default_rng(3)
    logits, first, second = draw.normal(size=(3, 5, 4))
    p = masked_softmax(logits, np.ones_like(logits, dtype=bool))
    found = networks.soft_value(torch.tensor(np.log(p)), *map(torch.tensor, (first, second)), 0.3)
    plain = [
        sum(p[b, a] * (min(first[b, a], second[b, a]) - 0.3 * np.log(p[b, a])) for a in range(4))
        for b in range(5)
    ]
    np.testing.assert_allclose(found.numpy(), plain, atol=1e-12)


def test_the_soft_actor_rests_at_the_softmax_of_its_values():
    draw = np.random.default_rng(4)
    first, second = (torch.tensor(part) for part in draw.normal(size=(2, 3, 2, 5)))
    mask = torch.tensor([[True, True], [True, False], [False, False]])
    best = (torch.minimum(first, second) / 0.4).numpy()

    def loss(at):
        return networks.soft_actor_loss(torch.log_softmax(at, -1), first, second, 0.4, mask)

    assert np.abs(_gradient(loss, best)).max() < 1e-12
    other = best + draw.normal(size=best.shape)
    slopes = _gradient(loss, other)
    differences = _differences(lambda at: float(loss(torch.tensor(at))), other)
    np.testing.assert_allclose(slopes, differences, atol=1e-8)
    assert (slopes[~mask.numpy()] == 0.0).all()
    assert np.abs(slopes[mask.numpy()]).max() > 1e-3


def test_targets_of_double_q_learning():
    online = torch.tensor([[1.0, 3.0], [2.0, 0.0]])
    judge = torch.tensor([[5.0, 7.0], [9.0, 11.0]])
    reward, discount = torch.tensor([1.0, 2.0]), torch.tensor([0.5, 0.0])
    assert networks.double_dqn_target(reward, discount, online, judge).tolist() == [4.5, 2.0]
    mask = torch.tensor([[True, False], [True, True]])
    assert networks.double_dqn_target(reward, discount, online, judge, mask).tolist() == [3.5, 2.0]
    loss = networks.dqn_loss(online, torch.tensor([1, 0]), torch.tensor([3.5, 5.0]))
    assert float(loss) == pytest.approx((0.5 * 0.5**2 + (3.0 - 0.5)) / 2)


def test_a_critic_does_not_chase_its_own_target():
    value = torch.tensor([1.0], requires_grad=True)
    later = torch.tensor([3.0], requires_grad=True)
    loss = networks.critic_loss(value, torch.tensor([1.0]), torch.tensor([0.5]), later)
    loss.backward()
    assert loss.item() == pytest.approx(1.5**2)
    assert later.grad is None


def test_target_networks_follow_by_the_share_of_the_way():
    networks.seeded(0)
    source, target = (networks.Perceptron((3, 4, 2)) for _ in range(2))
    before = networks.to_arrays(target)
    networks.soft_update(target, source, 0.25)
    goal, after = networks.to_arrays(source), networks.to_arrays(target)
    for name, array in after.items():
        np.testing.assert_allclose(array, 0.75 * before[name] + 0.25 * goal[name], atol=1e-6)


def test_networks_in_arrays_equal_those_of_tensors():
    networks.seeded(1)
    draw = np.random.default_rng(5)
    for sizes in ((3, 1), (4, 8, 2), (12, 32, 32, 1)):
        network = networks.Perceptron(sizes, last=0.1)
        values = draw.normal(size=(6, 5, sizes[0])).astype(np.float32)
        expected = network(torch.from_numpy(values)).detach().numpy()
        found = perceptron(networks.to_arrays(network), values)
        np.testing.assert_allclose(found, expected, atol=1e-6)
    values, scale, shift = draw.normal(size=(3, 7))
    expected = torch.nn.functional.layer_norm(
        torch.tensor(values), (7,), torch.tensor(scale), torch.tensor(shift)
    )
    np.testing.assert_allclose(layer_norm(values, scale, shift), expected.numpy(), atol=1e-12)


def test_masked_choices_have_no_chance_and_no_gradient():
    draw = np.random.default_rng(6)
    logits = 100.0 * draw.normal(size=(200, 9))
    mask = draw.random((200, 9)) < 0.5
    mask[0] = False
    tensor = torch.tensor(logits, requires_grad=True)
    log_p = networks.masked_log_softmax(tensor, torch.tensor(mask))
    p = masked_softmax(logits, mask)
    np.testing.assert_allclose(log_p.exp().detach().numpy()[1:], p[1:], atol=1e-12)
    assert (p[~mask] == 0.0).all()
    assert (p[0] == 0.0).all()
    np.testing.assert_allclose(p[1:].sum(-1), mask[1:].any(-1))
    networks.mean_over(log_p, torch.tensor(mask)).backward()
    assert torch.isfinite(tensor.grad).all()
    assert (tensor.grad.numpy()[~mask] == 0.0).all()


def test_a_step_cuts_the_gradient_and_sets_its_rate():
    weight = torch.nn.Parameter(torch.tensor([3.0, 4.0]))
    optimiser = torch.optim.SGD([weight], 1.0)
    networks.set_rate(optimiser, 0.5)
    loss = networks.step(optimiser, 0.5 * weight.square().sum(), [weight], clip=1.0)
    assert loss == pytest.approx(12.5)
    np.testing.assert_allclose(weight.detach().numpy(), [2.7, 3.6], atol=1e-5)
