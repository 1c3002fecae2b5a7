"""Check certificates of edgeopt in exact numbers, with the standard library alone.

``python checker.py FILE...`` ends with 0 if all are proven, 1 if one is refused, 2 if unreadable.
Arrays are dictionaries by index, whether lists or objects by index ("3,7") stand in the file.
"""

# fmt: off
import gzip
import hashlib
import json
import re
import sys
from fractions import Fraction

MOST, INFINITE, KNOWN = 1 << 26, float("inf"), {}  # bytes of a file unpacked; numbers by text
NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?|-?[0-9]+/[1-9][0-9]*")


class ProofError(Exception):
    """Code and reason: a certificate is refused, 1, or cannot be read, 2."""


def scalar(place, text, kind, sizes):
    """Read a number: any, "+" none below 0, "low" or "high" also -inf or inf, "<T" below a size."""
    if kind in ("low", "high") and text == ("-inf" if kind == "low" else "inf"):
        return None
    if type(text) is not str or len(text) > 400 or not NUMBER.fullmatch(text):
        raise ProofError(2, f"{place}: is no number")
    if kind[:1] == "<" and text.isdigit() and int(text) < sizes.get(kind[1:], 0):
        return int(text)
    if kind[:1] == "<" or (kind == "+" and text[0] == "-"):
        raise ProofError(1, f"{place}: {text} is out of range")
    KNOWN[text] = KNOWN.get(text) or Fraction(text)
    return KNOWN[text]


def table(place, value, axes, inner, kind, sizes):
    """Read lists along axes, of objects by index along inner axes, of numbers."""
    if not axes and not inner:
        return {(): scalar(place, value, kind, sizes)}
    if type(value) is not (list if axes else dict):
        raise ProofError(1, f"{place}: must be {'a list' if axes else 'an object'}")
    if axes and len(value) != sizes.setdefault(axes[0], len(value)):
        raise ProofError(1, f"{place}: must have {sizes[axes[0]]} entries")
    found, how = {}, (axes[1:], inner, kind, sizes)
    for i, one in enumerate(value) if axes else ():
        found |= {(i, *key): x for key, x in table(f"{place}[{i}]", one, *how).items()}
    for text, one in value.items() if not axes else ():
        at, parts = f"{place}[{text[:40]!a}]", text.split(",")
        if len(parts) != len(inner):
            raise ProofError(1, f"{at}: must be {len(inner)} numbers")
        key = [scalar(at, part, "<" + axis, sizes) for part, axis in zip(parts, inner)]
        found[tuple(key)] = scalar(at, one, kind, sizes)
    return found


def read(place, value, fields, sizes):
    """Read an object by "name:axes:inner axes:kind" of its fields; first arrays set the sizes."""
    fields = [(field + ":::").split(":")[:4] for field in fields.split()]
    if type(value) is not dict or sorted(value) != sorted(field[0] for field in fields):
        raise ProofError(1, f"{place}: must have {', '.join(field[0] for field in fields)} alone")
    return [table(f"{place}.{name}", value[name], *how, sizes) for name, *how in fields]


