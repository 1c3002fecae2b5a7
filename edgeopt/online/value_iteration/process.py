"""Markov decision processes as sparse arrays, from arrays or by enumerating reachable states."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from scipy import sparse

from edgeopt.errors import InstanceError, OptionError
from edgeopt.options import check_whole
from edgeopt.representation import compact_repr, counted

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

CLOSE: Final = 1e-9
"""By how much the chances of a decision may miss 1 in sum; they are then divided by their sum."""

MOST_STATES: Final = 10**6
"""States after which an enumeration stops with an error, unless told otherwise."""


@compact_repr
@dataclass(frozen=True, eq=False)
class DecisionProcess:
    r"""A Markov decision process: states, decisions, rewards and where decisions lead.

    A decision p in state s earns the reward :math:`r_p` and leads to state s' with chance
    :math:`P_{ps'}`. States have at least one decision each, and may have different ones.

    Parameters
    ----------
    state
        State of every decision, ascending, shape [decisions].
    reward
        Reward of every decision, in a unit of one's own, shape [decisions]; costs are negative.
    transition
        Chances of the next states, shape [decisions, states], sparse or dense.
    states, actions
        Labels of the states and of every decision; by default numbers. `explore` and `from_arrays`
        fill them in.

    Attributes
    ----------
    first
        Where the decisions of each state begin, and their number, shape [states + 1].

    Raises
    ------
    InstanceError
        If shapes differ, a number is not finite, chances are negative or do not sum to 1, or a
        state has no decision.

    Notes
    -----
    Puterman, Markov Decision Processes (1994), chapter 2.

    Examples
    --------
    A machine that runs, or is broken and repaired at a cost:

    >>> machine = DecisionProcess(
    ...     state=[0, 1, 1], reward=[1.0, 0.0, -2.0],
    ...     transition=[[0.9, 0.1], [0.0, 1.0], [1.0, 0.0]],
    ...     states=["runs", "broken"], actions=["run", "wait", "repair"],
    ... )
    >>> machine
    DecisionProcess(2 states, 3 decisions, 4 transitions)
    """

    state: Ints
    reward: Floats
    transition: Any
    states: Sequence[Any] = ()
    actions: Sequence[Any] = ()
    first: Ints = field(init=False, repr=False)

    def __post_init__(self) -> None:
        matrix = _csr("transition", self.transition)
        decisions, states = matrix.shape
        state = _vector("state", self.state, decisions, np.int64)
        reward = _vector("reward", self.reward, decisions, np.float64)
        first = np.searchsorted(state, np.arange(states + 1)).astype(np.int64)
        if decisions and (np.diff(state) < 0).any():
            raise InstanceError("state", "must ascend: decisions of a state stand together")
        empty = np.flatnonzero(np.diff(first) == 0)
        if states == 0 or empty.size or first[-1] != decisions or first[0] != 0:
            place = f"state {empty[0]}" if empty.size else f"a state beyond the {states} of columns"
            raise InstanceError("state", f"{place} must have a decision of its own")
        chances = _normalised(matrix)
        for name, size in (("states", states), ("actions", decisions)):
            given = getattr(self, name)
            if len(given) not in (0, size):
                raise InstanceError(name, f"must have {size} labels", value=len(given))
        for name, value in (
            ("state", state), ("reward", reward), ("transition", chances), ("first", first),
            ("states", self.states or range(states)), ("actions", self.actions or range(decisions)),
        ):  # fmt: skip
            object.__setattr__(self, name, value)
            if isinstance(value, np.ndarray):
                value.flags.writeable = False

    @classmethod
    def from_arrays(
        cls, transition: Any, reward: ArrayLike, *, allowed: ArrayLike | None = None
    ) -> DecisionProcess:
        """Make a process of a transition matrix for each action.

        Parameters
        ----------
        transition
            Chances, shape [actions, states, states], or one sparse matrix per action.
        reward
            Rewards, shape [states, actions], or [actions, states, states] if they depend on the
            next state, too.
        allowed
            Which actions a state has, shape [states, actions]; by default all.

        Returns
        -------
        DecisionProcess
            With decisions in the order of states, then actions.

        Raises
        ------
        InstanceError
            As the class does.

        Examples
        --------
        >>> stay, move = np.eye(2), np.eye(2)[::-1]
        >>> DecisionProcess.from_arrays([stay, move], [[0.0, 1.0], [2.0, 0.0]])
        DecisionProcess(2 states, 4 decisions, 4 transitions)
        """
        matrices = [_csr("transition", one) for one in transition]
        if not matrices or len({one.shape for one in matrices}) > 1:
            raise InstanceError("transition", "must be matrices of one shape, one per action")
        states, count = matrices[0].shape[0], len(matrices)
        given = np.asarray(reward, dtype=np.float64)
        if given.ndim == 3 and given.shape == (count, states, states):
            given = np.stack(
                [np.asarray(one.multiply(r).sum(axis=1)).ravel()
                 for one, r in zip(matrices, given, strict=True)], axis=1,
            )  # fmt: skip
        if given.shape != (states, count):
            raise InstanceError("reward", f"must have shape ({states}, {count})", value=given.shape)
        able = np.ones((states, count), dtype=bool) if allowed is None else np.asarray(allowed)
        if able.shape != (states, count) or able.dtype != bool:
            raise InstanceError("allowed", f"must be booleans of shape ({states}, {count})")
        state, action = np.nonzero(able)
        stacked = sparse.vstack(matrices, format="csr")[action * states + state]
        return cls(state, given[state, action], stacked, actions=action.tolist())

    @classmethod
    def explore(
        cls,
        starts: Iterable[Hashable],
        actions: Callable[[Any], Iterable[Any]],
        step: Callable[[Any, Any], tuple[float, Mapping[Any, float] | Iterable[tuple[Any, float]]]],
        *,
        most: int = MOST_STATES,
    ) -> DecisionProcess:
        """Enumerate the states that can be reached.

        Parameters
        ----------
        starts
            States to begin with; states are anything that can be a key of a dictionary.
        actions
            ``actions(state)`` returns the actions of a state.
        step
            ``step(state, action)`` returns the reward and the chances of the next states:
            a mapping, or pairs of state and chance; chances of the same state are added.
        most
            Most states.

        Returns
        -------
        DecisionProcess
            With states in the order in which they were reached.

        Raises
        ------
        OptionError
            If there are more than `most` states.
        InstanceError
            As the class does.

        Examples
        --------
        A queue of at most three jobs, which admits an arrival or refuses it:

        >>> def step(jobs, admit):
        ...     more = min(jobs + admit, 3)
        ...     return 5.0 * (more - jobs) - jobs, [(max(more - 1, 0), 0.6), (more, 0.4)]
        >>> DecisionProcess.explore([0], lambda jobs: (0, 1), step)
        DecisionProcess(4 states, 8 decisions, 15 transitions)
        """
        check_whole("most", most, 1)
        number = {one: place for place, one in enumerate(dict.fromkeys(starts))}
        waiting = deque(number)
        state: list[int] = []
        named: list[Any] = []
        reward: list[float] = []
        begin, target, chance = [0], list[int](), list[float]()
        while waiting:
            here = waiting.popleft()
            for action in actions(here):
                earned, following = step(here, action)
                pairs = following.items() if isinstance(following, Mapping) else following
                for after, odds in pairs:
                    if odds == 0.0:
                        continue
                    if after not in number:
                        if len(number) >= most:
                            raise OptionError(f"most = {most}: more states can be reached")
                        number[after] = len(number)
                        waiting.append(after)
                    target.append(number[after])
                    chance.append(odds)
                state.append(number[here])
                named.append(action)
                reward.append(earned)
                begin.append(len(target))
        matrix = sparse.csr_matrix((chance, target, begin), shape=(len(state), len(number)))
        return cls(np.array(state, dtype=np.int64), np.array(reward), matrix, [*number], named)

    @property
    def arrays(self) -> tuple[Ints, Ints, Floats, Floats]:
        """Where transitions of decisions begin, where they lead, their chances, and rewards."""
        return self.transition.indptr, self.transition.indices, self.transition.data, self.reward

    @cached_property
    def extremes(self) -> tuple[int, float]:
        """Most transitions of a decision, and the largest reward in size."""
        longest = int(np.diff(self.transition.indptr).max())
        return longest, float(np.abs(self.reward).max())

    @cached_property
    def running(self) -> Floats:
        """Running sums of the chances of each decision, shape [transitions]."""
        total = np.cumsum(self.transition.data)
        begin = self.transition.indptr
        before = np.concatenate([[0.0], total])[begin[:-1]]
        return np.asarray(total - np.repeat(before, np.diff(begin)))

    @cached_property
    def _number(self) -> dict[Any, int]:
        return {one: place for place, one in enumerate(self.states)}

    def number(self, state: Any) -> int:
        """Return the number of a state that is given by its label."""
        if state not in self._number:
            raise OptionError(f"state {state!r}: is none of the {len(self.states)} of the process")
        return self._number[state]

    def _brief(self) -> Iterator[str]:
        yield counted(len(self.first) - 1, "state")
        yield counted(len(self.reward), "decision")
        yield counted(self.transition.nnz, "transition")


def _csr(name: str, given: Any) -> Any:
    """Return a matrix by rows, with places as whole numbers of 64 bits."""
    matrix = sparse.csr_matrix(given, dtype=np.float64, copy=True)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    if not np.isfinite(matrix.data).all() or (matrix.data < 0).any():
        raise InstanceError(name, "chances must be finite and not negative")
    matrix.indptr, matrix.indices = (
        part.astype(np.int64) for part in (matrix.indptr, matrix.indices)
    )
    return matrix


def _vector(name: str, given: Any, length: int, dtype: type) -> NDArray[Any]:
    array = np.array(given)
    if array.shape != (length,):
        raise InstanceError(name, f"must have shape ({length},)", value=array.shape)
    if not np.isfinite(array).all() or (dtype is np.int64 and array.dtype.kind not in "iu"):
        raise InstanceError(name, "must be finite" if dtype is np.float64 else "must be whole")
    return array.astype(dtype)


def _normalised(matrix: Any) -> Any:
    """Divide the chances of each decision by their sum, which must be close to 1."""
    sums = np.asarray(matrix.sum(axis=1)).ravel()
    wrong = np.flatnonzero(np.abs(sums - 1.0) > CLOSE)
    if wrong.size:
        at = int(wrong[0])
        raise InstanceError(
            "transition", "chances of a decision must sum to 1", index=(at,), value=float(sums[at])
        )
    matrix.data /= np.repeat(sums, np.diff(matrix.indptr))
    for part in (matrix.data, matrix.indptr, matrix.indices):
        part.flags.writeable = False
    return matrix
