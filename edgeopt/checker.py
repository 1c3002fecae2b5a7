"""Check certificates in exact numbers: exit code 0 if all are proven, 1 refused, 2 unreadable."""

import gzip
import hashlib
import json
import re
import sys
from fractions import Fraction

# fmt: off
MOST, ENDLESS, LAST = 1 << 26, 1 << 5000, {"free", "work"}  # bytes; above all numbers; rows
SIZES = {"2": 2, "r": 1 << 10, "t": 1 << 17}  # of axes: cores and GPUs, room, time
NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?|-?[0-9]+/[1-9][0-9]*")
FIELD = re.compile(r"(\w+)(?:\[(\w+)\])?(?:\{(\w+)\})?:?(.*)")
FIELDS = {  # data | dual: name[axes of lists]{axes of an object}:kind of number
    "linear-program": "sense offset cost[n] low[n]:-inf high[n]:inf row_low[m]:-inf "
        "row_high[m]:inf columns[n]{m} | rows{m}",
    "rescue.p1-lp": "arrival[TJ] profit[TJKL] survival[LD] capacity[KT] demand[H] server[H]:<K "
        "start[H]:<T end[H]:<T | occupancy{KT}",
    "idn.cooperative": "weight[S] copies[C] requests[SR] options[R]{C} capacity[SC] size[C] "
        "budget[V]:inf node[C]:<V | capacity{SC} budget{V}",
    "tapfinger.pooled": "starts:inf capacity[N2]:<r duration[NKAB]:<t weight[J]:+ arrival[J]:<t "
        "kind[J]:<K eligible[J]{N} | size[IGAB]:+ room[IG] price{IGt}:+ start{Gt}:+ pool[N]:<G",
    "rescue.safe": "independent:<2 arrival[TJ]:+ profit[TJKL] duration[LD]:+ capacity[KT]:+ "
        "demand[H] server[H]:<K start[H]:<T end[H]:<T | price{TJ} grid[K]:+"}

class ProofError(Exception):
    """Code and reason: a certificate is refused, 1, or cannot be read, 2."""

def need(held, reason, *place, code=1):
    if not held:
        raise ProofError(code, " ".join([*map(str, place), reason]))

def number(text, kind="", sizes=SIZES, *place):
    """Read a rational; "+" is none below 0, "<T" a whole one below the size of T."""
    fits = type(text) is str and len(text) <= 400 and NUMBER.fullmatch(text)
    need(fits, "is no number", *place, code=2)
    below = text.isdecimal() and kind[:1] == "<" and int(text) < sizes.get(kind[1], 0)
    need(below or (kind[:1] != "<" and (kind != "+" or text[0] != "-")), "is out of range", *place)
    return int(text) if below else Fraction(text)

def parts(place, value, names):
    need(type(value) is dict and value.keys() == {*names.split()}, f"must have {names}", place)
    return [value[name] for name in names.split()]

def arrays(place, value, fields, sizes):
    """Yield numbers by index, for every field of an object; a missing side has no entry."""
    fields = [FIELD.fullmatch(field).groups("") for field in fields.split()]
    values = parts(place, value, " ".join(field[0] for field in fields))
    for (name, lists, inner, kind), one in zip(fields, values):
        found = {(f"{place}.{name}",): one}
        for axis in lists:
            for at, part in found.items():
                fits = type(part) is list and len(part) == sizes.setdefault(axis, len(part))
                need(fits, f"must be a list of {sizes.get(axis)} entries", *at)
            found = {(*at, n): one for at, part in found.items() for n, one in enumerate(part)}
        written = [{str(n): n for n in range(sizes.get(axis, 0))} for axis in inner]
        for at in [*found] if inner else ():
            need(type(part := found.pop(at)) is dict, "must be an object", *at)
            for key, one in part.items():  # indices like "3,7"
                spot = [axis.get(n) for axis, n in zip(written, key.split(","))]
                need(None not in spot and key.count(",") + 1 == len(inner), f"has {key[:9]!a}", *at)
                found[*at, *spot] = one
        given, known = {at: x for at, x in found.items() if x != kind or "inf" not in kind}, {}
        yield {at[1:]: known[one] if type(one) is str and one in known else
               known.setdefault(one, number(one, kind, sizes, *at)) for at, one in given.items()}

