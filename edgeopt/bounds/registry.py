"""All claims by their identifiers, and one call that checks them."""

from __future__ import annotations

import difflib
import fnmatch
import inspect
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from edgeopt import plugins, registry
from edgeopt.bounds.claim import Claim, instance_label
from edgeopt.bounds.guarantees import guarantees
from edgeopt.errors import OptionError
from edgeopt.options import listed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from importlib.metadata import EntryPoint

    from edgeopt.bounds.verdict import Verdict


def claims(pattern: str | Iterable[str] | None = None) -> Mapping[str, Claim]:
    """Return the claims whose identifiers match.

    Parameters
    ----------
    pattern
        An identifier, a glob pattern such as `"rescue.lemma1*"`, the name of a system, or several
        of them; all claims by default.

    Returns
    -------
    Mapping
        Identifier to claim, in the order of the table.

    Raises
    ------
    OptionError
        If a pattern matches nothing (near matches are named).

    Warns
    -----
    PluginWarning
        If what another package offers is broken, or takes an identifier that is in use. It is left
        out.

    Examples
    --------
    >>> from edgeopt.bounds import claims
    >>> list(claims("rescue.theorem2*"))
    ['rescue.theorem2', 'rescue.theorem2.plan', 'rescue.theorem2.algorithm',
    'rescue.theorem2.published']
    """
    return _select([pattern] if pattern is None or isinstance(pattern, str) else list(pattern))


def offered(pattern: str) -> list[Claim]:
    """Return the claims of installed packages that a name or a pattern means."""
    return [claim for name, claim in _offered([pattern]).items() if _matches(name, pattern)]


def check(
    claims: str | Claim | Iterable[str | Claim] | None = None,
    instance: Any = None,
    **options: Any,
) -> list[Verdict]:
    """Check claims on given instances, or each on its own named ones.

    Parameters
    ----------
    claims
        Identifiers, glob patterns or `Claim` objects; all known claims by default.
    instance
        An instance or a sequence of instances. Claims about other types of instances are left
        out. By default every claim is checked on its own test instances: a false one on its
        counterexample, a true one on named and drawn instances, of which the worst is reported.
    **options
        Passed to the claims' view of an instance. For RESCUE: `plan`, the solved P1-LP of the
        instance, when it is at hand.

    Returns
    -------
    list of Verdict
        One verdict per claim, or per instance and claim when instances are given.

    Raises
    ------
    OptionError
        If an identifier or an option is unknown, or no chosen claim applies to an instance.

    Examples
    --------
    >>> from edgeopt.bounds import check
    >>> [verdict] = check("rescue.theorem2")
    >>> verdict.verdict.value
    'holds'
    """
    chosen = resolve(claims)
    views = Views(options)
    if instance is None:
        if options:
            raise OptionError(f"options {sorted(options)} belong to an instance, and none is given")
        return [claim.worst(views.of_named(claim)) for claim in chosen]
    several = isinstance(instance, Sequence) and not isinstance(instance, str)
    verdicts = []
    for one in instance if several else [instance]:
        about = [claim for claim in chosen if isinstance(one, claim.instance_type)]
        if not about:
            raise OptionError(f"no chosen claim applies to a {type(one).__name__}")
        views.require_use(about)
        label = instance_label(one)
        verdicts += [claim.decide(one, views.of(claim, one), label) for claim in about]
    return verdicts


class Views:
    """Views of instances, each computed once and shared by all claims about the instance."""

    def __init__(self, options: Mapping[str, Any] | None = None) -> None:
        self._options = options or {}
        self._made: dict[tuple[Any, int], Any] = {}

    def of(self, claim: Claim, instance: Any) -> Callable[[], Any]:
        """Return what makes the view of an instance."""
        return lambda: self._make(claim, instance, lambda: instance)

    def of_named(self, claim: Claim) -> Callable[[Callable[[], Any]], Any]:
        """Return what maps an entry of the claim's test instances to the view of its instance."""
        return lambda build: self._make(claim, build, build)

    def _make(self, claim: Claim, key: Any, build: Callable[[], Any]) -> Any:
        # The keyed object is kept with the view, so its id cannot be taken by another one.
        place = (claim.view, id(key))
        if place not in self._made:
            self._made[place] = key, claim.view(build(), **self._accepted(claim))
        return self._made[place][1]

    def require_use(self, claims: Iterable[Claim]) -> None:
        """Refuse options that none of the claims takes."""
        taken = sorted({name for claim in claims for name in _options_of(claim)})
        unknown = sorted(set(self._options) - set(taken))
        if unknown:
            raise OptionError(
                f"unknown options {', '.join(unknown)}; these claims take "
                f"{', '.join(taken) or 'none'}"
            )

    def _accepted(self, claim: Claim) -> Mapping[str, Any]:
        names = _options_of(claim)
        return {name: value for name, value in self._options.items() if name in names}


