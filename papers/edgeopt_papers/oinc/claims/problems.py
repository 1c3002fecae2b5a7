"""Named small problems of a slot and of retraining, on which printed statements fail or are tight.

Numbers in the docstrings are exact. All jobs arrive in slot 0 and weigh 1, unless said otherwise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.models.oinc.retraining.problem import RetrainingProblem
from edgeopt.models.oinc.slot.problem import SlotProblem

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def at_once(duration: ArrayLike, weight: ArrayLike | None = None) -> RetrainingProblem:
    """Let all jobs arrive in slot 0."""
    time = np.asarray(duration, dtype=float)
    weights = np.ones(len(time)) if weight is None else np.asarray(weight, dtype=float)
    return RetrainingProblem(np.zeros(len(time), dtype=np.int64), time, weights)


def jobs_at_one_site(duration: ArrayLike, weight: ArrayLike | None = None) -> RetrainingProblem:
    """Let all jobs arrive in slot 0 at the only site."""
    return at_once(np.asarray(duration, dtype=float)[:, None], weight)


def lone_job() -> RetrainingProblem:
    """One job of 2 s, two sites: at the site where it is not, no price pays for its cost."""
    return at_once([[2.0, 2.0]])


def short_jobs(jobs: int = 1, duration: float = 0.01) -> RetrainingProblem:
    """Jobs that take a small part of a slot each, at one site.

    One job of h seconds alone flows for h; P1 gives h / 2, and (h + 1) / 2 with the middle of the
    slot. If n jobs take a slot each, they flow for n (n + 1) / 2.
    """
    return jobs_at_one_site(np.full(jobs, duration))


def two_densities() -> RetrainingProblem:
    """Two jobs of 1 and 2 s with weights 4 and 1 at one site.

    The denser one first, they flow for 7 in weighted sum, the other way round for 14.
    """
    return jobs_at_one_site([1.0, 2.0], [4.0, 1.0])


def light_and_long(length: int = 10) -> RetrainingProblem:
    """Two jobs of N and 1 s with weights 1 and N at one site.

    The denser one first, they flow for 2 N + 1 in weighted sum, the other way round for N (N + 2).
    """
    return jobs_at_one_site([float(length), 1.0], [1.0, float(length)])


def delaying(length: int = 2) -> RetrainingProblem:
    """Two jobs of n and 1 s at one site: the second goes first, and delays the first by 1 s."""
    return jobs_at_one_site([float(length), 1.0])


def in_turn() -> RetrainingProblem:
    """Two jobs of 2 s at one site: one waits for 2 s, and is complete after 4."""
    return jobs_at_one_site([2.0, 2.0])


def wrong_site() -> RetrainingProblem:
    """Two jobs that take 3 s at site 0, and 2 and 1 s at site 1: both belong to site 1.

    There they flow for 1 + 3. The second at site 0, they flow for 2 + 3.
    """
    return at_once([[3.0, 2.0], [3.0, 1.0]])


def greedy_move() -> RetrainingProblem:
    """Three jobs at first, of which it pays to move one, and a fourth that makes it a mistake.

    They take (1, 2), (2, 2), (4, 2) and (2, 3) s at both sites; the fourth arrives in slot 1. Where
    they are sent first they flow for 1 + 2 + 4 + 2. If the second moves to site 0, in slot 0, the
    first three flow for 6 instead of 7, and the fourth for 4.
    """
    time = np.array([[1.0, 2.0], [2.0, 2.0], [4.0, 2.0], [2.0, 3.0]])
    return RetrainingProblem(np.array([0, 0, 0, 1]), time)


def in_parts() -> RetrainingProblem:
    """One job that takes 6 s at site 0 and 1 s at site 1.

    Served for 4 s at site 0 and then for 1/3 s at site 1, it flows for 13/3.
    """
    return at_once([[6.0, 1.0]])


def elsewhere(scale: float = 1.0) -> RetrainingProblem:
    """Two jobs that site 0 serves ten times as fast as site 1, and a heavy one in the way."""
    return at_once(scale * np.array([[200.0, 2000.0], [40.0, 400.0]]), [20.0, 1.0])


def one_site_each() -> RetrainingProblem:
    """Return a light job for site 0 alone, of 2 s, and a heavy one of 1 s there, 2 s at site 1.

    The heavy one first at site 0, they flow for 4 + 3 and are complete after 3 slots; within two
    slots site 0 is taken.
    """
    return at_once([[2.0, np.inf], [1.0, 2.0]], [1.0, 4.0])


def two_requests(slo: float, room: float = 1.0) -> SlotProblem:
    """Two equal requests of 0.1 s with the whole band and 0.1 s with the whole CPU, at one site.

    Sharing alike they take 0.4 s each, if the whole CPU is theirs.
    """
    tenth = np.full((2, 1), 0.1)
    return SlotProblem(tenth, tenth, np.full(2, slo), np.array([room]))


def uneven_objectives() -> SlotProblem:
    """Two requests as in `two_requests`, the first due within 0.3 s and the second within 1 s.

    Sharing alike they take 0.4 s each; both can be in time.
    """
    tenth = np.full((2, 1), 0.1)
    return SlotProblem(tenth, tenth, np.array([0.3, 1.0]), np.ones(1))


def two_near_one() -> SlotProblem:
    """Two equal requests and two sites: 0.1 s to send to site 0, 0.4 s to site 1, due in 0.9 s.

    Alone at site 0 and at site 1 they take 0.2 and 0.5 s; both at site 1 take 1 s each.
    """
    sending = np.array([[0.1, 0.4], [0.1, 0.4]])
    return SlotProblem(sending, np.full((2, 2), 0.1), np.full(2, 0.9), np.ones(2))
