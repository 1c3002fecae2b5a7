"""Check certificates in exact numbers: exit code 0 if all are proven, 1 refused, 2 unreadable."""

import gc
import gzip
import hashlib
import json
import re
import sys
import threading
from fractions import Fraction
from math import gcd

# fmt: off
MOST, ENDLESS, LAST = 1 << 25, 1 << 5000, {"free", "work"}  # bytes; above all numbers; rows
WORK = 12 * 10**6  # of a file, about microseconds; honest ones of the largest instances take 8
LONG, MANY = 1 << 9, 1 << 14  # bits of sums: what costs extra; what is refused
METER, GROSS = threading.local(), Fraction(1, 10**6)  # work left; what no rounding misses
INF = float("inf")
SIZES = {"2": 2, "r": 1 << 10, "t": 1 << 17}  # of axes: cores and GPUs, room, time
NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?|-?[0-9]+/[1-9][0-9]*")
FIELD = re.compile(r"(\w+)(?:\[(\w+)\])?(?:\{(\w+)\})?:?(.*)")
PROGRAM = ("sense offset cost[n] low[n]:-inf high[n]:inf row_low[m]:-inf row_high[m]:inf "
           "columns[n]{m} | ")
FIELDS = {  # data | dual: name[axes of lists]{axes of an object}:kind of number
    "linear-program": PROGRAM + "rows{m}",
    "infeasible-program": PROGRAM + "rows{m}",
    "unbounded-program": PROGRAM + "ray{n}",
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

def work(units, *place):
    """Count work before it is done, so that what would be endless is refused at once."""
    METER.left -= units
    need(METER.left >= 0, "takes too much work; --patience 10 allows more", *place, code=2)

def bits(*numbers):
    most = max((n.numerator.bit_length() + n.denominator.bit_length() for n in numbers), default=0)
    need(most < MANY, "numbers get too many digits", code=2)
    return most

def total(pairs):
    """Return a sum of products, of which long ones count as work."""
    above, below = 0, 1  # a common denominator, without the search for factors at every step
    for a, b in pairs:
        top, under = a.numerator * b.numerator, a.denominator * b.denominator
        if below % under:
            more = under // gcd(below, under)
            above, below = above * more, below * more
        above += top * (below // under)
        if (long := top.bit_length() + below.bit_length()) > LONG:
            work(long * long >> 16, bits(below) and "with such long numbers it")
    return Fraction(above, below)

def common(numbers):
    """Return the least common denominator."""
    below = 1
    for one in numbers:
        below *= one.denominator // gcd(below, one.denominator)
        bits(below)
    return below

def number(text, kind="", sizes=SIZES, *place):
    """Read a rational; "+" is none below 0, "<T" a whole one below the size of T."""
    fits = type(text) is str and len(text) <= 1500 and NUMBER.fullmatch(text)
    need(fits, "is no number", *place, code=2)
    below = text.isdecimal() and kind[:1] == "<" and int(text) < sizes.get(kind[1], 0)
    need(below or (kind[:1] != "<" and (kind != "+" or text[0] != "-")), "is out of range", *place)
    value = int(text) if below else Fraction(text)
    work(bits(value) ** 2 >> 14, *place)
    return value

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
                work(4 + 4 * len(part), *at)
            found = {(*at, n): one for at, part in found.items() for n, one in enumerate(part)}
        written = [{str(n): n for n in range(sizes.get(axis, 0))} for axis in inner]
        for at in [*found] if inner else ():
            need(type(part := found.pop(at)) is dict, "must be an object", *at)
            work(4 + 4 * len(part), *at)
            for key, one in part.items():  # indices like "3,7"
                spot = [axis.get(n) for axis, n in zip(written, key.split(","))]
                fits = None not in spot and key.count(",") + 1 == len(inner)
                need(fits, fits or f"has {key[:9]!a}", *at)
                found[*at, *spot] = one
        given, known = {at: x for at, x in found.items() if x != kind or "inf" not in kind}, {}
        yield {at[1:]: known[one] if type(one) is str and one in known else
               known.setdefault(one, number(one, kind, sizes, *at)) for at, one in given.items()}

def linear(primal, sign, cost, matrix, low, high, y, offset=0):
    """Return sign, bound and point of a program by columns, with sides of columns and rows."""
    worth = dict(y)
    for j, entries in matrix.items():  # a column may use columns that stand before it
        worth[j] = total([(a, worth[i]) for i, a in entries.items() if i in worth])
    rest = {j: cost.get(j, 0) - worth[j] for j in matrix}
    last = {j: (i, a) for j in rest for i, a in matrix[j].items() if a and i[0] in LAST}
    for j, (i, a) in last.items():  # at these multipliers no column in such a row gains
        y[i] = max(y.get(i, 0 if i[0] == "free" else rest[j] / a), rest[j] / a)
    rest |= {j: total([(rest[j], 1), (-a, y[i])]) for j, (i, a) in last.items()}
    sides = [(offset, 1)]
    for i, one in [*y.items(), *rest.items()]:
        side = (low if sign * one.numerator > 0 else high).get(i, None if one else 0)
        need(side is not None, "has a multiplier that rests on a missing side", *i)
        sides.append((one, side))
    found = None if primal is None else reached(
        by_column(primal, matrix), cost, matrix, low, high, offset)
    return sign, total(sides), found

def by_column(primal, matrix):
    names = {",".join(map(str, j)): j for j in matrix}
    need(type(primal) is dict and primal.keys() <= names.keys(), "must be by column", "primal")
    work(4 * len(primal), "primal")
    return {names[name]: number(one, "", SIZES, "primal", name) for name, one in primal.items()}

def reached(use, cost, matrix, low, high, offset):
    """Return a point's value, by how much it misses a side at most, and words if that is gross."""
    value = total([(offset, 1), *((cost.get(j, 0), one) for j, one in use.items())])
    terms = {j: [(one, 1)] for j, one in use.items()}
    for j in reversed(matrix):
        use[j] = total(terms.get(j, ()))
        for i, a in matrix[j].items() if use[j] else ():
            terms.setdefault(i, []).append((a, use[j]))
    least, missed, words = min(1, max(map(abs, use.values()), default=0)), [0], [(0, None)]
    use |= {i: total(found) for i, found in terms.items() if i not in use}
    for i, side, over in [*((i, one, one - use.get(i, 0)) for i, one in low.items()),
                          *((i, one, use.get(i, 0) - one) for i, one in high.items())]:
        missed.append(over)  # a row is judged by its own size
        if over > 0 and over > GROSS * max(
                [least, abs(side), *(abs(a * x) for a, x in terms.get(i, ()))]):
            at = " ".join(map(str, i if type(i[0]) is str else ("column", *i)))
            words.append((over, f"misses {at} by {float(min(over, 10**308)):.9g}"))
    return value, max(missed), max(words, key=lambda one: one[0])[1]

def named(name, values):
    return {(name, *at): one for at, one in values.items()}

def by_columns(sense, cost, low, high, row_low, row_high, entries):
    """Return the sign of a program, its matrix, and sides of columns and rows."""
    matrix = {j: {} for j in cost}
    for (j, i), a in entries.items():
        matrix[j,]["row", i] = a
    low, high = low | named("row", row_low), high | named("row", row_high)
    return 1 if sense[()] > 0 else -1, matrix, low, high

def linear_program(primal, sense, offset, cost, *parts):
    """Any linear program, minimised with sense 1, maximised with sense -1."""
    sign, matrix, low, high = by_columns(sense, cost, *parts[:-1])
    return linear(primal, sign, cost, matrix, low, high, named("row", parts[-1]), offset[()])

def infeasible_program(primal, sense, offset, cost, *parts):
    """Any rows and bounds: at a point of them, 0 would be at least a sum above 0 (Farkas)."""
    sign, matrix, low, high = by_columns(sense, cost, *parts[:-1])
    _, least, _ = linear(None, 1, {}, matrix, low, high, named("row", parts[-1]))
    need(least > 0, "do not add sides up to more than 0", "dual.rows")
    return sign, sign * INF, None

def unbounded_program(primal, sense, offset, cost, *parts):
    """Any linear program: a ray leads on from a point for ever, past no side, to better values."""
    sign, matrix, low, high = by_columns(sense, cost, *parts[:-1])
    sides = dict.fromkeys(low, 0), dict.fromkeys(high, 0)
    slope, missed, _ = reached(parts[-1], cost, matrix, *sides, 0)
    need(missed == 0, "leads past a side", "dual.ray")
    need(sign * slope < 0, "leads to no better values", "dual.ray")
    _, missed, words = reached(by_column(primal, matrix), cost, matrix, low, high, offset[()])
    need(not words, words, "primal")
    return sign, -sign * INF, (-sign * INF, missed, None)

def p1_lp(primal, arrival, gain, alive, capacity, demand, server, start, end, occupancy):
    """RESCUE's relaxation: columns y by t, j, k, l, and x by task and t; prices of busy slots."""
    work(len(capacity) * len(alive) + 4 * len(gain), "data.profit")
    runs, spans = {}, [*zip(start.values(), end.values())]
    work(4 * sum(max(0, last - first) for first, last in spans), "data.end")
    for (i, a), one in alive.items():
        runs.setdefault(i, {})[a] = one
    matrix = {(t, k, i): {("busy", k, t + a): p for a, p in run.items() if (k, t + a) in capacity}
              for k, t in capacity for i, run in runs.items()}  # runs of any device
    matrix |= {(t, j, k, i): {(t, k, i): 1, ("free", t, j): 1} for t, j, k, i in gain}
    high = named("free", arrival) | dict.fromkeys(named("busy", capacity), 1)
    for (i,), k, (first, last) in zip(demand, server.values(), spans):
        for t in range(first, last + 1):
            matrix[i, t], high[i, t] = {("busy", k, t): 1, ("work", i): capacity[k, t]}, 1
    y = {("busy", *at): max(0, one) for at, one in occupancy.items()}
    low = named("work", demand) | dict.fromkeys(matrix, 0)
    return linear(primal, -1, gain, matrix, low, high, y)

def cooperative(primal, weight, copies, asked, options, capacity, size, budget, node, price, room):
    """IDN's relaxation: columns q by slot, type, pair, and x by pair; prices of what is short."""
    work(4 * len(weight) * len(options), "data.options")
    cost = {(*t, *at): weight[t] * gain for t in weight for at, gain in options.items()}
    matrix = {(t, r, c): {("free", t, r): 1, ("pair", t, c): 1} for t, r, c in cost}
    for (c,), n in node.items():
        matrix[c,] = {("pair", *t, c): -capacity[*t, c] for t in weight} | {("room", n): size[c,]}
    high = copies | named("free", asked) | named("room", budget)
    high |= dict.fromkeys(named("pair", capacity), 0)
    y = {("pair", t, c): weight[t,] * one for (t, c), one in price.items()} | named("room", room)
    return linear(primal, -1, cost, matrix, dict.fromkeys(matrix, 0), high, y)

def pooled(primal, starts, space, times, weight, begin, kind, own, size, room, price, start, pool):
    """TapFinger's tasks: what each pays at least at prices, less what all room is worth."""
    for (i, g), most in room.items():
        work(4 * len(pool), "dual.pool")
        for n in [n for (n,), h in pool.items() if h == g]:
            work(len(times), "data.duration")
            sizes = {(x, y): size[i, g, x, y] for (m, _, x, y), d in times.items() if d and m == n}
            most -= held((space[n, 0], space[n, 1]), sizes)
        need(most >= 0, "is too small", "dual.room", i, g)
    bound, rents, paid, groups = [], {}, {}, [*pool.values()]
    for (i, g, t), one in price.items():
        paid.setdefault((g, t), []).append((i, one))
        bound.append((-one, room[i, g]))
    for (g, _), one in start.items():
        work(len(groups) >> 4, "dual.start")
        bound.append((-one, starts.get((), ENDLESS) * groups.count(g)))
    for (j,), w in weight.items():
        first, least = begin[j,], ENDLESS
        work(len(times), "data.duration")
        for d, g, a, b in sorted({(d, pool[n,], a, b) for (n, k, a, b), d in times.items()
                                  if d and k == kind[j,] and (j, n) in own}):
            for s in range(first, ENDLESS):  # until all that is used is free
                work(16 + (bits(w, least) >> 4), "data.weight", j)
                if w * (s + d - first) >= least:
                    break
                if (at := (d, g, a, b, s)) not in rents:  # tasks of a kind share them
                    work(4 * d, "data.duration")
                    used = [(size[i, g, a, b], p)
                            for t in range(s, s + d) for i, p in paid.get((g, t), ())]
                    rents[at] = total([(start.get((g, s), 0), 1), *used])
                least = min(least, w * (s + d - first) + rents[at])
        need(least < ENDLESS, "has no bundle", "data.eligible", j)
        bound.append((least, 1))
    return 1, total(bound), None

def held(room, sizes):
    """Return the largest sum of sizes of whole bundles within a room of cores and GPUs."""
    below = common(sizes.values())
    (x, y), most, whole = room, {}, {at: int(one * below) for at, one in sizes.items()}
    work((x + 1) * (y + 1) * (1 + len(sizes)) * (1 + (bits(below) >> 9)), "data.capacity")
    for a, b in [(a, b) for a in range(x + 1) for b in range(y + 1)]:
        fits = [(a - x, b - y, one) for (x, y), one in whole.items() if x <= a and y <= b]
        most[a, b] = max([0, *(most.get(fit[:2], ENDLESS * below) + fit[2] for fit in fits)])
    return Fraction(most[room], below)

def safe(primal, apart, arrival, gain, law, speed, demand, server, start, end, price, grid):
    """RESCUE's policies that let no reserved task fail: what idle servers are worth at prices."""
    laws, tasks = {i: {} for i, _ in law}, {t: {} for _, t in speed}
    for (i, d), q in law.items():
        laws[i] |= {d + 1: q} if q else {}
    for (t, j), one in arrival.items():
        tasks[t][j] = one
    sums = [total((q, 1) for q in one.values()) for one in laws.values()]
    need({*sums} <= {1}, "must sum to 1", "data.duration")
    for t in tasks if arrival else ():
        odds = [(one, 1) for one in tasks[t].values()]
        need((max(odds)[0] if apart[()] else total(odds)) <= 1, "is above 1", "data.arrival", t)
    price, T = {at: max(0, price.get(at, 0)) for at in arrival}, len(tasks)
    bound = [(one, price[at]) for at, one in arrival.items()]
    unit = Fraction(max([0, *gain.values()]) or 1, 1 << 128)
    long = bits(*gain.values(), *law.values(), *arrival.values(), *price.values())
    for (k,), width in grid.items():
        own, before = [i for i in demand if server[i] == k], [0]
        scale = common([width, *(speed[k, t] for t in range(T)), *(demand[i] for i in own)])
        for t in range(T):  # all in whole numbers
            before.append(before[t] + int(scale * speed[k, t]))
        width, limits, longer = int(scale * width), [], 1 + (long + bits(scale, before[T]) >> 9)
        own = [(start[i], end[i], int(scale * demand[i])) for i in own]
        spent = 1 + sum(1 + abs(e - s) for s, e, _ in own) // 16
        work(len(demand) + len(own) ** 2 * spent, "data.demand")
        for a, b in {(a, b) for a, _, _ in own for _, b, _ in own if a <= b}:
            inside = [one for one in own if a <= one[0] and one[1] <= b]
            if inside and {*range(a, b)} <= {t for s, e, _ in inside for t in range(s, e)}:
                limits.append((a, b, before[b + 1] - before[a] - sum(one[2] for one in inside)))
        runs, most = (max([0, *map(len, some.values())]) for some in (laws, tasks))
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
                each = 2 + len(rooms) // 8 + 2 * (len(rooms) - rooms.count(None))
                spent = len(laws) * (runs + most) + (len(laws) + runs + 1) * each
                work(longer * spent * 3 // 2, "data.server", k)
                able = [i for i in laws if after(rooms, t, min(t + max(laws[i]), T)) is not None]
                stops = {d: min(t + d, T) for i in able for d in laws[i]}
                way = {d: (stop, after(rooms, t, stop)) for d, stop in stops.items()}
                way[0] = t + 1, after(rooms, t + 1, t + 1)
                ways[t, rooms] = way, able
                todo += way.values()
        for (t, rooms), (way, able) in sorted(ways.items(), key=lambda one: -one[0][0]):
            ahead = {i: total((q, value.get(way[d], 0)) for d, q in laws[i].items()) for i in able}
            wait = worth = value.get(way[0], 0)
            for j in reversed(tasks[t]):
                wait = worth if apart[()] else wait
                best = max([wait, *(gain[t, j, k, i] + one for i, one in ahead.items())])
                worth = total([(worth, 1), (arrival[t, j], max(0, best - wait - price[t, j]))])
            value[t, rooms] = -(-worth // unit) * unit  # rounded up, which proves less
        bound.append((value.get(todo[0], 0), 1))
    return -1, total(bound), None

def claimed(text):
    return float(text) if text in ("inf", "-inf") else number(text, "", SIZES, "claim")

def examine(content, data, patience=1):
    """Return sense, bound, and value and violation of the point or None; or raise why not."""
    form, kind, _, primal, dual, claim = parts("it", content, "format kind about primal dual claim")
    sense, limit, value = parts("claim", claim, "sense bound objective")
    need(form == "edgeopt.certificate/1" and kind in [*FIELDS], "must be a known kind", "kind")
    METER.left = WORK * patience
    limit, value = claimed(limit), None if value is None else claimed(value)
    (fields, duals), sizes = FIELDS[kind].split(" | "), dict(SIZES)
    inputs = *arrays("data", data, fields, sizes), *arrays("dual", dual, duals, sizes)
    prove = dict(zip(FIELDS, [linear_program, infeasible_program, unbounded_program, p1_lp,
                              cooperative, pooled, safe]))[kind]
    sign, bound, point = prove(primal, *inputs)
    fits = sense == ("min" if sign > 0 else "max") and sign * bound >= sign * limit
    need(fits, "is of the other sense, or better than what is proven", "claim")
    fits = point and (value is None or sign * value >= sign * point[0])
    need(fits or value is primal is None, "is not proven by a point", "claim.objective")
    need(value is None or not point[2], f"by a point that {point and point[2]}", "claim.objective")
    return sense, bound, point

def opened(path, digest=None, patience=1):
    """Return a certificate and its data, which may be in a file beside it."""
    METER.left = METER.left if digest else WORK * patience
    def unique(pairs):
        work(16 + len(pairs), "an object")
        need(len(dict(pairs)) == len(pairs), "has a name twice", "an object")
        return dict(pairs)
    try:
        with open(path, "rb") as file, gzip.open(path) as unpacked:
            raw = file.read(MOST + 1)
            text = unpacked.read(MOST + 1) if raw[:2] == b"\x1f\x8b" else raw
        need(max(len(raw), len(text)) <= MOST, f"has more than {MOST} bytes", code=2)
        need(digest in (None, hashlib.sha256(raw).hexdigest()), "is another one", "data_sha256")
        content = json.loads(text.decode(), object_pairs_hook=unique)
        if digest or "data" in content:
            return content if digest else (content, content.pop("data"))
        name, digest = re.sub(r".*[/\\]", "", content.pop("data_file")), content.pop("data_sha256")
        return content, opened(re.sub(r"[^/\\]*\Z", "", path) + name, str(digest))
    except Exception as error:
        hint = "'edgeopt solve SYSTEM --certificate FILE' writes one"
        why = getattr(error, "strerror", 0) or f"no certificate, or torn ({error!s:.60}); {hint}"
        raise error if isinstance(error, ProofError) else ProofError(2, why) from None

def main(paths):
    """Check files, say what is proven, and return the exit code."""
    patience, paths = (paths[1:2], paths[2:]) if paths[:1] == ["--patience"] else (["1"], paths)
    patience = int(patience[0]) if [*map(str.isdecimal, patience)] == [True] else 0
    worst = 0 if paths else 2
    for path in paths:
        try:
            sense, bound, point = examine(*opened(path, None, patience), patience)
            code, said = 0, f"{sense} {'>=' if sense == 'min' else '<='} {float(bound)!r}"
            near = "has {!r} and misses no side by more than {!r}"
            if bound in (INF, -INF):
                said = "no best value" if point else "no point satisfies the rows and bounds"
                near = "on a ray of better ones misses no side by more than {1!r}"
            if point:
                said += "; a point " + (point[2] or near.format(*map(float, point[:2])))
        except (ProofError, OverflowError) as error:
            code, said = error.args if len(error.args) == 2 else (2, "numbers beyond 1e308")
        print(f"{path!a}: {('proven', 'refused', 'unreadable')[code]}: {said}")
        worst = max(worst, code)
    return worst

if __name__ == "__main__":
    gc.disable()  # nothing here refers to itself
    sys.exit(main(sys.argv[1:]))
