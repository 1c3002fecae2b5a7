"""The explicit table of all benchmarks, in the order in which they run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.specs import (
    edr_offline,
    edr_scenario,
    edr_slot,
    edr_step,
    edr_week,
    idn_cooperative,
    idn_greedy,
    idn_slots,
    live_decisions,
    oinc_allocation,
    oinc_bound,
    oinc_dispatch,
    oinc_run,
    oinc_slot,
    oinc_strong,
    rescue_build,
    rescue_layers,
    rescue_lp,
    rescue_lp_huge,
    rescue_lp_large,
    rescue_simulate,
    rescue_values,
    rounding,
    rounding_batch,
    rounding_fill,
    solve_again,
    tapfinger_batch,
    tapfinger_build,
    tapfinger_pooled,
    tapfinger_reservation,
    tapfinger_scenario,
    tapfinger_slots,
    transport,
    view,
)

if TYPE_CHECKING:
    from benchmarks.record import Benchmark

BENCHMARKS: tuple[Benchmark, ...] = (
    rescue_build.BENCHMARK,
    rescue_layers.BENCHMARK,
    rescue_values.BENCHMARK,
    rescue_simulate.BENCHMARK,
    rescue_lp.BENCHMARK,
    rescue_lp.COLUMNS,
    rescue_lp_large.BENCHMARK,
    rescue_lp_huge.WIDE,
    rescue_lp_huge.BENCHMARK,
    rounding.BENCHMARK,
    rounding.EQUAL,
    rounding_batch.BENCHMARK,
    rounding_batch.WIDE,
    rounding_fill.BENCHMARK,
    idn_slots.BENCHMARK,
    idn_slots.PAIRS,
    idn_slots.PAIRS_COMMON,
    idn_greedy.BENCHMARK,
    idn_cooperative.BENCHMARK,
    edr_step.BENCHMARK,
    edr_scenario.BENCHMARK,
    edr_scenario.LARGE,
    edr_slot.BENCHMARK,
    edr_week.BENCHMARK,
    edr_offline.BENCHMARK,
    oinc_allocation.BENCHMARK,
    oinc_slot.BENCHMARK,
    oinc_slot.OBJECTIVES,
    *oinc_slot.SEARCHES,
    oinc_slot.CONVERGED,
    oinc_bound.BENCHMARK,
    oinc_bound.PROOF,
    oinc_dispatch.BENCHMARK,
    oinc_dispatch.LARGE,
    oinc_run.BENCHMARK,
    oinc_run.PROPORTION,
    oinc_run.LARGE,
    oinc_strong.BENCHMARK,
    tapfinger_build.BENCHMARK,
    tapfinger_pooled.BENCHMARK,
    tapfinger_pooled.APART,
    tapfinger_slots.BENCHMARK,
    tapfinger_batch.BENCHMARK,
    tapfinger_batch.SINGLE,
    tapfinger_batch.ENCODED,
    tapfinger_batch.ENCODED_SINGLE,
    tapfinger_reservation.BENCHMARK,
    tapfinger_reservation.MANY,
    tapfinger_scenario.BENCHMARK,
    tapfinger_scenario.MANY,
    transport.BENCHMARK,
    solve_again.CLARABEL,
    solve_again.OSQP,
    solve_again.MODEL,
    view.BENCHMARK,
    *view.FIRST,
    *live_decisions.BENCHMARKS,
)


def find(name: str) -> Benchmark:
    """Return the benchmark called `name`.

    Raises
    ------
    KeyError
        There is none; the text lists the names.
    """
    for benchmark in BENCHMARKS:
        if benchmark.name == name:
            return benchmark
    known = ", ".join(benchmark.name for benchmark in BENCHMARKS)
    raise KeyError(f"no benchmark is called {name!r}; there are: {known}")