def whole(numbers, by=1):
    """Return numbers times the least number that makes all of them whole, and that number."""
    for one in {number.denominator for number in numbers}:
        by *= Fraction(one, by).numerator
        if by.bit_length() > 1 << 15:
            raise ProofError(2, "numbers have too many digits")
    return iter([x.numerator * (by // x.denominator) for x in numbers]), by


def linear(least, columns, rows, y, primal, offset=0):
    """Return what multipliers y of rows prove; "free" rows, first in columns, get what is needed."""
    values, by = whole([a for column in columns.values() for a in column[1].values()])
    many, of = whole(list(y.values()))
    scaled, rest, point = dict(zip(y, many)), {}, None
    for j, (cost, column, _, _) in columns.items():
        rest[j] = cost - Fraction(sum(next(values) * scaled.get(i, 0) for i in column), by * of)
    first = [(j, i) for j, column in columns.items() for i in [*column[1]][:1] if i[0] == "free"]
    for j, i in first:
        y[i] = max(y.get(i, 0), rest[j])
    for j, i in first:
        rest[j] -= y[i] * columns[j][1][i]
    bound, pairs = offset, [(f"column {j}", rest[j], columns[j][2:]) for j in columns]
    for what, one, (low, high) in [*pairs, *((f"row {i}", y[i], rows[i]) for i in y)]:
        side = 0 if not one else low if (one > 0) == least else high
        if side is None:
            raise ProofError(1, f"{what}: its multiplier rests on a side that is missing")
        bound += one * side
    if primal is not None:
        names = {",".join(map(str, j)): j for j in columns}
        if type(primal) is not dict or primal.keys() - names.keys():
            raise ProofError(1, "primal: must be an object by columns")
        x = {names[text]: scalar(f"primal[{text}]", primal[text], "", {}) for text in primal}
        use = dict.fromkeys(rows, 0)
        for j, one in x.items():
            for i, a in columns[j][1].items():
                use[i] += a * one
        ends = [*((use[i], *rows[i]) for i in rows), *((x.get(j, 0), *columns[j][2:]) for j in columns)]
        over = [low - one for one, low, _ in ends if low is not None]
        over += [one - high for one, _, high in ends if high is not None]
        point = offset + sum(columns[j][0] * one for j, one in x.items()), max([0, *over])
    return least, bound, point


def linear_program(data, primal, dual):
    """Any linear program, minimised with sense 1, maximised with sense -1."""
    sense, offset, cost, low, high, row_low, row_high, matrix = read("data", data, "sense offset "
        "cost:n low:n::low high:n::high row_low:m::low row_high:m::high columns:n:m", sizes := {})
    (y,) = read("dual", dual, "rows::m", sizes)
    columns = {j: (cost[j], {}, low[j], high[j]) for j in cost}
    for (j, i), a in matrix.items():
        columns[j,][1][i,] = a
    rows = {i: (row_low[i], row_high[i]) for i in row_low}
    return linear(sense[()] > 0, columns, rows, y, primal, offset[()])


def p1_lp(data, primal, dual):
    """RESCUE's relaxation: columns y by t, j, k, l and x by reserved task, t; prices of busy slots."""
    p, profit, alive, speed, work, server, start, end = read("data", data, "arrival:TJ profit:TJKL "
        "survival:LD capacity:KT::+ demand:H server:H::<K start:H::<T end:H::<T", sizes := {})
    (price,) = read("dual", dual, "occupancy::KT", sizes)
    rows = {("free", *key): (None, one) for key, one in p.items()}
    rows |= {("busy", *key): (None, 1) for key in speed}
    rows |= {("work", *key): (one, None) for key, one in work.items()}
    y = {("busy", *key): max(0, one) for key, one in price.items()}
    tails, columns = {}, {}
    for (l, a), s in alive.items():
        tails.setdefault(l, []).append((a, s))
    for (t, j, k, l), one in profit.items():
        run = {("busy", k, t + a): s for a, s in tails.get(l, ()) if s and (k, t + a) in speed}
        columns[t, j, k, l] = one, {("free", t, j): 1, **run}, 0, None
    for (i,), k in server.items():
        window = [("busy", k, t) for t in range(start[i,], end[i,] + 1)]
        for at in window:
            columns[i, at[2]] = 0, {at: 1, ("work", i): speed[at[1:]]}, 0, 1
        rates = [y.get(at, 0) / speed[at[1:]] for at in window if speed[at[1:]]]
        y["work", i] = -min(rates, default=0)
    return linear(False, columns, rows, y, primal)


def cooperative(data, primal, dual):
    """IDN's relaxation: columns q by slot, type, cell and x by cell; prices of capacity and room."""
    w, requests, options, capacity, copies, size, budget, node = read("data", data, "weight:S::+ "
        "requests:SR::+ options:R:C capacity:SC::+ copies:C::+ size:C::+ budget:V::high node:C::<V",
        sizes := {})
    price, room = read("dual", dual, "capacity::SC budget::V", sizes)
    rows = {("free", *key): (None, one) for key, one in requests.items()}
    rows |= {("cell", *key): (None, 0) for key in capacity}
    rows |= {("room", *key): (None, one) for key, one in budget.items()}
    y = {("cell", t, c): w[t,] * max(0, one) for (t, c), one in price.items()}
    y |= {("room", *key): max(0, one) for key, one in room.items()}
    columns = {(t, r, c): (one * gain, {("free", t, r): 1, ("cell", t, c): 1}, 0, None)
               for (t,), one in w.items() for (r, c), gain in options.items()}
    columns |= {c: (0, {**{("cell", *t, *c): -capacity[t + c] for t in w}, ("room", node[c]): size[c]},
                    0, most) for c, most in copies.items()}
    return linear(False, columns, rows, y, primal)


def held(room, sizes):
    """Return the largest sum of sizes of whole bundles within a room of cores and GPUs."""
    kept, best = [], {}
    for (a, b), size in sorted(sizes.items(), key=lambda one: sum(one[0])):
        if size and not any(x <= a and y <= b and more >= size for x, y, more in kept):
            kept.append((a, b, size))
    for a, b in [(a, b) for a in range(room[0] + 1) for b in range(room[1] + 1)]:
        fit = [best[a - x, b - y] + s for x, y, s in kept if 0 < x + y and x <= a and y <= b]
        best[a, b] = max([0, *fit])
    return INFINITE if sizes.get((0, 0)) else best[room]


def pooled(data, primal, dual):
    """TapFinger's tasks: what each pays at least at prices, less what all room is worth."""
    starts, capacity, duration, weight, arrival, kind, eligible = read("data", data, "starts:::high "
        "capacity:N2::<c duration:NKAB::<n weight:J::+ arrival:J::<n kind:J::<K eligible:J:N",
        sizes := {"2": 2, "c": 1 << 10, "n": 1 << 20, "t": 1 << 17})
    size, room, price, begin, pool = read("dual", dual,
        "size:IGAB::<n room:IG::+ price::IGt:+ start::Gt:+ pool:N::<G", sizes)
    if primal is not None or (begin and starts[()] is None):
        raise ProofError(1, "there is a point, or a price of starts without a limit on them")
    menus, bundles, where, ahead = {}, {}, {}, {}
    for (n, k, a, b), d in duration.items():
        if d:
            menus.setdefault((n, k), []).append((d, a, b))
            bundles.setdefault(n, set()).add((a, b))
    for (i, g), most in room.items():
        for (n,), h in pool.items():
            if h == g:
                sums = {at: size[i, g, *at] for at in bundles.get(n, ())}
                most -= held((capacity[n, 0], capacity[n, 1]), sums)
        if most < 0:
            raise ProofError(1, f"dual.room[{i}][{g}]: is too small")
    clusters = list(pool.values())
    bound = -sum(room[at[:2]] * one for at, one in price.items())
    bound -= sum(starts[()] * clusters.count(g) * one for (g, _), one in begin.items())
    last = max([0, *(at[-1] + 1 for at in [*price, *begin])])
    many, by = whole([*weight.values(), *price.values(), *begin.values()])
    for j, n in eligible:
        where.setdefault(j, []).append(n)
    tasks = [(next(many), arrival[j], kind[j], *where.get(j[0], ())) for j in weight]
    price, begin = ({at: next(many) for at in one} for one in (price, begin))
    for task in set(tasks):
        (w, arrives, k, *own), least = task, INFINITE
        offers = {(d, pool[n,], a, b) for n in own for d, a, b in menus.get((n, k), ())}
        for d, g, a, b in sorted(offers):
            if (g, a, b) not in ahead:
                ahead[g, a, b] = total = [0]
                for t in range(last):
                    rent = [size[at, g, a, b] * price.get((at, g, t), 0) for at, h in room if h == g]
                    total.append(total[t] + sum(rent))
            total = ahead[g, a, b]
            for s in range(arrives, max(arrives, last) + 1):
                if w * (s + d - arrives) >= least:
                    break
                rent = total[min(s + d, last)] - total[min(s, last)] + begin.get((g, s), 0)
                least = min(least, w * (s + d - arrives) + rent)
        if least == INFINITE:
            raise ProofError(1, "data.eligible: a task has no bundle")
        bound += Fraction(least * tasks.count(task), by)
    return True, bound, None


KINDS = {"linear-program": linear_program, "rescue.p1-lp": p1_lp, "idn.cooperative": cooperative,
         "tapfinger.pooled": pooled}


def examine(content, data):
    """Return sense, bound, and value and violation of the point or None; or raise why not."""
    names = ["about", "claim", "dual", "format", "kind", "primal"]
    if type(content) is not dict or sorted(content) != names:
        raise ProofError(1, f"certificate: must have {', '.join(names)} and data alone")
    if content["format"] != "edgeopt.certificate/1" or content["kind"] not in [*KINDS]:
        raise ProofError(1, "format or kind: is not known")
    KNOWN.clear()
    least, bound, point = KINDS[content["kind"]](data, content["primal"], content["dual"])
    claim, sign, sense = content["claim"], 1 if least else -1, "min" if least else "max"
    if type(claim) is not dict or sorted(claim) != ["bound", "objective", "sense"]:
        raise ProofError(1, "claim: must have sense, bound and objective alone")
    if claim["sense"] != sense or sign * (scalar("claim.bound", claim["bound"], "", {}) - bound) > 0:
        raise ProofError(1, "claim: is of the other sense, or better than what is proven")
    if claim["objective"] is not None:
        value = scalar("claim.objective", claim["objective"], "", {})
        if point is None or sign * (value - point[0]) < 0:
            raise ProofError(1, "claim.objective: is better than that of the point")
    return sense, bound, point


def once(pairs):
    """Make a dictionary of what has no name twice."""
    if len(found := dict(pairs)) < len(pairs):
        raise ProofError(1, f"an object of {len(pairs)} names has one of them twice")
    return found


def load(path):
    """Return what a file holds, and the hash of its bytes."""
    with open(path, "rb") as file:
        raw = text = file.read(MOST + 1)
    if raw[:2] == b"\x1f\x8b":
        with gzip.open(path) as file:
            text = file.read(MOST + 1)
    if max(len(raw), len(text)) > MOST:
        raise ProofError(2, f"more than {MOST} bytes")
    return json.loads(text.decode(), object_pairs_hook=once), hashlib.sha256(raw).hexdigest()


def opened(path):
    """Return a certificate and its data, which may be in a file beside it."""
    try:
        content, _ = load(path)
        if type(content) is not dict or "data" in content:
            return content, content.pop("data")
        name, digest = content.pop("data_file", ""), content.pop("data_sha256", "")
        if not re.fullmatch("[A-Za-z0-9_][A-Za-z0-9_.-]*", name):
            raise ProofError(1, "data_file: must be the name of a file beside this one")
        data, found = load(re.sub(r"[^/\\]*\Z", "", path) + name)
    except ProofError:
        raise
    except Exception as error:
        raise ProofError(2, f"{error!r:.99}") from None
    if found != digest:
        raise ProofError(1, f"data_sha256: that of {name} is {found}")
    return content, data


def main(paths):
    """Check files, say what is proven, and return the exit code."""
    worst = 0 if paths else 2
    for path in paths:
        try:
            sense, bound, point = examine(*opened(path))
            text = f"proven: {sense} {'>=' if sense == 'min' else '<='} {float(bound)!r}"
            if point:
                text += f"; a point has {float(point[0])!r} and violation {float(point[1])!r}"
        except ProofError as error:
            text = f"{'refused' if error.args[0] == 1 else 'unreadable'}: {error.args[1]}"
            worst = max(worst, error.args[0])
        print(f"{path!a}: {text}")
    return worst


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
