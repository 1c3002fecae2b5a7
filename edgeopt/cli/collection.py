"""``edgeopt collection``: named instances with the best known values and proven bounds."""

from typing import Annotated

import typer

from edgeopt.cli import complete, show
from edgeopt.cli.choose import JsonOption
from edgeopt.errors import CollectionError

app = typer.Typer(help="Named instances with the best known values and proven bounds.")

SystemOption = Annotated[
    str | None, typer.Option(help="Only of one system.", autocompletion=complete.systems)
]
KindOption = Annotated[str | None, typer.Option(help="Only paper, real, tight or odd.")]
SizeOption = Annotated[str | None, typer.Option(help="Only s, m or l.")]


@app.callback(invoke_without_command=True)
def _collection(context: typer.Context) -> None:
    """Named instances with the best known values and proven bounds; by default their list."""
    if context.invoked_subcommand is None:
        list_all()


@app.command("list")
def list_all(
    system: SystemOption = None,
    kind: KindOption = None,
    size: SizeOption = None,
    as_json: JsonOption = False,
) -> None:
    """List named instances: best known value, proven bound, status, best policy."""
    from dataclasses import asdict

    from edgeopt.collection import entry, names
    from edgeopt.studies.wording import number, power

    found = [entry(name) for name in names(system, kind, size)]
    if as_json:
        show.document([asdict(one) for one in found])
        return
    show.table(
        f"{len(found)} named instances",
        ["instance", "status", "best", "bound", "gap", "policy", "its mean", "its bound"],
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
    )  # fmt: skip


@app.command("show")
def show_one(
    name: Annotated[str, typer.Argument(help="Named instance.", autocompletion=complete.collected)],
    as_json: JsonOption = False,
) -> None:
    """Show how a named instance is made, and what is known of it."""
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
        ["kind, size", f"{one.kind}, {one.size}"],
        ["made by", f"{one.generator.replace(':', '.')}({options}, rng={one.rng})"],
        ["rounded to", f"{one.digits} decimals"],
        ["fingerprint", one.fingerprint],
        ["data, licence", f"{one.source}; {one.licence}"],
        [offline.problem, f"{number(offline.best, 10)} ({one.goal}), by {offline.method}"],
        ["proven bound", f"{number(offline.bound, 10)}, gap {power(offline.gap)}"],
        ["status", offline.status],
        ["certificate", proof.get("none") or f"{proof['kind']}, SHA-256 {proof['sha256']}"],
        ["best policy", f"{online.policy}, on {online.worlds} worlds"],
        ["its mean", f"{number(online.best, 8)} (standard error {number(online.se, 2)})"],
    ]
    if online.bound is not None:
        rows.append([online.bounds, number(online.bound, 8)])
    rows.append(["found", f"{offline.by}, {offline.date}; {online.by}, {online.date}"])
    show.table(name, ["", "value"], rows, left=2)


@app.command()
def verify(
    name: Annotated[
        list[str] | None,
        typer.Argument(help="Named instances; by default all.", autocompletion=complete.collected),
    ] = None,
) -> None:
    """Draw named instances, and check fingerprints, copies and what entries say of each other.

    The exit code is 0 if every instance can be had with its data, and 2 otherwise.
    """
    from edgeopt.collection import names
    from edgeopt.collection.verified import findings

    bad = 0
    several = list(name or names())
    for one in several:
        for said, wrong in findings(one):
            show.note(f"{one}: {said}")
            bad += wrong
    if bad:
        raise CollectionError(f"{bad} of {len(several)} named instances are not as written down")
    show.note(f"{len(several)} named instances are as written down")