def linear(primal, sign, cost, matrix, low, high, y, offset=0):
    """Return sign, bound and point of a program by columns, with sides of columns and rows."""
    worth, bound, point = dict(y), offset, None
    for j, entries in matrix.items():  # a column may use columns that stand before it
        worth[j] = sum(a * worth[i] for i, a in entries.items() if i in worth)
    rest = {j: cost.get(j, 0) - worth[j] for j in matrix}
    last = {j: (i, a) for j in rest for i, a in matrix[j].items() if a and i[0] in LAST}
    for j, (i, a) in last.items():  # at these multipliers no column in such a row gains
        y[i] = max(y.get(i, 0 if i[0] == "free" else rest[j] / a), rest[j] / a)
    rest |= {j: rest[j] - a * y[i] for j, (i, a) in last.items()}
    for i, one in [*y.items(), *rest.items()]:
        side = (low if sign * one > 0 else high).get(i, None if one else 0)
        need(side is not None, "has a multiplier that rests on a missing side", *i)
        bound += one * side
    if primal is not None:
        names = {",".join(map(str, j)): j for j in matrix}
        need(type(primal) is dict and primal.keys() <= names.keys(), "must be by column", "primal")
        use = {names[name]: number(one, "", SIZES, "primal", name) for name, one in primal.items()}
        value = offset + sum(cost.get(j, 0) * one for j, one in use.items())
        for j in reversed(matrix):
            for i, a in matrix[j].items() if j in use else ():
                use[i] = use.get(i, 0) + a * use[j]
        over = [one - use.get(i, 0) for i, one in low.items()]
        point = value, max([0, *over, *(use.get(i, 0) - one for i, one in high.items())])
    return sign, bound, point

def named(name, values):
    return {(name, *at): one for at, one in values.items()}

def linear_program(primal, sense, offset, cost, low, high, row_low, row_high, entries, y):
    """Any linear program, minimised with sense 1, maximised with sense -1."""
    matrix = {j: {} for j in cost}
    for (j, i), a in entries.items():
        matrix[j,]["row", i] = a
    low, high = low | named("row", row_low), high | named("row", row_high)
    return linear(primal, sense[()] or -1, cost, matrix, low, high, named("row", y), offset[()])

def p1_lp(primal, arrival, gain, alive, capacity, work, server, start, end, occupancy):
    """RESCUE's relaxation: columns y by t, j, k, l, and x by task and t; prices of busy slots."""
    matrix = {(t, k, i): {("busy", k, t + a): one for (n, a), one in alive.items()
                          if n == i and (k, t + a) in capacity}
              for k, t in capacity for i in {i for i, _ in alive}}  # runs of any device
    matrix |= {(t, j, k, i): {(t, k, i): 1, ("free", t, j): 1} for t, j, k, i in gain}
    high = named("free", arrival) | dict.fromkeys(named("busy", capacity), 1)
    for (i,), k, first, last in zip(work, server.values(), start.values(), end.values()):
        for t in range(first, last + 1):
            matrix[i, t], high[i, t] = {("busy", k, t): 1, ("work", i): capacity[k, t]}, 1
    y = {("busy", *at): max(0, one) for at, one in occupancy.items()}
    return linear(primal, -1, gain, matrix, named("work", work) | dict.fromkeys(matrix, 0), high, y)

def cooperative(primal, weight, copies, asked, options, capacity, size, budget, node, price, room):
    """IDN's relaxation: columns q by slot, type, cell, and x by cell; prices of what is short."""
    cost = {(*t, *at): weight[t] * gain for t in weight for at, gain in options.items()}
    matrix = {(t, r, c): {("free", t, r): 1, ("cell", t, c): 1} for t, r, c in cost}
    for (c,), n in node.items():
        matrix[c,] = {("cell", *t, c): -capacity[*t, c] for t in weight} | {("room", n): size[c,]}
    high = copies | named("free", asked) | named("room", budget)
    high |= dict.fromkeys(named("cell", capacity), 0)
    y = {("cell", t, c): weight[t,] * one for (t, c), one in price.items()} | named("room", room)
    return linear(primal, -1, cost, matrix, dict.fromkeys(matrix, 0), high, y)

