r"""Values of Markov decision processes, with proven bounds on how far they are from the best.

With the Bellman operator

.. math:: (Tv)_s = \max_{p \text{ in } s} \; r_p + \gamma \sum_{s'} P_{ps'} v_{s'}

any v bounds the optimum: with :math:`d = Tv - v`, the best discounted values lie between
:math:`Tv + \frac{\gamma}{1-\gamma} \min d` and :math:`Tv + \frac{\gamma}{1-\gamma} \max d`, and for
:math:`\gamma = 1` the best gain per slot lies between :math:`\min d` and :math:`\max d` from every
state. Both hold at whatever v a method stops, and both are widened by the rounding of sums.

Source: MacQueen, A modified dynamic programming method for Markovian decision problems (1966);
Odoni, On finding the maximal gain for Markov decision processes (1969); Puterman, Markov Decision
Processes (1994), sections 6.6 and 8.5.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
from scipy import sparse

from edgeopt.errors import OptionError, QualityWarning, SolverError
from edgeopt.kernels import compiled
from edgeopt.online.value_iteration.policy import TablePolicy
from edgeopt.online.value_iteration.process import DecisionProcess
from edgeopt.options import check_choice, check_kind, check_real, check_whole
from edgeopt.representation import compact_repr

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

Method = Literal["value", "policy", "linear"]

MOST: Final = 100_000
"""Bellman operators after which a method stops."""

INNER: Final = 20
"""Sweeps with fixed decisions between two Bellman operators of value iteration."""

DAMPED: Final = 0.9
"""Share of the way that a sweep goes where nothing is discounted: chains with a period settle."""

_UNIT: Final = float(np.finfo(np.float64).eps)


@compact_repr
@dataclass(frozen=True, eq=False)
class Values:
    r"""Values of the states of a process, and the decisions that attain them.

    Attributes
    ----------
    process
        The process.
    value
        Value of every state between its bounds, shape [states]; with a horizon [slots + 1, states],
        the last row after the last decision; of an average, values relative to the first state.
    low, high
        Proven bounds of the best values, of the shape of `value`; of an average, of the best gain
        per slot, whatever the state, two numbers.
    decision
        Number of the decision in each state, shape [stages, states]; without a horizon one stage.
    rounds
        Number of Bellman operators, of improved policies, or of linear programs.

    Examples
    --------
    >>> from edgeopt.online.value_iteration import DecisionProcess, discounted
    >>> machine = DecisionProcess(
    ...     transition=[[0.9, 0.1], [0.0, 1.0], [1.0, 0.0]],
    ...     state=[0, 1, 1], reward=[1.0, 0.0, -2.0],
    ...     states=["runs", "broken"], actions=["run", "wait", "repair"],
    ... )
    >>> values = discounted(machine, 0.95)
    >>> values.value.round(2), values.decision
    (array([14.79, 12.05]), array([[0, 2]]))
    """

    process: DecisionProcess
    value: Floats
    low: Any
    high: Any
    decision: Ints
    rounds: int

    @property
    def gap(self) -> float:
        """Largest distance between the bounds, in the unit of rewards."""
        return float(np.max(self.high - self.low))

    @property
    def policy(self) -> TablePolicy:
        """The decisions as a policy for `simulate`; what it loses is at most `gap`."""
        return TablePolicy(self.process, self.decision)

    def action(self, state: Any, slot: int = 0) -> Any:
        """Return the action in a state, both by their labels."""
        return self.process.actions[self.policy.pair(slot, self.process.number(state))]

    def _brief(self) -> Iterator[str]:
        yield f"{len(self.process.first) - 1} states"
        yield f"gap {self.gap:.3g}"
        yield f"{self.rounds} rounds"


def discounted(
    process: DecisionProcess,
    discount: float,
    *,
    method: Method = "value",
    tolerance: float = 1e-6,
    inner: int = INNER,
    start: ArrayLike | None = None,
    most: int = MOST,
) -> Values:
    r"""Maximise the discounted sum of rewards, :math:`\mathbb{E} \sum_t \gamma^t r_t`.

    Parameters
    ----------
    process
        The process.
    discount
        What a reward still counts one slot later, in (0, 1).
    method
        ``"value"``: Bellman operators, with sweeps of fixed decisions in between. ``"policy"``:
        improve a policy, evaluate it by sparse linear equations, repeat. ``"linear"``: a linear
        program for :func:`edgeopt.solvers.solve`.
    tolerance
        Distance of the proven bounds to stop at, relative to the largest value in size.
    inner
        Sweeps with fixed decisions between two Bellman operators, for ``"value"``; 0 is value
        iteration as in textbooks.
    start
        Values to start from, shape [states]; by default 0.
    most
        Most Bellman operators or policies.

    Returns
    -------
    Values
        With bounds that hold even if `tolerance` was not reached, which is then warned of.

    Raises
    ------
    OptionError
        If an option is out of range.

    Notes
    -----
    The decisions returned earn at least `low` in every state.

    Puterman, Markov Decision Processes (1994), chapter 6.

    Examples
    --------
    >>> from edgeopt.online.value_iteration import DecisionProcess, discounted
    >>> machine = DecisionProcess(
    ...     state=[0, 1, 1], reward=[1.0, 0.0, -2.0],
    ...     transition=[[0.9, 0.1], [0.0, 1.0], [1.0, 0.0]],
    ...     states=["runs", "broken"], actions=["run", "wait", "repair"],
    ... )
    >>> values = discounted(machine, 0.95)
    >>> print(values.value.round(3), values.action("broken"))
    [14.795 12.055] repair
    """
    _checked(process, method, tolerance, inner, most)
    check_real("discount", discount, "(0, 1)")
    return _Search(process, discount, tolerance, start).run(method, inner, most)


def average_reward(
    process: DecisionProcess,
    *,
    method: Method = "value",
    tolerance: float = 1e-6,
    inner: int = INNER,
    start: ArrayLike | None = None,
    most: int = MOST,
) -> Values:
    r"""Maximise the mean reward per slot in the long run, the gain.

    Parameters
    ----------
    process
        The process. The bounds hold for all; they meet where the best gain is the same from
        every state.
    method, tolerance, inner, start, most
        As in :func:`discounted`; ``"policy"`` and ``"linear"`` need policies whose chains have one
        recurrent class each.

    Returns
    -------
    Values
        `low` and `high` bound the best gain; the decisions earn at least `low` per slot from every
        state.

    Raises
    ------
    OptionError
        If an option is out of range.
    SolverError
        If a policy has several recurrent classes, for ``"policy"`` and ``"linear"``.

    Notes
    -----
    Puterman, Markov Decision Processes (1994), chapter 8.

    Examples
    --------
    >>> from edgeopt.online.value_iteration import DecisionProcess, average_reward
    >>> machine = DecisionProcess(
    ...     state=[0, 1, 1], reward=[1.0, 0.0, -2.0],
    ...     transition=[[0.9, 0.1], [0.0, 1.0], [1.0, 0.0]],
    ... )
    >>> gain = average_reward(machine)
    >>> print(round(float(gain.low), 5), round(float(gain.high), 5))
    0.72727 0.72727
    """
    _checked(process, method, tolerance, inner, most)
    return _Search(process, 1.0, tolerance, start).run(method, inner, most)


def finite_horizon(
    process: DecisionProcess | Sequence[DecisionProcess],
    horizon: int | None = None,
    *,
    terminal: ArrayLike = 0.0,
    discount: float = 1.0,
) -> Values:
    r"""Maximise the sum of rewards of some slots, backward from the last one.

    Parameters
    ----------
    process
        The process, or one for each slot, on the same states.
    horizon
        Number of slots; not given with one process per slot.
    terminal
        Value of each state after the last slot, shape [states].
    discount
        What a reward still counts one slot later, in (0, 1].

    Returns
    -------
    Values
        One row of values and of decisions for each slot. The bounds differ by rounding alone.

    Raises
    ------
    OptionError
        If an option is out of range.

    Notes
    -----
    Backward induction: Puterman, Markov Decision Processes (1994), chapter 4.

    Examples
    --------
    >>> from edgeopt.online.value_iteration import DecisionProcess, finite_horizon
    >>> lottery = DecisionProcess([0, 0, 1], [1.0, 0.0, 0.0], [[0, 1], [1, 0], [0, 1]])
    >>> finite_horizon(lottery, 2, terminal=[3.0, 0.0]).value[:, 0].tolist()
    [3.0, 3.0, 3.0]
    """
    several = [process] * _slots(horizon) if isinstance(process, DecisionProcess) else [*process]
    for one in several:
        check_kind("process", one, DecisionProcess)
    if not several or (horizon is not None and len(several) != horizon):
        raise OptionError(f"horizon = {horizon}: must be the number of processes, {len(several)}")
    check_real("discount", discount, "(0, 1]")
    states = len(several[0].first) - 1
    if any(len(one.first) - 1 != states for one in several):
        raise OptionError("process: all slots must have the same states")
    value = np.empty((len(several) + 1, states))
    value[-1] = np.broadcast_to(np.asarray(terminal, dtype=np.float64), states)
    if not np.isfinite(value[-1]).all():
        raise OptionError("terminal: must be finite")
    decision = np.empty((len(several), states), dtype=np.int64)
    error = np.zeros(len(several) + 1)
    for slot in reversed(range(len(several))):
        one = several[slot]
        begin, target, chance, reward = one.arrays
        improve(
            one.first, begin, target, chance, reward, discount, value[slot + 1], value[slot],
            decision[slot],
        )  # fmt: skip
        error[slot] = discount * error[slot + 1] + _rounding(one, value[slot + 1])
    return Values(
        several[0], value, value - error[:, None], value + error[:, None], decision, len(several)
    )


def _slots(horizon: int | None) -> int:
    check_whole("horizon", horizon, 1)
    assert horizon is not None
    return horizon


def _checked(process: Any, method: Any, tolerance: Any, inner: Any, most: Any) -> None:
    check_kind("process", process, DecisionProcess)
    check_choice("method", method, ("value", "policy", "linear"))
    check_real("tolerance", tolerance, "(0, inf)")
    check_whole("inner", inner)
    check_whole("most", most, 1)


def _rounding(process: DecisionProcess, value: Floats) -> float:
    """Bound the rounding of a Bellman operator: the usual bound of a dot product's error."""
    longest, largest = process.extremes
    return (longest + 4) * _UNIT * (largest + float(np.abs(value).max()))


