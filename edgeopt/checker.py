"""Check certificates of edgeopt in exact numbers, with the standard library alone.

``python checker.py FILE...`` ends with 0 if all bounds are proven, 1 if a certificate is refused,
2 if one cannot be read.
"""
# fmt: off

import gzip
import hashlib
import json
import re
import sys
from fractions import Fraction

MOST = 1 << 26  # bytes of a file, unpacked
NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?|-?[0-9]+/[1-9][0-9]*")
KNOWN = {}  # numbers that were read

class ProofError(Exception):
    """Code and reason: a certificate is refused, 1, or cannot be read, 2."""

def scalar(place, text, kind, sizes):
    """Read a number of a kind: amount "+", side "low" or "high", below a size "<T"; or "=a|b"."""
    if kind == "=" or kind[:1] == "=" and text in kind[1:].split("|"):
        return text
    if text == {"low": "-inf", "high": "inf", "?": None}.get(kind, 0):
        return None
    if type(text) is not str or len(text) > 400 or not NUMBER.fullmatch(text):
        raise ProofError(2, f"{place}: is no number")
    below = sizes.get(kind[1:], 0) if kind[:1] == "<" else None
    if text[0] == "-" and kind == "+" or below is not None and not (
        text.isdigit() and int(text) < below
    ):
        raise ProofError(1, f"{place}: {text} is out of range")
    if below is None and text not in KNOWN:
        KNOWN[text] = Fraction(text)
    return int(text) if below is not None else KNOWN[text]

def array(place, value, axes, inner, kind, sizes):
    """Read lists along some axes, of objects by index, "3,7", along others, of numbers."""
    if not axes and not inner:
        return scalar(place, value, kind, sizes)
    if axes:
        if type(value) is not list or len(value) != sizes.setdefault(axes[0], len(value)):
            raise ProofError(1, f"{place}: must be a list of {sizes.get(axes[0], 'numbers')}")
        how = axes[1:], inner, kind, sizes
        return [array(f"{place}[{i}]", one, *how) for i, one in enumerate(value)]
    if type(value) is not dict:
        raise ProofError(1, f"{place}: must be an object")
    found = {}
    for key, one in value.items():
        at, parts = f"{place}[{key[:40]!a}]", key.split(",")
        if len(parts) != len(inner):
            raise ProofError(1, f"{at}: must be of {len(inner)} numbers")
        index = *(scalar(at, part, "<" + axis, sizes) for part, axis in zip(parts, inner)),
        found[index if inner[1:] else index[0]] = scalar(at, one, kind, sizes)
    return found

def read(place, value, fields, sizes):
    """Read an object by "name:axes:inner axes:kind" of all fields; first arrays set the sizes."""
    fields = [(field + ":::").split(":")[:4] for field in fields.split()]
    if type(value) is not dict or sorted(value) != sorted(name for name, *_ in fields):
        raise ProofError(1, f"{place}: must have {', '.join(field[0] for field in fields)} alone")
    return [array(f"{place}.{name}", value[name], *how, sizes) for name, *how in fields]

def scale(numbers):
    """Return what makes all numbers whole."""
    by = 1
    for one in {number.denominator for number in numbers}:
        by *= Fraction(one, by).numerator
        if by.bit_length() > 1 << 15:
            raise ProofError(2, "numbers have too many digits")
    return by