def _options_of(claim: Claim) -> list[str]:
    return list(inspect.signature(claim.view).parameters)[1:]


def resolve(wanted: str | Claim | Iterable[str | Claim] | None) -> list[Claim]:
    """Return the claims that a caller names, in that order."""
    if wanted is None or isinstance(wanted, str | Claim):
        return list(_select([wanted]).values())
    several = listed("claims", wanted)
    for one in several:
        if not isinstance(one, str | Claim):
            raise OptionError(f"claims: {one!r} is neither an identifier nor a Claim")
    if not several:
        raise OptionError("claims: nothing to check; leave it out to check all")
    return list(_select(several).values())


def _select(wanted: Sequence[str | Claim | None]) -> dict[str, Claim]:
    patterns = [one for one in wanted if not isinstance(one, Claim)]
    known = _known(patterns) if patterns else {}
    chosen: dict[str, Claim] = {}
    for one in wanted:
        if isinstance(one, Claim):
            if chosen.setdefault(one.id, one) is not one:
                raise OptionError(f"claims: two different claims are called {one.id}; rename one")
            continue
        names = [name for name in known if one is None or _matches(name, one)]
        if not names:
            raise OptionError(_unknown(str(one), _known([None])))
        for name in names:
            if chosen.setdefault(name, known[name]) is not known[name]:
                raise OptionError(f"claims: two different claims are called {name}; rename one")
    return chosen


def _known(patterns: list[Any]) -> dict[str, Claim]:
    """Return what packages offer for the systems that patterns name, and what records promise."""
    table = _offered(patterns)
    for name, point in _records().items():
        if any(one is None or _may_be_of(name, one) for one in patterns):
            try:
                promised = _promised(point)
            except OptionError as why:
                plugins.leave_out(why)
                continue
            table |= {claim.id: claim for claim in promised if claim.id not in table}
    return table


def _records() -> dict[str, EntryPoint]:
    """Return where the records of systems are, edgeopt's own first."""
    offered = {point.name: point for point in registry.offered(registry.SYSTEMS)}
    return {**offered, **registry.built_in(registry.SYSTEMS)}


@cache
def _promised(point: EntryPoint) -> tuple[Claim, ...]:
    """Return the claims that the record of a system makes, always the same objects."""
    return guarantees(plugins.load(point, object))


def _offered(patterns: list[Any]) -> dict[str, Claim]:
    """Return what packages offer, of built-in systems only what patterns may mean."""
    table: dict[str, Claim] = {}
    built_in = registry.built_in(registry.SYSTEMS)
    for point in registry.offered(registry.CLAIMS):
        # Claims of a built-in system are loaded only where a pattern may be of it.
        wanted = any(one is None or _may_be_of(point.name, one) for one in patterns)
        if point.name in built_in and not wanted:
            continue
        try:
            offered: Sequence[Any] = plugins.load(point, Sequence)  # type: ignore[type-abstract]
        except OptionError as why:
            plugins.leave_out(why)
            continue
        own: set[str] = set()
        for claim in offered:
            if not isinstance(claim, Claim):
                wrong = f"must hold Claim objects, not a {type(claim).__name__}"
                plugins.leave_out(plugins.refusal(point, wrong))
            elif claim.id in own:
                plugins.leave_out(plugins.refusal(point, f"lists the claim {claim.id} twice"))
            elif claim.id in table:
                plugins.leave_out(plugins.refusal(point, f"the claim {claim.id} is already taken"))
            else:
                own.add(claim.id)
                table[claim.id] = claim
    return table


def _may_be_of(system: str, pattern: str) -> bool:
    head = pattern.partition(".")[0]
    return head == system or any(sign in head for sign in "*?[")


def _matches(name: str, pattern: str) -> bool:
    return fnmatch.fnmatchcase(name, pattern) or name.split(".")[0] == pattern


def _unknown(pattern: str, known: Mapping[str, Claim]) -> str:
    systems = list(dict.fromkeys(name.split(".")[0] for name in known))
    near = difflib.get_close_matches(pattern, [*systems, *known], n=3, cutoff=0.5)
    hint = (
        f"did you mean {', '.join(near)}?"
        if near
        else f"claims are of {', '.join(systems) or 'no system: no installed package has any'}"
    )
    system = pattern.partition(".")[0]
    if system in registry.built_in(registry.SYSTEMS) and not offered(system):
        hint += "; claims of its paper come with the package edgeopt-papers"
    return f"claim {pattern!r} is unknown; {hint}"