def pooled(primal, starts, space, times, weight, begin, kind, own, size, room, price, start, pool):
    """TapFinger's tasks: what each pays at least at prices, less what all room is worth."""
    for (i, g), most in room.items():
        for n in [n for (n,), h in pool.items() if h == g]:
            sizes = {(x, y): size[i, g, x, y] for (m, _, x, y), d in times.items() if d and m == n}
            most -= held((space[n, 0], space[n, 1]), sizes)
        need(most >= 0, "is too small", "dual.room", i, g)
    rents, bound = {}, -sum(room[at[:2]] * one for at, one in price.items())
    for (g, _), one in start.items():
        bound -= one * starts.get((), ENDLESS) * [*pool.values()].count(g)
    for (j,), w in weight.items():
        first, least = begin[j,], float("inf")
        for d, g, a, b in sorted({(d, pool[n,], a, b) for (n, k, a, b), d in times.items()
                                  if d and k == kind[j,] and (j, n) in own}):
            for s in range(first, ENDLESS):  # until all that is used is free
                if w * (s + d - first) >= least:
                    break
                if (at := (d, g, a, b, s)) not in rents:  # tasks of a kind share them
                    rents[at] = sum(size[i, g, a, b] * one for (i, h, t), one in price.items()
                                    if h == g and s <= t < s + d) + start.get((g, s), 0)
                least = min(least, w * (s + d - first) + rents[at])
        need(least < float("inf"), "has no bundle", "data.eligible", j)
        bound += least
    return 1, bound, None

def held(room, sizes):
    """Return the largest sum of sizes of whole bundles within a room of cores and GPUs."""
    most = {}
    for a, b in [(a, b) for a in range(room[0] + 1) for b in range(room[1] + 1)]:
        fits = [(a - x, b - y, one) for (x, y), one in sizes.items() if x <= a and y <= b]
        most[a, b] = max([0, *(most.get(fit[:2], ENDLESS) + fit[2] for fit in fits)])
    return most[room]

