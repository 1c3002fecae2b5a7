"""Systems whose episode keeps the books: what becomes known is revealed, then a decision is due."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np

from edgeopt.errors import EdgeOptError, OptionError, Refused
from edgeopt.options import check_able

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

_TIMES: Final = ("slot", "frame")
_ITEMS: Final = ("task", "job")
_ASKED: Final = ("task", "request_task")
"""What is asked for stays as it is where a network changes."""
_LATER: Final = {"IdnInstance": {"requests"}, "EdrInstance": {"price"}}
"""What becomes known after the decision of its slot or frame."""


class EpisodeDesk:
    """Takes the events of IDN, OINC, EDR and TapFinger, whose episodes keep the books.

    An event is one of

    - ``{"event": "reveal", "at": t, "fields": {name: rows}}``: these fields of the instance are
      known in slot or frame t; ``"at": [frame, slot]`` for one slot of EDR, a number of a task or
      job for fields of tasks and jobs that have not arrived. Infinity is ``"inf"``.
    - ``{"event": "change", "links": [[u, v], ...], "nodes": [v, ...], "fields": {name: values}}``,
      for IDN: from the next decision on, the network is that of the environment without these links
      and nodes, and with other values of whole fields, such as capacities. Each may be left out;
      with none of them, all is as in the beginning.
    - ``{"event": "decide"}``: the answer is the decision of the next step. What the one before it
      came to is worked out then, from what has been revealed by then.

    What is not revealed stays as the environment has it: a forecast. What policies are told, what
    a decision costs and when work is done follows from the instance, as in a simulation. The
    numbers of slots, tasks and jobs are fixed: leave room for those to come, as tasks that arrive
    last.

    Parameters
    ----------
    environment
        `IdnEnvironment`, `OincEnvironment`, `EdrEnvironment` or `TapFingerEnvironment`.
    scenario
        One of its scenarios: the order of requests in IDN, the noise of TapFinger. By default one
        drawn with the seed 0.

    Attributes
    ----------
    truth
        The instance as far as it is known.
    shown
        Slot, or frame and slot, of the last decision; None before the first. The slot of EDR is -1
        where rounds of a frame were decided.

    Examples
    --------
    >>> from edgeopt.instances.idn import small
    >>> from edgeopt.online.idn import IdnEnvironment, Infida
    >>> from edgeopt.online.session import EpisodeDesk, Session
    >>> session = Session(Infida.recommended(), EpisodeDesk(IdnEnvironment(small(1))), seed=1)
    >>> first = session.take({"event": "decide"})
    >>> fields = {"requests": [9, 0, 0, 2]}
    >>> session.take({"event": "reveal", "at": 0, "fields": fields})
    >>> session.take({"event": "decide"}).shape, session.desk.shown
    ((3, 2), (1,))
    """

    may_decline: ClassVar[bool] = False
    in_use = False
    plan: dict[str, Any] | None = None

    def __init__(self, environment: Any, *, scenario: Any = None) -> None:
        check_able("environment", environment, "episode", "scenarios")
        if not hasattr(environment, "truth"):
            raise OptionError(f"environment: {type(environment).__name__} has no truth to reveal")
        if getattr(environment, "changes", ()):
            raise OptionError("environment: has changes; a desk takes them as events")
        self.environment, self.instance = environment, environment.instance
        self.truth = environment.truth
        if scenario is None:
            scenario = environment.scenarios(np.random.default_rng(0), 1)[0]
        self._scenario = scenario
        self._opened: str = self.truth.fingerprint()
        self._episode: Any = None
        self._coming: Any = None
        self._decision: Any = None
        self._due = False
        self._feedback: Any = None
        self.shown: tuple[int, ...] | None = None

    @property
    def name(self) -> str:
        """Kind and options."""
        environment = self.environment
        options = [
            f"{one.name}={getattr(environment, one.name)}"
            for one in fields(environment)
            if one.name not in ("truth", "changes")
        ]
        return f"EpisodeDesk({type(environment).__name__}({', '.join(options)}))"

    def fingerprint(self) -> str:
        """Return the fingerprint of the instance that the session began with."""
        return self._opened

    def take(self, event: dict[str, Any], coin: Callable[[], float]) -> Any:
        """Take an event; return what a policy sees when a decision is due."""
        kind = event.get("event")
        known = ["reveal", "decide", *(["change"] if hasattr(self.environment, "changes") else [])]
        if kind not in known:
            raise Refused(f"event = {kind!r}: must be {', '.join(known[:-1])} or {known[-1]}")
        if kind == "change":
            if more := set(event) - {"event", "links", "nodes", "fields"}:
                raise Refused(f"change: has no {min(more)!r}; it may have links, nodes and fields")
            self._change(event)
            return None
        needs = {"event", "at", "fields"} if kind == "reveal" else {"event"}
        if set(event) != needs:
            raise Refused(f"{kind}: must have {', '.join(sorted(needs))}")
        if kind == "reveal":
            self._reveal(event["at"], event["fields"])
            return None
        return self._observe()

    def carry_out(self, observation: Any, decision: Any) -> None:
        """Keep a decision until the next one is due."""
        self._decision, self._due = decision, True

    def feedback(self) -> Any:
        """Return what the last decision came to."""
        return self._feedback

    def written(self, decision: Any) -> Any:
        """Return what the log has of a decision."""
        brief = getattr(self._episode, "written", None)
        return decision if brief is None else brief(decision)

    def load(self, plan: dict[str, Any]) -> None:
        """Refuse: no event of these systems leads to a new plan."""
        raise OptionError("log: a checkpoint, which an EpisodeDesk does not write")

    def _observe(self) -> Any:
        if self._episode is None:
            known = replace(self.environment, truth=self.truth)
            self._episode = known.episode(self._scenario)
        if self._due:
            try:
                self._feedback = self._episode.act(self._decision)
            except EdgeOptError as why:
                raise OptionError(f"the decision before cannot be carried out: {why}") from why
            self._due = False
        if self._coming is not None:
            self._episode.change(self._coming)
            self._coming = None
        seen = self._episode.observe()
        if seen is None:
            raise Refused("decide: the horizon is over")
        names = ("frame", "slot", "index")
        moment = [getattr(seen, name) for name in names if hasattr(seen, name)]
        frames = hasattr(self.truth, "frames")
        self.shown = (*moment, -1) if frames and len(moment) == 1 else tuple(moment)
        return seen

    def _change(self, event: dict[str, Any]) -> None:
        """Put off another network until the next decision."""
        first, given = self.environment.truth, event.get("fields", {})
        if not isinstance(given, dict):
            raise Refused("fields: must have the values of fields, by name")
        try:
            network = first.without(links=event.get("links", ()), nodes=event.get("nodes", ()))
            known = {
                one.name: getattr(network, one.name)
                for one in type(first)._fields
                if one.axes and not {*one.axes} & {*_TIMES} and one.name not in _ASKED
            }
            for name in given:
                if not isinstance(known.get(name), np.ndarray):
                    arrays = [one for one in known if isinstance(known[one], np.ndarray)]
                    raise Refused(f"{name}: cannot change; what can is {', '.join(arrays)}")
            new = {name: _like(name, values, known[name]) for name, values in given.items()}
            network = network.replace(**new, requests=self.truth.requests)
            coming = replace(self.environment, truth=self.truth).change_to(network)
        except (EdgeOptError, ValueError) as why:
            raise why if isinstance(why, Refused) else Refused(f"change: {why}") from None
        self._coming, self.truth = coming, network

    # --- what becomes known --------------------------------------------------------------------

    def _reveal(self, at: Any, given: Any) -> None:
        moment = tuple(at) if isinstance(at, list) else (at,)
        if not 1 <= len(moment) <= 2 or any(type(one) is not int or one < 0 for one in moment):
            raise Refused(f"at = {at!r}: must be a number, or frame and slot")
        if not isinstance(given, dict) or not given:
            raise Refused("fields: must have the rows of at least one field, by name")
        new = {name: self._with_rows(name, moment, rows) for name, rows in given.items()}
        try:
            truth = self.truth.replace(**new)
        except (EdgeOptError, ValueError) as why:
            raise Refused(f"reveal: {why}") from None
        if "arrival" in new and not self._ahead((int(truth.arrival[moment]),)):
            raise Refused(f"arrival = {truth.arrival[moment]}: has passed")
        if self._episode is not None:
            self._episode.reveal(truth)
        self.truth = truth

    def _with_rows(self, name: str, moment: tuple[int, ...], rows: Any) -> NDArray[Any]:
        """Return a field with the rows that are known now."""
        axes = {one.name: one.axes for one in type(self.truth)._fields}.get(name, ())
        if not axes or axes[0] not in _TIMES + _ITEMS:
            known = [
                one.name for one in type(self.truth)._fields if {*one.axes[:1]} & {*_TIMES, *_ITEMS}
            ]
            raise Refused(f"{name}: cannot be revealed; what can is {', '.join(known)}")
        array = getattr(self.truth, name)
        if array is None or (len(moment) > 1 and axes[1:2] != ("slot",)):
            raise Refused(f"{name}: at must be a {axes[0]}")
        for axis, place, size in zip(axes, moment, array.shape, strict=False):
            if place >= size:
                raise Refused(f"{name}: {axis} {place} does not exist; there are {size}")
        if axes[0] in _ITEMS:
            if not self._ahead((int(self.truth.arrival[moment]),)):
                raise Refused(f"{name}: {axes[0]} {moment[0]} has arrived")
        elif not self._ahead(moment, name):
            raise Refused(f"{name}: {axes[0]} {list(moment)} has been shown")
        changed = np.array(array)
        changed[moment] = _like(name, rows, changed[moment])
        return changed

    def _ahead(self, moment: tuple[int, ...], name: str = "") -> bool:
        """Tell whether what belongs to a slot or frame has not been shown yet."""
        if self.shown is None:
            return True
        shown = self.shown[: len(moment)]
        later = self._due and name in _LATER.get(type(self.truth).__name__, ())
        return moment > shown or (later and moment == shown)


def _like(name: str, rows: Any, old: NDArray[Any]) -> NDArray[Any]:
    """Return rows as an array of the same shape and type."""
    try:
        array = np.asarray(rows, dtype=np.bool_ if old.dtype == np.bool_ else np.float64)
        if old.dtype == np.bool_ and np.asarray(rows).dtype != np.bool_:
            raise ValueError("must be true or false")
    except (TypeError, ValueError) as why:
        raise Refused(f"{name}: {why}") from None
    if array.shape != old.shape:
        raise Refused(f"{name}: must have shape {old.shape}, not {array.shape}")
    whole = array.astype(old.dtype) if np.isfinite(array).all() else array
    if np.isnan(array).any() or (old.dtype.kind in "iu" and not np.array_equal(whole, array)):
        raise Refused(f"{name}: must be {'whole ' if old.dtype.kind in 'iu' else ''}numbers")
    return np.asarray(array.astype(old.dtype))
