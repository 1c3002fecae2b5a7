"""Events in, decisions out: a policy on a stream of events, and the log that restores it.

Nothing of a policy's state is stored. A session is its log: the same events, handed to a policy
with the same seed, give the same decisions.
"""

from __future__ import annotations

import io
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

import edgeopt
from edgeopt.errors import EdgeOptError, OptionError, OutputError, Refused
from edgeopt.online.session.log import FORMAT, as_json, read_log, written
from edgeopt.online.simulate import (
    ask,
    carried,
    lost_state,
    refused_decision,
    require_parts,
    wrong_answer,
)
from edgeopt.options import check_able, check_flag, check_whole
from edgeopt.writing.files import write_file

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable
    from typing import Self, TextIO

    from edgeopt.online.protocols import Policy


class Desk(Protocol):
    """What turns the events of a system into observations of a policy, and keeps its books.

    Attributes
    ----------
    instance
        What the policy starts with; another one after a plan.
    name
        Kind and options, as text, for the head of the log.
    may_decline
        Whether a decision may be None.
    in_use
        False; a session sets it.
    plan
        None, or what `load` needs to go on from the plan that the last event has led to, with an
        entry ``"done"``: whether nothing of that event was left to do after the plan.
    """

    instance: Any
    name: str
    may_decline: bool
    in_use: bool
    plan: dict[str, Any] | None

    def fingerprint(self) -> str:
        """Return the fingerprint of the instance that the desk was opened with."""
        ...

    def take(self, event: dict[str, Any], coin: Callable[[], float]) -> Any:
        """Take an event; return the observation of a decision that is due, else None.

        Raises `Refused` before anything has changed.
        """
        ...

    def carry_out(self, observation: Any, decision: Any) -> None:
        """Carry out a decision."""
        ...

    def feedback(self) -> Any:
        """Return what the last decision has come to by now."""
        ...

    def written(self, decision: Any) -> Any:
        """Return what the log has of a decision."""
        ...

    def load(self, plan: dict[str, Any]) -> None:
        """Go on from a plan."""
        ...


