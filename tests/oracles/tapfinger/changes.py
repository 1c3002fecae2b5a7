"""The best run of a few tasks whose bundles may change, by trying everything."""

from __future__ import annotations

from itertools import product
from math import sqrt

COMPLETE = 1.0 - 1e-9
PAUSE = (0, 0)


class TooManyStatesError(Exception):
    """There is too much to try."""


class Runs:
    """All runs of an instance, the noise being as kind as it can be in every slot.

    A task is None while it waits, "done", or cluster, last bundle and progress.
    """

    def __init__(self, instance):
        self.instance, self.tasks = instance, range(instance.tasks)
        self.kind, self.weight = instance.kind.tolist(), instance.weight.tolist()
        self.arrival = instance.arrival.tolist()
        self.known = {}
        self.bundles = {
            (n, k): self.faster(n, k)
            for n in range(instance.clusters)
            for k in range(instance.task_kinds)
        }

    def faster(self, n, k):
        """Return the bundles that no smaller one equals in speed."""
        duration, speed = self.instance.duration[n, k], self.instance.speed[n, k]
        some = [x for x in product(*map(range, duration.shape)) if duration[x]]
        return [
            x
            for x in some
            if not any(
                y != x and y[0] <= x[0] and y[1] <= x[1] and speed[y] >= speed[x] for y in some
            )
        ]

    def after(self, j, n, bundle, last, progress):
        """Return the progress of a task after a slot."""
        if bundle == PAUSE:
            return progress
        gain = float(self.instance.speed[n, self.kind[j]][bundle])
        if self.instance.slowing[self.kind[j]]:
            gain *= sqrt(max(0.0, 1.2 - progress))
        gain += self.instance.noise
        return progress + gain * (1.0 if last in (None, bundle) else self.instance.switching)

    def rest(self, j, n, progress):
        """Return the fewest slots that a task needs from here."""
        key = n, self.kind[j], progress
        if key not in self.known:
            slots = 0
            while progress < COMPLETE:
                progress = max(
                    self.after(j, n, x, None, progress) for x in self.bundles[n, self.kind[j]]
                )
                slots += 1
            self.known[key] = slots
        return self.known[key]

    def at_least(self, state):
        """Return what a state costs from now on at least."""
        total = 0.0
        for j in self.tasks:
            if state[j] is None:
                homes = [n for n in range(self.instance.clusters) if self.may(j, n)]
                total += self.weight[j] * min(self.rest(j, n, 0.0) for n in homes)
            elif state[j] != "done":
                total += self.weight[j] * self.rest(j, state[j][0], state[j][2])
        return total

    def may(self, j, n):
        return self.instance.eligible[j, n] and self.bundles[n, self.kind[j]]

    def moves(self, j, state, slot):
        """Return cluster, bundle, whether placed and what follows of all that a task may do."""
        if state == "done" or self.arrival[j] > slot:
            return [(None, PAUSE, False, state)]
        found = []
        if state is None:
            found.append((None, PAUSE, False, None))
            homes, last, progress = range(self.instance.clusters), None, 0.0
        else:
            homes, last, progress = [state[0]], state[1], state[2]
        for n in homes:
            if self.may(j, n):
                for x in [PAUSE, *self.bundles[n, self.kind[j]]]:
                    new = self.after(j, n, x, last, progress)
                    follows = "done" if new >= COMPLETE else (n, x, round(new, 12))
                    found.append((n, x, state is None, follows))
        return found

    def fits(self, moves):
        used, placed = {}, {}
        for n, (cpu, gpu), new, _ in moves:
            cpus, gpus = used.get(n, PAUSE)
            used[n] = cpus + cpu, gpus + gpu
            placed[n] = placed.get(n, 0) + new
        room = self.instance.capacity.tolist()
        many = self.instance.single_start and any(
            count > 1 for n, count in placed.items() if n is not None
        )
        return not many and all(
            n is None or (held[0] <= room[n][0] and held[1] <= room[n][1])
            for n, held in used.items()
        )


def least_flow(instance, known, most=20_000):
    """Return the least weighted flow time of all runs, or the known one if none is better."""
    runs = Runs(instance)
    layer, slot, tried = {(None,) * instance.tasks: 0.0}, 0, 0
    while layer:
        following = {}
        for state, cost in layer.items():
            if all(one == "done" for one in state):
                known = min(known, cost)
                continue
            paid = cost + sum(
                runs.weight[j] for j in runs.tasks if runs.arrival[j] <= slot and state[j] != "done"
            )
            for moves in product(*(runs.moves(j, state[j], slot) for j in runs.tasks)):
                tried += 1
                if tried > most:
                    raise TooManyStatesError
                after = tuple(move[3] for move in moves)
                if paid + runs.at_least(after) >= min(known, following.get(after, known)):
                    continue
                if runs.fits(moves):
                    following[after] = paid
        layer, slot = following, slot + 1
    return known