def linear(least, offset, cost, columns, rows, sides, y, primal):
    """Return the bound that multipliers y of rows prove, and the value and violation of a point."""
    def lifted(numbers, by):
        return [x.numerator * (by // x.denominator) for x in numbers]
    by, of, bound, point = scale(a for one in columns for a in one.values()), scale(y), offset, None
    columns = [list(zip(one, lifted(one.values(), by))) for one in columns]
    whole = lifted(y, of)
    reduced = [c - Fraction(sum(a * whole[i] for i, a in column), by * of)
               for c, column in zip(cost, columns)]
    for what, many, (low, high) in (("row", y, rows), ("column", reduced, sides)):
        for i, one in enumerate(many):
            side = (low if (one > 0) == least else high)[i] if one else 0
            if side is None:
                raise ProofError(1, f"{what} {i}: its multiplier rests on a side that is missing")
            bound += one * side
    if primal is not None:
        (given,) = read("primal", primal, "columns::n", {"n": len(cost)})
        x, use = [given.get(j, 0) for j in range(len(cost))], [0] * len(y)
        of = scale(x)
        for one, column in zip(lifted(x, of), columns):
            for i, a in column if one else ():
                use[i] += a * one
        ends = *zip([Fraction(one, by * of) for one in use], *rows), *zip(x, *sides)
        over = [0 if a is None else a - one for one, a, _ in ends]
        over += [0 if b is None else one - b for one, _, b in ends]
        point = offset + sum(c * one for c, one in zip(cost, x) if one), max(over, default=0)
    return least, bound, point

def linear_program(data, primal, dual):
    """Any linear program; a row can give a column a side if its other columns have sides."""
    sizes = {}
    sense, offset, cost, low, high, a, b, columns = read("data", data, "sense:::=min|max offset "
        "cost:n low:n::low high:n::high row_low:m::low row_high:m::high columns:n:m", sizes)
    y, *implied = read("dual", dual, "rows::m side:e::=lower|upper column:e::<n row:e::<m", sizes)
    rows = {i: {} for i in implied[2]}
    for j, column in enumerate(columns if rows else ()):
        for i in rows.keys() & column.keys():
            rows[i][j] = column[i]
    for side, j, i in zip(*implied):
        sides, own = high if side == "upper" else low, rows[i].get(j, 0)
        above = (side == "upper") == (own > 0)
        room = (b if above else a)[i]
        ends = [(v, (low if (v > 0) == above else high)[k]) for k, v in rows[i].items() if k != j]
        if not own or sides[j] is not None or None in (room, *(end for v, end in ends if v)):
            raise ProofError(1, f"dual: row {i} gives column {j} no {side} side")
        sides[j] = (room - sum(v * end for v, end in ends if v)) / own
    y = [y.get(i, 0) for i in range(len(a))]
    return linear(sense == "min", offset, cost, columns, (a, b), (low, high), y, primal)

def p1_lp(data, primal, dual):
    """RESCUE's relaxation: columns y[t, j, k, l], then x by task and slot; prices of busy slots."""
    sizes = {}
    p, profit, alive, speed, work, *tasks = read("data", data, "arrival:TJ profit:TJKL survival:LD "
        "capacity:KT::+ demand:H server:H::<K start:H::<T end:H::<T", sizes)
    (price,) = read("dual", dual, "occupancy::KT", sizes)
    slots, many = range(len(p)), len(p) * len(p[0] if p else ())
    price = [[max(price.get((k, t), 0), 0) for t in slots] for k in range(len(speed))]
    cost, columns, y = [], [], [0] * many + [one for own in price for one in own]
    for t in slots:
        runs = [(sum(a * b for a, b in zip(part, own[t:])),
                 {many + k * len(p) + t + a: s for a, s in enumerate(part[:len(p) - t]) if s})
                for k, own in enumerate(price) for part in alive]
        for j, table in enumerate(profit[t]):
            gains, row = [one for own in table for one in own], t * len(profit[t]) + j
            y[row] = max([0, *(one - rent for one, (rent, _) in zip(gains, runs))])
            columns += [{row: 1, **run} for _, run in runs]
            cost += gains
    ones = len(columns)
    for k, a, b in zip(*tasks):
        window = range(a, b + 1)
        columns += [{many + k * len(p) + t: 1, len(y): speed[k][t]} for t in window]
        worth = [price[k][t] / speed[k][t] for t in window if speed[k][t]]
        y.append(-min(worth, default=0))
    x, busy = len(columns) - ones, len(y) - many - len(work)
    rows = ([None] * (many + busy) + work,
            [one for own in p for one in own] + [1] * busy + [None] * len(work))
    sides = [0] * len(columns), [None] * ones + [1] * x
    return linear(False, 0, cost + [0] * x, columns, rows, sides, y, primal)

def cooperative(data, primal, dual):
    """IDN's relaxation: columns q by slot and option, then x by cell; prices of capacity."""
    sizes = {}
    weight, requests, options, capacity, copies, size, budget, node = read("data", data,
        "weight:S::+ requests:SR::+ options:R:C capacity:SC::+ copies:C::+ size:C::+ "
        "budget:V::high node:C::<V", sizes)
    (price,) = read("dual", dual, "capacity::SC", sizes)
    cost, columns, y, most, cells = [], [], [], [], range(len(copies))
    price = [[max(price.get((t, c), 0), 0) for c in cells] for t in range(len(weight))]
    first = len(weight) * len(options)
    for t, w in enumerate(weight):
        for r, gains in enumerate(options):
            columns += [{len(y): 1, first + t * len(copies) + c: 1} for c in gains]
            cost += [w * gain for gain in gains.values()]
            y.append(w * max([0, *(gain - price[t][c] for c, gain in gains.items())]))
            most.append(requests[t][r])
    y += [w * mu for w, own in zip(weight, price) for mu in own]
    options = len(columns)
    columns += [{first + t * len(copies) + c: -row[c] for t, row in enumerate(capacity)} for c in cells]
    worth = [-sum(a * y[i] for i, a in columns[options + c].items()) for c in cells]
    for c in cells:
        columns[options + c][len(y) + node[c]] = size[c]
    rows = [None] * (len(y) + len(budget)), most + [0] * (len(y) - first) + budget
    for v, left in enumerate(budget):
        here, beta = [(worth[c] / size[c], c) for c in cells if node[c] == v and size[c]], 0
        for ratio, c in sorted(here, reverse=True):
            if left is not None and left >= 0:
                left -= size[c] * copies[c]
                beta = ratio if left < 0 else 0
        y.append(beta)
    sides = [0] * len(columns), [None] * options + copies
    return linear(False, 0, cost + [0] * len(copies), columns, rows, sides, y, primal)

def held(room, sizes):
    """Return the largest sum of sizes of whole bundles within a room of cores and GPUs."""
    kept, best = [], [[0] * (room[1] + 1) for _ in range(room[0] + 1)]
    for (a, b), size in sorted(sizes.items(), key=lambda one: sum(one[0])):
        if size and not any(x <= a and y <= b and more >= size for x, y, more in kept):
            kept.append((a, b, size))
    for a, line in enumerate(best):
        for b in range(len(line)):
            fit = [best[a - x][b - y] + size for x, y, size in kept if x <= a and y <= b]
            line[b] = max([0, *fit])
    return best[-1][-1] if not sizes.get((0, 0)) else float("inf")

def pooled(data, primal, dual):
    """TapFinger's tasks: what each pays at least at prices, less what all room is worth."""
    sizes = {"2": 2, "c": 1 << 10, "n": 1 << 20, "t": 1 << 17}
    starts, capacity, duration, arrival, weight, kind, eligible = read("data", data,
        "starts:::=1|inf capacity:N2::<c duration:NKAB::<n arrival:J::<n weight:J::+ kind:J::<K "
        "eligible:J:N", sizes)
    size, room, price, begin, pool = read("dual", dual,
        "size:IGAB::<n room:IG::+ price::IGt:+ start::Gt:+ pool:N::<G", sizes)
    if primal is not None or begin and starts != "1":
        raise ProofError(1, "primal: no points of this kind" if primal else "dual.start: has no limit")
    allowed = [{(a, b) for table in own for a, line in enumerate(table) for b, d in enumerate(line)
                if d} for own in duration]
    for i, own in enumerate(size):
        for g, table in enumerate(own):
            here = [n for n, one in enumerate(pool) if one == g]
            most = sum(held(capacity[n], {at: table[at[0]][at[1]] for at in allowed[n]}) for n in here)
            if room[i][g] < most:
                raise ProofError(1, f"dual.room[{i}][{g}]: the pool can hold {most}")
    by = scale([*weight, *price.values(), *begin.values()])
    bound = -sum(room[i][g] * one for (i, g, _), one in price.items()) * by
    bound -= sum(one * pool.count(g) for (g, _), one in begin.items()) * by
    price, begin = ({at: int(x * by) for at, x in one.items()} for one in (price, begin))
    last, groups = max([at[-1] + 1 for at in (*price, *begin)], default=0), {}
    for k, where, a, w in zip(kind, eligible, arrival, weight):
        groups.setdefault((k, *where), []).append((a, int(w * by)))
    for (k, *where), tasks in groups.items():
        menu = []
        rows = {(pool[n], duration[n][k][a][b], *(own[pool[n]][a][b] for own in size))
                for n in where for a, b in allowed[n] if duration[n][k][a][b]}
        for row in sorted(rows):  # without what is worse in all
            if not any(row[0] == one[0] and all(map(int.__le__, one, row)) for one, _ in menu):
                menu.append((row, [0]))
                for t in range(last):
                    rent = sum(x * price.get((i, row[0], t), 0) for i, x in enumerate(row[2:]))
                    menu[-1][1].append(menu[-1][1][t] + rent)
        for a, w in set(tasks):
            least = None
            for (g, d, *_), ahead in menu:
                for s in range(a, max(a, last) + 1):
                    if least is not None and w * (s + d - a) >= least:
                        break
                    rent = ahead[min(s + d, last)] - ahead[min(s, last)] + begin.get((g, s), 0)
                    cost = w * (s + d - a) + rent
                    least = cost if least is None else min(cost, least)
            if least is None:
                raise ProofError(1, "data.eligible: a task has no bundle")
            bound += least * tasks.count((a, w))
    return True, Fraction(bound) / by, None

KINDS = {"linear-program": linear_program, "rescue.p1-lp": p1_lp, "idn.cooperative": cooperative,
         "tapfinger.pooled": pooled}

def examine(content, data):
    """Return sense, bound, and value and violation of the point or None; or raise why not."""
    layout, kind, about, primal, dual, claim = read("certificate", content,
        f"format:::= kind:::={'|'.join(KINDS)} about:::= primal:::= dual:::= claim:::=", {})
    read("about", about, "system:::= instance:::= name:::= edgeopt:::=", {})
    sense, objective, bound = read("claim", claim, "sense:::=min|max objective:::? bound", {})
    KNOWN.clear()
    least, proven, point = KINDS[kind](data, primal, dual)
    sign = 1 if least else -1
    if layout != "edgeopt.certificate/1" or (sense == "min") != least:
        raise ProofError(1, "format or claim.sense: is another one")
    if sign * (bound - proven) > 0:
        raise ProofError(1, f"claim.bound: is better than {said(proven)}, which is proven")
    if objective is not None and (point is None or sign * (objective - point[0]) < 0):
        raise ProofError(1, "claim.objective: is better than that of the point")
    return sense, proven, point

def said(number):
    try:
        return repr(float(number))
    except OverflowError:
        return "beyond 1e308"

def once(pairs):
    if len(found := dict(pairs)) < len(pairs):
        raise ProofError(1, f"an object of {len(pairs)} names has one of them twice")
    return found

def never(text):
    raise ProofError(2, "numbers must be texts")

def load(path):
    """Return what a file holds, and the hash of its bytes."""
    try:
        with open(path, "rb") as file:
            raw = text = file.read(MOST + 1)
        if raw[:2] == b"\x1f\x8b":
            with gzip.open(path) as file:
                text = file.read(MOST + 1)
        if max(len(raw), len(text)) > MOST:
            raise ProofError(2, f"more than {MOST} bytes")
        return json.loads(text.decode(), object_pairs_hook=once, parse_int=never,
                          parse_float=never, parse_constant=never), hashlib.sha256(raw).hexdigest()
    except ProofError:
        raise
    except Exception as error:
        raise ProofError(2, f"{type(error).__name__} {str(error)[:80]!a}") from None

def opened(path):
    """Return a certificate and its data, which may be in a file beside it."""
    content, _ = load(path)
    if type(content) is not dict:
        raise ProofError(2, "is no object")
    if "data" in content:
        return content, content.pop("data")
    name, digest = content.pop("data_file", 0), content.pop("data_sha256", 0)
    if type(name) is not str or not re.fullmatch("[A-Za-z0-9_][A-Za-z0-9_.-]*", name):
        raise ProofError(1, "data_file: must be the name of a file beside this one")
    data, found = load(re.sub(r"[^/\\]*\Z", "", path) + name)
    if found != digest:
        raise ProofError(1, f"data_sha256: that of {name} is {found}")
    return content, data

def main(paths):
    worst = 0 if paths else 2
    for path in paths:
        try:
            sense, bound, point = examine(*opened(path))
        except ProofError as error:
            code, why = error.args
            worst, word = max(worst, code), "refused" if code == 1 else "unreadable"
            print(f"{path!a}: {word}: {why}")
        else:
            text = f"{sense} {'>=' if sense == 'min' else '<='} {said(bound)}"
            if point:
                text += f", point {said(point[0])} with violation {said(point[1])}"
            print(f"{path!a}: proven: {text}")
    return worst

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