class _Search:
    """One search for the best values: the tightest bounds so far, and who attains the lower one."""

    def __init__(
        self, process: DecisionProcess, discount: float, tolerance: float, start: ArrayLike | None
    ) -> None:
        self.process, self.discount, self.tolerance = process, discount, tolerance
        states = len(process.first) - 1
        self.value = np.zeros(states) if start is None else np.array(start, dtype=np.float64)
        if self.value.shape != (states,) or not np.isfinite(self.value).all():
            raise OptionError(f"start: must be finite, of shape ({states},)")
        self.after = np.empty(states)
        self.best = np.zeros(states, dtype=np.int64)
        self.low: Any = -np.inf
        self.high: Any = np.inf
        self.decision = self.best
        self.rounds = 0

    def run(self, method: Method, inner: int, most: int) -> Values:
        """Search until the bounds are close."""
        step = {"value": self._sweep, "policy": self._solve, "linear": self._program}[method]
        while True:
            if self._improve():
                break
            if self.rounds >= most:
                gap = float(np.max(self.high - self.low))
                warnings.warn(
                    f"stopped after {most} rounds with a gap of {gap:.3g}; the bounds hold. More "
                    "rounds (most=) or method='policy' may close it",
                    QualityWarning, stacklevel=3,
                )  # fmt: skip
                break
            step(inner)
        value = self.value if self.discount == 1.0 else (self.low + self.high) / 2
        return Values(
            self.process, value, self.low, self.high, self.decision[None].copy(), self.rounds
        )

    def _improve(self) -> bool:
        """Apply the Bellman operator, tighten the bounds, and tell whether they are close."""
        begin, target, chance, reward = self.process.arrays
        improve(
            self.process.first, begin, target, chance, reward, self.discount,
            self.value, self.after, self.best,
        )  # fmt: skip
        self.rounds += 1
        change = self.after - self.value
        error = _rounding(self.process, self.value)
        least, most = float(change.min()) - error, float(change.max()) + error
        low: Any
        high: Any
        if self.discount == 1.0:
            low, high = least, most
            size = max(abs(low), abs(high))
        else:
            ahead = self.discount / (1.0 - self.discount)
            # Sums of chances miss 1 by rounding, too.
            slack = error + _UNIT * 4 * ahead * max(abs(least), abs(most))
            low = self.after + (ahead * least - slack)
            high = self.after + (ahead * most + slack)
            size = float(np.abs(self.after).max())
        if np.min(low) > np.min(self.low) or self.rounds == 1:
            self.decision = self.best.copy()
            self.low = low
        self.high = np.minimum(self.high, high)
        return bool(np.max(self.high - self.low) <= self.tolerance * size)

    def _sweep(self, inner: int) -> None:
        """Go on from the last values by sweeps with the decisions that were best."""
        begin, target, chance, reward = self.process.arrays
        plain = self.discount < 1.0
        step = 1.0 if plain else DAMPED
        self.value += step * (self.after - self.value)
        evaluate(
            self.best, begin, target, chance, reward, self.discount, step, inner, self.value,
            self.after,
        )  # fmt: skip
        if not plain:
            self.value -= self.value[0]

    def _solve(self, _: int) -> None:
        """Evaluate the decisions that were best, by linear equations (Howard, 1960)."""
        states = self.value.size
        chain = self.process.transition[self.best]
        reward = self.process.reward[self.best]
        matrix = sparse.identity(states, format="csc") - self.discount * chain.tocsc()
        if self.discount == 1.0:
            # The relative value of the first state is 0; its column stands for the gain.
            matrix = sparse.hstack([np.ones((states, 1)), matrix[:, 1:]], format="csc")
        try:
            found = sparse.linalg.splu(matrix.tocsc()).solve(reward)
        except RuntimeError:
            found = np.array([np.nan])
        if not np.isfinite(found).all():
            raise SolverError(
                "a policy has several recurrent classes, so that its gain depends on the state; "
                "method='value' bounds the gain nevertheless"
            )
        if self.discount == 1.0:
            found[0] = 0.0
        self.value[:] = found

    def _program(self, inner: int) -> None:
        """Solve the linear program of the values, and evaluate the decisions that it takes."""
        from edgeopt.solvers import LinearProgram, solve

        process, average = self.process, self.discount == 1.0
        states, pairs = self.value.size, process.state
        here = sparse.csr_matrix(
            (np.ones(pairs.size), (np.arange(pairs.size), pairs)), shape=process.transition.shape
        )
        matrix = here - self.discount * process.transition
        cost, low, high = np.ones(states), np.full(states, -np.inf), np.full(states, np.inf)
        if average:
            matrix = sparse.hstack([matrix, np.ones((pairs.size, 1))], format="csr")
            cost = np.append(np.zeros(states), 1.0)
            low, high = np.append(low, -np.inf), np.append(high, np.inf)
            low[0] = high[0] = 0.0
        found = solve(LinearProgram(cost, matrix, process.reward, np.inf, low, high))
        self.value[:] = found.values[:states]
        self._improve()
        self._solve(inner)


