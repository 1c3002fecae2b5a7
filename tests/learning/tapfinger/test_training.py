"""Training in PyTorch: equal networks, probabilities, gradients, and runs that can be repeated."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from edgeopt.cli.main import run
from edgeopt.errors import OptionError
from edgeopt.learning import train
from edgeopt.learning.tapfinger.network import (
    PRESETS,
    Architecture,
    NumpyBackend,
    Seen,
    actor_shapes,
    bundles,
    initial,
    places,
)
from edgeopt.learning.tapfinger.runs import Runs, Teacher
from edgeopt.online.tapfinger import ReservationSpt
from tests.draws import LEAN, every, some
from tests.learning.tapfinger.rounds import (
    INSTANCES,
    SIZES,
    reordered,
    rounds,
    weights,
)

torch = pytest.importorskip("torch", reason="training needs PyTorch")
pytestmark = pytest.mark.trains

from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402

from edgeopt.learning.networks import ppo_loss, to_arrays  # noqa: E402
from edgeopt.learning.tapfinger import imitation, mappo, training  # noqa: E402
from edgeopt.learning.tapfinger.imitation import Imitation  # noqa: E402
from edgeopt.learning.tapfinger.mappo import Mappo, Options  # noqa: E402
from edgeopt.learning.tapfinger.tensors import (  # noqa: E402
    TorchBackend,
    Weighted,
    log_shares,
    on,
    seen_by,
)

TINY = Architecture(width=8, heads=2, hidden=8)
CRITICS = ("pooled", "own", "all", "shared")


@pytest.fixture(autouse=True)
def few_steps(monkeypatch):
    monkeypatch.setattr(mappo, "ROUNDS", 8)
    monkeypatch.setattr(imitation, "PASSES", 6)
    monkeypatch.setattr(imitation, "BATCH", 64)


def ppo(form=TINY, updates=4, **options):
    given = {"seed": 0, "updates": updates, "runs": 4}
    return Mappo(form, INSTANCES, INSTANCES[:1], options=Options(**options), **given)


@pytest.mark.parametrize("name", [name for name in PRESETS if name != "paper"])
def test_numpy_runs_the_same_network(name):
    check_equal(PRESETS[name], weights(name))


def test_numpy_runs_the_network_of_the_paper():
    form = replace(PRESETS["paper"], width=16, layers=3, hidden=16)
    check_equal(form, initial(actor_shapes(form, SIZES), np.random.default_rng(0)))


def check_equal(form, w):
    seen, tensors = rounds(), {name: torch.from_numpy(part) for name, part in w.items()}
    with torch.no_grad():
        found = [
            (x.array(x.softmax(wants.logits, wants.mask)), wants, x.array(given))
            for x, held, given_seen in (
                (NumpyBackend, w, seen),
                (TorchBackend, tensors, seen_by(seen)),
            )
            for wants in [places(x, held, form, given_seen)]
            for given in [bundles(x, held, form, wants, wants.pending[:, :, 0])]
        ]
    np.testing.assert_allclose(found[0][0], found[1][0], atol=1e-5)
    np.testing.assert_allclose(found[0][2], found[1][2], atol=1e-5)
    np.testing.assert_array_equal(found[0][1].mask, found[1][1].mask.numpy())


def test_probability_of_an_action_is_that_of_place_and_bundle():
    learner = ppo()
    rows = learner.played()
    shares, logs, stood = learner._chances(rows)
    checked = 0
    for e, n in np.argwhere(shares.acts.numpy())[::5]:
        place, bundle = rows["label"][e, n, :2]
        named = [math.exp(one) for one in shares.place[e, n].tolist()]
        expected = math.log(named[place])
        if stood[e, n]:
            given = [math.exp(one) for one in shares.bundle[e, n].tolist()]
            assert sum(given) == pytest.approx(1.0, abs=1e-5)
            expected += math.log(given[bundle])
        assert sum(named) == pytest.approx(1.0, abs=1e-5)
        assert logs[e, n].item() == pytest.approx(expected, abs=1e-4)
        checked += 1
    assert checked >= 10
    assert (logs[~shares.acts] == 0.0).all()


@pytest.mark.parametrize("form", [TINY, replace(TINY, void_place=False)])
def test_ratios_begin_at_one_and_nothing_diverges_from_itself(form):
    learner = ppo(form)
    rows = learner.played()
    first = {name: part[:20] for name, part in rows.items()}
    shares, now, stood = learner._chances(first)
    ratio = (now - torch.from_numpy(first["before"])).exp()
    np.testing.assert_allclose(ratio.detach().numpy(), 1.0, atol=1e-6)
    learner.anchor = Weighted(learner.weights(), 1.0).tensors
    assert learner.divergence(first, shares, stood).item() == pytest.approx(0.0, abs=1e-7)
    learner.anchor = Weighted({k: 1.5 * w for k, w in learner.weights().items()}, 1.0).tensors
    assert learner.divergence(first, shares, stood).item() > 1e-4


@pytest.mark.parametrize("critic", CRITICS)
def test_gradients_are_those_of_differences(critic):
    learner = ppo(critic=critic, kl=0.3, entropy=0.2)
    learner.anchor = Weighted({k: 1.5 * w for k, w in learner.weights().items()}, 1.0).tensors
    rows = {name: part[:12] for name, part in learner.played().items()}
    rng = np.random.default_rng(0)
    rows["before"] = rows["before"] + rng.normal(0.0, 0.5, rows["before"].shape)
    rows = {name: part.astype(float) if part.dtype.kind == "f" else part
            for name, part in rows.items()}  # fmt: skip
    torch.set_default_dtype(torch.float64)
    try:
        for one in (learner.actor, learner.critic):
            one.tensors = {
                name: part.detach().double().requires_grad_() for name, part in one.tensors.items()
            }
        learner.anchor = {name: part.double() for name, part in learner.anchor.items()}
        held = [*learner.actor.tensors.values(), *learner.critic.tensors.values()]
        total = sum(learner.losses(rows))
        slopes = torch.autograd.grad(total, held, allow_unused=True)
        acts = rows["label"][..., 3] > 0
        ratio = (learner._chances(rows)[1].detach().numpy() - rows["before"])[acts]
        assert (np.abs(ratio) > 0.25).any()
        assert not acts.all()
        for seed in range(4):
            draw = torch.Generator().manual_seed(seed)
            way = [torch.randn(part.shape, generator=draw) for part in held]
            expected = sum((a * b).sum() for a, b in zip(slopes, way, strict=True) if a is not None)
            ends = []
            for side in (1e-7, -1e-7):
                with torch.no_grad():
                    for part, move in zip(held, way, strict=True):
                        part += side * move
                    ends.append(sum(learner.losses(rows)).item())
                    for part, move in zip(held, way, strict=True):
                        part -= side * move
            assert (ends[0] - ends[1]) / 2e-7 == pytest.approx(expected.item(), rel=1e-5)
    finally:
        torch.set_default_dtype(torch.float32)


PARTS = (("shared", "pooled"), ("local", "pooled"), ("shared", "own"))


@pytest.mark.parametrize("form", every(2, product((False, True), PARTS)))
def test_targets_are_those_of_a_double_loop(form, monkeypatch):
    per_slot, (reward, critic) = form
    learner, seen = ppo(per_slot=per_slot, reward=reward, critic=critic, discount=0.9), []
    plain = mappo.advantages
    monkeypatch.setattr(mappo, "advantages", lambda *parts: seen.append(parts) or plain(*parts))
    for _ in range(12):  # runs end in some of them
        rows = learner.played()
    (gains, values, discount, decay) = seen[-1]
    assert (gains.ndim == 3) == (reward == "local" or critic == "own")
    discount, decay = (np.broadcast_to(part, gains.shape) for part in (discount, decay))
    assert set(np.unique(discount)) <= ({0.0, 0.9, 1.0} if per_slot else {0.0, 0.9})
    assert set(np.unique(decay)) <= ({0.95, 1.0} if per_slot else {0.95})
    assert any((np.asarray(one[2]) == 0.0).any() for one in seen)
    for at in (2, 3):  # rounds within a slot count fully where slots are discounted
        assert any((np.asarray(one[at]) == 1.0).any() for one in seen) == per_slot
    target = np.zeros(gains.shape)
    for t in range(len(gains)):
        weight = np.ones(gains.shape[1:])
        target[t] = values[t]
        for s in range(t, len(gains)):
            target[t] += weight * (gains[s] + discount[s] * values[s + 1] - values[s])
            weight = weight * discount[s] * decay[s]
    scaled = (target - learner.mean) / learner.deviation
    np.testing.assert_allclose(rows["target"], scaled.reshape(rows["target"].shape), rtol=1e-4,
                               atol=1e-4)  # fmt: skip
    mine = rows["advantage"][rows["label"][..., 3] > 0]
    assert mine.mean() == pytest.approx(0.0, abs=1e-4)
    assert mine.std() == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("critic", some(CRITICS, "all"))
def test_nothing_is_left_on_the_processor(critic):
    learner = ppo(critic=critic, kl=0.3)
    rows = {name: part[:12] for name, part in learner.played().items()}
    first, second = learner.weights(), to_arrays(learner.critic)
    label = rows["label"][..., :3]
    # A device without content; with this mode it refuses tensors of the processor.
    with FakeTensorMode():
        learner.device = "meta"
        learner.actor, learner.critic, anchor = (
            Weighted(one, 1e-3, "meta") for one in (first, second, first)
        )
        learner.anchor = anchor.tensors
        losses = [
            *learner.losses(rows),
            Imitation.loss(learner, seen_by(rows, "meta"), on("meta", label), label.shape[1]),
        ]
        assert {loss.device.type for loss in losses} == {"meta"}
        sum(losses).backward()
        held = [*learner.actor.tensors.values(), *learner.critic.tensors.values()]
        assert {part.grad.device.type for part in held if part.grad is not None} == {"meta"}


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is such a device")
def test_a_device_that_is_not_there_is_refused(tmp_path, capsys):
    with pytest.raises(OptionError, match=r'"cuda": PyTorch .* finds no such device'):
        training.learner("imitation", device="cuda")
    with pytest.raises(OptionError, match="device = 'gpu': must be one of 'cpu', 'cuda'"):
        training.learner("mappo", device="gpu")
    out = tmp_path / "out"
    for learner in ("imitation", "mappo", "mappo+imitation"):
        command = ["train", "tapfinger", learner, "--set", "device=cuda", "--out", str(out)]
        assert run(command) == 2
        assert 'choose "cpu"' in capsys.readouterr().err
    assert not out.exists()


def make(name, updates):
    if name == "mappo":
        return ppo(updates=updates)
    given = {"seed": 0, "updates": updates, "runs": 4}
    return Imitation(ReservationSpt(), TINY, INSTANCES, INSTANCES[:1], **given)


@pytest.mark.parametrize(("name", "updates"), [("imitation", 4 if LEAN else 6), ("mappo", 4)])
def test_a_training_that_is_taken_up_ends_with_the_same_bytes(name, updates, tmp_path):
    class StopError(Exception):
        pass

    whole = train(make(name, updates), tmp_path / "whole", updates=updates, every=updates // 2)
    halved = make(name, updates)
    plain, done = halved.update, []

    def update():
        if len(done) == updates - 1:
            raise StopError
        done.append(plain())

    halved.update = update
    with pytest.raises(StopError):
        train(halved, tmp_path / "half", updates=updates, every=updates // 2)
    again = train(make(name, updates), tmp_path / "half", updates=updates, every=updates // 2)
    assert again.path.read_bytes() == whole.path.read_bytes()
    assert np.isfinite([row["flow"] for row in whole.rows]).all()


def test_imitation_comes_to_agree_with_its_teacher():
    learner = Imitation(
        ReservationSpt(), replace(TINY, width=16, hidden=32), INSTANCES, INSTANCES[:1], seed=1,
        updates=14, runs=8,
    )  # fmt: skip
    runs = Runs(INSTANCES, 8, np.random.default_rng(9))
    label = Teacher(ReservationSpt(), INSTANCES[0], 8).actions(runs.session)

    def apart():
        with torch.no_grad():
            seen, wanted = seen_by(runs.seen), torch.from_numpy(label)
            return learner.loss(seen, wanted, runs.seen.node.shape[2]).item()

    before = apart()
    for _ in range(14):
        learner.update()
    assert apart() < 0.6 * before


def test_two_states_are_solved():
    gain = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    logits = torch.zeros(2, 2, requires_grad=True)
    optimiser = torch.optim.Adam([logits], 0.05)
    draw, everywhere = torch.Generator().manual_seed(0), torch.ones(32, dtype=torch.bool)
    for _ in range(200):
        state = torch.randint(2, (32,), generator=draw)
        logs = torch.log_softmax(logits, -1)
        action = torch.multinomial(logs[state].exp(), 1, generator=draw)[:, 0]
        reward = gain[state, action]
        new = torch.log_softmax(logits, -1)[state, action]
        loss = ppo_loss(new, new.detach(), reward - reward.mean(), everywhere)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    assert (torch.softmax(logits, -1).diagonal() >= 0.95).all()


def test_a_round_of_tensors_is_a_copy():
    seen = rounds()
    parts, place = seen_by(Seen(*(part[:2] for part in seen))), torch.zeros((2, 3), dtype=int)
    tensors = {name: torch.from_numpy(part) for name, part in weights().items()}
    shares = log_shares(tensors, PRESETS["small"], SIZES, parts, place)
    assert torch.isfinite(shares.place).all()
    assert torch.isfinite(shares.bundle).all()


@pytest.fixture
def few_instances(monkeypatch):
    monkeypatch.setattr(training, "TRAINING", range(1000, 1002))
    monkeypatch.setattr(training, "VALIDATION", range(3000, 3001))
    monkeypatch.setattr(training, "BOOK", range(900, 901))


@pytest.mark.usefixtures("few_instances")
def test_learners_by_name():
    for name, teacher in (("imitation", "known"), ("imitation", "unknown"), ("mappo", "known")):
        made = training.learner(name, seed=3, teacher=teacher, updates=2)
        assert made.about()["seeds"] == {"learner": [3], "training": [1000, 1001],
                                         "validation": [3000]}  # fmt: skip
        if name == "imitation":
            told = "durations" if teacher == "known" else "nothing"
            assert made.about()["settings"]["told"] == told
    with pytest.raises(OptionError, match="preset"):
        training.learner("mappo", preset="none")
    with pytest.raises(OptionError, match="starts and setting cannot be given together"):
        training.learner("imitation", starts="single", setting="pointer")
    with pytest.raises(OptionError, match="setting = 'testbed': must be one of 'several'"):
        training.learner("mappo", begin="imitation", setting="testbed")


@pytest.mark.usefixtures("few_instances")
@pytest.mark.parametrize("form", every(2, [("single", 0.99), ("several", 1.0)]))
def test_the_network_of_the_paper_takes_an_update(form, monkeypatch):
    starts, discount = form
    monkeypatch.setattr(mappo, "ROUNDS", 2)
    monkeypatch.setitem(mappo.Mappo.__init__.__kwdefaults__, "runs", 2)
    learner = training.learner("mappo", preset="paper", starts=starts, updates=1)
    options = learner.options
    assert (options.discount, options.decay, options.per_slot) == (discount, 0.95, False)
    before = learner.weights()
    assert before["pointer.value"].shape == (3, 256)
    assert before["encoder.1.forward.0.weight"].shape == (3, 2048, 256)
    assert {f"{layer}.pending.weight" for layer in range(6)} < set(before)
    assert not any(name.endswith("pending.scale") for name in before)
    learner.update()
    after = learner.weights()
    assert all(np.isfinite(part).all() for part in after.values())
    for name in ("5.pending.weight", "pointer.value", "bundle.1.weight"):
        assert not np.array_equal(before[name], after[name])


@pytest.mark.parametrize("setting", training.SETTINGS)
def test_settings_draw_tasks_that_are_not_those_of_figures(setting):
    first, second = (training.instances(range(1000 + k, 1001 + k), setting)[0] for k in (0, 1))
    assert first.fingerprint() != second.fingerprint()
    assert first.single_start == (setting in ("single", "testbed"))
    assert min(*training.TRAINING, *training.VALIDATION, *training.BOOK) > 20


@pytest.mark.parametrize("reward", ["shared", "local"])
@pytest.mark.parametrize("critic", CRITICS)
def test_critics_read_what_they_are_to_read(critic, reward):
    learner = ppo(critic=critic, reward=reward)
    seen = learner.runs.seen
    E, N = seen.node.shape[:2]
    value = learner.value(seen_by(seen)).detach().numpy()
    assert value.shape == ((E, N) if critic == "own" or reward == "local" else (E,))
    order = np.arange(seen.node.shape[2])[::-1]
    turned = learner.value(seen_by(reordered(seen, order, 2))).detach().numpy()
    assert np.allclose(turned, value, atol=1e-5) == (critic in ("pooled", "shared"))
    swapped = learner.value(seen_by(reordered(seen, [2, 0, 1], 1))).detach().numpy()
    if value.ndim == 2 and critic != "all":
        np.testing.assert_allclose(swapped, value[:, [2, 0, 1]], atol=1e-5)
    else:
        assert np.allclose(swapped, value, atol=1e-5) == (critic in ("pooled", "shared"))


@pytest.mark.parametrize("form", every(3, product(CRITICS, ("shared", "local"))))
def test_every_critic_takes_an_update(form):
    learner = ppo(critic=form[0], reward=form[1])
    learner.update()
    assert np.isfinite(learner.evaluate()["flow"])


def test_returns_that_are_not_scaled_are_learnt_as_they_are():
    scaled, plain = ppo(), ppo(scaled=False)
    first, second = scaled.played(), plain.played()
    assert (plain.mean, plain.deviation) == (0.0, 1.0)
    assert scaled.deviation > 1.0
    np.testing.assert_allclose(first["target"].mean(), 0.0, atol=1e-4)
    np.testing.assert_allclose(
        scaled.mean + scaled.deviation * first["target"], second["target"], rtol=1e-3, atol=1e-2
    )
