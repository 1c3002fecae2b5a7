"""Training in PyTorch: equal networks, probabilities, gradients, and runs that can be repeated."""

from __future__ import annotations

import math
from dataclasses import replace

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
from edgeopt.studies import find_system
from edgeopt.studies.learners import find_learner
from tests.draws import LEAN, every
from tests.learning.tapfinger.rounds import INSTANCES, SIZES, drawn, rounds, weights

torch = pytest.importorskip("torch", reason="training needs PyTorch")
pytestmark = pytest.mark.trains

from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402

from edgeopt.learning.networks import ppo_loss  # noqa: E402
from edgeopt.learning.tapfinger import imitation, mappo, training  # noqa: E402
from edgeopt.learning.tapfinger.aggregates import COMING, SOON, aggregates  # noqa: E402
from edgeopt.learning.tapfinger.critic import Critic  # noqa: E402
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
CREDITS = ("team", "own")


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


def total(learner, rows):
    return learner.loss(rows)[0] + learner.error(rows)


@pytest.mark.parametrize("credit", CREDITS)
def test_gradients_are_those_of_differences(credit):
    learner = ppo(credit=credit, kl=0.3, entropy=0.2)
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
        slopes = torch.autograd.grad(total(learner, rows), held, allow_unused=True)
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
                    ends.append(total(learner, rows).item())
                    for part, move in zip(held, way, strict=True):
                        part -= side * move
            assert (ends[0] - ends[1]) / 2e-7 == pytest.approx(expected.item(), rel=1e-5)
    finally:
        torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("form", every(2, [(True, "team"), (True, "own"), (False, "own")]))
def test_targets_are_those_of_a_double_loop(form, monkeypatch):
    per_slot, credit = form
    learner, seen = ppo(per_slot=per_slot, credit=credit, discount=0.9, decay=0.95), []
    plain = mappo.advantages
    monkeypatch.setattr(mappo, "advantages", lambda *parts: seen.append(parts) or plain(*parts))
    for _ in range(12):  # runs end in some of them
        rows = learner.played()
    (gains, values, discount, decay) = seen[-1]
    assert (gains.ndim == 3) == (credit == "own")
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
    scaled = (target - learner.critic.mean) / learner.critic.spread
    np.testing.assert_allclose(rows["target"], scaled.reshape(rows["target"].shape), rtol=1e-4,
                               atol=1e-4)  # fmt: skip
    mine = rows["advantage"][rows["label"][..., 3] > 0]
    assert mine.mean() == pytest.approx(0.0, abs=1e-4)
    assert mine.std() == pytest.approx(1.0, abs=1e-3)


def test_nothing_is_left_on_the_processor():
    learner = ppo(kl=0.3)
    rows = {name: part[:12] for name, part in learner.played().items()}
    first, label = learner.weights(), rows["label"][..., :3]
    # A device without content; with this mode it refuses tensors of the processor.
    with FakeTensorMode():
        learner.device = "meta"
        learner.actor, anchor = (Weighted(first, 1e-3, "meta") for _ in range(2))
        learner.critic = Critic(rows["read"].shape[-1], 1e-3, learner.rng, "meta")
        learner.anchor = anchor.tensors
        losses = [
            *learner.loss(rows),
            learner.error(rows),
            Imitation.loss(learner, seen_by(rows, "meta"), on("meta", label), label.shape[1]),
        ]
        assert {loss.device.type for loss in losses} == {"meta"}
        sum(loss for loss in losses if loss.requires_grad).backward()
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
    entry = find_learner(find_system("tapfinger"), "mappo")
    for told, credit in (("yes", "team"), ("no", "own")):
        options = entry.make(seed=0, updates=2, told=told, credit=credit).options
        assert (options.told, options.credit) == (told == "yes", credit)
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
    assert (options.credit, options.told) == ("own", False)
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


def states(rounds_of=6):
    """Yield rounds of a learner that plays at random, with the slots and tasks of a plain loop."""
    learner = ppo()
    for _ in range(rounds_of):
        learner.played()
        yield learner.runs.session.batch.state


@pytest.mark.parametrize("told", [True, False])
def test_the_critic_reads_what_a_plain_loop_counts(told):
    soon, coming, counted = SOON.tolist(), COMING.tolist(), 0
    for state in states():
        (E, N), K = state.cluster.shape, state.kind.shape[1]
        read = aggregates(state, told=told)
        own, whole = read[..., : 7 + 3 * K + 3 * len(soon)], read[:, 0, -(2 + K + told * K * 7) :]
        np.testing.assert_allclose(read[..., own.shape[-1] : 2 * own.shape[-1]],
                                   own.mean(1, keepdims=True).repeat(N, 1), rtol=1e-5)  # fmt: skip
        for e in range(E):
            scenario, tasks = state.scenario[e], state.task[e][: state.scenario[e]["tasks"]]
            for n in range(N):
                slots = []
                for one in tasks[(tasks["cluster"] == n) & (tasks["completion"] < 0)]:
                    speed = state.speed[scenario["table"], n, one["kind"], *one["bundle"]]
                    done, left = one["progress"], 0
                    while done < 1.0 - 1e-9 and left < 60:
                        slowing = state.kind["slowing"][e, one["kind"]]
                        done += speed * (math.sqrt(max(0.0, 1.2 - done)) if slowing else 1.0)
                        left += 1
                    slots.append(left if told else scenario["slot"] - one["start"])
                expected = [sum(one <= h for one in slots) / 8.0 for h in soon]
                np.testing.assert_allclose(own[e, n, 6 + 3 * K + 2 : -1 : 3], expected, rtol=1e-5)
                assert own[e, n, -1] == pytest.approx(sum(slots) / 50.0, rel=1e-5)
                counted += len(slots)
            for k in range(K):
                mine = tasks["kind"] == k
                waits = state.waits[e][: len(tasks)] & (tasks["arrival"] <= scenario["slot"])
                assert whole[e, 2 + k] == pytest.approx((mine & waits).sum() / 20.0)
                if told:
                    ahead = tasks["arrival"][mine] - scenario["slot"]
                    ahead = ahead[ahead > 0]
                    expected = [(ahead <= h).sum() / (2.0 * h + 2.0) for h in coming]
                    at = 2 + K + 7 * k
                    np.testing.assert_allclose(whole[e, at : at + 6], expected, rtol=1e-5)
                    assert whole[e, at + 6] == pytest.approx(math.log1p(ahead.size) / 4.0)
    assert counted > 20