# --- compiled ---
# Layout: the decisions of state s are ``first[s]:first[s + 1]``; decision p earns ``reward[p]`` and
# leads to ``target[i]`` with chance ``chance[i]`` for i in ``begin[p]:begin[p + 1]``.


@compiled(writes="after best")
def improve(
    first: Ints, begin: Ints, target: Ints, chance: Floats, reward: Floats, discount: float,
    before: Floats, after: Floats, best: Ints,
) -> None:  # fmt: skip
    """Write the Bellman operator of `before` to `after`, and the decisions that attain it."""
    for state in range(first.size - 1):
        top, choice = -np.inf, first[state]
        for pair in range(first[state], first[state + 1]):
            follows = 0.0
            for i in range(begin[pair], begin[pair + 1]):
                follows += chance[i] * before[target[i]]
            worth = reward[pair] + discount * follows
            if worth > top:
                top, choice = worth, pair
        after[state], best[state] = top, choice


@compiled(writes="one other")
def evaluate(
    pairs: Ints, begin: Ints, target: Ints, chance: Floats, reward: Floats, discount: float,
    step: float, sweeps: int, one: Floats, other: Floats,
) -> None:  # fmt: skip
    """Apply the operator of fixed decisions to `one` an even number of times, in place.

    `step` is the share of the way that an application goes.
    """
    for _ in range(sweeps // 2):
        _apply(pairs, begin, target, chance, reward, discount, step, one, other)
        _apply(pairs, begin, target, chance, reward, discount, step, other, one)


@compiled(writes="after")
def _apply(
    pairs: Ints, begin: Ints, target: Ints, chance: Floats, reward: Floats, discount: float,
    step: float, before: Floats, after: Floats,
) -> None:  # fmt: skip
    """Apply the operator of fixed decisions once."""
    for state in range(pairs.size):
        pair = pairs[state]
        follows = 0.0
        for i in range(begin[pair], begin[pair + 1]):
            follows += chance[i] * before[target[i]]
        worth = reward[pair] + discount * follows
        after[state] = before[state] + step * (worth - before[state])