def safe(primal, apart, arrival, gain, law, speed, work, server, start, end, price, grid):
    """RESCUE's policies that let no reserved task fail: what idle servers are worth at prices."""
    laws = {i: {d + 1: q for (n, d), q in law.items() if q and n == i} for i, _ in law}
    need(all(sum(one.values()) == 1 for one in laws.values()), "must sum to 1", "data.duration")
    tasks = {t: {j: one for (s, j), one in arrival.items() if s == t} for _, t in speed}
    for t in tasks if arrival else ():
        need((max if apart[()] else sum)(tasks[t].values()) <= 1, "is above 1", "data.arrival", t)
    price, T = {at: max(0, price.get(at, 0)) for at in arrival}, len(tasks)
    bound = sum(arrival[at] * price[at] for at in arrival)
    unit = Fraction(max([0, *gain.values()]) or 1, 1 << 128)
    for (k,), width in grid.items():
        before = [sum(speed[k, s] for s in range(t)) for t in range(T + 1)]
        limits, own = [], [(start[i], end[i], one) for i, one in work.items() if server[i] == k]
        for a, b in {(a, b) for a, _, _ in own for _, b, _ in own if a <= b}:
            inside = [one for one in own if a <= one[0] and one[1] <= b]
            if inside and all(any(s <= t < e for s, e, _ in inside) for t in range(a, b)):
                limits.append((a, b, before[b + 1] - before[a] - sum(one[2] for one in inside)))
        def after(rooms, t, stop):  # what may be blocked then, None if all; None if too much is
            found = []
            for (a, b, slack), room in zip(limits, rooms):
                if room is not None:
                    used = slack - room + max(0, before[min(stop, b + 1)] - before[max(a, t)])
                    if used > slack:
                        return None
                    room = slack - (used - used % width if width else used)
                    room = room if room < before[b + 1] - before[max(a, stop)] else None
                found.append(room)
            return tuple(found)
        todo, ways, value = [(0, after([slack for _, _, slack in limits], 0, 0))], {}, {}
        for t, rooms in todo:  # states of an idle server
            if t < T and rooms is not None and (t, rooms) not in ways:
                able = [i for i in laws if after(rooms, t, min(t + max(laws[i]), T)) is not None]
                stops = {d: min(t + d, T) for i in able for d in laws[i]}
                way = {d: (stop, after(rooms, t, stop)) for d, stop in stops.items()}
                way[0] = t + 1, after(rooms, t + 1, t + 1)
                ways[t, rooms] = way, able
                todo += way.values()
                need(len(todo) < 1 << 22, "has too many states", "data.server", k, code=2)
        for (t, rooms), (way, able) in sorted(ways.items(), key=lambda one: -one[0][0]):
            ahead = {i: sum(q * value.get(way[d], 0) for d, q in laws[i].items()) for i in able}
            wait = total = value.get(way[0], 0)
            for j in reversed(tasks[t]):
                wait = total if apart[()] else wait
                best = max([wait, *(gain[t, j, k, i] + one for i, one in ahead.items())])
                total += arrival[t, j] * max(0, best - wait - price[t, j])
            value[t, rooms] = -(-total // unit) * unit  # rounded up, which proves less
        bound += value.get(todo[0], 0)
    return -1, bound, None

def examine(content, data):
    """Return sense, bound, and value and violation of the point or None; or raise why not."""
    form, kind, _, primal, dual, claim = parts("it", content, "format kind about primal dual claim")
    sense, limit, value = parts("claim", claim, "sense bound objective")
    need(form == "edgeopt.certificate/1" and kind in [*FIELDS], "must be a known kind", "kind")
    (fields, duals), sizes = FIELDS[kind].split(" | "), dict(SIZES)
    inputs = *arrays("data", data, fields, sizes), *arrays("dual", dual, duals, sizes)
    prove = [linear_program, p1_lp, cooperative, pooled, safe][[*FIELDS].index(kind)]
    sign, bound, point = prove(primal, *inputs)
    fits = sense == ("min" if sign > 0 else "max") and sign * (bound - number(limit)) >= 0
    need(fits, "is of the other sense, or better than what is proven", "claim")
    fits = point and (value is None or sign * (number(value) - point[0]) >= 0)
    need(fits or value is primal is None, "is not proven by a point", "claim.objective")
    return sense, bound, point

def opened(path, digest=None):
    """Return a certificate and its data, which may be in a file beside it."""
    def once(pairs):
        need(len(dict(pairs)) == len(pairs), "has a name twice", "an object")
        return dict(pairs)
    try:
        with open(path, "rb") as file, gzip.open(path) as unpacked:
            raw = file.read(MOST + 1)
            text = unpacked.read(MOST + 1) if raw[:2] == b"\x1f\x8b" else raw
        need(max(len(raw), len(text)) <= MOST, f"has more than {MOST} bytes", code=2)
        need(digest in (None, hashlib.sha256(raw).hexdigest()), "is another one", "data_sha256")
        content = json.loads(text.decode(), object_pairs_hook=once)
        if digest or "data" in content:
            return content if digest else (content, content.pop("data"))
        name = re.sub(r".*[/\\]", "", content.pop("data_file"))
        return content, opened(re.sub(r"[^/\\]*\Z", "", path) + name, content.pop("data_sha256"))
    except Exception as error:
        raise error if isinstance(error, ProofError) else ProofError(2, f"{error!r:.99}") from None

def main(paths):
    """Check files, say what is proven, and return the exit code."""
    worst = 0 if paths else 2
    for path in paths:
        try:
            sense, bound, point = examine(*opened(path))
            code, said = 0, f"{sense} {'>=' if sense == 'min' else '<='} {float(bound)!r}"
            said += f"; value and violation of a point: {point and [*map(float, point)]}"
        except (ProofError, OverflowError) as error:
            code, said = error.args if len(error.args) == 2 else (2, "numbers beyond 1e308")
        print(f"{path!a}: {('proven', 'refused', 'unreadable')[code]}: {said}")
        worst = max(worst, code)
    return worst

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