def test_the_critic_reads_the_future_in_training_alone_if_it_is_told():
    """Other arrivals to come and other speeds change what it reads, and nothing that actors see."""
    learner = ppo()
    learner.played()
    state, seen = learner.runs.session.batch.state, learner.runs.seen
    before = {told: aggregates(state, told=told) for told in (True, False)}
    state.speed[:] *= 0.5
    for e, scenario in enumerate(state.scenario):
        state.task["arrival"][e, scenario["arrived"] :] += 5
    assert (aggregates(state, told=True) != before[True]).any()
    np.testing.assert_array_equal(aggregates(state, told=False), before[False])
    for one, other in zip(seen, learner.runs._seen(learner.runs.session.open({})), strict=True):
        np.testing.assert_array_equal(one, other)


def test_values_stay_what_they_were_when_the_scale_moves():
    rng = np.random.default_rng(0)
    made, read = Critic(5, 1e-3, rng), rng.random((7, 3, 5)).astype(np.float32)
    made.rescale(rng.normal(-200.0, 50.0, 100))
    assert (made.mean, made.spread) == pytest.approx((-200.0, 50.0), rel=0.1)
    before, scale = made.values(read, team=False), (made.mean, made.spread)
    made.rescale(rng.normal(-20.0, 5.0, 100))
    assert made.mean == pytest.approx(0.9 * scale[0] - 2.0, rel=0.01)
    assert made.spread == pytest.approx(0.9 * scale[1] + 0.5, rel=0.1)
    np.testing.assert_allclose(made.values(read, team=False), before, rtol=1e-4)
    np.testing.assert_allclose(made.values(read, team=True), before.mean(-1), rtol=1e-4)
    other = Critic(5, 1e-3, rng)
    other.load_state_dict(made.state_dict())
    np.testing.assert_array_equal(other.values(read, team=False), made.values(read, team=False))


def test_first_runs_are_of_unequal_length_and_later_ones_of_the_pool():
    short = [drawn(rng=tasks, tasks=tasks) for tasks in (10, 20)]
    given = {"seed": 0, "updates": 4, "runs": 4}
    learner = Mappo(TINY, INSTANCES, INSTANCES[:1], first=short, **given)
    lengths = [{one.truth.tasks for one in learner.runs.session.environments}]
    for _ in range(20):
        learner.played()
        lengths.append({one.truth.tasks for one in learner.runs.session.environments})
    assert lengths[0] <= {10, 20}
    assert lengths[-1] == {40}
    again = Mappo(TINY, INSTANCES, INSTANCES[:1], first=short, **given)
    again.restore(learner.state())
    np.testing.assert_array_equal(again.played()["read"], learner.played()["read"])


@pytest.mark.parametrize("form", [{"credit": "own"}, {"told": False}, {"far": 1e-9}])
def test_every_option_takes_an_update(form):
    learner = ppo(**form)
    learner.update()
    found = learner.evaluate()
    assert np.isfinite(found["flow"])
    assert found["rounds"] == 4 * mappo.ROUNDS
    # A pass of one step begins at the policy that played, so that the next one shows the distance.
    assert learner.steps == (2 if "far" in form else learner.options.epochs)
    assert learner.about()["settings"]["told"] == ("durations" if "told" not in form else "nothing")


def test_what_is_cut_goes_on_in_the_view_of_the_critic(monkeypatch):
    """A run that is stopped for waiting does not end in a slot that costs nothing."""
    learner, seen, steps = ppo(discount=0.9), [], []
    learner.critic.rescale(np.full(10, -1000.0))
    plain, act = mappo.advantages, learner.runs.act
    monkeypatch.setattr(mappo, "advantages", lambda *parts: seen.append(parts) or plain(*parts))

    def stopped(actions):
        steps.append(act(actions))
        steps[-1].truncated[0] = len(steps) == 3
        return steps[-1]

    monkeypatch.setattr(learner.runs, "act", stopped)
    learner.played()
    [(gains, _, discount, _)] = seen
    later = 0.9 if steps[2].passed[0] else 1.0
    assert gains[2, 0] - steps[2].shared[0] == pytest.approx(-1000.0 * later, rel=1e-4)
    assert discount[2, 0] == 0.0
    assert gains[2, 1] == steps[2].shared[1]
    assert learner.runs.session.batch.state.scenario["slot"][0] <= 5
