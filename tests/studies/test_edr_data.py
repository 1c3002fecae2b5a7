"""MNIST and CIFAR-10 from files of a user, here small ones."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import numpy as np
import pytest
from edgeopt_papers.edr import data

from edgeopt.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path


def _idx(values: np.ndarray) -> bytes:
    sizes = b"".join(size.to_bytes(4, "big") for size in values.shape)
    return bytes((0, 0, 8, values.ndim)) + sizes + values.tobytes()


def _mnist(folder: Path, count: int = 90, packed: bool = True) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    grey = rng.integers(256, size=(count, 28, 28), dtype=np.uint8)
    digit = rng.integers(10, size=count, dtype=np.uint8)
    folder.mkdir(parents=True, exist_ok=True)
    for name, values in zip(data.MNIST, (grey, digit), strict=True):
        whole = _idx(values)
        end = ".gz" if packed else ""
        (folder / f"{name}{end}").write_bytes(gzip.compress(whole) if packed else whole)
    return grey, digit


@pytest.mark.parametrize(("inner", "packed"), [("", False), ("MNIST/raw", True)])
def test_mnist_is_read_packed_or_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, inner: str, packed: bool
) -> None:
    monkeypatch.delenv(data.FOLDER, raising=False)
    assert data.found("MNIST") is None
    grey, digit = _mnist(tmp_path / inner, packed=packed)
    monkeypatch.setenv(data.FOLDER, str(tmp_path))
    paths = data.found("MNIST")
    assert paths is not None
    shown = data.mnist(*paths)
    np.testing.assert_allclose(shown.pictures[:, 0], grey / 255.0, rtol=1e-6)
    np.testing.assert_array_equal(shown.label, digit)
    assert data.found("CIFAR-10") is None
    paths[0].unlink()
    assert data.found("MNIST") is None


def test_cifar_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    rows = rng.integers(256, size=(50, 3073), dtype=np.uint8)
    rows[:, 0] %= 10
    for name, part in zip(data.CIFAR, np.split(rows, 5), strict=True):
        (tmp_path / name).write_bytes(part.tobytes())
    monkeypatch.setenv(data.FOLDER, str(tmp_path))
    paths = data.found("CIFAR-10")
    assert paths is not None
    shown = data.cifar(paths)
    assert shown.pictures.shape == (50, 3, 32, 32)
    assert shown.pictures[7, 2, 31, 0] == pytest.approx(rows[7, 1 + 2 * 1024 + 31 * 32] / 255.0)
    np.testing.assert_array_equal(shown.label, rows[:, 0])


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    _mnist(tmp_path, packed=False)
    pictures, label = (tmp_path / name for name in data.MNIST)
    whole = pictures.read_bytes()
    for content, words in (
        (whole[:-1], "has 70559 entries, not those of"),
        (b"\0\0\7\3" + whole[4:], "is not an idx file of bytes in 3 dimensions"),
        (_idx(np.zeros((90, 28, 27), np.uint8)), "as many of 28 x 28 are needed"),
        (_idx(np.zeros((89, 28, 28), np.uint8)), "as many of 28 x 28 are needed"),
    ):
        pictures.write_bytes(content)
        with pytest.raises(InputError, match=words):
            data.mnist(pictures, label)
    pictures.write_bytes(whole)
    label.write_bytes(_idx(np.full(90, 10, np.uint8)))
    with pytest.raises(InputError, match="labels must be below 10"):
        data.mnist(pictures, label)
    packed = tmp_path / "data_batch_1.bin.gz"
    packed.write_bytes(gzip.compress(bytes(3073))[:-9])
    with pytest.raises(InputError, match="cannot be read"):
        data.cifar([packed])
    packed.write_bytes(gzip.compress(bytes(3000)))
    with pytest.raises(InputError, match="not a multiple of 3073"):
        data.cifar([packed])


@pytest.mark.trains
def test_networks_learn_from_what_is_there_and_the_table_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch", reason="training needs PyTorch")
    from edgeopt_papers.edr import federated

    monkeypatch.delenv(data.FOLDER, raising=False)
    assert federated.kinds() == federated.KINDS
    _mnist(tmp_path)
    monkeypatch.setenv(data.FOLDER, str(tmp_path))
    monkeypatch.setattr(federated, "SHOWN", (0, 1))
    monkeypatch.setattr(federated, "SEEDS", (0,))
    monkeypatch.setattr(federated, "CHUNK", 40)
    plain = federated.losses
    monkeypatch.setattr(federated, "losses", lambda kind, seed: plain(kind, seed, 1))
    table = federated.table()
    assert list(table["kind"].unique()) == [
        "LeNet-5, MNIST", "LeNet-5, 32 x 32 coloured digits", "CNN, MNIST",
        "CNN, 8 x 8 coloured digits",
    ]  # fmt: skip
    assert table["seed_0"].between(1.5, 3.0).all()
    model = federated.network(federated.kinds()[2])
    assert sum(part.numel() for part in model.parameters()) == 20_490
    seen, shown = federated.pictures(federated.kinds()[0], np.random.default_rng(0))
    assert tuple(seen.shape) == (90, 1, 28, 28)
    whole = federated.nn.functional.cross_entropy(model(seen), shown)
    assert federated._loss(model, seen, shown) == pytest.approx(float(whole.detach()), rel=1e-5)
