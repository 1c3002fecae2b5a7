"""RESCUE live: tasks that arrive, runs that end, servers that fail and return."""

from __future__ import annotations

import difflib
import math
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

import numpy as np

from edgeopt.errors import OptionError, Refused
from edgeopt.instances.rescue import RescueInstance
from edgeopt.online.rescue.environment import (
    Arrival,
    FinishedRun,
    Placement,
    RescueEnvironment,
    checked_placement,
)
from edgeopt.online.session.rolling_horizon import _DONE, rest
from edgeopt.options import check_able, check_kind, check_whole

if TYPE_CHECKING:
    from collections.abc import Callable


EVENTS: Final = {
    "task": ("device",),
    "finished": ("server",),
    "down": ("server",),
    "up": ("server",),
}
"""Events, and what each needs besides its slot."""

_MAY: Final = {"task": ("coin",), "finished": ("profit",)}

_COUNTS: Final = ("slot", "earned", "surprises", "failed", "given_up")
"""Attributes of a desk that are numbers."""


class Window(NamedTuple):
    """A reserved task from some slot on; slots count from the beginning of the session."""

    task: tuple[int, int]  # its number in the instance, and how often that has been repeated before
    server: int
    start: int
    end: int
    left: float  # work


class RescueDesk:
    """Takes the events of RESCUE's servers and keeps their books.

    An event has a ``"slot"`` and is one of

    - ``{"event": "task", "device": j}``: a task arrives; the answer is a `Placement`, or None. Its
      coin for policies that route at random is drawn, unless ``"coin"`` gives it.
    - ``{"event": "finished", "server": k}``: the run there has ended and the server is idle in the
      slot. What it earned is what the instance says, unless ``"profit"`` gives it.
    - ``{"event": "down", "server": k}``: the server has failed. A run there is lost and earns
      nothing; reserved work waits.
    - ``{"event": "up", "server": k}``: it is back.

    Outages that the instance knows in advance need no event: plans know them, and no run that may
    meet one begins.

    Slots may not go back. When time passes, idle servers serve their reserved tasks by earliest
    deadline first, as in `RescueEnvironment`.

    What the instance gives no probability is a surprise: a server that fails or returns, a run
    longer than any, a run that began before the last plan. A state of a policy says nothing of
    that, so the policy starts anew on what `forecast` returns; what it had learnt is forgotten.

    Parameters
    ----------
    instance
        The instance that the session begins with.
    every
        A new plan is made after so many slots, and whenever the instance begins again; None for
        plans after surprises, and when the last one is used up, alone.
    forecast
        Returns the instance from the present slot of a desk on. `rest` keeps to the horizon;
        `rolled` repeats the instance without end.

    Attributes
    ----------
    slot
        The present slot, from the beginning of the session.
    opened
        The instance that the session began with.
    instance
        That of the last plan, whose slot 0 is slot `shift`.
    running
        What runs on each busy server: when it began, for whose task, where and how.
    down
        Servers that have failed.
    remaining
        Work left of the tasks of `promised` of the last plan, TMAC, shape [H].
    failed, given_up
        How many reserved tasks missed their deadline, and how many were dropped from a plan because
        they could not be met any more.
    earned
        Profit of the runs that have finished.
    surprises
        How many there have been.

    Raises
    ------
    OptionError
        If `every` is longer than the horizon.

    Examples
    --------
    >>> from edgeopt.instances.rescue import generate
    >>> from edgeopt.online.rescue import PickConfigs
    >>> from edgeopt.online.session import RescueDesk, Session
    >>> desk = RescueDesk(generate(horizon=20, rng=7))
    >>> session = Session(PickConfigs(), desk, seed=1)
    >>> session.take({"event": "task", "slot": 3, "device": 0})
    Placement(server=1, profile=2)
    >>> session.take({"event": "down", "slot": 4, "server": 1})
    >>> desk.slot, desk.down, desk.surprises
    (4, {1}, 1)
    """

    may_decline: ClassVar[bool] = True
    in_use = False

    def __init__(
        self,
        instance: RescueInstance,
        *,
        every: int | None = None,
        forecast: Callable[[RescueDesk], RescueInstance] = rest,
    ) -> None:
        check_kind("instance", instance, RescueInstance)
        check_whole("every", every, 1, instance.horizon, none=True)
        check_able("forecast", forecast, "__call__")
        self.opened, self.every, self.forecast = instance, every, forecast
        self.slot, self.earned, self.surprises = 0, 0.0, 0
        self.running: dict[int, tuple[int, int, int, int]] = {}
        self.down: set[int] = set()
        self._ended: list[FinishedRun] = []
        self.failed = self.given_up = 0
        self._profits = RescueEnvironment(instance).profit
        self.windows = self._repeated(0)
        self._known = {one.task for one in self.windows}
        self.plan: dict[str, Any] | None = None
        self._follow(instance)

    @property
    def name(self) -> str:
        """Kind and options."""
        forecast = getattr(self.forecast, "__name__", type(self.forecast).__name__)
        return f"RescueDesk(every={self.every}, forecast={forecast})"

    def fingerprint(self) -> str:
        """Return the fingerprint of the instance that the session began with."""
        return self.opened.fingerprint()

    # --- events ----------------------------------------------------------------------------

    def take(self, event: dict[str, Any], coin: Callable[[], float]) -> Arrival | None:
        """Take an event; return what a policy sees of a task that has arrived."""
        kind, slot, number = self._checked(event)
        self.plan = None
        self._pass(slot)
        if kind == "task":
            toss = float(event["coin"]) if "coin" in event else coin()
            idle, remaining = self._idle.copy(), self.remaining.copy()
            idle.flags.writeable = remaining.flags.writeable = False
            return Arrival(slot - self.shift, number, idle, remaining, toss)
        if kind == "finished":
            self._finish(number, event.get("profit"))
        else:
            if kind == "down":
                self.running.pop(number, None)
                self.down.add(number)
            else:
                self.down.discard(number)
            self._surprise()
        return None

    def carry_out(self, observation: Arrival, decision: Any) -> None:
        """Begin the run, if the task is accepted."""
        if decision is None:
            return
        server, profile = checked_placement(
            decision, self.instance, observation.idle, observation.slot
        )
        self.running[server] = self.slot, observation.device, server, profile
        self._idle[server] = False

    def feedback(self) -> tuple[FinishedRun, ...]:
        """Return the runs that have ended since the last decision."""
        ended, self._ended = tuple(self._ended), []
        return ended

    def written(self, decision: Any) -> Any:
        """Return what the log has of a decision: all of it."""
        return decision if decision is None else Placement(*decision)

    def _checked(self, event: dict[str, Any]) -> tuple[str, int, int]:
        """Return kind, slot, and device or server of an event that fits what has happened."""
        kind = event.get("event")
        if not isinstance(kind, str) or kind not in EVENTS:
            raise Refused(f"event = {kind!r}: must be {', '.join(EVENTS)}")
        needs = ("event", "slot", *EVENTS[kind])
        for name in needs:
            if name not in event:
                raise Refused(f"{kind}: {name} is missing")
        allowed = (*needs, *_MAY.get(kind, ()))
        for name in event:
            if name not in allowed:
                near = difflib.get_close_matches(name, allowed, n=1)
                raise Refused(
                    f"{kind}: has no {name!r}" + "".join(f"; did you mean {one!r}?" for one in near)
                )
        slot, instance = event["slot"], self.opened
        if type(slot) is not int or slot < self.slot:
            raise Refused(f"slot = {slot!r}: must be a whole number, at least {self.slot}")
        last = self._last(kind)
        if slot > last:
            raise Refused(f"slot = {slot}: must be at most {last}")
        what = needs[-1]
        number, most = event[what], getattr(instance, f"{what}s")
        if type(number) is not int or not 0 <= number < most:
            raise Refused(f"{what} = {number!r}: must be 0 to {most - 1}")
        if kind == "task":
            _require_real("coin", event.get("coin", 0.0), 0.0, 1.0)
        elif kind == "finished":
            if number not in self.running:
                raise Refused(f"server {number} runs nothing")
            began = self.running[number][0]
            if slot <= began:
                raise Refused(
                    f"server {number} began in slot {began}: it cannot end before the next"
                )
            _require_real("profit", event.get("profit", 0.0), -math.inf, math.inf)
        elif (number in self.down) == (kind == "down"):
            raise Refused(f"server {number} is {'' if kind == 'down' else 'not '}down")
        return kind, slot, number

    def _last(self, kind: str) -> int:
        """Return the last slot of an event: more than a horizon ahead is a typing error."""
        horizon = self.opened.horizon
        ahead = max(horizon, self.opened.max_duration)
        if self.forecast is not rest:
            return self.slot + ahead
        return horizon - 1 if kind == "task" else max(self.slot, horizon) + ahead

    def _finish(self, server: int, profit: float | None) -> None:
        """Book the end of a run; one that the policy cannot know of is a surprise."""
        began, device, _, profile = self.running.pop(server)
        self._idle[server] = True
        duration = self.slot - began
        longest = self.opened.max_duration
        if profit is None:
            table = self._profits.at(began % self.opened.horizon)
            profit = float(table[device, server, profile, min(duration, longest) - 1])
        self.earned += float(profit)
        possible = duration <= longest and self.opened.duration[profile, duration - 1] > 0.0
        if began >= self.shift and possible:
            run = FinishedRun(began - self.shift, device, server, profile, duration, float(profit))
            self._ended.append(run)
        else:
            self._surprise()

    # --- time ------------------------------------------------------------------------------

    def _pass(self, slot: int) -> None:
        """Let time pass: idle servers serve, tasks miss deadlines, plans are made."""
        while self.slot < slot:
            at = self.slot - self.shift
            if at < self.instance.horizon:
                self._guard.serve(at, self._idle, self.remaining)
                failed = self._guard.failed(at, self.remaining)
                self.failed += int(failed[: len(self.windows)].sum())
            self.slot += 1
            used_up = self.slot - self.shift >= self.instance.horizon
            every, horizon = self.every or self.slot + 1, self.opened.horizon
            if used_up or self.slot % every == 0 or (self.every and self.slot % horizon == 0):
                self._replan(done=False)

    def _surprise(self) -> None:
        self.surprises += 1
        self._replan(done=True)

    def _replan(self, *, done: bool) -> None:
        """Go on with what is expected from now on, unless the horizon is over."""
        if self.forecast is rest and self.slot >= self.opened.horizon:
            return
        books = self._books()
        instance = self.forecast(self)
        check_kind("forecast", instance, RescueInstance)
        if instance.shape[1:] != self.opened.shape[1:]:
            raise OptionError(
                f"forecast: devices, servers, profiles and durations are {instance.shape[1:]}; "
                f"they must stay {self.opened.shape[1:]}"
            )
        if len(instance.reserved) != len(self.windows):
            raise OptionError("forecast: its reserved tasks are not those of `planned`")
        self._follow(instance)
        self.plan = {"done": done, **books}

    def _follow(self, instance: RescueInstance) -> None:
        """Go on with an instance whose first slot is the present one."""
        self.instance, self.shift = instance, self.slot
        self._guard = RescueEnvironment(instance).guard
        self.remaining = instance.promised.demand.copy()
        self._ended = []
        busy = self.down.union(self.running)
        self._idle = np.array([k not in busy for k in range(self.opened.servers)])

    def windows_until(self, stop: int) -> list[Window]:
        """Return the reserved tasks that are open, or are to be met before a slot.

        Those of a window that has been seen before are not listed twice.
        """
        left = [
            one._replace(left=float(work))
            for one, work in zip(self.windows, self.remaining, strict=False)  # then outages
            if one.end >= self.slot and work > _DONE * one.left
        ]
        horizon = self.opened.horizon
        rounds = range(self.slot // horizon, (stop - 1) // horizon + 1)
        self._known = {task for task in self._known if task[1] >= rounds.start}
        new = [
            one
            for number in rounds
            for one in self._repeated(number)
            if one.task not in self._known and self.slot <= one.end < stop
        ]
        self._known |= {one.task for one in new}
        return left + new

    def _repeated(self, number: int) -> list[Window]:
        """Return the reserved tasks of the instance after so many repetitions."""
        tasks, later = self.opened.reserved, number * self.opened.horizon
        columns = tasks.server, tasks.start + later, tasks.end + later, tasks.demand
        rows = zip(*(column.tolist() for column in columns), strict=True)
        return [Window((task, number), *row) for task, row in enumerate(rows)]

    # --- plans -----------------------------------------------------------------------------

    def _books(self) -> dict[str, Any]:
        """Return what a plan is made from, for JSON."""
        books = {name: getattr(self, name) for name in _COUNTS}
        books["running"], books["down"] = sorted(self.running.values()), sorted(self.down)
        books["windows"], books["known"] = self.windows, sorted(self._known)
        books["remaining"] = self.remaining
        return books

    def load(self, plan: dict[str, Any]) -> None:
        """Go on from a plan."""
        for name in _COUNTS:
            setattr(self, name, plan[name])
        self.running = {run[2]: (run[0], run[1], run[2], run[3]) for run in plan["running"]}
        self.down = set(plan["down"])
        self.windows = [Window(**{**one, "task": tuple(one["task"])}) for one in plan["windows"]]
        self._known = {(task, number) for task, number in plan["known"]}
        self.remaining = np.array(plan["remaining"], dtype=np.float64)
        self._replan(done=plan["done"])


def _require_real(name: str, value: Any, low: float, high: float) -> None:
    """Refuse what is no finite number in [low, high)."""
    number = type(value) in (int, float)
    if not number or not math.isfinite(value) or not low <= value < high:
        span = f"in [{low:g}, {high:g})" if math.isfinite(low) else "finite"
        raise Refused(f"{name} = {value!r}: must be a number, {span}")
