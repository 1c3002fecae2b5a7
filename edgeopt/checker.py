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


def scalar(text, kind="", sizes=(), place=""):
    """Read a number: any, "+" none below 0, "low" or "high" also -inf or inf, "<T" below a size."""
    if type(text) is not str or len(text) > 400:
        raise ProofError(2, f"{place}: is no number")
    if kind[:1] == "<":
        if text.isdecimal() and str(int(text)) == text and int(text) < sizes.get(kind[1:], 0):
            return int(text)
        raise ProofError(1, f": {text!a} is no whole number below {sizes.get(kind[1:], 0)}")
    if (kind, text) in (("low", "-inf"), ("high", "inf")):
        return None
    if text not in KNOWN:
        if not NUMBER.fullmatch(text):
            raise ProofError(2, f"{place}: {text!a} is no number")
        KNOWN[text] = Fraction(text)
    if kind == "+" and text[0] == "-":
        raise ProofError(1, f": {text} is negative")
    return KNOWN[text]


def table(value, axes, inner, kind, sizes):
    """Read lists along axes, of objects by index along inner axes, of numbers."""
    if not axes and not inner:
        return {(): scalar(value, kind, sizes)}
    if type(value) is not (list if axes else dict):
        raise ProofError(1, f": must be {'a list' if axes else 'an object'}")
    if axes and len(value) != sizes.setdefault(axes[0], len(value)):
        raise ProofError(1, f": must have {sizes[axes[0]]} entries")
    found, kinds = {}, ["<" + axis for axis in inner]
    for name, one in enumerate(value) if axes else value.items():
        try:
            if axes:
                within = table(one, axes[1:], inner, kind, sizes)
                found.update({(name, *key): number for key, number in within.items()})
            elif name.count(",") + 1 == len(inner):
                key = [scalar(part, at, sizes) for part, at in zip(name.split(","), kinds)]
                found[tuple(key)] = scalar(one, kind, sizes)
            else:
                raise ProofError(1, f": must be {len(inner)} numbers")
        except ProofError as error:
            raise ProofError(error.args[0], f"[{str(name)[:40]!a}]{error.args[1]}") from None
    return found


def names(place, value, wanted):
    """Return the values of an object that has these names and no others."""
    if type(value) is not dict or sorted(value) != sorted(wanted):
        raise ProofError(1, f"{place}: must have {', '.join(wanted)} alone")
    return [value[name] for name in wanted]


def read(place, value, fields, sizes):
    """Read an object by "name:axes:inner axes:kind" of its fields; first arrays set the sizes."""
    fields = [(field + ":::").split(":")[:4] for field in fields.split()]
    found = []
    for (name, *how), one in zip(fields, names(place, value, [field[0] for field in fields])):
        try:
            found.append(table(one, *how, sizes))
        except ProofError as error:
            raise ProofError(error.args[0], f"{place}.{name}{error.args[1]}") from None
    return found


