"""The registry as a table: the question, sizes and peers of each benchmark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from benchmarks.record import Benchmark

__all__ = ["listing"]


def listing(benchmarks: Sequence[Benchmark]) -> Iterator[str]:
    """Yield a few lines per benchmark: name, question, sizes, peers, phases, growth."""
    for one in benchmarks:
        yield f"{one.name}: {one.question}" + (" (with --large)" if one.large else "")
        for name, size in one.sizes.items():
            yield f"  {name:<7} {_size(size)}"
        if one.ladder is not None:
            sizes = ", ".join(f"{n:,}" for n, _ in one.ladder.rungs)
            yield f"  growth  n = {one.ladder.axis}: {sizes}"
        yield f"  ours    {one.subject}"
        yield f"  peers   {'; '.join(one.peers) or 'none'}"
        if one.phases:
            yield f"  phases  {', '.join(one.phases)}"
        if one.goals:
            yield f"  goals   {'; '.join(map(str, one.goals))}"


def _size(size: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in size.items())
