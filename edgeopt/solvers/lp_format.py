"""Files in the LP format of CPLEX."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from edgeopt.errors import InputError
from edgeopt.solvers.conditions import read_conditions
from edgeopt.solvers.draft import Draft

if TYPE_CHECKING:
    from edgeopt.solvers.draft import Source
    from edgeopt.solvers.program import LinearProgram

_OBJECTIVE: Final = re.compile(
    r"(minimi[sz]e|minimum|min|maximi[sz]e|maximum|max)(?=\s|$)(?!\s*:)", re.IGNORECASE
)
_ROWS: Final = re.compile(r"(subject\s+to|such\s+that|st\.?|s\.t\.)(?=\s|$)(?!\s*:)", re.IGNORECASE)
_SECTIONS: Final = {
    "bounds": "bounds", "bound": "bounds", "end": "end",
    "general": "general", "generals": "general", "gen": "general",
    "integer": "general", "integers": "general", "int": "general",
    "binary": "binary", "binaries": "binary", "bin": "binary", "sos": "sos",
    "semi-continuous": "semi", "semicontinuous": "semi", "semi": "semi", "semis": "semi",
}  # fmt: skip
_REFUSED: Final = re.compile(
    r"sos[12]|lazy constraints|user cuts|pwlobj|general constraints?|"
    r"gencons|multi-?objectives|ranges|scenario.*",
    re.IGNORECASE,
)
_IN_NAME: Final = r"[^\s+\-*/<>=^:\\\[\]]"
_TOKEN: Final = re.compile(
    rf"""(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
    |(?P<name>(?:[^\W\d]|[!"\#$%&(),;?@'`{{}}~|_])(?:{_IN_NAME}|\[{_IN_NAME}*\])*)
    |(?P<arrow>->)
    |(?P<sense><=|>=|=<|=>|<|>|=)
    |(?P<other>\S)""",
    re.VERBOSE,
)
_INFINITE: Final = ("inf", "infinity")
_FLIPPED: Final = {"<": ">", ">": "<", "=": "="}


class Token(NamedTuple):
    """A word of the file: its kind ("number", "name", "sense", ...), its text and its line."""

    kind: str
    text: str
    line: int


def read_lp(source: Source) -> LinearProgram:
    """Read a file in LP format."""
    labels, parted = source.comments()
    reader = _Lp(source)
    for section, tokens in _sections(source):
        reader.read(section, tokens)
    reader.join(parted)
    return reader.program(labels)


def _sections(source: Source) -> list[tuple[str, list[Token]]]:
    """Return the tokens of each section."""
    found: list[tuple[str, list[Token]]] = []
    for number, line in enumerate(source.lines, 1):
        text = line.partition("\\")[0].strip()
        section, rest = _begins(text, found)
        if found and found[-1][0] == "end" and text:
            raise source.error(number, "text after End", text)
        if _REFUSED.fullmatch(" ".join(rest.split())) and (found or section):
            section, rest = "refused", ""
            refusal = source.error(number, "this section is no part of a linear program", text)
        if section:
            found.append((section, []))
        elif text and not found:
            raise source.error(number, "must begin with Minimize or Maximize", text)
        for match in _TOKEN.finditer(rest):
            if found[-1][0] == "refused":  # as it is not empty
                raise refusal
            kind = str(match.lastgroup)
            if kind == "name" and match[0].lower() in _INFINITE:
                kind = "number"
            found[-1][1].append(Token(kind, match[0], number))
    if not found or found[-1][0] != "end":
        raise source.error(len(source.lines), "the file ends without End: it is cut short")
    return found


def _begins(text: str, found: list[tuple[str, list[Token]]]) -> tuple[str, str]:
    """Return the section that a line begins, if any, and the rest of the line."""
    if not found:
        match = _OBJECTIVE.match(text)
        sense = "" if match is None else text[:3].lower()
        return sense, text if match is None else text[match.end() :]
    if found[-1][0] in ("min", "max"):
        match = _ROWS.match(text)
        if match:
            return "rows", text[match.end() :]
    section = _SECTIONS.get(text.lower(), "")
    return section, "" if section else text


class _Lp:
    """The sections of a file in LP format, one after the other."""

    def __init__(self, source: Source) -> None:
        self.draft = Draft()
        self._source = source
        self._tokens: list[Token] = []
        self._at = 0
        self._bounded: set[int] = set()  # columns whose bounds the file says
        self._terms: list[list[tuple[str, float]]] = []  # of each row
        self._semi: list[int] = []
        self._sos: list[tuple[int, list[tuple[float, int]]]] = []
        self._indicated: dict[str, tuple[int, int]] = {}
        self._curved: dict[str, dict[tuple[int, int], float]] = {}

    def read(self, section: str, tokens: list[Token]) -> None:
        self._tokens, self._at = tokens, 0
        if section in ("min", "max"):
            self.draft.sense = "max" if section == "max" else "min"
            self._objective()
        read = {"rows": self._row, "bounds": self._bound, "sos": self._set}.get(section)
        while read and self._peek():
            read()
        if section in ("general", "binary"):
            for token in tokens:
                self._whole(token, binary=section == "binary")
        if section == "semi":
            self._semi += [self._named(token) for token in tokens]

    def _peek(self, ahead: int = 0) -> Token | None:
        place = self._at + ahead
        return self._tokens[place] if place < len(self._tokens) else None

    def _kind(self, ahead: int = 0) -> str:
        token = self._peek(ahead)
        return "" if token is None else token.text if token.kind == "other" else token.kind

    def _next(self) -> Token:
        self._at += 1
        return self._tokens[self._at - 1]

    def _error(self, rule: str) -> InputError:
        """Return the error at the next token, or at the last one."""
        token = self._peek() or self._tokens[-1]
        return self._source.error(token.line, rule, token.text)

    def _label(self) -> str | None:
        if self._kind() == "name" and self._kind(1) == ":":
            self._at += 2
            return self._tokens[self._at - 2].text
        return None

    def _sign(self) -> float | None:
        """Return the product of the signs that come next, None if there are none."""
        sign = None
        while self._kind() in ("+", "-"):
            sign = (sign or 1.0) * (-1.0 if self._next().text == "-" else 1.0)
        return sign

    def _expression(
        self, products: list[tuple[str, str, float]], *, halved: bool = False
    ) -> tuple[list[tuple[str, float]], float | None]:
        """Return columns with their coefficients, and the constant among them, if any.

        Quadratic terms are added to `products`; those of the objective are `halved`.
        """
        terms: list[tuple[str, float]] = []
        constant = None
        begun = False
        while True:
            sign = self._sign()
            if sign is None and begun:
                break
            begun = True
            if self._kind() == "[":
                products += self._bracket(sign or 1.0, halved=halved)
            elif self._kind() == "name" or self._leads_to_column():
                size = self._size(sign)
                terms.append((self._column(), size))
            elif self._kind() == "number":
                size = self._size(None) if halved else self._number()
                constant = (constant or 0.0) + (sign or 1.0) * size
            else:
                if sign is not None and self._kind() != "[":
                    raise self._error("a number or column must follow + or -")
                break
        if self._kind() in ("[", "^", "*", "/"):
            raise self._error("quadratic terms stand in [ ], those of the objective in [ ] / 2")
        return terms, constant

    def _leads_to_column(self) -> bool:
        ahead = self._kind(1)
        return self._kind() == "number" and (
            ahead == "*" or (ahead == "name" and self._kind(2) != ":")
        )

    def _size(self, sign: float | None) -> float:
        """Return the coefficient of the column that comes next."""
        if self._kind() != "number":
            return sign or 1.0
        token = self._next()
        if self._kind() == "*":
            self._next()
        return (sign or 1.0) * self._source.coefficient(token.text, token.line)

    def _column(self) -> str:
        if self._kind() != "name":
            raise self._error("a column must follow * or a coefficient")
        return self._next().text

    def _number(self) -> float:
        token = self._next()
        return self._source.number(token.text, token.line)

    def _bracket(self, sign: float, *, halved: bool) -> list[tuple[str, str, float]]:
        """Return pairs of columns with the coefficients of their products in [ ... ] or [ ] / 2."""
        self._next()
        found: list[tuple[str, str, float]] = []
        while self._kind() != "]":
            own = self._sign()
            if own is None and found:
                raise self._error("a sign or ] is missing before this")
            size = sign * self._size(own)
            one = other = self._column()
            if self._kind() == "*":
                self._next()
                other = self._column()
            else:
                self._pass("^", "2", rule="in [ ] stand squares x ^ 2 and products x * y only")
            found.append((one, other, size))
        if halved:
            self._pass("]", "/", "2", rule="/ 2 must follow ]")
        else:
            self._pass("]", rule="] is missing")
        return found

    def _pass(self, *texts: str, rule: str) -> None:
        for text in texts:
            after = self._peek()
            if after is None or after.text != text:
                raise self._error(rule)
            self._next()

    def _objective(self) -> None:
        self._label()
        draft, products = self.draft, list[tuple[str, str, float]]()
        terms, constant = self._expression(products, halved=True)
        if self._peek():
            raise self._error("a sign is missing before this, or it is no part of an objective")
        draft.offset = constant or 0.0
        for name, value in terms:
            draft.cost[draft.column(name)] += value
        for one, other, value in products:
            a, b = draft.column(one), draft.column(other)
            places = {(a, b), (b, a)}  # each half of x'Qx / 2 off the diagonal
            draft.products += [(*place, value / len(places)) for place in places]

    def _side(self) -> float:
        """Return the number that comes next, with those which are added to it on its line."""
        side = None
        while side is None or (self._kind() in ("+", "-") and not self._at_new_line()):
            sign = self._sign() or 1.0
            if self._kind() != "number":
                raise self._error("a number is needed here; columns stand on the left")
            side = (side or 0.0) + sign * self._number()
        return side

    def _at_new_line(self) -> bool:
        after = self._peek()
        return after is not None and after.line > self._tokens[self._at - 1].line

    def _sense(self) -> str:
        return self._next().text.strip("=") or "="

    def _row(self) -> None:
        draft, begin = self.draft, self._at
        name = self._label()
        named = name is not None
        line = self._tokens[begin].line
        if name is None:
            number = len(draft.rows) + 1
            while f"c{number}" in draft.rows:
                number += 1
            name = f"c{number}"
        if name in draft.rows:
            raise self._source.error(line, "a second row of this name", name)
        low, high = -np.inf, np.inf
        left = None
        by = self._arrow()
        products: list[tuple[str, str, float]] = []
        terms, constant = self._expression(products)
        if not terms and constant is not None and self._kind() == "sense":
            left = _FLIPPED[self._sense()]
            low, high = _sides(left, constant, low, high)
            terms, constant = self._expression(products)
        # HiGHS writes rows without columns so, and always with a name.
        bare = named and left is None and constant is None and self._kind() == "sense"
        if not terms and not products and not bare:
            raise self._error("a row needs columns")
        if self._kind() == "sense":
            sense = self._sense()
            if left is not None and (sense == left or "=" in (sense, left)):
                raise self._source.error(line, "its two sides must be a lower and an upper one")
            low, high = _sides(sense, self._side(), low, high)
        elif left is None:
            raise self._error("a row needs <=, >= or = before this")
        self._end_of_line()
        if by is not None:
            self._indicated[name] = by
        if products:
            held = self._curved.setdefault(name, {})
            for one, other, value in products:
                pair = draft.column(one), draft.column(other)
                held[pair] = held.get(pair, 0.0) + value
        draft.rows[name] = row = len(draft.rows)
        draft.row_lower.append(low - (constant or 0.0))
        draft.row_upper.append(high - (constant or 0.0))
        self._terms.append(terms)
        for column, value in terms:
            draft.entry_row.append(row)
            draft.entry_column.append(draft.column(column))
            draft.entry_value.append(value)

    def _arrow(self) -> tuple[int, int] | None:
        """Return column and value of ``column = value ->``, if that comes next."""
        if [self._kind(ahead) for ahead in range(4)] != ["name", "sense", "number", "arrow"]:
            return None
        column = self.draft.column(self._next().text)
        if self._next().text != "=":
            raise self._error("an indicator is a column = 0 or 1")
        value = int(self._number())
        self._next()
        return column, value

    def _set(self) -> None:
        """Read a special ordered set, ``name: S1:: column:weight ...``."""
        self._label()
        kind = self._next()
        if kind.text.lower() not in ("s1", "s2"):
            raise self._source.error(kind.line, "a set must begin with S1:: or S2::", kind.text)
        self._pass(":", ":", rule="a set must begin with S1:: or S2::")
        members: list[tuple[float, int]] = []
        while self._kind(1) == ":" and self._kind(2) == "number":
            column = self._named(self._next())
            self._next()
            members.append((self._number(), column))
        self._sos.append((int(kind.text[1]), members))

    def _named(self, token: Token) -> int:
        if token.kind != "name":
            raise self._source.error(token.line, "is no name of a column", token.text)
        return self.draft.column(token.text)

    def program(self, labels: dict[tuple[str, str], str]) -> LinearProgram:
        """Return the program that was read."""
        rows = self.draft.rows

        def found(held: dict[str, Any]) -> dict[int, Any]:
            """Return what is said of rows, those that were parted by either of their names."""
            names = ((name, name if name in held else f"{name}_low") for name in rows)
            return {rows[name]: held[key] for name, key in names if key in held}

        sets = [(kind, [place for _, place in sorted(members)]) for kind, members in self._sos]
        return read_conditions(
            self.draft, self._source, labels, self._semi, sets, found(self._indicated),
            found(self._curved),
        )  # fmt: skip

    def _end_of_line(self) -> None:
        after = self._peek()
        if after and after.line == self._tokens[self._at - 1].line:
            raise self._error("nothing may follow on this line; columns stand on the left")

    def _bound(self) -> None:
        draft, sides = self.draft, []
        line = self._tokens[self._at].line
        if self._kind() != "name":
            side = self._side()
            if self._kind() != "sense":
                raise self._error("a bound needs <=, >= or = before this")
            sides.append((_FLIPPED[self._sense()], side))
        if self._kind() != "name":
            raise self._error("a bound needs a column")
        column = draft.column(self._next().text)
        if not sides and self._kind() == "name" and self._tokens[self._at].text.lower() == "free":
            self._next()
            sides = [(">", -np.inf), ("<", np.inf)]
        elif self._kind() == "sense":
            sense = self._sense()
            if sides and (sense == sides[0][0] or "=" in (sense, sides[0][0])):
                raise self._source.error(line, "its two sides must be a lower and an upper one")
            sides.append((sense, self._side()))
        if not sides:
            raise self._error("a bound needs <=, >=, = or free")
        self._end_of_line()
        self._bounded.add(column)
        for sense, side in sides:
            low, high = _sides(sense, side, draft.lower[column], draft.upper[column])
            draft.lower[column], draft.upper[column] = low, high

    def _whole(self, token: Token, *, binary: bool) -> None:
        draft, column = self.draft, self._named(token)
        draft.integer[column] = True
        if not binary:
            return
        if column not in self._bounded:
            draft.lower[column], draft.upper[column] = 0.0, 1.0
        elif not 0.0 <= draft.lower[column] <= draft.upper[column] <= 1.0:
            rule = "a binary column has bounds other than 0 and 1"
            raise self._source.error(token.line, rule, token.text)

    def join(self, parted: list[str]) -> None:
        """Make one row of the two into which `LinearProgram.write` parts a row of two sides."""
        draft = self.draft
        names, gone = list(draft.rows), set()
        for name in parted:
            low, high = (draft.rows.get(f"{name}_{end}", -1) for end in ("low", "high"))
            if min(low, high) < 0 or self._terms[low] != self._terms[high]:
                rule = f"the rows {name}_low and {name}_high were changed, or are not there"
                raise InputError(str(self._source.path), rule)
            draft.row_upper[low] = draft.row_upper[high]
            names[low] = name
            gone.add(high)
        kept = [row for row in range(len(names)) if row not in gone]
        place = {row: new for new, row in enumerate(kept)}
        draft.rows = {names[row]: new for new, row in enumerate(kept)}
        draft.row_lower = [draft.row_lower[row] for row in kept]
        draft.row_upper = [draft.row_upper[row] for row in kept]
        stay = [at for at, row in enumerate(draft.entry_row) if row in place]
        draft.entry_column = [draft.entry_column[at] for at in stay]
        draft.entry_value = [draft.entry_value[at] for at in stay]
        draft.entry_row = [place[draft.entry_row[at]] for at in stay]


def _sides(sense: str, side: float, low: float, high: float) -> tuple[float, float]:
    """Return lower and upper side after one more statement."""
    return (low if sense == "<" else side), (high if sense == ">" else side)