class Session:
    """A policy that answers events one by one, and writes each to a log.

    The log has one JSON object a line. The first is ``{format, edgeopt, instance, policy, seed,
    desk}``; one for every event follows, ``{n, event}``, with ``decision`` and ``ms`` where a
    decision was due; after an event that has led to a new plan, one with a ``checkpoint``. Each
    ends with a digest of itself and of all lines before it. A line is written when all of
    its event is done, and before its decision is returned.

    Parameters
    ----------
    policy
        Decides.
    desk
        Takes the events of a system, such as `RescueDesk`.
    seed
        Of the policy's random numbers and of the desk's coins.
    log
        Where lines are written, flushed after each; in memory if None.

    Attributes
    ----------
    log
        Where lines are written.
    last
        The line of the last event, as a dictionary; of the head before the first.

    Raises
    ------
    OptionError
        If the seed is no whole number, or the log cannot be written to.
    PolicyError
        If the policy lacks a part.

    Examples
    --------
    >>> from edgeopt.instances.rescue import generate
    >>> from edgeopt.online.rescue import PickConfigs
    >>> from edgeopt.online.session import RescueDesk, Session
    >>> instance, policy = generate(horizon=20, rng=7), PickConfigs(guarded=True)
    >>> session = Session(policy, RescueDesk(instance), seed=1)
    >>> decision = session.take({"event": "task", "slot": 3, "device": 0})
    >>> again = Session.restore(session.log.getvalue(), policy, RescueDesk(instance))
    >>> event = {"event": "task", "slot": 5, "device": 1}
    >>> again.take(event) == session.take(event)
    True
    """

    log: Any
    last: dict[str, Any]

    def __init__(
        self,
        policy: Policy[Any, Any, Any, Any, Any],
        desk: Desk,
        *,
        seed: int = 0,
        log: TextIO | None = None,
    ) -> None:
        self._open(policy, desk, seed)
        self.log = io.StringIO() if log is None else log
        check_able("log", self.log, "write", "flush")
        self._append(self.last)

    @classmethod
    def restore(
        cls,
        lines: Iterable[str] | str,
        policy: Policy[Any, Any, Any, Any, Any],
        desk: Desk,
        *,
        full: bool = True,
        log: TextIO | None = None,
    ) -> Self:
        """Go on where a log ends.

        Parameters
        ----------
        lines
            The lines of the log, or all of them as one text. A last line that is not whole is left
            out: its decision was never returned.
        policy, desk
            Equal to those that the log was begun with; the desk as it was then.
        full
            Whether every event is handed to the policy once more, and the decisions compared.
            Otherwise that begins with the last plan.
        log
            Where further lines are written, behind those that are there; in memory, behind a copy
            of them, if None.

        Returns
        -------
        A session that decides as the one before would have.

        Raises
        ------
        OptionError
            If the log is of another format, version, instance, policy or desk, a line has been
            changed, or a decision is another one now.
        """
        check_flag("full", full)
        (head, *rows), _ = read_log(lines)
        if not isinstance(head.get("seed"), int):
            raise OptionError("log, line 1: it has no seed")
        session = cls.__new__(cls)
        session._open(policy, desk, head["seed"])
        for name, here in session.last.items():
            if head.get(name) != here:
                raise OptionError(f"log: its {name} is {head.get(name)!r}; here it is {here!r}")
        session.log = io.StringIO()
        session._append(head)
        more = session._replay(rows, full=full)
        if log is not None:
            check_able("log", log, "write", "flush")
            session.log = log
        for row in more:
            session._append(row)
        return session

    def _replay(self, rows: list[dict[str, Any]], *, full: bool) -> list[dict[str, Any]]:
        """Take the events of a log once more; return what is missing at its end."""
        at = 0
        marks = [] if full else [n for n, row in enumerate(rows) if "checkpoint" in row]
        if marks:
            plan = rows[marks[-1]]["checkpoint"]
            self.desk.load(plan)
            self._rng.bit_generator.state = plan["random"]
            self._drawn = plan["drawn"]
            self._coins.bit_generator.advance(self._drawn)  # type: ignore[attr-defined]
            self._start()
            # Before the plan, time had only passed: the event itself is still to be taken.
            event = marks[-1] - 1
            for row in rows[: event + 1 if plan["done"] else event]:
                self._append(row)
            if not plan["done"]:
                self._again(rows[event : event + 1])
            self._append(rows[marks[-1]])
            self.last = rows[event]
            at = marks[-1] + 1
        more: list[dict[str, Any]] = []
        while at < len(rows):
            done = self._again(rows[at : at + 2])
            more = done[len(rows) - at :]
            at += len(done)
        return more

    def _again(self, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Take the event of the first row; return what comes of it, compared with the rows."""
        number = self._count + 1
        if not isinstance(rows[0].get("event"), dict):
            raise OptionError(f"log, line {number}: no event")
        try:
            _, done = self._done(rows[0]["event"])
        except Refused as why:
            raise OptionError(f"log, line {number}: {why}") from None
        for logged, row in zip(rows, done, strict=False):
            if _lasting(logged) != _lasting(row):
                what = f"decided {logged.get('decision')}, now {row.get('decision')}"
                if "checkpoint" in logged or "checkpoint" in row:
                    what = "another plan"
                raise OptionError(f"log, line {self._count + 1}: {what}")
            self._append(logged)
        self.last = rows[0]
        return done

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        policy: Policy[Any, Any, Any, Any, Any],
        desk: Desk,
        *,
        seed: int = 0,
        full: bool = True,
    ) -> Self:
        """Go on where the log in a file ends, or begin one if there is none.

        What a process that was killed has left of a last line is removed from the file. One
        process may write to it at a time.

        Parameters
        ----------
        path
            The file.
        policy, desk, full
            See `restore`.
        seed
            Of a new log.

        Returns
        -------
        A session whose log is the file.

        Raises
        ------
        OptionError
            If the file is no log, or one that `restore` refuses.
        OutputError
            If it cannot be written.
        """
        file = Path(path)
        text = file.read_text("utf-8", errors="replace") if file.exists() else ""
        if "\n" not in text:
            session = cls(policy, desk, seed=seed)
            head = session.log.getvalue()
            if not head.startswith(text):
                raise OptionError(f"{file}: is no log of a session")
            session.log = _stream(file, head)
            return session
        session = cls.restore(text, policy, desk, full=full)
        whole = session.log.getvalue()
        session.log = _stream(file, whole if whole != text else None)
        return session

    def _open(self, policy: Policy[Any, Any, Any, Any, Any], desk: Desk, seed: int) -> None:
        require_parts(policy)
        check_whole("seed", seed, 0)
        if desk.in_use:
            raise OptionError("desk: it has the books of another session; make a new one")
        desk.in_use = True
        self.policy, self.desk = policy, desk
        # The policy's stream is the same as that of a simulated run of this seed.
        self._rng = np.random.default_rng(seed)
        self._coins = np.random.default_rng(seed).spawn(1)[0]
        self._drawn, self._count, self._digest, self._ended = 0, 0, "", ""
        self._start()
        self.last = {
            "format": FORMAT,
            "edgeopt": edgeopt.__version__,
            "instance": desk.fingerprint(),
            "policy": policy.name,
            "seed": int(seed),
            "desk": desk.name,
        }

    def _start(self) -> None:
        self._first = self._state = ask(self.policy, "start", self.desk.instance)
        self._waiting: tuple[Any, Any] | None = None  # observation and decision without feedback

    def _append(self, row: dict[str, Any]) -> None:
        line, self._digest = written(row, self._digest)
        self.log.write(line + "\n")
        self.log.flush()
        self._count += 1

    def _coin(self) -> float:
        self._drawn += 1
        return float(self._coins.random())

    def take(self, event: dict[str, Any] | str) -> Any:
        """Take an event and return the decision, None where none is due or a task is turned down.

        Parameters
        ----------
        event
            What has happened, as a dictionary that JSON can hold or as JSON; see the desk.

        Returns
        -------
        The decision, as the policy has made it; ``last`` has it as it is in the log.

        Raises
        ------
        Refused
            If the event does not fit what has happened; the session is as before.
        PolicyError
            If the decision cannot be carried out. Then, and after any other error of a policy, the
            session ends; its log holds all that was done before the event.
        """
        decision, rows = self._done(event)
        self._ended = "its log could not be written"
        for row in rows:
            self._append(row)
        self._ended = ""
        self.last = rows[0]
        return decision

    def _done(self, event: Any) -> tuple[Any, list[dict[str, Any]]]:
        """Take an event; return the decision and what is to be written."""
        if self._ended:
            raise OptionError(f"the session has ended: {self._ended}; restore it from its log")
        began = time.perf_counter()
        event = _checked(event)
        drawn = self._drawn
        decision = observation = plan = None
        try:
            observation = self.desk.take(event, self._coin)
            plan = self.desk.plan
            if plan is not None:
                random = self._rng.bit_generator.state
                plan = as_json({**plan, "drawn": drawn, "random": random})
                self._start()
            if observation is not None:
                decision = self._decide(observation)
        except Refused:
            raise
        except Exception as error:
            self._ended = f"{type(error).__name__} in event {self._count}"
            raise
        row = {"n": self._count, "event": event}
        if observation is not None:
            spent = 1e3 * (time.perf_counter() - began)
            row |= {"decision": as_json(self.desk.written(decision)), "ms": round(spent, 3)}
        rows = [row]
        if plan is not None:
            rows.append({"n": self._count + 1, "checkpoint": plan})
        return decision, rows

    def _decide(self, observation: Any) -> Any:
        policy = self.policy
        if self._waiting is not None:
            handed, given = self._state, (*self._waiting, self.desk.feedback())
            self._state = ask(policy, "learn", handed, *given)
            if self._state is None and self._first is not None:
                raise lost_state(policy, given[0], handed)
        if (network := getattr(observation, "network", None)) is not None:
            self._state = carried(policy, self._state, network)
        answer = ask(policy, "decide", self._state, observation, self._rng)
        if type(answer) is not tuple or len(answer) != 2:
            raise wrong_answer(policy, answer, self.desk, observation)
        decision, self._state = answer
        try:
            self.desk.carry_out(observation, decision)
        except EdgeOptError as error:
            raise refused_decision(policy, observation, decision, error) from error
        self._waiting = observation, decision
        return decision


def _checked(event: Any) -> dict[str, Any]:
    """Return an event as JSON has it."""
    if isinstance(event, str):
        try:
            event = json.loads(event)
        except ValueError as why:
            raise Refused(f"an event is a JSON object: {why}") from None
    if not isinstance(event, dict):
        raise Refused(f"an event is a JSON object, no {type(event).__name__}")
    try:
        checked: dict[str, Any] = as_json(event)
    except (OptionError, RecursionError) as why:
        raise Refused(f"event: {why}") from None
    return checked


def _lasting(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row without what differs from time to time."""
    return {name: value for name, value in row.items() if name != "ms"}


def _stream(file: Path, text: str | None) -> TextIO:
    """Open a log to write behind its end, after replacing it where it is to be another one."""
    if text is not None:
        write_file(file, text)
    try:
        return file.open("a", encoding="utf-8")
    except OSError as why:
        raise OutputError(f"{file}: cannot be written: {why}") from why
