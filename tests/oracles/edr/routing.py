"""Requests of some slots of a frame to sites: one program with the load of training explicit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.oracles.edr.programs import INFINITY, Program

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.oracles.edr.data import Plain

EXCESS = ("excess",)


@dataclass(frozen=True)
class Routed:
    """What serving costs, without penalties, and what was not kept."""

    objective: float
    cost: float
    unserved: float
    excess: float
    energy: float
    amount: dict[Any, float]


def columns(
    program: Program,
    plain: Plain,
    frame: int,
    slots: Sequence[int],
    label: Sequence[int] | None = None,
) -> None:
    """Add y[tau, j, k, n] for the feasible routes and u[tau, j, n], and serve everyone.

    With labels, routes stay between sites of the same one.
    """
    for tau in slots:
        met: dict[tuple[int, int], dict] = {}
        for j, k, n in plain.routes(frame, tau):
            if label is not None and label[j] != label[k]:
                continue
            name = program.column(("y", frame, tau, j, k, n))
            met.setdefault((j, n), {})[name] = 1.0
        for j in range(plain.J):
            for n in range(plain.N):
                asked = float(plain.requests[frame][tau][j][n])
                left = program.column(("u", frame, tau, j, n), upper=asked)
                program.row({**met.get((j, n), {}), left: 1.0}, asked, asked)


def loads(program: Program, plain: Plain, frame: int, tau: int) -> list[dict]:
    """Return the computation of each site in a slot as terms of a row."""
    terms: list[dict] = [{} for _ in range(plain.J)]
    for name in program.place:
        if name[:3] == ("y", frame, tau):
            _, _, _, _, k, n = name
            terms[k][name] = float(plain.request_work[n])
    return terms


def energy_terms(program: Program, plain: Plain, frame: int) -> dict:
    return {
        name: float(plain.d(name[4], name[5])) for name in program.place if name[:2] == ("y", frame)
    }


def cost_terms(program: Program, plain: Plain, frame: int, price: float, nu: float = 0.0) -> dict:
    """Price every route: energy at the price of money and of the cap, and delay."""
    terms = {}
    for name in program.place:
        if name[:2] == ("y", frame):
            _, _, tau, j, k, n = name
            terms[name] = float(plain.unit(frame, tau, j, k, n, plain.number(price)))
            terms[name] += nu * float(plain.d(k, n))
    return terms


def unserved_terms(program: Program, frame: int, weight: Sequence[float] | None = None) -> dict:
    return {
        name: 1.0 if weight is None else float(weight[name[4]])
        for name in program.place
        if name[:2] == ("u", frame)
    }


def spread_training(
    program: Program, plain: Plain, frame: int, slots: Sequence[int], total: Sequence, split: str
) -> None:
    """Let training and serving share each site in each slot.

    `total` is the training of the frame per site: a number, or terms of a row.
    """
    for k in range(plain.J):
        shares = []
        for tau in slots:
            terms = dict(loads(program, plain, frame, tau)[k])
            room = float(plain.capacity[k])
            if split == "free":
                z = program.column(("z", frame, tau, k))
                shares.append(z)
                terms[z] = 1.0
            elif isinstance(total[k], dict):
                terms |= {name: value / plain.D for name, value in total[k].items()}
            else:
                room -= float(total[k]) / plain.D
            program.row(terms, -INFINITY, room)
        if split == "free":
            given = dict.fromkeys(shares, 1.0)
            if isinstance(total[k], dict):
                program.row(given | {name: -v for name, v in total[k].items()}, 0.0, 0.0)
            else:
                program.row(given, float(total[k]), float(total[k]))


def build(
    plain: Plain,
    frame: int,
    slots: Sequence[int],
    *,
    training: Sequence | None = None,
    budget: float = INFINITY,
    split: str = "even",
    label: Sequence[int] | None = None,
) -> Program:
    program = Program()
    columns(program, plain, frame, slots, label)
    spread_training(program, plain, frame, slots, training or [0.0] * plain.J, split)
    program.column(EXCESS, upper=0.0 if budget == INFINITY else INFINITY)
    if budget != INFINITY:
        terms = energy_terms(program, plain, frame)
        program.row(terms | {EXCESS: -1.0}, -INFINITY, float(budget))
    return program


def _routed(objective: float, found: dict, plain: Plain, frame: int, price: float) -> Routed:
    y = {name[2:]: v for name, v in found.items() if name[0] == "y"}
    unit = {(tau, *r): float(plain.unit(frame, tau, *r, plain.number(price))) for tau, *r in y}
    return Routed(
        objective=objective,
        cost=sum(v * unit[r] for r, v in y.items()),
        unserved=sum(v for name, v in found.items() if name[0] == "u"),
        excess=found.get(EXCESS, 0.0),
        energy=sum(v * float(plain.d(r[2], r[3])) for r, v in y.items()),
        amount=y,
    )


def penalised(
    plain: Plain,
    frame: int,
    slots: Sequence[int],
    price: float,
    *,
    unserved: Sequence[float],
    excess: float,
    nu: float = 0.0,
    **given: Any,
) -> Routed:
    """Minimise cost and penalties in one program."""
    program = build(plain, frame, slots, **given)
    goal = cost_terms(program, plain, frame, price, nu)
    goal |= unserved_terms(program, frame, unserved)
    goal |= {EXCESS: excess}
    optima, found = program.minimum(goal)
    return _routed(optima[0], found, plain, frame, price)


def lexicographic(
    plain: Plain,
    frame: int,
    slots: Sequence[int],
    price: float,
    *,
    elastic: str = "soft",
    nu: float = 0.0,
    **given: Any,
) -> Routed:
    """Serve before the cap ("soft") or the cap before serving ("shed"), and only then the cost."""
    program = build(plain, frame, slots, **given)
    serve, keep = unserved_terms(program, frame), {EXCESS: 1.0}
    first, second = (serve, keep) if elastic == "soft" else (keep, serve)
    optima, found = program.minimum(first, second, cost_terms(program, plain, frame, price, nu))
    return _routed(optima[2], found, plain, frame, price)


def least_energy(plain: Plain, frame: int, slots: Sequence[int], **given: Any) -> Routed:
    """Serve as much as possible with as little energy as possible."""
    program = build(plain, frame, slots, **given)
    optima, found = program.minimum(
        unserved_terms(program, frame), energy_terms(program, plain, frame)
    )
    return _routed(optima[1], found, plain, frame, 0.0)