def whole(numbers, by=1):
    """Return numbers times the least number that makes all of them whole, and that number."""
    for one in {number.denominator for number in numbers}:
        by *= Fraction(one, by).numerator
        if by.bit_length() > 1 << 15:
            raise ProofError(2, "numbers have too many digits")
    return iter([x.numerator * (by // x.denominator) for x in numbers]), by


def linear(least, columns, rows, y, primal, offset=0):
    """Return what multipliers y of rows prove; "free" rows, first in columns, get what they need.

    Columns are cost, entries by row, and two sides; rows are two sides; None is a missing one.
    """
    values, by = whole([a for column in columns.values() for a in column[1].values()])
    entries = {j: [(i, next(values)) for i in column[1]] for j, column in columns.items()}
    many, of = whole(list(y.values()))
    scaled, rest, point, bound = dict(zip(y, many)), {}, None, offset
    for j, column in entries.items():
        used = sum([a * scaled[i] for i, a in column if i in scaled])
        rest[j] = columns[j][0] - Fraction(used, by * of)
    first = [(j, i, a) for j, column in entries.items() for i, a in column[:1] if i[0] == "free"]
    for j, i, _ in first:
        y[i] = max(y.get(i, 0), rest[j])
    for j, i, a in first:
        rest[j] -= y[i] * Fraction(a, by)
    pairs = [(i, one, rows[i]) for i, one in y.items()]
    for place, one, (low, high) in [*pairs, *((j, one, columns[j][2:]) for j, one in rest.items())]:
        side = 0 if not one else low if (one > 0) == least else high
        if side is None:
            raise ProofError(1, f"{place}: a multiplier rests on a side that is missing")
        bound += one * side
    if primal is not None:
        called = {",".join(map(str, j)): j for j in columns}
        if type(primal) is not dict or primal.keys() - called.keys():
            raise ProofError(1, "primal: must be an object by columns")
        x, use = {}, dict.fromkeys(rows, 0)
        for text, one in primal.items():
            x[called[text]] = scalar(one, place=f"primal[{text}]")
        many, of = whole(list(x.values()))
        for j, one in zip(x, many):
            for i, a in entries[j]:
                use[i] += a * one
        ends = [(Fraction(use[i], by * of), *rows[i]) for i in rows]
        ends += [(x.get(j, 0), *columns[j][2:]) for j in columns]
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
    """RESCUE's relaxation: columns y by t, j, k, l, and x by task and t; prices of busy slots."""
    p, profit, alive, speed, work, *tasks = read("data", data, "arrival:TJ profit:TJKL survival:LD "
        "capacity:KT::+ demand:H server:H::<K start:H::<T end:H::<T", sizes := {})
    (price,) = read("dual", dual, "occupancy::KT", sizes)
    rows = {("free", *key): (None, one) for key, one in p.items()}
    rows |= {("busy", *key): (None, 1) for key in speed}
    rows |= {("work", *key): (one, None) for key, one in work.items()}
    y, columns = {("busy", *key): max(0, one) for key, one in price.items()}, {}
    tails = {i: [(a, s) for (m, a), s in alive.items() if s and m == i] for i, _ in alive}
    for (t, j, k, i), one in profit.items():
        run = {("busy", k, t + a): s for a, s in tails.get(i, ()) if (k, t + a) in speed}
        columns[t, j, k, i] = one, {("free", t, j): 1, **run}, 0, None
    for i, k, start, end in zip(work, *(one.values() for one in tasks)):
        speeds = {("busy", k, t): speed[k, t] for t in range(start, end + 1)}
        for at, one in speeds.items():
            columns[*i, at[2]] = 0, {at: 1, ("work", *i): one}, 0, 1
        y["work", *i] = -min([y.get(at, 0) / one for at, one in speeds.items() if one], default=0)
    return linear(False, columns, rows, y, primal)


def cooperative(data, primal, dual):
    """IDN's relaxation: columns q by slot, type, cell, and x by cell; prices of what is short."""
    w, copies, requests, options, capacity, size, budget, node = read("data", data, "weight:S::+ "
        "copies:C::+ requests:SR::+ options:R:C capacity:SC::+ size:C::+ budget:V::high node:C::<V",
        sizes := {})
    price, room = read("dual", dual, "capacity::SC budget::V", sizes)
    rows = {("free", *key): (None, one) for key, one in requests.items()}
    rows |= {("cell", *key): (None, 0) for key in capacity}
    rows |= {("room", *key): (None, one) for key, one in budget.items()}
    y = {("cell", t, c): w[t,] * max(0, one) for (t, c), one in price.items()}
    y |= {("room", *key): max(0, one) for key, one in room.items()}
    columns = {(t, r, c): (one * gain, {("free", t, r): 1, ("cell", t, c): 1}, 0, None)
               for (t,), one in w.items() for (r, c), gain in options.items()}
    for c, most in copies.items():
        shared = {("cell", *t, *c): -capacity[t + c] for t in w}
        columns[c] = 0, {**shared, ("room", node[c]): size[c]}, 0, most
    return linear(False, columns, rows, y, primal)


def held(room, sizes):
    """Return the largest sum of sizes of whole bundles within a room of cores and GPUs."""
    kept, best = [], {}
    for (a, b), size in sorted(sizes.items(), key=lambda one: sum(one[0])):
        if size and not any(x <= a and y <= b and more >= size for x, y, more in kept):
            kept.append((a, b, size))
    for a, b in [(a, b) for a in range(room[0] + 1) for b in range(room[1] + 1)]:
        fit = [best[a - x, b - y] + s for x, y, s in kept if x + y > 0 and x <= a and y <= b]
        best[a, b] = max([0, *fit])
    return INFINITE if sizes.get((0, 0)) else best[room]


def pooled(data, primal, dual):
    """TapFinger's tasks: what each pays at least at prices, less what all room is worth."""
    starts, capacity, duration, weight, arrival, kind, eligible = read("data", data,
        "starts:::high capacity:N2::<c duration:NKAB::<n weight:J::+ arrival:J::<n kind:J::<K "
        "eligible:J:N", sizes := {"2": 2, "c": 1 << 10, "n": 1 << 20, "t": 1 << 17})
    size, room, price, begin, pool = read("dual", dual,
        "size:IGAB::<n room:IG::+ price::IGt:+ start::Gt:+ pool:N::<G", sizes)
    if primal is not None or starts[()] not in ((1,) if begin else (1, None)):
        raise ProofError(1, "there is a point, or prices of starts that are not limited to 1")
    menus, ahead, bundles = {}, {}, {n: set() for n, _ in capacity}
    for (n, k, a, b), d in duration.items():
        if d:
            menus.setdefault((n, k), []).append((d, a, b))
            bundles[n].add((a, b))
    for (i, g), most in room.items():
        for n in [n for (n,), h in pool.items() if h == g]:
            sums = {at: size[i, g, *at] for at in bundles[n]}
            most -= held((capacity[n, 0], capacity[n, 1]), sums)
        if most < 0:
            raise ProofError(1, f"dual.room[{i}][{g}]: is too small")
    bound = -sum(room[at[:2]] * one for at, one in price.items())
    bound -= sum(starts[()] * [*pool.values()].count(g) * one for (g, _), one in begin.items())
    last = max([0, *(at[-1] + 1 for at in [*price, *begin])])
    many, by = whole([*weight.values(), *price.values(), *begin.values()])
    where = {j: [n for i, n in eligible if i == j[0]] for j in weight}
    tasks = [(next(many), arrival[j], kind[j], *where[j]) for j in weight]
    price, begin = ({at: next(many) for at in one} for one in (price, begin))
    for task in set(tasks):
        (w, arrives, k, *own), least = task, INFINITE
        menu = {(d, pool[n,], a, b) for n in own for d, a, b in menus.get((n, k), ())}
        for d, g, a, b in sorted(menu):
            if (g, a, b) not in ahead:
                ahead[g, a, b] = [0]
                for t in range(last):
                    rent = [size[i, g, a, b] * price.get((i, g, t), 0) for i, h in room if h == g]
                    ahead[g, a, b].append(ahead[g, a, b][t] + sum(rent))
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
    layout, kind, _, primal, dual, claim = names("certificate", content, [
        "format", "kind", "about", "primal", "dual", "claim"])
    sense, limit, value = names("claim", claim, ["sense", "bound", "objective"])
    if layout != "edgeopt.certificate/1" or kind not in [*KINDS]:
        raise ProofError(1, "format or kind: is not known")
    KNOWN.clear()
    least, bound, point = KINDS[kind](data, primal, dual)
    sign, proven = 1 if least else -1, "min" if least else "max"
    if sense != proven or sign * (scalar(limit, place="claim.bound") - bound) > 0:
        raise ProofError(1, "claim: is of the other sense, or better than what is proven")
    if value is not None:
        value = sign * scalar(value, place="claim.objective")
        if point is None or value < sign * point[0]:
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
        if "data_file" not in content:
            return content, content.pop("data")
        name, digest = content.pop("data_file"), content.pop("data_sha256")
        if not re.fullmatch("[A-Za-z0-9_][A-Za-z0-9_.-]*", name):
            raise ProofError(1, "data_file: must be the name of a file beside this one")
        data, found = load(re.sub(r"[^/\\]*\Z", "", path) + name)
    except Exception as error:
        raise error if isinstance(error, ProofError) else ProofError(2, f"{error!r:.99}") from None
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
        except OverflowError:
            text, worst = "unreadable: numbers beyond 1e308", 2
        print(f"{path!a}: {text}")
    return worst


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
