"""``edgeopt collection``: named instances with the best known values and proven bounds."""

from typing import TYPE_CHECKING, Annotated

import typer

from edgeopt.cli import complete, show
from edgeopt.cli.choose import JsonOption
from edgeopt.errors import CollectionError, OptionError

if TYPE_CHECKING:
    from collections.abc import Sequence

ACTIONS = ("list", "show", "verify")


def collection(
    action: Annotated[
        str,
        typer.Argument(
            help="list: all of them; show: how one is made and what is known of it; verify: draw "
            "them, and check fingerprints, copies and certificates.",
            autocompletion=complete.actions,
        ),
    ] = "list",
    names: Annotated[
        list[str] | None, typer.Argument(help="Named instances.", autocompletion=complete.collected)
    ] = None,
    system: Annotated[
        str | None,
        typer.Option(help="List only those of one system.", autocompletion=complete.systems),
    ] = None,
    kind: Annotated[
        str | None, typer.Option(help="List only those of a kind: paper, real, tight or odd.")
    ] = None,
    size: Annotated[str | None, typer.Option(help="List only those of a size: s, m or l.")] = None,
    wide: show.WideOption = False,
    as_json: JsonOption = False,
) -> None:
    """List named instances with best known values and proven bounds, show one, or verify them.

    To verify ends with 0 if every instance can be had with its data, and with 2 otherwise.
    """
    several = list(names or [])
    if action not in ACTIONS:
        raise OptionError(f"{action}: must be one of {', '.join(ACTIONS)}")
    if action == "list" and several:
        raise OptionError(f"list takes no names; edgeopt collection show {several[0]}")
    if action == "show" and len(several) != 1:
        raise OptionError("show takes one name; edgeopt collection list has all")
    if action == "list":
        _list(system, kind, size, as_json=as_json, wide=wide)
    elif action == "show":
        _show(several[0], as_json=as_json)
    else:
        _verify(several)


def _list(
    system: str | None, kind: str | None, size: str | None, *, as_json: bool, wide: bool
) -> None:
    from collections import Counter
    from dataclasses import asdict

    from edgeopt.collection import entry, names
    from edgeopt.studies.wording import number, power

    found = [entry(name) for name in names(system, kind, size)]
    if as_json:
        show.document([asdict(one) for one in found])
        return
    counts = Counter(one.offline.status for one in found)
    states = ", ".join(f"{count} {status}" for status, count in counts.most_common())
    show.note(f"{len(found)} named instances{f': {states}' if states else ''}.")
    show.table(
        "",
        ["instance", "status", "best", "bound", "gap to bound", "policy", "its mean", "its bound"],
        [
            [
                one.name, one.offline.status, number(one.offline.best, 8),
                number(one.offline.bound, 8), power(one.offline.gap), one.online.policy,
                number(one.online.best, 6),
                "none" if one.online.bound is None else number(one.online.bound, 6),
            ]
            for one in found
        ],
        left=2,
        most=show.MOST,
        wide=wide,
    )  # fmt: skip


def _show(name: str, *, as_json: bool) -> None:
    from dataclasses import asdict

    from edgeopt.collection import entry
    from edgeopt.studies.wording import number, power

    one = entry(name)
    if as_json:
        show.document(asdict(one))
        return
    offline, online = one.offline, one.online
    options = ", ".join(f"{key}={value!r}" for key, value in one.options.items())
    proof = offline.certificate
    rows = [
        ("kind, size", f"{one.kind}, {one.size}"),
        ("made by", f"{one.generator.replace(':', '.')}({options}, rng={one.rng})"),
        ("rounded to", f"{one.digits} decimals"),
        ("fingerprint", one.fingerprint),
        ("data, licence", f"{one.source}; {one.licence}"),
        (offline.problem, f"{number(offline.best, 10)} ({one.goal}), by {offline.method}"),
        ("proven bound", f"{number(offline.bound, 10)}, gap {power(offline.gap)}"),
        ("status", offline.status),
        ("certificate", proof.get("none") or f"{proof['kind']}, SHA-256 {proof['sha256']}"),
        ("best policy", f"{online.policy}, on {online.scenarios} scenarios"),
        ("its mean", f"{number(online.best, 8)} (standard error {number(online.se, 2)})"),
    ]
    if online.bound is not None:
        rows.append((online.bounds, number(online.bound, 8)))
    rows.append(("found", f"{offline.by}, {offline.date}; {online.by}, {online.date}"))
    show.note(
        f"{name}: the best value known is {number(offline.best, 6)} ({one.goal}), and "
        f"{number(offline.bound, 6)} is proven; {offline.status}."
    )
    print()
    show.facts(rows)


def _verify(given: "Sequence[str]") -> None:
    from edgeopt.collection import names
    from edgeopt.collection.verification import findings
    from edgeopt.studies.progress import progress_bar

    several = list(given or names())
    found = []
    with progress_bar(len(several)) as step:
        for one in several:
            step(one, 0)
            found += [(one, *finding) for finding in findings(one)]
            step(one)
    for one, said, _ in found:
        show.note(f"{one}: {said}")
    bad = sum(wrong for *_, wrong in found)
    if bad:
        raise CollectionError(f"{bad} of {len(several)} named instances are not as written down")
    show.note(f"{len(several)} named instances are as written down")
